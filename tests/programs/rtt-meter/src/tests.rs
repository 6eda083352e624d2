//! Round trip times, segment by segment.

use cora::testing::{self, TestTable};

use super::*;

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 5_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);
const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;

struct Bench {
    connections: TestTable<Connection>,
    times: Times,
}

impl Bench {
    fn new() -> Self {
        Self { connections: testing::table(), times: testing::replica() }
    }

    /// A segment at so many microseconds.
    fn segment(&mut self, us: u64, from_client: bool, segment: &TcpSegment<'_>) {
        let (from, to) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let mut frame = testing::tcp(from, to, segment);
        let meta = Meta { now: us * 1_000, ..Meta::default() };
        testing::at(&mut self.connections, meta.now);
        let packet = &mut Packet::new(&mut frame, meta);
        assert_eq!(meter(packet, &mut self.connections, &mut self.times), Transmit);
        testing::commit(&mut self.times);
    }

    fn plain(&mut self, us: u64, from_client: bool, flags: TcpFlags, [seq, ack]: [u32; 2]) {
        let segment = TcpSegment { flags, seq, ack, ..TcpSegment::default() };
        self.segment(us, from_client, &segment);
    }

    /// A segment with data and stamps.
    fn stamped(&mut self, us: u64, from_client: bool, data: &[u8], [value, echo]: [u32; 2]) {
        let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        options[4..8].copy_from_slice(&value.to_be_bytes());
        options[8..].copy_from_slice(&echo.to_be_bytes());
        let options = &options;
        let segment = TcpSegment { flags: ACK, options, data, ..TcpSegment::default() };
        self.segment(us, from_client, &segment);
    }

    /// The connection's ways: to the server, and to the client.
    fn ways(&self) -> [Way; 2] {
        self.connections.get(&key()).expect("it is there").ways
    }
}

fn key() -> FiveTuple {
    FiveTuple {
        source: Address::v4(CLIENT.0),
        destination: Address::v4(SERVER.0),
        source_port: CLIENT.1,
        destination_port: SERVER.1,
        protocol: protocol::TCP,
    }
}

fn series(times: &[u32]) -> Series {
    let mut series = Series::default();
    for time in times {
        series.add(*time);
    }
    series
}

#[test]
fn a_handshake_gives_a_time_of_each_way() {
    let mut bench = Bench::new();
    bench.plain(10, true, SYN, [100, 0]);
    bench.plain(40, false, SYN | ACK, [500, 101]);
    bench.plain(47, true, ACK, [101, 501]);
    bench.plain(90, true, ACK, [101, 501]);
    let [there, back] = bench.ways();
    assert_eq!((there.handshake, back.handshake), (series(&[30]), series(&[7])));
    let classes = [2, 3, 4, 5, 6].map(|class| bench.times.of_handshakes.value(class));
    assert_eq!(classes, [0, 1, 0, 1, 0]);
}

#[test]
fn what_is_repeated_gives_none() {
    let mut bench = Bench::new();
    bench.plain(10, true, SYN, [100, 0]);
    bench.plain(20, true, SYN, [100, 0]);
    bench.plain(40, false, SYN | ACK, [500, 101]);
    bench.plain(47, true, ACK, [101, 501]);
    let [there, back] = bench.ways();
    assert_eq!((there.handshake, back.handshake), (series(&[]), series(&[7])));
    let mut bench = Bench::new();
    bench.plain(10, true, SYN, [100, 0]);
    bench.plain(30, false, SYN | ACK, [500, 99]);
    bench.plain(40, false, SYN | ACK, [500, 101]);
    bench.plain(45, false, SYN | ACK, [500, 101]);
    bench.plain(47, true, ACK, [101, 501]);
    let [there, back] = bench.ways();
    assert_eq!((there.handshake, back.handshake), (series(&[30]), series(&[])));
}

#[test]
fn stamps_give_times_of_both_ways() {
    let mut bench = Bench::new();
    bench.stamped(100, true, b"ask", [7, 0]);
    bench.stamped(110, true, b"ask", [7, 0]);
    bench.stamped(150, false, b"", [1_000, 6]);
    bench.stamped(160, false, b"answer", [1_001, 7]);
    bench.stamped(170, false, b"answer", [1_001, 7]);
    bench.stamped(171, true, b"", [8, 1_001]);
    // The stamp has come back before: nothing more is measured by it.
    bench.stamped(180, true, b"ask", [7, 1_001]);
    bench.stamped(190, false, b"", [1_002, 7]);
    // This one's answer was not seen.
    bench.stamped(200, true, b"ask", [9, 1_002]);
    bench.stamped(230, false, b"", [1_003, 10]);
    bench.stamped(300, true, b"ask", [11, 1_003]);
    bench.stamped(340, false, b"", [1_004, 11]);
    let [there, back] = bench.ways();
    assert_eq!(there.by_stamps, series(&[60, 40]));
    assert_eq!(back.by_stamps, series(&[11]));
    assert_eq!([0, 1].map(|way| bench.times.longest.value(way)), [60, 11]);
}

#[test]
fn an_error_about_a_connection_is_no_segment_of_it() {
    let mut bench = Bench::new();
    bench.plain(10, true, SYN, [100, 0]);
    let segment = TcpSegment { flags: SYN, seq: 100, ..TcpSegment::default() };
    let mut frame = testing::tcp(CLIENT, SERVER, &segment);
    let meta = Meta { now: 20_000, ..Meta::default() };
    let verdict = testing::in_room(&mut frame, meta, |packet| {
        packet.turn_to_error(Address::v4(SERVER.0), IcmpError::NoRoute).expect("it may");
        meter(packet, &mut bench.connections, &mut bench.times)
    });
    let connection = bench.connections.get(&key()).expect("it is there");
    // A second SYN would be one.
    assert_eq!((verdict, connection.repeated), (Transmit, false));
}

#[test]
fn another_connection_between_the_same_ends_begins_anew() {
    let mut bench = Bench::new();
    bench.plain(10, true, SYN, [100, 0]);
    bench.plain(40, false, SYN | ACK, [500, 101]);
    bench.plain(47, true, ACK, [101, 501]);
    bench.plain(1_000, true, SYN, [900, 0]);
    bench.plain(1_003, false, SYN | ACK, [700, 901]);
    assert_eq!(bench.ways()[0].handshake, series(&[3]));
}

#[test]
fn records_tell_what_was_measured() {
    let way = |handshake: &[u32], by_stamps: &[u32]| Way {
        handshake: series(handshake),
        by_stamps: series(by_stamps),
        ..Way::default()
    };
    let told = |ways| {
        let connection =
            Connection { stage: Stage::Over, since: 0, awaited: 0, repeated: false, ways };
        testing::records(&connection, &key(), End::Idle)
    };
    let told = told([way(&[30], &[]), way(&[], &[5, 10])]);
    let [of_handshake, by_stamps, ..] = &told[..] else { panic!("{told:?}") };
    assert!(of_handshake.contains(&(SELECTOR_NAME, b"handshake".to_vec())));
    assert!(of_handshake.contains(&(MEAN_DELAY, vec![0, 0, 0, 30])));
    assert!(by_stamps.contains(&(SELECTOR_NAME, b"time stamps".to_vec())));
    for (element, value) in [(MEAN_DELAY, 7), (LEAST_DELAY, 5), (GREATEST_DELAY, 10)] {
        assert!(by_stamps.contains(&(element.reverse(), vec![0, 0, 0, value])), "{by_stamps:?}");
    }
}

#[test]
fn times_fall_into_classes_by_power_of_two() {
    let classes = [0, 1, 2, 3, 4, 1_000, u32::MAX].map(class);
    assert_eq!(classes, [0, 1, 2, 2, 3, 10, 31]);
}
