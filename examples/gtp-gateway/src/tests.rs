//! The gateway, packet by packet.

use std::net::{IpAddr, SocketAddr};

use cora::testing::{TestRows, TestTable, commit, configured, in_room, replica, table};

use super::*;

const SECOND: u64 = 1_000_000_000;

const ROWS: &str = "\
prefix,             gateway,      teid, station,      station_teid, uplink_kbit, downlink_kbit
10.45.0.1,          192.168.0.1,  1,    192.168.0.11, 101,          0,           0
10.45.0.2,          192.168.0.1,  2,    192.168.0.12, 102,          8000,        16000
10.45.0.3,          2001:db8::1,  3,    2001:db8::11, 103,          0,           0
2001:db8:45:4::/64, 192.168.0.1,  4,    192.168.0.11, 104,          0,           0
";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A datagram of 100 bytes of IPv4, or 120 of IPv6.
fn datagram(from: &str, to: &str) -> Vec<u8> {
    let ends: [SocketAddr; 2] = [(ip(from), 5_000).into(), (ip(to), 443).into()];
    let mut frame = cora::testing::udp(ends[0], ends[1], &[7; 72]);
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa]);
    frame
}

/// The packet as a station sends it.
fn tunnelled(frame: &[u8], teid: u32, station: &str, gateway: &str) -> Vec<u8> {
    let mut frame = frame.to_vec();
    in_room(&mut frame, Meta::default(), |packet| {
        let outer = Outer {
            mac_source: packet.mac_source().unwrap(),
            mac_destination: packet.mac_destination().unwrap(),
            source: ip(station).into(),
            destination: ip(gateway).into(),
            source_port: GTP_PORT,
            ..Outer::default()
        };
        packet.encapsulate(&outer, Encapsulation::GtpU { tunnel: teid }).unwrap();
    });
    frame
}

struct Bench {
    bearers: TestRows<Bearer>,
    usages: TestTable<Usage>,
    totals: Totals,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        Self { bearers: configured(ROWS), usages: table(), totals: replica(), now: SECOND }
    }

    /// The verdict on a frame, and the frame afterwards.
    fn handle(&mut self, frame: &[u8], port: Port) -> (Verdict, Vec<u8>) {
        let mut frame = frame.to_vec();
        let meta = Meta { port, now: self.now, ..Meta::default() };
        let Self { bearers, usages, totals, .. } = self;
        let verdict = in_room(&mut frame, meta, |packet| gateway(packet, bearers, usages, totals));
        commit(totals);
        (verdict, frame)
    }

    fn up(&mut self, frame: &[u8]) -> Verdict {
        self.handle(frame, Port::INSIDE).0
    }

    fn down(&mut self, frame: &[u8]) -> Verdict {
        self.handle(frame, Port::OUTSIDE).0
    }

    fn usage(&mut self, address: &str) -> Option<[Way; 2]> {
        let usage = self.usages.get(&Subscriber { address: ip(address).into() })?;
        Some([usage.uplink, usage.downlink])
    }
}

#[test]
fn a_subscribers_packet_leaves_without_its_tunnel() {
    let mut bench = Bench::new();
    let inner = datagram("10.45.0.1", "198.51.100.7");
    let (verdict, frame) =
        bench.handle(&tunnelled(&inner, 1, "192.168.0.11", "192.168.0.1"), Port::INSIDE);
    assert_eq!((verdict, frame), (Transmit, inner));
    let [uplink, downlink] = bench.usage("10.45.0.1").unwrap();
    assert_eq!((uplink.packets, uplink.bytes, downlink), (1, 100, Way::NOTHING));
    assert_eq!(bench.totals.uplink_bytes.value(), 100);
}

#[test]
fn a_packet_to_a_subscriber_leaves_in_the_tunnel_to_its_station() {
    let mut bench = Bench::new();
    let inner = datagram("198.51.100.7", "10.45.0.1");
    let (verdict, mut frame) = bench.handle(&inner, Port::OUTSIDE);
    assert_eq!(verdict, Transmit);
    assert_eq!(frame[..12], inner[..12], "between the same routers");
    // Ports, length, no checksum; version 1 and user data, length, tunnel.
    assert_eq!(frame[34..42], [8, 104, 8, 104, 0, 116, 0, 0]);
    assert_eq!(frame[42..50], [0x30, 255, 0, 100, 0, 0, 0, 101]);
    assert_eq!(frame[50..], inner[14..]);
    let packet = Packet::new(&mut frame, Meta::default());
    let ends = (packet.source(), packet.destination());
    assert_eq!(ends, (Ok(Address::v4([192, 168, 0, 1])), Ok(Address::v4([192, 168, 0, 11]))));
    assert!(checksum::verify(&packet));
    let [uplink, downlink] = bench.usage("10.45.0.1").unwrap();
    assert_eq!((uplink, downlink.packets, downlink.bytes), (Way::NOTHING, 1, 100));
}

#[test]
fn tunnels_go_over_ipv6_and_carry_it() {
    let mut bench = Bench::new();
    let (verdict, mut frame) = bench.handle(&datagram("198.51.100.7", "10.45.0.3"), Port::OUTSIDE);
    let packet = Packet::new(&mut frame, Meta::default());
    assert_eq!((verdict, packet.destination()), (Transmit, Ok(ip("2001:db8::11").into())));
    assert!(checksum::verify(&packet));
    let back = tunnelled(&datagram("10.45.0.3", "1.1.1.1"), 3, "2001:db8::11", "2001:db8::1");
    assert_eq!(bench.up(&back), Transmit);
    // Any address of the subscriber's /64.
    for host in ["2001:db8:45:4::1", "2001:db8:45:4:1:2:3:4"] {
        let inner = datagram(host, "2001:db8:ffff::1");
        assert_eq!(bench.up(&tunnelled(&inner, 4, "192.168.0.11", "192.168.0.1")), Transmit);
    }
    let (verdict, frame) =
        bench.handle(&datagram("2001:db8:ffff::1", "2001:db8:45:4::9"), Port::OUTSIDE);
    assert_eq!((verdict, &frame[42..50]), (Transmit, &[0x30, 255, 0, 120, 0, 0, 0, 104][..]));
    let [uplink, downlink] = bench.usage("2001:db8:45:4::").unwrap();
    assert_eq!((uplink.packets, uplink.bytes, downlink.packets), (2, 240, 1));
}

#[test]
fn a_subscriber_sends_from_its_own_address_in_its_own_tunnel() {
    let mut bench = Bench::new();
    let own = datagram("10.45.0.1", "198.51.100.7");
    let mut from =
        |frame: &[u8], teid, station, gateway| bench.up(&tunnelled(frame, teid, station, gateway));
    assert_eq!(from(&own, 2, "192.168.0.11", "192.168.0.1"), Drop(OTHER_TUNNEL));
    assert_eq!(from(&own, 1, "192.168.0.12", "192.168.0.1"), Drop(OTHER_TUNNEL));
    assert_eq!(from(&own, 1, "192.168.0.11", "192.168.0.2"), Drop(OTHER_TUNNEL));
    let forged = datagram("10.45.0.2", "198.51.100.7");
    assert_eq!(from(&forged, 1, "192.168.0.11", "192.168.0.1"), Drop(OTHER_TUNNEL));
    let strange = datagram("10.45.0.9", "198.51.100.7");
    assert_eq!(from(&strange, 1, "192.168.0.11", "192.168.0.1"), Drop(NO_BEARER));
    let martian = datagram("10.45.0.1", "127.0.0.1");
    assert_eq!(from(&martian, 1, "192.168.0.11", "192.168.0.1"), Drop(MartianDestination));
    assert_eq!(bench.up(&own), Drop(NotTunnelled));
    assert_eq!(bench.down(&datagram("198.51.100.7", "10.45.0.9")), Drop(NO_BEARER));
    // The tunnel's address is no way around: this is no subscriber's.
    let outside = tunnelled(&own, 1, "192.168.0.11", "192.168.0.1");
    assert_eq!(bench.down(&outside), Drop(NO_BEARER));
    assert_eq!(bench.usage("10.45.0.1"), None);
}

#[test]
fn another_protocols_number_is_no_tunnel_of_the_bearer() {
    let mut bench = Bench::new();
    let mut frame = datagram("10.45.0.1", "198.51.100.7");
    let outer = Outer {
        source: Address::v4([192, 168, 0, 11]),
        destination: Address::v4([192, 168, 0, 1]),
        ..Outer::default()
    };
    in_room(&mut frame, Meta::default(), |packet| {
        packet.encapsulate(&outer, Encapsulation::Gre { key: Some(1) }).unwrap();
    });
    assert_eq!(bench.up(&frame), Drop(OTHER_TUNNEL));
}

#[test]
fn each_way_has_its_rate() {
    let mut bench = Bench::new();
    // 8 Mbit/s are 100 bytes in 100 µs: 50 ms of them and one more, and then one each 100 µs.
    let up = tunnelled(&datagram("10.45.0.2", "1.1.1.1"), 2, "192.168.0.12", "192.168.0.1");
    let down = datagram("1.1.1.1", "10.45.0.2");
    let passed = (0..2_000).filter(|_| bench.up(&up) == Transmit).count();
    assert_eq!(passed, 501);
    assert_eq!(bench.up(&up), Drop(OVER_RATE));
    let passed = (0..2_000).filter(|_| bench.down(&down) == Transmit).count();
    assert_eq!(passed, 1_001, "at twice the rate");
    bench.now += 100_000;
    assert_eq!([bench.up(&up), bench.up(&up)], [Transmit, Drop(OVER_RATE)]);
    let [uplink, downlink] = bench.usage("10.45.0.2").unwrap();
    assert_eq!((uplink.packets, uplink.bytes, uplink.over_rate), (502, 50_200, 1_501));
    assert_eq!((downlink.packets, downlink.over_rate), (1_001, 999));
}

#[test]
fn echo_requests_are_answered() {
    for ends in [["192.168.0.11", "192.168.0.1"], ["2001:db8::11", "2001:db8::1"]] {
        let mut bench = Bench::new();
        let [station, gateway]: [SocketAddr; 2] = ends.map(|text| (ip(text), GTP_PORT).into());
        let request = [0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0];
        let frame = cora::testing::udp(station, gateway, &request);
        let (verdict, mut frame) = bench.handle(&frame, Port::INSIDE);
        assert_eq!(verdict, Redirect(Port::INSIDE));
        let packet = Packet::new(&mut frame, Meta::default());
        assert_eq!(packet.payload(), [0x32, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 0]);
        assert_eq!(packet.destination(), Ok(ip(ends[0]).into()));
        assert!(checksum::verify(&packet));
        assert_eq!(bench.totals.echoes.value(), 1);
        // Other messages are no user data, and neither is a request without its sequence number.
        for kind in [2, 26, 31, 254] {
            let mut other = request;
            other[1] = kind;
            let frame = cora::testing::udp(station, gateway, &other);
            assert_eq!(bench.up(&frame), Drop(NotTunnelled), "{kind}");
        }
        let mut without = request;
        without[0] = 0x30;
        let frame = cora::testing::udp(station, gateway, &without);
        assert_eq!(bench.up(&frame), Drop(NotTunnelled));
        let frame = cora::testing::udp(station, gateway, &request[..8]);
        assert_eq!(bench.up(&frame), Drop(NotTunnelled));
    }
}

#[test]
fn fragments_within_the_tunnel_pass_and_those_of_it_are_dropped() {
    let mut bench = Bench::new();
    let later = |from, to| {
        let mut frame = cora::testing::ipv4(from, to, 64, protocol::UDP, &[0; 40]);
        frame[20..22].copy_from_slice(&[0, 9]);
        let sum = checksum::internet(&[&frame[14..24], &[0, 0], &frame[26..34]].concat());
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    };
    let up = later([10, 45, 0, 1], [1, 1, 1, 1]);
    assert_eq!(bench.up(&tunnelled(&up, 1, "192.168.0.11", "192.168.0.1")), Transmit);
    assert_eq!(bench.down(&later([1, 1, 1, 1], [10, 45, 0, 1])), Transmit);
    let outer = later([192, 168, 0, 11], [192, 168, 0, 1]);
    assert_eq!(bench.up(&outer), Drop(reasons::Fragment));
}

#[test]
fn damaged_packets_are_dropped_by_name() {
    let mut bench = Bench::new();
    let frame = tunnelled(&datagram("10.45.0.1", "198.51.100.7"), 1, "192.168.0.11", "192.168.0.1");
    for length in 14..frame.len() {
        assert_eq!(bench.up(&frame[..length]), Drop(Truncated), "{length}");
    }
    let mut changed = |at: usize, to: u8| {
        let mut frame = frame.clone();
        frame[at] = to;
        bench.up(&frame)
    };
    assert_eq!(changed(41, 1), Drop(BadChecksum), "of the tunnel");
    assert_eq!(changed(50, 0x75), Drop(NotIp), "neither version within");
    assert_eq!(changed(60, 0xff), Drop(BadIpChecksum), "of the packet within");
    assert_eq!(changed(45, 200), Drop(Truncated), "longer than the datagram");
    assert_eq!(changed(45, 10), Drop(Truncated), "shorter than a header");
    assert_eq!(changed(42, 0x50), Drop(NotTunnelled), "version 2");
    assert_eq!(bench.usage("10.45.0.1"), None);
    // Whatever bytes come, none of them is a panic.
    let mut random = 1_u32;
    for round in 0..20_000 {
        let mut frame = frame.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = 14 + (random >> 16) as usize % (frame.len() - 14);
            frame[at] = (random >> 8) as u8;
        }
        frame.truncate(frame.len() - round % 90);
        let _any = (bench.up(&frame), bench.down(&frame));
    }
}

#[test]
fn control_of_the_link_passes() {
    let mut bench = Bench::new();
    let mut arp = vec![0xff; 60];
    arp[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    assert_eq!([bench.up(&arp), bench.down(&arp)], [Transmit; 2]);
}
