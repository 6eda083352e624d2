//! Packets that open a connection, that answer to one, and that nobody may forward.

use super::*;

const A: [u8; 4] = [10, 0, 0, 2];
const B: [u8; 4] = [198, 51, 100, 7];

struct Bench {
    connections: cora::testing::TestTable<Connection>,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        Self { connections: cora::testing::table(), now: 1 }
    }

    fn send(&mut self, port: Port, mut frame: Vec<u8>) -> Verdict {
        cora::testing::at(&mut self.connections, self.now);
        let meta = Meta { now: self.now, time: self.now, port, ..Meta::default() };
        firewall(&mut Packet::new(&mut frame, meta), &mut self.connections)
    }

    /// From inside, and whether it left an entry.
    fn opens(&mut self, frame: Vec<u8>) -> (Verdict, bool) {
        let flow = Packet::new(&mut frame.clone(), Meta::default()).five_tuple();
        let verdict = self.send(Port::INSIDE, frame);
        (verdict, flow.is_ok_and(|flow| self.connections.contains(&flow)))
    }
}

fn segment(from: [u8; 4], to: [u8; 4], ports: [u16; 2], flags: u8) -> Vec<u8> {
    let segment = TcpSegment { flags: TcpFlags(flags), ..TcpSegment::default() };
    cora::testing::tcp((from, ports[0]), (to, ports[1]), &segment)
}

fn echo(from: [u8; 4], to: [u8; 4], kind: u8) -> Vec<u8> {
    cora::testing::ipv4(from, to, 64, protocol::ICMP, &[kind, 0, 0, 0, 0, 7, 0, 1])
}

#[test]
fn of_tcp_a_syn_alone_opens() {
    let mut bench = Bench::new();
    for flags in (0..=255_u8).filter(|flags| flags & 0x17 != 2) {
        let opened = bench.opens(segment(A, B, [1000, 80], flags));
        assert_eq!(opened, (Drop(BadTcpState), false), "{flags:#x}");
    }
    assert_eq!(bench.opens(segment(A, B, [1000, 80], 2)), (Transmit, true));
    assert_eq!(bench.send(Port::OUTSIDE, segment(B, A, [80, 1000], 0x12)), Transmit);
    assert_eq!(bench.send(Port::OUTSIDE, segment(B, A, [81, 1000], 2)), Drop(NotAllowed));
}

#[test]
fn of_icmp_a_question_opens_and_an_answer_comes_back() {
    let mut bench = Bench::new();
    for kind in [0, 14] {
        assert_eq!(bench.opens(echo(A, B, kind)), (Drop(NotAllowed), false), "{kind}");
    }
    assert_eq!(bench.opens(echo(A, B, 8)), (Transmit, true));
    assert_eq!(bench.send(Port::OUTSIDE, echo(B, A, 8)), Drop(NotAllowed), "no answer");
    assert_eq!(bench.send(Port::INSIDE, echo(A, B, 0)), Drop(NotAllowed), "no question");
    assert_eq!(bench.send(Port::OUTSIDE, echo(B, A, 0)), Transmit);
}

#[test]
fn an_error_belongs_to_a_connection_and_opens_none() {
    let mut bench = Bench::new();
    let sent = cora::testing::udp((A, 1), (B, 2), b"data");
    let about = |quoted: &[u8], kind, from, to| {
        let message = [&[kind, 3, 0, 0, 0, 0, 0, 0], &quoted[14..]].concat();
        cora::testing::ipv4(from, to, 64, protocol::ICMP, &message)
    };
    let answer = cora::testing::udp((B, 2), (A, 1), b"data");
    assert_eq!(bench.opens(about(&answer, 3, A, B)), (Drop(NotAllowed), false));
    assert_eq!(bench.send(Port::OUTSIDE, about(&sent, 3, B, A)), Drop(NotAllowed));
    assert_eq!(bench.opens(sent.clone()), (Transmit, true));
    assert_eq!(bench.send(Port::OUTSIDE, about(&sent, 3, B, A)), Transmit);
    assert_eq!(bench.send(Port::INSIDE, about(&answer, 3, A, B)), Transmit);
}

#[test]
fn an_established_connection_may_be_silent_for_two_hours() {
    let mut bench = Bench::new();
    let (out, back) = ([1000, 80], [80, 1000]);
    for (port, frame) in [
        (Port::INSIDE, segment(A, B, out, 2)),
        (Port::OUTSIDE, segment(B, A, back, 0x12)),
        (Port::INSIDE, segment(A, B, out, 0x10)),
    ] {
        assert_eq!(bench.send(port, frame), Transmit);
    }
    bench.now += 7_439 * 1_000_000_000;
    assert_eq!(bench.send(Port::OUTSIDE, segment(B, A, back, 0x10)), Transmit);
    assert_eq!(bench.send(Port::OUTSIDE, segment(B, A, back, 0x14)), Transmit);
    bench.now += 240 * 1_000_000_000;
    assert_eq!(bench.send(Port::OUTSIDE, segment(B, A, back, 0x10)), Drop(NotAllowed));
}

#[test]
fn what_nobody_may_forward_is_dropped_from_either_side() {
    let mut bench = Bench::new();
    for (from, to, reason) in [
        ([127, 0, 0, 1], B, MartianSource),
        ([224, 0, 0, 5], B, MartianSource),
        (A, [169, 254, 169, 254], MartianDestination),
        (A, A, Land),
    ] {
        for port in [Port::INSIDE, Port::OUTSIDE] {
            let frame = cora::testing::udp((from, 1), (to, 2), b"");
            assert_eq!(bench.send(port, frame), Drop(reason), "{from:?} {to:?}");
        }
    }
}

#[test]
fn what_keeps_the_link_going_passes_and_leaves_nothing() {
    let mut bench = Bench::new();
    let discover = cora::testing::udp(([0; 4], 68), ([255; 4], 67), &[1, 1, 6, 0]);
    assert_eq!(bench.send(Port::INSIDE, discover.clone()), Transmit);
    assert_eq!(bench.send(Port::OUTSIDE, discover), Drop(MartianSource), "a server is outside");
    let offer = cora::testing::udp((B, 67), (A, 68), &[2, 1, 6, 0]);
    assert_eq!(bench.send(Port::OUTSIDE, offer), Transmit);
    let other = cora::testing::udp((B, 67), (A, 69), &[2, 1, 6, 0]);
    assert_eq!(bench.send(Port::OUTSIDE, other), Drop(NotAllowed));
    let report = cora::testing::ipv4(A, [224, 0, 0, 22], 1, 2, &[0x22, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bench.send(Port::INSIDE, report), Transmit);
}
