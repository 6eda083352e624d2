//! Readings that pass, and those that end here.

use cora::testing::{TestTable, at, commit, replica, table};

use super::*;

struct Bench {
    rule: Rule,
    sensors: TestTable<Sensor>,
    counts: Counts,
    now: u64,
}

impl Bench {
    fn new(rule: &str) -> Self {
        let rule = Rule::configure(rule).unwrap();
        Self { rule, sensors: table(), counts: replica(), now: SECOND }
    }

    fn read(&mut self, sensor: u32, value: i32) -> Verdict {
        at(&mut self.sensors, self.now);
        let contents = [sensor.to_le_bytes(), value.to_le_bytes()].concat();
        let mut frame =
            cora::testing::udp(([10, 0, 0, 1], 5_000), ([10, 77, 0, 2], 7_000), &contents);
        let meta = Meta { now: self.now, time: self.now, ..Meta::default() };
        let packet = Packet::new(&mut frame, meta);
        let reading = cora::datagram::read(packet.payload()).unwrap();
        let envelope = Envelope::of(&packet);
        let verdict = filter(reading, &envelope, &self.rule, &mut self.sensors, &mut self.counts);
        commit(&mut self.counts);
        verdict
    }

    /// The values that pass, of readings that come within a second.
    fn passed(&mut self, values: &[i32]) -> Vec<i32> {
        values.iter().copied().filter(|value| self.read(7, *value) == Pass).collect()
    }
}

#[test]
fn the_first_reading_passes_and_the_same_again_does_not() {
    let mut bench = Bench::new("change 0");
    assert_eq!(bench.read(1, 20), Pass);
    assert_eq!(bench.read(1, 20), Done);
    assert_eq!(bench.read(2, 20), Pass, "another sensor");
    assert_eq!(bench.read(1, 21), Pass);
}

#[test]
fn a_reading_passes_that_crosses_the_threshold() {
    let mut bench = Bench::new("threshold 30");
    assert_eq!(bench.passed(&[20, 29, 30, 31, 99, 30, 29, -5, 30]), [20, 30, 29, 30]);
}

#[test]
fn a_reading_passes_that_differs_by_more_than_the_change_from_the_last_that_passed() {
    let mut bench = Bench::new("threshold 1000\nchange 5");
    assert_eq!(bench.passed(&[20, 25, 15, 26, 30, 31, 32, 20]), [20, 26, 32, 20]);
    let mut bench = Bench::new("threshold -2147483648\nchange 4294967294");
    assert_eq!(
        bench.passed(&[i32::MIN, i32::MAX, i32::MAX - 1, i32::MIN]),
        [i32::MIN, i32::MAX, i32::MIN]
    );
}

#[test]
fn a_reading_passes_after_a_silence_of_the_filter_or_of_the_sensor() {
    let mut bench = Bench::new("threshold 1000\nsilence 10");
    assert_eq!(bench.read(1, 20), Pass);
    let mut passed = Vec::new();
    for second in 1..=25 {
        bench.now += SECOND;
        passed.extend((bench.read(1, 20) == Pass).then_some(second));
    }
    assert_eq!(passed, [10, 20]);
    bench.now += 2 * 3_600 * SECOND;
    assert_eq!(bench.read(1, 20), Pass, "its entry is gone, too");
    assert_eq!(bench.read(1, 20), Done);
}

#[test]
fn the_sensors_with_the_most_readings_are_listed() {
    let mut bench = Bench::new("change 0");
    for sensor in 0..40 {
        for _ in 0..=sensor {
            let _verdict = bench.read(sensor, 20);
        }
    }
    let listed: Vec<(u32, u64)> = bench.counts.busiest.iter().collect();
    let expected: Vec<(u32, u64)> = (24..40).rev().map(|sensor| (sensor, sensor.into())).collect();
    let expected: Vec<(u32, u64)> =
        expected.into_iter().map(|(sensor, before)| (sensor, before + 1)).collect();
    assert_eq!(listed, expected);
    assert_eq!(bench.counts.readings.value(), 820);
    assert_eq!(bench.counts.passed.value(), 40);
}

#[test]
fn sensors_without_room_pass_all_their_readings() {
    let mut bench = Bench::new("change 0");
    for sensor in 0..65_536 {
        assert_eq!(bench.read(sensor, 20), Pass);
    }
    assert_eq!([bench.read(65_536, 20), bench.read(65_536, 20)], [Pass, Pass]);
    assert_eq!(bench.read(1, 20), Done);
}

#[test]
fn rules_are_read() {
    let rule = Rule::configure(" threshold -300 \n\nchange 50\nsilence 5\n").unwrap();
    assert_eq!((rule.threshold, rule.change, rule.silence), (-300, 50, 5));
    for wrong in
        ["threshold", "threshold 3000000000", "change -1", "silence 0", "silence 3601", "x 1"]
    {
        assert!(Rule::configure(wrong).is_err(), "{wrong}");
    }
}
