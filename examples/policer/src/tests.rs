//! The policer, packet by packet.

use super::*;

const SECOND: u64 = 1_000_000_000;

/// An Ethernet frame of 1000 bytes from this host, with nothing in it.
fn frame(host: u8) -> Vec<u8> {
    const NO_NEXT_HEADER: u8 = 59;
    cora::testing::ipv4([10, 0, 0, host], [10, 9, 9, 9], 64, NO_NEXT_HEADER, &[0; 966])
}

struct Bench {
    buckets: cora::testing::TestTable<Bucket>,
    rates: Rates,
}

impl Bench {
    fn new(rates: &str) -> Self {
        Self { buckets: cora::testing::table(), rates: Rates::configure(rates).unwrap() }
    }

    /// The verdict on a frame of 1000 bytes at a time (ns).
    fn send(&mut self, host: u8, now: u64) -> Verdict {
        let mut frame = frame(host);
        let mut packet = Packet::new(&mut frame, Meta { now, time: now, ..Meta::default() });
        police(&mut packet, &mut self.buckets, &self.rates)
    }
}

#[test]
fn a_burst_passes_and_then_the_rate() {
    // A packet a millisecond, and three at once.
    let mut bench = Bench::new("rate 0.0.0.0/0 8000 3000");
    let verdicts = [0; 4].map(|_| bench.send(1, SECOND));
    assert_eq!(verdicts, [Transmit, Transmit, Transmit, Drop(OVER_RATE)]);
    assert_eq!(bench.send(2, SECOND), Transmit, "another source has a bucket of its own");
    assert_eq!(bench.send(1, SECOND + 999_999), Drop(OVER_RATE), "a nanosecond too early");
    assert_eq!(bench.send(1, SECOND + 1_000_000), Transmit);
    let passed = (2..10_000).filter(|n| bench.send(1, SECOND + n * 500_000) == Transmit).count();
    assert_eq!(passed, 4_998, "every other one, once the bucket is empty");
}

#[test]
fn the_first_prefix_that_matches_counts() {
    let rates =
        Rates::configure("rate 10.0.0.7/32 1 1\n# others\nrate 10.0.0.0/8 8 1500\n").unwrap();
    let burst = |host: [u8; 4]| rates.of(&SourceAddress(Address::v4(host))).map(|it| it.burst_ps);
    assert_eq!(burst([10, 0, 0, 7]), Some(8_000_000_000));
    assert_eq!(burst([10, 0, 0, 8]), Some(1_500_000_000_000));
    assert_eq!(burst([11, 0, 0, 7]), None);
    let mut bench = Bench { buckets: cora::testing::table(), rates };
    assert_eq!(bench.send(7, 0), Drop(OVER_RATE), "larger than the bucket");
    assert_eq!(bench.send(8, 0), Transmit);
    assert_eq!(bench.send(8, 0), Drop(OVER_RATE));
}

#[test]
fn what_has_no_source_is_not_held_to_anything() {
    let mut bench = Bench::new("rate 0.0.0.0/0 1 1\nrate ::/0 1 1");
    let mut damaged = frame(1);
    damaged[24] ^= 1;
    for kind in [[0x88, 0xcc], [0x88, 0x64], [0x88, 0x47], [0x88, 0x8e], [0, 38]] {
        let mut frame = frame(1);
        frame[12..14].copy_from_slice(&kind);
        let mut packet = Packet::new(&mut frame, Meta::default());
        assert_eq!(police(&mut packet, &mut bench.buckets, &bench.rates), Transmit, "{kind:x?}");
    }
    let mut packet = Packet::new(&mut damaged, Meta::default());
    assert_eq!(police(&mut packet, &mut bench.buckets, &bench.rates), Transmit);
    assert_eq!(bench.send(1, SECOND), Drop(OVER_RATE));
}

#[test]
fn faults_are_told() {
    for (text, fault) in [
        ("rate 10.0.0.0/8", "a line is"),
        ("rate 10.0.0.0 1 1", "a prefix is `ADDRESS/LENGTH`"),
        ("rate 10.0.0.0/33 1 1", "longer than its address"),
        ("rate ten/8 1 1", "not an IP address"),
        ("rate ::/0 0 1", "a rate is from"),
        ("rate ::/0 1 99999999999999", "a rate is from"),
        ("rate ::/0 -1 1", "whole numbers"),
    ] {
        let told = Rates::configure(text).map(|_| ()).unwrap_err();
        assert!(told.contains(fault), "{text}: {told}");
    }
    let many = "rate ::/0 1 1\n".repeat(17);
    assert_eq!(Rates::configure(&many).map(|_| ()), Err("more than 16 rates"));
}
