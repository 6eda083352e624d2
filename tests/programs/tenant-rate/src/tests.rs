//! Tenants, packet by packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cora::testing::{self, TestRows, TestTable};

use super::*;

const SECOND: u64 = 1_000_000_000;
const SERVERS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1)),
];

struct Bench {
    connections: TestTable<Connection>,
    buckets: TestTable<Bucket>,
    rates: TestRows<Rate>,
    now: u64,
}

impl Bench {
    /// The tenant 10.0.1.0/24 gets 8 kbit/s and 300 bytes at once, 10.0.2.0/24 nothing.
    fn new() -> Self {
        let rows = "network, kbit, burst\n10.0.1.0/24, 8, 300\n10.0.2.0/24, 0, 9000\n\
                    2001:db8:0:1::/64, 0, 0\n";
        let (connections, buckets) = (testing::table(), testing::table());
        Self { connections, buckets, rates: testing::configured(rows), now: SECOND }
    }

    /// A datagram between a host inside and a server. Over IPv4 the frame has 100 bytes.
    fn datagram(&mut self, host: impl Into<IpAddr>, port: u16, outward: bool) -> Verdict {
        let host = host.into();
        let server = if host.is_ipv4() { SERVERS[0] } else { SERVERS[1] };
        let ends =
            if outward { [(host, port), (server, 53)] } else { [(server, 53), (host, port)] };
        let mut frame = testing::udp(ends[0], ends[1], &[0; 58]);
        let port = if outward { Port::INSIDE } else { Port::OUTSIDE };
        let packet =
            &mut Packet::new(&mut frame, Meta { time: 0, now: self.now, port, ..Meta::default() });
        testing::at(&mut self.connections, self.now);
        testing::at(&mut self.buckets, self.now);
        testing::on(&mut self.connections, packet);
        testing::on(&mut self.buckets, packet);
        tenant_rate(packet, &mut self.connections, &mut self.buckets, &self.rates)
    }
}

#[test]
fn both_ways_of_all_connections_take_from_one_bucket() {
    let mut bench = Bench::new();
    assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, true), Transmit);
    assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, false), Transmit);
    assert_eq!(bench.datagram([10, 0, 1, 6], 2_000, true), Transmit);
    assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, false), Drop(OVER_RATE));
    assert_eq!(bench.datagram([10, 0, 1, 7], 1_000, true), Drop(OVER_RATE));
    // A byte takes a millisecond.
    bench.now += SECOND / 10;
    assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, false), Transmit);
    assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, false), Drop(OVER_RATE));
}

#[test]
fn each_tenant_has_its_own_rate_or_the_default() {
    let mut bench = Bench::new();
    assert_eq!(bench.datagram([10, 0, 2, 5], 1_000, true), Drop(OVER_RATE));
    for packet in 0..Rate::DEFAULT.burst / 100 {
        assert_eq!(bench.datagram([10, 0, 3, 5], 1_000, true), Transmit, "{packet}");
    }
    assert_eq!(bench.datagram([10, 0, 3, 5], 1_000, true), Drop(OVER_RATE));
    assert_eq!(bench.datagram([10, 0, 4, 5], 1_000, true), Transmit);
    let of_subnet = |subnet| Ipv6Addr::new(0x2001, 0xdb8, 0, subnet, 0, 0, 0, 7);
    assert_eq!(bench.datagram(of_subnet(1), 1_000, true), Drop(OVER_RATE));
    assert_eq!(bench.datagram(of_subnet(2), 1_000, true), Transmit);
}

#[test]
fn what_nobody_asked_for_costs_nothing() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, false), Drop(NotAllowed));
    }
    assert_eq!(bench.datagram([10, 0, 1, 5], 1_000, true), Transmit);
    // A connection that the bucket has no room for is not opened.
    let mut bench = Bench::new();
    assert_eq!(bench.datagram([10, 0, 2, 5], 1_000, true), Drop(OVER_RATE));
    assert_eq!(bench.datagram([10, 0, 2, 5], 1_000, false), Drop(NotAllowed));
}
