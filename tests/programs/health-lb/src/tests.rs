//! Backends and their health, packet by packet.

use cora::testing::{self, TestRows, TestTable};

use super::*;

const SECOND: u64 = 1_000_000_000;
const CLIENT: ([u8; 4], u16) = ([198, 51, 100, 7], 5_000);
const SERVICE: ([u8; 4], u16) = ([192, 0, 2, 80], 443);

struct Bench {
    sessions: TestTable<Session>,
    health: Health,
    backends: TestRows<Backend>,
    service: Service,
    now: u64,
}

/// Rows of so many backends with this mode: 10.1.0.1 and so on.
fn rows(count: u8, mode: &str) -> String {
    let row =
        |number| format!("{number}, 10.1.0.{}, 02:00:00:00:01:{number:02x}, {mode}\n", number + 1);
    (0..count).fold("number, address, mac, mode\n".to_owned(), |rows, number| rows + &row(number))
}

impl Bench {
    fn new(rows: &str) -> Self {
        let (sessions, backends) = (testing::table(), testing::configured(rows));
        let (health, service) = (Health::default(), Service::default());
        Self { sessions, health, backends, service, now: SECOND / 2 }
    }

    fn handle(&mut self, frame: &mut [u8], port: Port) -> Verdict {
        let packet =
            &mut Packet::new(frame, Meta { time: 0, now: self.now, port, ..Meta::default() });
        testing::at(&mut self.sessions, self.now);
        let Self { sessions, health, backends, service, .. } = self;
        balance(packet, sessions, health, backends, service)
    }

    /// The verdict on the client's segment, and the backend that it went to.
    fn segment(&mut self, flags: TcpFlags, data: &[u8]) -> (Verdict, u8) {
        let segment = TcpSegment { flags, seq: 7, ack: 9, data, ..TcpSegment::default() };
        let mut frame = testing::tcp(CLIENT, SERVICE, &segment);
        let verdict = self.handle(&mut frame, Port::OUTSIDE);
        assert!(checksum::verify(&Packet::new(&mut frame, Meta::default())));
        let backend = frame[33].wrapping_sub(1);
        assert_eq!(frame[..6] == [2, 0, 0, 0, 1, backend], verdict == Transmit);
        (verdict, backend)
    }

    /// Whether the backend's answer leaves as the service's.
    fn answer(&mut self, number: u8, flags: TcpFlags) -> bool {
        let segment = TcpSegment { flags, seq: 8, ack: 8, ..TcpSegment::default() };
        let mut frame = testing::tcp(([10, 1, 0, number + 1], 443), CLIENT, &segment);
        self.handle(&mut frame, Port::INSIDE) == Transmit && frame[26..30] == SERVICE.0
    }

    /// The next tick, and the backends that were probed. Those for which it holds answer.
    fn tick(&mut self, lives: impl Fn(u8) -> bool) -> Vec<u8> {
        self.now = (self.now / SECOND + 1) * SECOND;
        let mut out = testing::outbox();
        let Self { health, backends, service, .. } = self;
        probe(&Tick { at: self.now }, health, backends, service, &mut out);
        let mut probed = Vec::new();
        for (port, mut frame) in testing::sent(&out) {
            assert_eq!(port, Port::INSIDE);
            let number = frame[33] - 1;
            assert_eq!(frame[..12], [2, 0, 0, 0, 1, number, 2, 0, 0, 0, 0, 1]);
            let mut packet = Packet::new(&mut frame, Meta::default());
            assert!(checksum::verify(&packet));
            assert_eq!(packet.icmp_query(), Some(Query::Question));
            packet.turn_back().expect("it may be answered");
            if lives(number) {
                assert_eq!(self.handle(&mut frame, Port::INSIDE), Drop(PROBE_ANSWER));
            }
            probed.push(number);
        }
        probed
    }
}

#[test]
fn more_backends_than_an_outbox_holds_take_turns() {
    let mut bench = Bench::new(&rows(10, "up"));
    for expected in [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 0, 1, 2, 3]] {
        assert_eq!(bench.tick(|_| true), expected);
    }
    assert!(bench.health.checks.iter().all(|it| it.unanswered == 0));
    assert_eq!(bench.health.of(9).probes, 2);
}

#[test]
fn three_probes_without_an_answer_are_a_failure_until_one_is_answered() {
    let mut bench = Bench::new(&rows(2, "up"));
    for _ in 0..3 {
        bench.tick(|number| number == 1);
        assert!(bench.health.is_healthy(0));
    }
    bench.tick(|number| number == 1);
    assert!(!bench.health.is_healthy(0) && bench.health.is_healthy(1));
    assert_eq!(bench.segment(TcpFlags::SYN, b""), (Transmit, 1));
    assert_eq!(bench.health.of(0).failures, 1);
    bench.tick(|_| true);
    assert!(bench.health.is_healthy(0));
}

#[test]
fn an_answer_of_another_time_or_place_says_nothing() {
    let mut bench = Bench::new(&rows(2, "up"));
    bench.tick(|_| false);
    let mut old = echo_request(
        bench.service.address,
        0,
        &Backend { address: Ipv4Addr::new(10, 1, 0, 1), mac: Mac::default(), mode: Mode::Up },
        SECOND,
    );
    Packet::new(&mut old, Meta::default()).turn_back().expect("it may be answered");
    // From a client it is a message to nobody.
    assert_eq!(bench.handle(&mut old.clone(), Port::OUTSIDE), Drop(NO_SESSION));
    let mut of_other = old;
    of_other[29] = 2;
    let sum = checksum::internet(&[&of_other[14..24], &[0; 2], &of_other[26..34]].concat());
    of_other[24..26].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(bench.handle(&mut of_other, Port::INSIDE), Drop(PROBE_ANSWER));
    assert_eq!(bench.health.of(0).unanswered, 1);
    bench.tick(|_| false);
    assert_eq!(bench.handle(&mut old, Port::INSIDE), Drop(PROBE_ANSWER));
    assert_eq!(bench.health.of(0).unanswered, 2);
}

#[test]
fn who_waits_for_a_dead_backend_is_reset_and_goes_elsewhere() {
    let mut bench = Bench::new(&rows(3, "up"));
    let (verdict, first) = bench.segment(TcpFlags::SYN, b"");
    assert_eq!(verdict, Transmit);
    assert!(bench.answer(first, TcpFlags::SYN | TcpFlags::ACK));
    assert_eq!(bench.segment(TcpFlags::ACK, b""), (Transmit, first));
    assert_eq!(bench.segment(TcpFlags::ACK, b"question"), (Transmit, first));
    for _ in 0..4 {
        assert_eq!(
            bench.segment(TcpFlags::ACK, b"question"),
            (Transmit, first),
            "it is healthy yet"
        );
        bench.tick(|number| number != first);
    }
    assert_eq!(bench.health.of(first).sessions, 1);
    // An acknowledgement waits for nothing.
    assert_eq!(bench.segment(TcpFlags::ACK, b""), (Transmit, first));
    assert_eq!(bench.segment(TcpFlags::ACK, b"question").0, Redirect(Port::OUTSIDE));
    assert_eq!(bench.health.of(first).sessions, 0);
    let (verdict, second) = bench.segment(TcpFlags::SYN, b"");
    assert_eq!(verdict, Transmit);
    assert_ne!(first, second);
    assert_eq!(bench.health.of(second).sessions, 1);
}

#[test]
fn modes_decide_who_gets_and_keeps_connections() {
    let mut bench = Bench::new(&rows(1, "up"));
    assert_eq!(bench.segment(TcpFlags::SYN, b""), (Transmit, 0));
    testing::next_version(&mut bench.backends, &rows(1, "drain"));
    assert_eq!(bench.segment(TcpFlags::ACK, b"question"), (Transmit, 0));
    assert_eq!(bench.tick(|_| true), [0]);
    testing::next_version(&mut bench.backends, &rows(1, "down"));
    assert!(bench.tick(|_| true).is_empty());
    assert_eq!(bench.segment(TcpFlags::ACK, b"question").0, Redirect(Port::OUTSIDE));
    assert_eq!(bench.segment(TcpFlags::SYN, b"").0, Drop(NO_BACKEND));
    testing::next_version(&mut bench.backends, &rows(1, "drain"));
    assert_eq!(bench.segment(TcpFlags::SYN, b"").0, Drop(NO_BACKEND));
}

#[test]
fn expired_sessions_are_counted_down() {
    let mut bench = Bench::new(&rows(1, "up"));
    assert_eq!(bench.segment(TcpFlags::SYN, b""), (Transmit, 0));
    assert_eq!(bench.health.of(0).sessions, 1);
    for ended in testing::ended(&mut bench.sessions, 300 * SECOND) {
        close(&ended, &mut bench.health);
    }
    assert_eq!(bench.health.of(0).sessions, 0);
}
