//! Five programs as a network engineer writes them by the documentation alone: `tenant-rate`,
//! `rst-injector`, `sni-filter`, `rtt-meter`, and `parcels`, a pipeline of actors. Each capture
//! says the outcome of every packet, and the records.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use cora::prelude::{Meta, Packet, TcpFlags, TcpSegment};
use cora::testing::{ipv4, tcp, udp};
use cora_tests::cases::{Case, Left, Traffic};
use cora_tests::draw::Draw;
use cora_tests::ipfix::Values;

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const RST: TcpFlags = TcpFlags::RST;

/// A host inside, by subnet and number, and a server outside, both of one version.
fn ends(subnet: u8, host: u8, ports: [u16; 2]) -> [SocketAddr; 2] {
    let [own, server] = ports;
    if host.is_multiple_of(4) {
        let inside = Ipv6Addr::new(0xfd00, 0, 0, subnet.into(), 0, 0, 0, 1 + u16::from(host));
        let outside = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);
        return [(inside, own).into(), (outside, server).into()];
    }
    let inside = Ipv4Addr::new(10, 0, subnet, host);
    [(inside, own).into(), (Ipv4Addr::new(192, 0, 2, 7), server).into()]
}

fn segment(flags: TcpFlags, seq: u32, ack: u32, data: &[u8]) -> TcpSegment<'_> {
    TcpSegment { flags, seq, ack, data, ..TcpSegment::default() }
}

/// How many frames this holds for.
fn count(left: &Left, mut so: impl FnMut(&Packet<'_>) -> bool) -> usize {
    let frames = left.frames.iter();
    frames.filter(|frame| so(&Packet::new(&mut (*frame).clone(), Meta::default()))).count()
}

fn resets(left: &Left) -> usize {
    count(left, |packet| packet.tcp_flags().is_some_and(TcpFlags::rst))
}

#[test]
fn tenants_are_held_to_their_rates() {
    const TENANTS: u8 = 60;
    const DATA: [u8; 100] = [7; 100];
    /// Frames of a tenant over IPv4 and over IPv6: each is a tenant of its own.
    const LENGTHS: [u64; 2] = [142, 162];
    /// Frames that a limited tenant may send and receive at once. A byte more takes it a
    /// millisecond, and the capture 72 of them.
    const BURST: u64 = 9;
    let mut rows = "network, kbit, burst\n".to_owned();
    let mut left_over = BTreeMap::new();
    for tenant in 0..TENANTS {
        let (kbit, frames) = match tenant % 4 {
            0 => continue,
            1 => (1_000_000, 100_000),
            2 => (8, BURST),
            _ => (0, 0),
        };
        let [v4, v6] = LENGTHS.map(|length| format!("{kbit}, {}", frames * length));
        rows.extend([format!("10.0.{tenant}.0/24, {v4}\nfd00:0:0:{tenant:x}::/64, {v6}\n")]);
        left_over.insert(tenant, [frames; 2]);
    }
    let mut traffic = Traffic::default();
    let mut draw = Draw(3);
    let mut opened = BTreeMap::new();
    for _ in 0..40 {
        for tenant in 0..TENANTS {
            let host = draw.below(6) as u8 + 1;
            let [inside, outside] = ends(tenant, host, [5_000, 53]);
            let (ask, answer) = (udp(inside, outside, &DATA), udp(outside, inside, &DATA));
            assert_eq!(ask.len() as u64, LENGTHS[usize::from(inside.is_ipv6())]);
            let frames = left_over.get_mut(&tenant);
            let mut frames = frames.map(|frames| &mut frames[usize::from(inside.is_ipv6())]);
            let mut take = |is_open: bool| match frames.as_deref_mut() {
                _ if !is_open => "not-allowed",
                Some(0) => "over-rate",
                Some(frames) => {
                    *frames -= 1;
                    "transmit"
                }
                None => "transmit",
            };
            let outcome = take(true);
            let open: &mut bool = opened.entry((tenant, host)).or_default();
            *open |= outcome == "transmit";
            traffic.add(ask, outcome);
            traffic.add(answer, take(*open));
            let [_, stranger] = ends(tenant, host, [5_000, 123]);
            traffic.add(udp(stranger, inside, &DATA), "not-allowed");
        }
    }
    let left = Case::new("tenant-rate", &[("Rate", rows)], traffic).holds();
    for outcome in ["over-rate", "not-allowed", "transmit"] {
        assert!(left.outcomes[outcome] > 500, "{:?}", left.outcomes);
    }
}

#[test]
fn refused_connections_are_told_to_both_ends_and_recorded() {
    let rules = "destination, protocol, destination_port, number, allow\n\
                 192.0.2.7, tcp, 8080, 1, true\n\
                 any, tcp, 8000-8999, 2, false\n\
                 any, udp, 137, 3, false\n\
                 2001:db8::7, tcp, 25, 4, false\n";
    let mut traffic = Traffic::default();
    let mut draw = Draw(8);
    let (mut refused, mut flows) = (BTreeMap::<u8, usize>::new(), Vec::new());
    let mut expected = [0, 0];
    for number in 0..600_u16 {
        let (subnet, host) = ((number / 100) as u8, (number % 100 + 1) as u8);
        let server = [443, 8080, 8443, 137, 53, 25][draw.below(6) as usize];
        let [inside, outside] = ends(subnet, host, [20_000 + number, server]);
        let rule = match server {
            8080 if inside.is_ipv4() => None,
            8080 | 8443 => Some(2),
            137 => Some(3),
            25 if inside.is_ipv6() => Some(4),
            _ => None,
        };
        let outcome = if rule.is_some() { "refused" } else { "transmit" };
        if let Some(rule) = rule {
            *refused.entry(rule).or_default() += 1;
        }
        let is_refused = usize::from(rule.is_some());
        let mut flow = Vec::new();
        let mut add = |frame| flow.push((frame, outcome));
        let [resets, errors] = &mut expected;
        if [137, 53].contains(&server) {
            for _ in 0..8 {
                add(udp(inside, outside, b"who is it?"));
                add(udp(outside, inside, b"it is me"));
            }
            // The next one would come a second later.
            *errors += is_refused;
        } else {
            add(tcp(inside, outside, &segment(SYN, 100, 0, b"")));
            add(tcp(outside, inside, &segment(SYN | ACK, 900, 101, b"")));
            for at in 0..12 {
                add(tcp(inside, outside, &segment(ACK, 101 + at, 901, b"x")));
            }
            add(tcp(inside, outside, &segment(RST, 113, 0, b"")));
            // Two for each segment but the last, which passes where the connection is allowed.
            *resets += if rule.is_some() { 2 * 14 } else { 1 };
        }
        flows.push(flow);
    }
    traffic.together(flows);
    let ping = ipv4([10, 0, 0, 1], [192, 0, 2, 7], 64, 1, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0]);
    (0..40).for_each(|_| traffic.add(ping.clone(), "transmit"));
    let case = Case::new("rst-injector", &[("Rule", rules.to_owned())], traffic);
    let left = case.recorded().holds();
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
    let all = refused.values().sum::<usize>();
    assert_eq!(left.records.len(), all, "one record of each refused connection");
    for (rule, count) in refused {
        let told = left.records.iter().filter(|record| record[&(0, 302)] == [0, 0, 0, rule]);
        assert_eq!(told.count(), count, "rule {rule}");
    }
    let errors = count(&left, |packet| packet.is_icmp_error());
    assert_eq!([resets(&left), errors], expected);
}

fn vector(width: usize, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("it is short").to_be_bytes();
    [&length[4 - width..], bytes].concat()
}

/// A client's first message, with its name behind so many bytes of another extension, in one TLS
/// record or two.
fn hello(name: &str, before: usize, records: usize) -> Vec<u8> {
    let name = [vec![0], vector(2, name.as_bytes())].concat();
    let name = [vec![0, 0], vector(2, &vector(2, &name))].concat();
    let extensions = [vec![0, 21], vector(2, &vec![0; before]), name, vec![0, 23, 0, 0]].concat();
    let body = [
        vec![3; 34],
        vector(1, &[9; 32]),
        vector(2, &[0x13, 1, 0x13, 2]),
        vector(1, &[0]),
        vector(2, &extensions),
    ];
    let message = [vec![1], vector(3, &body.concat())].concat();
    let pieces = message.chunks(message.len().div_ceil(records));
    pieces.flat_map(|piece| [vec![22, 3, 1], vector(2, piece)].concat()).collect()
}

#[test]
fn names_are_found_wherever_a_message_is_cut() {
    const NAMES: [(&str, bool); 5] = [
        ("www.example.org", false),
        ("ads.example", true),
        ("a.b.Ads.Example", true),
        ("notads.example", false),
        ("cdn.malware.test", true),
    ];
    let mut flows = Vec::new();
    let mut draw = Draw(4);
    let mut expected = BTreeMap::<Vec<u8>, usize>::new();
    for number in 0..500_u16 {
        let (subnet, host) = ((number / 100) as u8, (number % 100 + 1) as u8);
        let [client, server] = ends(subnet, host, [30_000 + number, 443]);
        let (name, is_blocked) = NAMES[draw.below(5) as usize];
        *expected.entry(name.as_bytes().to_vec()).or_default() += 1;
        let bytes = hello(name, draw.below(900) as usize, 1 + draw.below(2) as usize);
        // The name is whole four bytes before the end.
        let (cut, whole) = (draw.below(bytes.len() as u64 + 1) as usize, bytes.len() - 4);
        let (one, two) = bytes.split_at(cut);
        let first = u32::MAX - 300;
        let seq = |at: usize| first.wrapping_add(1 + at as u32);
        let data = |at, bytes| tcp(client, server, &segment(ACK, seq(at), 901, bytes));
        let known = if is_blocked { "blocked-name" } else { "transmit" };
        let first_one = if cut >= whole { known } else { "transmit" };
        let mut flow = Vec::new();
        let mut add = |frame, outcome| flow.push((frame, outcome));
        add(tcp(client, server, &segment(SYN, first, 0, b"")), "transmit");
        let answer = segment(SYN | ACK, 900, first.wrapping_add(1), b"");
        add(tcp(server, client, &answer), "transmit");
        add(data(0, b""), "transmit");
        if draw.below(3) == 0 && (1..whole).contains(&cut) {
            add(data(cut, two), "too-early");
        }
        add(data(0, one), first_one);
        if draw.below(3) == 0 {
            add(data(0, one), first_one);
        }
        add(data(cut, two), known);
        for _ in 0..3 {
            let answer = segment(ACK, 901, seq(bytes.len()), b"server hello");
            add(tcp(server, client, &answer), known);
            add(data(bytes.len(), b"\x17more"), known);
        }
        let quic = udp(client, server, &bytes);
        add(quic, "transmit");
        flows.push(flow);
    }
    let mut traffic = Traffic::default();
    traffic.together(flows);
    let files = [("Blocked", "name\nads.example\nMALWARE.test.\n".to_owned())];
    let left = Case::new("sni-filter", &files, traffic).recorded().holds();
    let mut told = BTreeMap::new();
    for record in &left.records {
        let name = &record[&(0, 460)];
        let event = if NAMES.iter().any(|(of, is)| of.as_bytes() == name && *is) { 3 } else { 1 };
        assert_eq!(record[&(0, 233)], [event], "{record:?}");
        *told.entry(name.clone()).or_default() += 1;
    }
    assert_eq!(told, expected);
    assert_eq!(resets(&left) as u64, 2 * left.outcomes["blocked-name"]);
}

const MICROSECOND: u64 = 1_000;

/// One of the connections that are measured: how far its ends are, in microseconds.
struct Measured {
    ends: [SocketAddr; 2],
    begin: u64,
    to_server: u32,
    to_client: u32,
}

impl Measured {
    fn new(number: u16, draw: &mut Draw) -> Self {
        let ends = ends((number / 100) as u8, (number % 100 + 1) as u8, [40_000 + number, 443]);
        let (to_server, to_client) = (draw.below(20_000) as u32 + 5, draw.below(300) as u32 + 5);
        Self { ends, begin: u64::from(number) * 700 + 1, to_server, to_client }
    }

    /// A segment so many microseconds after the beginning.
    fn send(&self, at: u32, from: usize, of: &TcpSegment<'_>, to: &mut Traffic) {
        let frame = tcp(self.ends[from], self.ends[1 - from], of);
        to.at((self.begin + u64::from(at)) * MICROSECOND, frame, "transmit");
    }

    /// The handshake, whose SYN may be repeated, and some questions with stamps.
    fn speak(&self, is_repeated: bool, questions: u32, to: &mut Traffic) {
        let (there, back) = (self.to_server, self.to_client);
        self.send(0, 0, &segment(SYN, 100, 0, b""), to);
        if is_repeated {
            self.send(3, 0, &segment(SYN, 100, 0, b""), to);
        }
        self.send(there, 1, &segment(SYN | ACK, 500, 101, b""), to);
        self.send(there + back, 0, &segment(ACK, 101, 501, b""), to);
        for number in 0..questions {
            let at = (1 + number) * (there + back + 100);
            let stamps = |value: u32, echo: u32| {
                let (value, echo) = (value.to_be_bytes(), echo.to_be_bytes());
                [&[1, 1, 8, 10], &value[..], &echo].concat()
            };
            let (asked, answered) = (7 + number, 9_000_000 + number);
            let options = stamps(asked, answered - 1);
            let question = TcpSegment { options: &options, ..segment(ACK, 101, 501, b"question") };
            self.send(at, 0, &question, to);
            let options = stamps(answered, asked);
            let answer = TcpSegment { options: &options, ..segment(ACK, 501, 109, b"answer") };
            // Farther each time, by a microsecond.
            self.send(at + there + number, 1, &answer, to);
            let options = stamps(asked, answered);
            let last = TcpSegment { options: &options, ..segment(ACK, 109, 507, b"") };
            self.send(at + there + number + back, 0, &last, to);
        }
    }
}

/// What a record tells of the way to the server, and of the one to the client: the mean, the least
/// and the greatest time.
fn times(record: &Values) -> [Option<[u32; 3]>; 2] {
    [0, 29305].map(|enterprise| {
        let number = |id| {
            let value = record.get(&(enterprise, id))?;
            Some(u32::from_be_bytes(value[..].try_into().expect("four bytes")))
        };
        Some([number(530)?, number(531)?, number(532)?])
    })
}

#[test]
fn round_trips_are_measured_each_way() {
    const QUESTIONS: u32 = 13;
    let mut traffic = Traffic::default();
    let mut draw = Draw(6);
    let (mut handshakes, mut by_stamps) = (Vec::new(), Vec::new());
    let mut classes = [[0; 32]; 2];
    let class = |time: u32| (32 - time.leading_zeros()).min(31) as usize;
    for number in 0..400 {
        let one = Measured::new(number, &mut draw);
        let is_repeated = number % 5 == 0;
        one.speak(is_repeated, QUESTIONS, &mut traffic);
        let (there, back) = (one.to_server, one.to_client);
        let once = |time: u32| Some([time; 3]);
        handshakes.push([once(there).filter(|_| !is_repeated), once(back)]);
        let most = QUESTIONS - 1;
        by_stamps.push([Some([there + most / 2, there, there + most]), once(back)]);
        if !is_repeated {
            classes[0][class(there)] += 1;
        }
        classes[0][class(back)] += 1;
        for more in 0..QUESTIONS {
            classes[1][class(there + more)] += 1;
            classes[1][class(back)] += 1;
        }
    }
    let left = Case::new("rtt-meter", &[], traffic).recorded().holds();
    for (name, mut expected) in [("handshake", handshakes), ("time stamps", by_stamps)] {
        let of_kind = left.records.iter().filter(|it| it[&(0, 335)] == name.as_bytes());
        let mut told: Vec<_> = of_kind.map(times).collect();
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected, "{name}");
    }
    for (name, expected) in [("of_handshakes", classes[0]), ("by_stamps", classes[1])] {
        // Those that are 0 are left out.
        let told = left.state["states"]["Times"][name]["values"].as_array().expect("a list");
        let mut counts = [0; 32];
        for class in told {
            let index = class["index"].as_u64().expect("an index") as usize;
            counts[index] = class["value"].as_u64().expect("a count");
        }
        assert_eq!(counts, expected, "{name}");
    }
}

#[test]
fn parcels_are_followed_from_depot_to_depot_in_sixty_lines() {
    let source = include_str!("../programs/parcels/src/main.rs");
    assert!(source.lines().count() <= 60, "{} lines", source.lines().count());
    let (mut traffic, mut draw) = (Traffic::default(), Draw(60));
    let mut seen = BTreeMap::new();
    let mut ways = BTreeMap::new();
    for number in 0..5_000_u64 {
        let (parcel, depot) = (draw.below(400), draw.below(6) as u16);
        let ms = number * 20;
        let scan = [&parcel.to_le_bytes()[..], &depot.to_le_bytes()].concat();
        let scanner = SocketAddr::from(([10, 0, 0, depot as u8 + 1], 5_000));
        let node = SocketAddr::from(([10, 0, 1, 1], 7_000));
        traffic.at(ms * 1_000_000, udp(scanner, node, &scan), "done");
        let (before, since) = seen.insert(parcel, (depot, ms)).unwrap_or((depot, ms));
        if before == depot {
            seen.insert(parcel, (depot, since));
            continue;
        }
        traffic.expect("done");
        let way: &mut (u64, u64) =
            ways.entry(u32::from(before) << 16 | u32::from(depot)).or_default();
        *way = (way.0 + 1, way.1 + ms - since);
    }
    let same = |left: &Left, expected: &Left, of: &str| {
        assert_eq!(left.outcomes, expected.outcomes, "{of}");
        assert_eq!(left.state, expected.state, "{of}");
        assert_eq!(left.frames.len(), expected.frames.len(), "{of}: an answer for each leg");
    };
    let left = Case::new("parcels", &[], traffic).holds_by(&same);
    let told = left.state["states"]["Way"].as_array().expect("ways");
    assert_eq!(told.len(), ways.len(), "each way");
    let legs: u64 = ways.values().map(|(legs, _)| legs).sum();
    assert_eq!(left.frames.len() as u64, legs);
}
