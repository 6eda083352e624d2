//! `dns-guard` and `gtp-gateway` on their own protocols. Each capture says what is to become of
//! every packet; the halves agree about it, about what leaves and about the states, while flows
//! move, too.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use cora::testing::{tcp, udp};
use cora_tests::cases::{Case, Traffic};
use cora_tests::draw::Draw;

/// A message with one question: an address of this name.
fn dns(id: u16, flags: u16, name: &str) -> Vec<u8> {
    let mut message: Vec<u8> =
        [id, flags, 1, 0, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).expect("it is short"));
        message.extend_from_slice(label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    message
}

/// A host inside that asks, and its server, both of one version.
fn asks(number: u16) -> [SocketAddr; 2] {
    let port = 40_000 + number;
    if number.is_multiple_of(3) {
        let host = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1 + number);
        let server = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x53);
        return [(host, port).into(), (server, 53).into()];
    }
    let host = Ipv4Addr::from(0x0a00_0100 + u32::from(number));
    [(host, port).into(), (Ipv4Addr::new(192, 0, 2, 53), 53).into()]
}

#[test]
fn the_guard_lets_answers_to_questions_pass() {
    const HOSTS: u16 = 60;
    /// May ask three times at once, and once more a second, which is longer than the capture.
    const LIMITED: u16 = 1;
    let mut traffic = Traffic::default();
    let mut draw = Draw(5);
    for round in 0..40_u16 {
        for number in 0..HOSTS {
            let [host, server] = asks(number);
            let id = round << 8 ^ number << 2;
            let name = format!("h{number}.r{round}.example.org");
            let question = dns(id, 0x0100, &name);
            if number == LIMITED && round >= 3 {
                traffic.add(udp(host, server, &question), "over-rate");
                traffic.add(udp(server, host, &dns(id, 0x8180, &name)), "unasked");
                continue;
            }
            match if number == LIMITED { 7 } else { draw.below(8) } {
                0 => {
                    let name = format!("h{number}.ADS.example");
                    traffic.add(udp(host, server, &dns(id, 0x0100, &name)), "redirect");
                }
                1 => {
                    let question = dns(id, 0x0100, "www.malware.test");
                    traffic.add(udp(host, server, &question), "blocked-name");
                }
                2 => {
                    traffic.add(udp(server, host, &dns(id ^ 1, 0x8180, &name)), "unasked");
                    traffic.add(udp(host, server, &question[..20]), "truncated");
                    traffic.add(udp(server, host, &dns(id, 0x8180, &name)[..14]), "truncated");
                }
                _ => {
                    traffic.add(udp(host, server, &question), "transmit");
                    // Who guesses has the identifier wrong, or the name.
                    traffic.add(udp(server, host, &dns(id ^ 1, 0x8180, &name)), "unasked");
                    traffic.add(udp(server, host, &dns(id, 0x8180, "h.example.org")), "unasked");
                    let answer = dns(id, 0x8180, &name.to_uppercase());
                    traffic.add(udp(server, host, &answer), "transmit");
                    traffic.add(udp(server, host, &answer), "unasked");
                }
            }
            if round.is_multiple_of(8) {
                traffic.add(tcp(host, server, &cora::prelude::TcpSegment::default()), "transmit");
                traffic.add(udp(host, (server.ip(), 123), b"no DNS"), "transmit");
            }
        }
    }
    let files = [
        ("Limit", "prefix, per_second, burst\n10.0.1.1, 1, 3\n".to_owned()),
        ("Blocked", "name, silent\nads.example,\nmalware.test, true\n".to_owned()),
    ];
    let left = Case::new("dns-guard", &files, traffic).holds();
    assert!(left.outcomes["redirect"] > 100, "{:?}", left.outcomes);
}

/// What a station sends: an IP packet of a frame in a tunnel, written here by hand.
fn tunnelled(station: SocketAddr, gateway: SocketAddr, teid: u32, frame: &[u8]) -> Vec<u8> {
    let inner = &frame[14..];
    let length = u16::try_from(inner.len()).expect("it is short").to_be_bytes();
    let head = [&[0x30, 255], &length[..], &teid.to_be_bytes()].concat();
    udp(station, gateway, &[&head, inner].concat())
}

/// A subscriber of this number in the file.
struct Subscriber {
    teid: u32,
    station: SocketAddr,
    gateway: SocketAddr,
    own: SocketAddr,
    peer: SocketAddr,
}

impl Subscriber {
    fn new(number: u8) -> Self {
        let low = u16::from(number);
        let [station, gateway]: [SocketAddr; 2] = if number.is_multiple_of(2) {
            let station = Ipv4Addr::new(10, 1, 0, 1 + number % 7);
            [(station, 2152).into(), (Ipv4Addr::new(10, 1, 255, 1), 2152).into()]
        } else {
            let station = Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 1 + low % 7);
            let gateway = Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0xffff, 1);
            [(station, 2152).into(), (gateway, 2152).into()]
        };
        let [own, peer]: [SocketAddr; 2] = if number.is_multiple_of(5) {
            let own = Ipv6Addr::new(0x2001, 0xdb8, 0x45, low, 1, 2, 3, 4);
            [(own, 5_000).into(), (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7), 443).into()]
        } else {
            let own = Ipv4Addr::new(100, 64, 0, number);
            [(own, 5_000).into(), (Ipv4Addr::new(198, 51, 100, 7), 443).into()]
        };
        Self { teid: 0x1000 + u32::from(number), station, gateway, own, peer }
    }

    fn row(&self, number: u8) -> String {
        let Self { teid, station, gateway, own, .. } = self;
        let prefix = match own {
            SocketAddr::V4(own) => own.ip().to_string(),
            SocketAddr::V6(_) => format!("2001:db8:45:{number:x}::/64"),
        };
        // Of some, one packet takes seconds.
        let kbit = u8::from(number % 10 == 3);
        let [station, gateway] = [station.ip(), gateway.ip()];
        format!("{prefix}, {gateway}, {teid}, {station}, {}, {kbit}, 0\n", teid + 0x1000)
    }

    fn up(&self, teid: u32, from: SocketAddr) -> Vec<u8> {
        let to = if from.is_ipv4() == self.peer.is_ipv4() { self.peer } else { from };
        tunnelled(self.station, self.gateway, teid, &udp(from, to, &[1; 1000]))
    }
}

#[test]
fn the_gateway_carries_subscribers_packets_both_ways() {
    const SUBSCRIBERS: u8 = 50;
    const ROUNDS: u8 = 20;
    let of = |number| Subscriber::new(number);
    let mut traffic = Traffic::default();
    let mut draw = Draw(9);
    for round in 0..ROUNDS {
        for number in 0..SUBSCRIBERS {
            let one = of(number);
            let limited = number % 10 == 3 && round > 0;
            let (up, down) = (one.up(one.teid, one.own), udp(one.peer, one.own, &[2; 900]));
            traffic.add(up, if limited { "over-rate" } else { "transmit" });
            traffic.add(down, "transmit");
            match draw.below(6) {
                0 => {
                    // Another subscriber's address, and another's tunnel.
                    let other = of((number + 10) % SUBSCRIBERS);
                    traffic.add(one.up(one.teid, other.own), "other-tunnel");
                    traffic.add(one.up(other.teid, one.own), "other-tunnel");
                }
                1 => {
                    let nobody = (Ipv4Addr::new(100, 64, 9, number), 5_000);
                    traffic.add(one.up(one.teid, nobody.into()), "no-bearer");
                    let frame = udp(([198, 51, 100, 7], 443), nobody, b"to nobody at all, really");
                    traffic.add(frame, "no-bearer");
                }
                2 => {
                    let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, round, number, 0, 0];
                    traffic.add(udp(one.station, one.gateway, &echo), "redirect");
                    traffic.add(udp(one.station, one.gateway, &echo[..7]), "truncated");
                    let end_marker = [0x30, 254, 0, 0, 0, 0, 0, number];
                    traffic.add(udp(one.station, one.gateway, &end_marker), "not-tunnelled");
                }
                _ => {}
            }
        }
    }
    let rows: String = (0..SUBSCRIBERS).map(|number| of(number).row(number)).collect();
    let head = "prefix, gateway, teid, station, station_teid, uplink_kbit, downlink_kbit\n";
    let left = Case::new("gtp-gateway", &[("Bearer", head.to_owned() + &rows)], traffic).holds();
    let to_stations = left.frames.iter().filter(|frame| frame.len() > 900 + 42 + 36).count();
    assert!(to_stations >= usize::from(ROUNDS) * usize::from(SUBSCRIBERS), "{to_stations}");
}
