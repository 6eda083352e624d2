//! A profile from the counts of a capture.
//!
//! The rate of a flow is its number of packets. Flows with equal numbers are never separated, so
//! the minimum number of packets of its flows identifies a class.
#![expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]

use std::collections::BTreeMap;

use super::Traffic;
use super::class::{Cell, cut, named, nine_digits};

/// Counts of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// By the type of the key, then by the number of packets of a key: the keys with this number.
    pub by_key: BTreeMap<String, BTreeMap<u64, Tally>>,
    /// Times of the capture; `None` if it is no longer than its idle time, because then it doesn't
    /// show how long flows last.
    pub clock: Option<Clock>,
}

/// Times of a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Seconds from its first packet to its last.
    pub seconds: f64,
    /// Seconds after its last packet for which a flow still counts as concurrent.
    pub idle: f64,
}

/// Keys with equal numbers of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Number of different keys.
    pub keys: u64,
    /// Mean number of concurrent ones.
    pub flows: f64,
    /// Openings: first packets, and first packets after an idle time.
    pub opens: u64,
    /// Bytes of all their packets.
    pub bytes: u64,
    /// Bytes that stay at the NIC under header split.
    pub rests: u64,
}

/// A drawn profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The profile.
    pub traffic: Traffic,
    /// By the type of the key: the borders between classes in the capture.
    pub borders: BTreeMap<String, Borders>,
}

/// Borders between the classes of a drawn profile. The packets of a flow in the whole capture, in
/// both directions together, determine its class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Borders(Vec<u64>);

impl Borders {
    /// Borders at these numbers of packets, in falling order.
    pub fn of(least: impl IntoIterator<Item = u64>) -> Self {
        Self(least.into_iter().collect())
    }

    /// Per class, the minimum number of packets of its flows, in falling order.
    pub fn least(&self) -> &[u64] {
        &self.0
    }

    /// The class of a flow with a number of packets; numbers below all borders are in the last.
    pub fn class_of(&self, packets: u64) -> usize {
        let heavier = self.0.partition_point(|least| *least > packets);
        heavier.min(self.0.len().saturating_sub(1))
    }
}

impl Traffic {
    /// Draws a profile from counts. A type of key without packets has no classes, and is left out
    /// of the profile. `None` if there was no packet with a five-tuple.
    pub fn draw(name: &str, title: &str, sample: &Sample) -> Option<Drawn> {
        let flows = sample.by_key.get("FiveTuple")?;
        let (packets, bytes) = totals(flows);
        if packets == 0 {
            return None;
        }
        let mut drawn = Drawn {
            traffic: Self {
                name: name.to_owned(),
                title: title.to_owned(),
                mean_bytes: nine_digits(bytes as f64 / packets as f64),
                mpps: sample.clock.map(|clock| nine_digits(packets as f64 / clock.seconds / 1e6)),
                by_key: BTreeMap::new(),
            },
            borders: BTreeMap::new(),
        };
        for (key, tallies) in sample.by_key.iter().filter(|(_, tallies)| totals(tallies).0 > 0) {
            let counted: Vec<(u64, Cell)> = cells(tallies, sample.clock);
            let cells: Vec<Cell> = counted.iter().map(|(_, cell)| *cell).collect();
            let cuts = cut(&cells);
            let least = cuts.iter().map(|cut| counted[cut.cells.end - 1].0);
            drawn.borders.insert(key.clone(), Borders(least.collect()));
            drawn.traffic.by_key.insert(key.clone(), named(&cells, &cuts, sample.clock.is_some()));
        }
        Some(drawn)
    }
}

/// Packets and bytes.
fn totals(tallies: &BTreeMap<u64, Tally>) -> (u64, u64) {
    tallies.iter().fold((0, 0), |(packets, bytes), (each, tally)| {
        (packets + each * tally.keys, bytes + tally.bytes)
    })
}

/// A cell for the keys of each number of packets, heaviest first, with that number.
fn cells(tallies: &BTreeMap<u64, Tally>, clock: Option<Clock>) -> Vec<(u64, Cell)> {
    let total = totals(tallies).0 as f64;
    // Seconds of flows that were concurrent, without the idle time at the end of each.
    let lives = |tally: &Tally, clock: Clock| {
        (tally.flows * clock.seconds - tally.opens as f64 * clock.idle).max(0.0)
    };
    let cell = |(&each, tally): (&u64, &Tally)| {
        let packets = each as f64 * tally.keys as f64;
        let cell = Cell {
            flows: tally.flows,
            share: packets / total,
            opens: tally.opens as f64 / total,
            lives: clock.map_or(0.0, |clock| lives(tally, clock)) / total,
            bytes: tally.bytes as f64 / total,
            rests: tally.rests as f64 / total,
            seen: tally.keys as f64,
            packets,
        };
        (each, cell)
    };
    let live = |(each, tally): &(&u64, &Tally)| **each > 0 && tally.keys > 0 && tally.flows > 0.0;
    tallies.iter().rev().filter(live).map(cell).collect()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "what has few digits is the same")]
mod tests {
    use super::*;

    fn sample(of: &[(u64, u64)]) -> Sample {
        let tally = |&(each, keys): &(u64, u64)| {
            let bytes = each * keys * 100;
            (each, Tally { keys, flows: keys as f64, opens: keys, bytes, rests: 0 })
        };
        let tallies = of.iter().map(tally).collect();
        Sample { by_key: BTreeMap::from([("FiveTuple".to_owned(), tallies)]), clock: None }
    }

    #[test]
    fn a_flow_is_found_in_its_class() {
        let drawn =
            Traffic::draw("a", "b", &sample(&[(90_000, 3), (70_000, 6), (9_000, 91), (30, 5_000)]));
        let drawn = drawn.expect("packets");
        let borders = &drawn.borders["FiveTuple"];
        assert_eq!(borders.least(), [70_000, 9_000, 30]);
        let classes = [100_000, 90_000, 70_000, 69_999, 9_000, 40, 30, 1];
        assert_eq!(classes.map(|packets| borders.class_of(packets)), [0, 0, 0, 1, 1, 2, 2, 2]);
        let names: Vec<&str> =
            drawn.traffic.by_key["FiveTuple"].iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["the top 9", "the next 91", "the rest"]);
    }

    #[test]
    fn shares_openings_and_lengths_are_those_of_the_packets() {
        let drawn = Traffic::draw("a", "b", &sample(&[(1_000, 10), (10, 90)])).expect("packets");
        let classes = &drawn.traffic.by_key["FiveTuple"];
        assert_eq!(classes[0].share, nine_digits(10_000.0 / 10_900.0));
        assert_eq!(classes[0].opens, 0.001);
        assert_eq!(classes[1].opens, 0.1);
        assert_eq!((classes[1].mean_bytes, drawn.traffic.mean_bytes), (100.0, 100.0));
    }

    #[test]
    fn of_a_class_crosses_what_does_not_wait() {
        let mut sample = sample(&[(1_000, 10), (10, 90)]);
        // Of the light flows' 900 frames, 50 have 1,514 bytes.
        let light = sample.by_key.get_mut("FiveTuple").and_then(|tallies| tallies.get_mut(&10));
        let light = light.expect("it was counted");
        (light.bytes, light.rests) = (850 * 60 + 50 * 1_514, 50 * (1_514 - 128));
        let drawn = Traffic::draw("a", "b", &sample).expect("packets");
        let [heavy, light] = &drawn.traffic.by_key["FiveTuple"][..] else { panic!("two classes") };
        assert_eq!(heavy.head_bytes, heavy.mean_bytes);
        let wanted = (850.0 * 60.0 + 50.0 * 128.0) / 900.0;
        assert_eq!(light.head_bytes, nine_digits(wanted));
    }

    #[test]
    fn how_long_flows_last_follows_from_how_many_there_are_at_a_time() {
        let mut sample = sample(&[(1_000, 10), (10, 90)]);
        sample.clock = Some(Clock { seconds: 100.0, idle: 15.0 });
        // Of 90 light flows 18 at a time: 20 s each, of which 15 s are idle.
        let light = sample.by_key.get_mut("FiveTuple").and_then(|tallies| tallies.get_mut(&10));
        light.expect("it was counted").flows = 18.0;
        let traffic = Traffic::draw("a", "b", &sample).expect("packets").traffic;
        assert_eq!(traffic.mpps, Some(nine_digits(10_900.0 / 100.0 / 1e6)));
        let [heavy, light] = &traffic.by_key["FiveTuple"][..] else { panic!("two classes") };
        assert_eq!((heavy.seconds, light.seconds), (Some(85.0), Some(5.0)));
        assert_eq!(Traffic::parse(&traffic.to_toml()), Ok(traffic));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(Traffic::draw("a", "b", &Sample::default()), None);
        assert_eq!(Traffic::draw("a", "b", &sample(&[])), None);
    }
}
