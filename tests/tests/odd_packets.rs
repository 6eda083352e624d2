//! Frames that no sender should send, under every plan. Each has exactly one named outcome. The
//! output flow by flow, all outcomes and the final state are equal; nothing panics.
//!
//! First comes the collection (`cora-traffic odd`): usual traffic, and frames behind it that are
//! each odd in one way. Then comes repeated usual traffic with random changes to most frames
//! (`cora-traffic mutate`). Programs are built with overflow checks and assertions.
//!
//! `CORA_ODD=10000000` sets the number of changed packets for each program.

#[expect(dead_code, reason = "shared with the oracle, which has more captures")]
#[path = "equivalence/input.rs"]
mod input;

#[path = "equivalence/comparer.rs"]
mod comparer;
#[path = "equivalence/order.rs"]
mod order;
#[path = "odd_packets/programs.rs"]
mod programs;
#[expect(dead_code, reason = "shared with the oracle, which feeds in more ways")]
#[path = "equivalence/way.rs"]
mod way;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cora::prelude::{Meta, Packet};
use cora_tests::captures::{self, Capture};
use cora_tests::workshop::{self, EXAMPLES, FIRST};
use cora_tests::{golden, tell};
use cora_traffic::Profile;
use cora_traffic::pcap::Writer;

use input::Input;
use order::Group;
use way::{Feed, Left, Way};

/// Changed packets for each program, in a quick run and in a full run.
const FEW: [u64; 2] = [4_000, 20_000];
/// Packets in one run.
const AT_ONCE: u64 = 250_000;

/// The ways to run programs, beside the host alone: all for the first ones in a full run. Flows
/// move at random in the last one.
const WAYS: [Way; 4] = [
    Way { plan: "host-only", nic: "native", feed: Feed::Whole, moves: None, shards: 1 },
    Way { plan: "nic-only", nic: "native", feed: Feed::Whole, moves: None, shards: 1 },
    Way { plan: "split", nic: "native", feed: Feed::Whole, moves: None, shards: 1 },
    Way { plan: "split", nic: "native", feed: Feed::Whole, moves: Some(1), shards: 1 },
];

#[test]
fn firewall() {
    ask("firewall");
}

#[test]
fn nat() {
    ask("nat");
}

#[test]
fn heavy_hitter() {
    ask("heavy-hitter");
}

#[test]
fn balancer() {
    ask("balancer");
}

/// The newer examples run under `split` alone, as in the oracle.
#[test]
fn the_newer_examples() {
    EXAMPLES.into_iter().filter(|name| !FIRST.contains(name)).for_each(ask);
}

/// The parse of each frame of the collection, as kept in `tests/golden/odd-packets.txt`.
#[test]
fn every_odd_frame_is_read_as_it_was() -> Result<(), String> {
    let mut text = String::new();
    for mut frame in cora_traffic::odd() {
        let packet = Packet::new(&mut frame.bytes, Meta::default());
        let said = match packet.five_tuple() {
            Ok(flow) => flow.to_string(),
            Err(reason) => reason.name().to_owned(),
        };
        let _written = writeln!(text, "{:<46}{said}", frame.name);
    }
    golden::check("odd-packets.txt", &text)
}

fn number_of_changed() -> u64 {
    let asked = std::env::var("CORA_ODD").ok();
    asked.map_or(FEW[usize::from(workshop::is_full())], |text| {
        text.parse().unwrap_or_else(|_| panic!("CORA_ODD={text}: say how many packets"))
    })
}

/// Runs the collection, then changed packets, in all ways.
fn ask(name: &'static str) {
    let begun = Instant::now();
    let room = workshop::room(&format!("odd/{name}"));
    let usual = room.join("usual.pcap");
    captures::generate(Profile::Mix, 21, 8_000, 400, &usual);
    let input = Input::prepare(name, &Capture { name: "usual".to_owned(), path: usual }, &room);

    let mut asked = Asked { name, room, input, outcomes: BTreeMap::new(), packets: 0 };
    let collection = asked.collection();
    asked.in_all_ways(&collection, 0);
    // One frame of the collection is longer than the limit of a ring.
    assert!(asked.outcomes.contains_key("too-long"), "{name}: {:?}", asked.outcomes);
    let (changed, mut done) = (number_of_changed(), 0);
    while done < changed {
        let some = AT_ONCE.min(changed - done);
        let capture = asked.changed(some, 1 + done);
        asked.in_all_ways(&capture, 1 + done);
        done += some;
    }
    let Asked { outcomes, packets, room, .. } = asked;
    // A failed test keeps its files for inspection; passed ones only take space.
    std::fs::remove_dir_all(&room).expect("it is ours");
    let took = begun.elapsed().as_secs();
    tell(&format!(
        "{name}: {packets} odd packets on the host and in all other ways, {took} s: {outcomes:?}"
    ));
}

/// A program under test.
struct Asked {
    name: &'static str,
    room: PathBuf,
    input: Input,
    /// The outcomes of all packets, on the host alone.
    outcomes: BTreeMap<String, u64>,
    packets: u64,
}

impl Asked {
    /// Writes usual traffic, and the collection behind it.
    fn collection(&self) -> PathBuf {
        let path = self.room.join("collection.pcap");
        let mut writer = Writer::new(create(&path)).expect("it is written");
        let mut last = 0;
        captures::each(&self.input.capture, |time, packet| {
            last = time.max(last);
            writer.write(time, packet.frame()).expect("it is written");
        });
        for (frame, number) in cora_traffic::odd().iter().zip(1..) {
            writer.write(last + number * 1_000, &frame.bytes).expect("it is written");
        }
        writer.finish().expect("it is written");
        path
    }

    fn changed(&self, packets: u64, seed: u64) -> PathBuf {
        let path = self.room.join("changed.pcap");
        let from = BufReader::new(File::open(&self.input.capture).expect("it is there"));
        let done = cora_traffic::mutate(from, packets, seed, create(&path)).expect("it is written");
        assert!(done.changed * 2 > packets, "{done:?}");
        path
    }

    /// Runs a capture on the host alone and in all other ways, and compares; the seed sets the
    /// random moves.
    fn in_all_ways(&mut self, capture: &Path, seed: u64) {
        let expected = self.run(Way::baseline(), capture, "expected.pcap");
        let comparable = self.input.comparable(&expected);
        let all = FIRST.contains(&self.name) && workshop::is_full();
        for way in WAYS.into_iter().filter(|way| all || way.plan == "split") {
            let way = Way { moves: way.moves.map(|_| 1 + seed), ..way };
            let of = format!("{}, {way}, {}, seed {seed}", self.name, capture.display());
            let left = self.run(way, capture, "out.pcap");
            assert_eq!(
                left.report["outcomes"], expected.report["outcomes"],
                "{of}: other outcomes"
            );
            let found = self.input.comparable(&left);
            match Group::of(self.name) {
                // A packet with a damaged tunnel header belongs to another flow than the inner
                // packet: there is no order to check.
                Some(Group::OneWay) => assert!(frames(&comparable) == frames(&found), "{of}"),
                Some(group) => group.compare(&of, &comparable, &found),
                None => comparer::compare(&of, &comparable, &found),
            }
            assert!(left.state == expected.state, "{of}: other final state");
        }
        for (outcome, count) in outcomes(&expected) {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        self.packets += expected.number("/packets_in");
    }

    /// Runs the program once. Every packet has one outcome, and one side handled every packet that
    /// is not too long for any ring.
    fn run(&self, way: Way, capture: &Path, output: &str) -> Left {
        let configurations = &self.input.configurations;
        let left = way.run(self.name, capture, configurations, self.room.join(output));
        let outcomes: BTreeMap<String, u64> = outcomes(&left).collect();
        let sum: u64 = outcomes.values().sum();
        let of = format!("{}, {way}, {}", self.name, capture.display());
        assert_eq!(sum, left.number("/packets_in"), "{of}: not every packet has one outcome");
        let too_long = outcomes.get("too-long").copied().unwrap_or(0);
        let handled = left.number("/sides/nic/packets") + left.number("/sides/host/packets");
        // A handler may also find a frame too long.
        let unhandled = sum.checked_sub(handled);
        assert!(
            unhandled.is_some_and(|count| count <= too_long),
            "{of}: of {sum} packets {handled} were handled on one side"
        );
        left
    }
}

/// Returns a capture's frames, sorted.
fn frames(capture: &Path) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    captures::each(capture, |_, packet| frames.push(packet.frame().to_vec()));
    frames.sort_unstable();
    frames
}

fn outcomes(left: &Left) -> impl Iterator<Item = (String, u64)> {
    let counts = left.report["outcomes"].as_object().into_iter().flatten();
    counts.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)))
}

fn create(path: &Path) -> BufWriter<File> {
    BufWriter::new(File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}
