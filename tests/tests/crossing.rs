//! Packets of one group that reach another group's entries, and full tables. Neither ends a run,
//! nor makes results depend on the plan beyond the documented cases.
//! Hosts inside talk to each other through the inside port, both ways, with addresses of others and
//! with ICMP errors about each other's packets. Each packet is of the group of its own inside host,
//! so keys of different groups meet all the time.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora::prelude::{FiveTuple, checksum};
use cora::testing::{ipv4, udp};
use cora_tests::captures::{self, paced};
use cora_tests::draw::Draw;
use cora_tests::process::{start, start_fed};
use cora_tests::workshop::{is_full, program, room, under};
use cora_traffic::pcap::Writer;
use serde_json::Value;

/// Upper bound on a run, which takes seconds; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);

/// An ICMP error has the five-tuple of the packet that it quotes, but is of another host's group,
/// and no order holds between groups. So the addresses of the packet itself are part of the flow.
type Flow = (Option<FiveTuple>, Vec<u8>);

/// The results of a run: outcomes, the final state, and the packets of each flow and direction.
#[derive(PartialEq)]
struct Left {
    outcomes: Value,
    state: Vec<u8>,
    flows: BTreeMap<Flow, Vec<Vec<u8>>>,
}

/// The options of a run, beside its captures.
#[derive(Clone, Copy, Debug)]
struct Way<'a> {
    words: &'a [&'a str],
    /// Whether the input has pauses, in which flows move.
    paced: bool,
}

struct Trial {
    room: PathBuf,
    capture: PathBuf,
    config: Option<String>,
}

impl Trial {
    fn run(&self, program: &Path, way: Way<'_>) -> (Left, Value) {
        let (output, state) = (self.room.join("out.pcap"), self.room.join("state.json"));
        let mut command = Command::new(program);
        let from = if way.paced { Path::new("/dev/stdin") } else { &self.capture };
        command.args(["run", "--json", "--in"]).arg(from).arg("--out").arg(&output);
        command.arg("--state-out").arg(&state).args(way.words);
        command.args(self.config.iter().flat_map(|config| ["--config", config]));
        let running = if way.paced {
            start_fed(&mut command, paced(&self.capture))
        } else {
            start(&mut command)
        };
        let report = running.end(LIMIT).well(&format!("{way:?}: {command:?}")).json();
        let mut flows = BTreeMap::<_, Vec<_>>::new();
        captures::each(&output, |_, packet| {
            // The frames here have no IPv4 options.
            let flow = (packet.five_tuple().ok(), packet.frame()[26..34].to_vec());
            flows.entry(flow).or_default().push(packet.frame().to_vec());
        });
        let left = Left {
            outcomes: report["outcomes"].clone(),
            state: std::fs::read(state).unwrap(),
            flows,
        };
        (left, report)
    }

    /// Asserts that every way to run the program gives the result of the host alone.
    fn agree(&self, name: &str) {
        let split = program(name);
        let alone = Way { words: &["--nic", "off"], paced: false };
        let (expected, _) = self.run(split, alone);
        let mut moves = 0;
        let mut compare = |program: &Path, way: Way<'_>| {
            let (found, report) = self.run(program, way);
            assert_eq!(found.outcomes, expected.outcomes, "{name}, {way:?}");
            assert!(found.state == expected.state, "{name}, {way:?}: another final state");
            assert!(found.flows == expected.flows, "{name}, {way:?}: other packets of a flow");
            assert_eq!(report["sides"]["host"]["refused"], 0, "{name}, {way:?}");
            moves += report["migrations"].as_u64().unwrap();
        };
        let native = ["--nic", "native"];
        compare(split, Way { words: &native, paced: false });
        compare(split, Way { words: &native, paced: true });
        compare(split, Way { words: &["--nic", "native", "--moves", "adapt"], paced: true });
        compare(split, Way { words: &["--nic", "native", "--shards", "2"], paced: false });
        for seed in 0..if is_full() { 40 } else { 6 } {
            let moves = format!("random:{seed}");
            let words = ["--nic", "native", "--moves", &moves];
            compare(split, Way { words: &words, paced: seed % 2 == 0 });
        }
        if is_full() {
            for plan in ["host-only", "nic-only"] {
                let other = under(Path::new(plan), &[name]).remove(name).unwrap();
                compare(&other, Way { words: &native, paced: false });
            }
        }
        assert!(moves > 100, "only {moves} flows moved");
    }
}

/// Returns a frame with a UDP datagram between these ends.
fn datagram(from: ([u8; 4], u16), to: ([u8; 4], u16), number: u32) -> Vec<u8> {
    udp(from, to, &number.to_be_bytes())
}

/// Returns a frame with an ICMP error about a datagram.
fn error(from: [u8; 4], about: &[u8]) -> Vec<u8> {
    let quoted = &about[14..14 + 28];
    let mut icmp = vec![3, 1, 0, 0, 0, 0, 0, 0];
    icmp.extend(quoted);
    let sum = checksum::internet(&icmp).to_be_bytes();
    icmp[2..4].copy_from_slice(&sum);
    ipv4(from, quoted[12..16].try_into().unwrap(), 64, 1, &icmp)
}

/// Writes frames, 40 µs apart.
fn write(path: &Path, frames: impl IntoIterator<Item = Vec<u8>>) {
    let mut out = Writer::new(File::create(path).unwrap()).unwrap();
    for (number, frame) in (0..).zip(frames) {
        out.write(1_700_000_000_000_000_000 + number * 40_000, &frame).unwrap();
    }
    out.finish().unwrap();
}

/// Returns packets of a few inside hosts that talk to each other at few ports, both ways and under
/// addresses of others. Some packets are from and to outside.
fn crossing(packets: u32) -> Vec<Vec<u8>> {
    let mut draw = Draw(7);
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for number in 0..packets {
        let mut host = || [10, 0, 0, draw.below(6) as u8];
        let (from, to) = (host(), host());
        let outside = [198, 51, 100, draw.below(2) as u8];
        let (port, other) = (1_000 + draw.below(4) as u16, 2_000 + draw.below(2) as u16);
        let frame = match draw.below(12) {
            // Both ways.
            0..6 => datagram((from, port), (to, other), number),
            6..8 => datagram((to, other), (from, port), number),
            // To outside, back, and unsolicited answers.
            8 => datagram((from, port), (outside, other), number),
            9 => datagram((outside, other), (from, port), number),
            // An answer that the host sends to itself, under the address of an outside host.
            10 => datagram((from, port), (from, other), number),
            _ => match frames.last() {
                Some(last) if last[23] == 17 => error(to, last),
                _ => datagram((from, port), (outside, other), number),
            },
        };
        frames.push(frame);
    }
    frames
}

/// Packets reach another group's entries: in the limiter's connections, and in a sum per host.
#[test]
fn groups_whose_keys_meet() {
    for (name, config) in [
        ("connection-limiter", Some(("Limit", "connections 5\nwindow 1\n"))),
        ("quotas", None),
        ("policer", Some(("Rates", "rate 0.0.0.0/0 64 2048\n"))),
    ] {
        let room = room(&format!("crossing-{name}"));
        let capture = room.join("in.pcap");
        write(&capture, crossing(6_000));
        let config = config.map(|(state, text)| {
            let path = room.join("config.txt");
            std::fs::write(&path, text).unwrap();
            format!("{state}={}", path.display())
        });
        Trial { room, capture, config }.agree(name);
    }
}

/// Tables of one entry, of three, and of a thousand that expire at once, beside a large one. For
/// all moves, no returning flow ends the run, every packet has an outcome, and under every plan the
/// same entries are in the tables with room.
#[test]
fn full_tables_end_no_run() {
    let room = room("crossing-edges");
    let capture = room.join("in.pcap");
    let mut draw = Draw(9);
    let frames = (0..12_000).map(|number| {
        let flow = draw.below(3_000) as u16;
        let (inside, outside) = ([10, 0, (flow >> 8) as u8, flow as u8], [198, 51, 100, 1]);
        if draw.below(3) == 0 {
            datagram((outside, 53), (inside, 1_000), number)
        } else {
            datagram((inside, 1_000), (outside, 53), number)
        }
    });
    write(&capture, frames);
    let trial = Trial { room, capture, config: None };
    let edges = program("edges");
    let with_room = |left: &Left| {
        let state: Value = serde_json::from_slice(&left.state).unwrap();
        ["Known", "Brief"].map(|name| state["states"][name].clone())
    };
    let (alone, _) = trial.run(edges, Way { words: &["--nic", "off"], paced: false });
    let (mut moves, mut evicted) = (0, 0);
    for seed in 0..if is_full() { 60 } else { 10 } {
        let random = format!("random:{seed}");
        let words = ["--nic", "native", "--moves", &random];
        let (left, report) = trial.run(edges, Way { words: &words, paced: seed % 2 == 0 });
        assert_eq!(left.outcomes, alone.outcomes, "seed {seed}");
        assert_eq!(with_room(&left), with_room(&alone), "seed {seed}");
        assert!(left.flows == alone.flows, "seed {seed}: other packets of a flow");
        assert_eq!(report["sides"]["host"]["refused"], 0, "no two flows have a key");
        moves += report["migrations"].as_u64().unwrap();
        evicted += report["sides"]["host"]["evicted"].as_u64().unwrap();
    }
    assert!(moves > 100 && evicted > 100, "{moves} moves, {evicted} entries made room");
}
