//! Programs on traffic with known outcomes, run in every way there is: the halves agree about the
//! outcomes, about what leaves, about the states and the records, while flows move, too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cora_traffic::pcap::Writer;
use serde_json::Value;

use crate::ipfix::{Decoder, Values};
use crate::process::run;
use crate::workshop::{emulator, is_full, plan_of_host_alone, room, root, under};
use crate::{captures, tell};

/// Upper bound on a run, which takes a second.
const LIMIT: Duration = Duration::from_mins(1);
/// Time from one packet to the next, if nothing else is said (ns).
const STEP: u64 = 10_000;

/// Packets with their times, and how often which outcome is right.
#[derive(Debug, Default)]
pub struct Traffic {
    frames: Vec<(u64, Vec<u8>)>,
    outcomes: BTreeMap<String, u64>,
}

impl Traffic {
    /// One more packet, a step behind the last one.
    pub fn add(&mut self, frame: Vec<u8>, outcome: &str) {
        let last = self.frames.last().map_or(0, |(time, _)| *time);
        self.at(last + STEP, frame, outcome);
    }

    /// One more outcome: of a message that a handler sends.
    pub fn expect(&mut self, outcome: &str) {
        *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
    }

    /// A packet at this time (ns), wherever it is among the others.
    pub fn at(&mut self, time: u64, frame: Vec<u8>, outcome: &str) {
        self.frames.push((time, frame));
        *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
    }

    /// Flows that are under way together: a packet of each, in turn, until none has any left. So
    /// they have time to move.
    pub fn together(&mut self, flows: Vec<Vec<(Vec<u8>, &str)>>) {
        let mut flows: Vec<_> = flows.into_iter().map(Vec::into_iter).collect();
        while !flows.is_empty() {
            flows.retain_mut(|flow| match flow.next() {
                Some((frame, outcome)) => {
                    self.add(frame, outcome);
                    true
                }
                None => false,
            });
        }
    }

    fn write(&mut self, path: &Path) {
        self.frames.sort_by_key(|(time, _)| *time);
        let file = File::create(path).expect("it is ours");
        let mut writer = Writer::new(BufWriter::new(file)).expect("it is written");
        for (time, frame) in &self.frames {
            writer.write(*time, frame).expect("it is written");
        }
        writer.finish().expect("it is written");
    }
}

/// A program, its configuration, and its traffic as a capture. Inside are 10.0.0.0/8 and fd00::/8.
#[derive(Debug)]
pub struct Case {
    program: &'static str,
    room: PathBuf,
    configured: Vec<String>,
    outcomes: BTreeMap<String, u64>,
    has_records: bool,
    has_shards: bool,
    has_moves: bool,
}

/// What a run leaves.
#[derive(PartialEq, Debug)]
pub struct Left {
    /// The outcomes that packets had.
    pub outcomes: BTreeMap<String, u64>,
    /// Without their order, which is free between flows.
    pub frames: Vec<Vec<u8>>,
    /// The final state.
    pub state: Value,
    /// Without their order, too.
    pub records: Vec<Values>,
}

impl Case {
    /// A program on this traffic, with a CSV file for each of these states.
    pub fn new(program: &'static str, files: &[(&str, String)], mut traffic: Traffic) -> Self {
        // Several tests may have cases of one program at once.
        static CASES: AtomicU32 = AtomicU32::new(0);
        let room = room(&format!("{program}-{}", CASES.fetch_add(1, Ordering::Relaxed)));
        let configured = files.iter().map(|(state, text)| {
            let path = room.join(format!("{state}.csv"));
            fs::write(&path, text).expect("it is ours");
            format!("{state}={}", path.display())
        });
        let configured = configured.collect();
        traffic.write(&room.join("in.pcap"));
        let outcomes = traffic.outcomes;
        Self {
            program,
            room,
            configured,
            outcomes,
            has_records: false,
            has_shards: true,
            has_moves: true,
        }
    }

    /// The program has a recorded state.
    #[must_use]
    pub fn recorded(self) -> Self {
        Self { has_records: true, ..self }
    }

    /// The program runs on one pair alone.
    #[must_use]
    pub fn on_one_shard(self) -> Self {
        Self { has_shards: false, ..self }
    }

    /// No flow of the program ever moves, and it runs on one pair alone.
    #[must_use]
    pub fn at_one_side(self) -> Self {
        Self { has_shards: false, has_moves: false, ..self }
    }

    /// Runs the program of this plan with these words, and returns the report, too.
    fn run(&self, plan: &str, words: &[&str]) -> (Left, Value) {
        let (output, state) = (self.room.join("out.pcap"), self.room.join("state.json"));
        let records = self.room.join("records.ipfix");
        let program = under(Path::new(plan), &[self.program]).remove(self.program);
        let mut command = Command::new(program.expect("it was built"));
        command.args(["run", "--json", "--inside", "10.0.0.0/8,fd00::/8"]).args(words);
        command.arg("--in").arg(self.room.join("in.pcap"));
        command.arg("--out").arg(&output).arg("--state-out").arg(&state);
        for file in &self.configured {
            command.args(["--config", file]);
        }
        if self.has_records {
            command.arg("--ipfix").arg(&records);
        }
        let ended = run(&mut command, LIMIT);
        assert_eq!(ended.code, Some(0), "{plan} {words:?}: {}", ended.stderr);
        let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let outcomes = report["outcomes"].as_object().expect("outcomes").iter();
        let outcomes =
            outcomes.map(|(name, count)| (name.clone(), count.as_u64().expect("it counts")));
        let mut decoder = Decoder::default();
        if self.has_records {
            decoder.file(&fs::read(&records).expect("it is there"));
            assert_eq!(report["records"]["lost"].as_u64(), Some(0), "{plan} {words:?}");
        }
        let mut left = Left {
            outcomes: outcomes.filter(|(_, count)| *count > 0).collect(),
            frames: Vec::new(),
            state: serde_json::from_str(&fs::read_to_string(state).expect("it is there"))
                .expect("JSON"),
            records: decoder.records,
        };
        captures::each(&output, |_, packet| left.frames.push(packet.frame().to_vec()));
        left.frames.sort();
        left.records.sort();
        (left, report)
    }

    /// All halves give the right outcomes, and otherwise what the host alone gives, which is
    /// returned.
    pub fn holds(&self) -> Left {
        self.holds_by(&|left, expected, of| self.compare(left, expected, of))
    }

    /// The same, of what `compare` compares: the order of messages from several flows is free.
    pub fn holds_by(&self, compare: &dyn Fn(&Left, &Left, &str)) -> Left {
        let (expected, _) = self.run(plan_of_host_alone(), &["--nic", "off"]);
        assert_eq!(expected.outcomes, self.outcomes, "{}", self.program);
        self.each(&|left, of| compare(left, &expected, of));
        expected
    }

    /// Each run has what `check` checks, by itself: how often messages are sent depends on their
    /// order, so the outcomes that were told with the traffic are not compared.
    pub fn keeps(&self, check: &dyn Fn(&Left, &str)) {
        let (alone, _) = self.run(plan_of_host_alone(), &["--nic", "off"]);
        check(&alone, self.program);
        self.each(check);
    }

    /// Runs it under the plan in this file on each NIC. `check` gets what is left, what the host
    /// alone leaves, and the report.
    pub fn under_plan(&self, plan: &str, check: &dyn Fn(&Left, &Left, &Value)) {
        let (alone, _) = self.run(plan_of_host_alone(), &["--nic", "off"]);
        let plan = root().join(plan);
        let mut nics = vec!["native"];
        match emulator() {
            Ok(_) => nics.push("emulated"),
            Err(skipped) => tell(&skipped),
        }
        for nic in nics {
            let (left, report) = self.run(&plan.to_string_lossy(), &["--nic", nic]);
            check(&left, &alone, &report);
        }
    }

    /// Runs it in every other way.
    fn each(&self, check: &dyn Fn(&Left, &str)) {
        let is_same = |plan: &str, words: &[&str]| {
            let (left, report) = self.run(plan, words);
            check(&left, &format!("{} {plan} {words:?}", self.program));
            report
        };
        if is_full() {
            is_same("nic-only", &["--nic", "native"]);
        }
        let mut nics = vec!["native"];
        match emulator() {
            Ok(_) => nics.push("emulated"),
            Err(skipped) => tell(&skipped),
        }
        if !self.has_moves {
            let split = root().join("tests/plans/plain-split.toml");
            for nic in nics {
                is_same("nic-only", &["--nic", nic]);
                is_same(&split.to_string_lossy(), &["--nic", nic]);
            }
            return;
        }
        for nic in nics {
            is_same("split", &["--nic", nic]);
            for seed in ["random:1", "random:2"] {
                let report = is_same("split", &["--nic", nic, "--moves", seed]);
                let at_nic = report["sides"]["nic"]["packets"].as_u64();
                let moves = report["migrations"].as_u64();
                let of = format!("{} {nic} {seed}: {moves:?} moves, {at_nic:?}", self.program);
                // How many depends on time: on a busy machine the emulated NIC comes late.
                let [least, handled] = if nic == "native" { [20, 50] } else { [1, 0] };
                assert!(moves >= Some(least) && at_nic >= Some(handled), "{of} packets at the NIC");
                tell(&of);
            }
        }
        if self.has_shards {
            is_same("split", &["--nic", "native", "--shards", "2"]);
        }
    }

    /// Names the first kind of result that differs.
    fn compare(&self, left: &Left, expected: &Left, of: &str) {
        assert_eq!(left.outcomes, expected.outcomes, "{of}");
        let odd = left.frames.iter().zip(&expected.frames).position(|(one, two)| one != two);
        let lengths = [left.frames.len(), expected.frames.len()];
        assert!(left.frames == expected.frames, "{of}: {lengths:?} frames, differ at {odd:?}");
        let odd = left.records.iter().zip(&expected.records).find(|(one, two)| one != two);
        let lengths = [left.records.len(), expected.records.len()];
        assert!(left.records == expected.records, "{of}: {lengths:?} records, differ at {odd:?}");
        let files = self.room.display();
        assert!(left.state == expected.state, "{of}: the final state differs: {files}");
    }
}
