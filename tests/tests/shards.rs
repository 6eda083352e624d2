//! Several shards of NIC core and host worker give the results of one shard: the same outcomes, the
//! same packets of each flow in order, and byte for byte the same final state. A program that can't
//! do so is refused.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::time::Duration;

use cora::prelude::FiveTuple;
use cora_tests::captures;
use cora_tests::process::{Ended, halves, marked, run, start, start_fed, wait_until};
use cora_tests::tell;
use cora_tests::workshop::{emulator, program, room, under};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run, which takes a second; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(1);
const MOST: usize = 3;

fn inputs() -> &'static [PathBuf] {
    static MADE: OnceLock<Vec<PathBuf>> = OnceLock::new();
    MADE.get_or_init(|| {
        let room = room("shards");
        let profiles = [("mix", Profile::Mix, 21), ("odd", Profile::Odd, 22)];
        let made = profiles.map(|(name, profile, seed)| {
            let path = room.join(format!("{name}.pcap"));
            captures::generate(profile, seed, 5_000, 600, &path);
            path
        });
        made.into()
    })
}

fn nics() -> Vec<&'static str> {
    match emulator() {
        Ok(_) => vec!["off", "native", "emulated"],
        Err(skipped) => {
            tell(&skipped);
            vec!["off", "native"]
        }
    }
}

#[test]
fn firewall() {
    Sharded::new("firewall", program("firewall").to_owned()).ask();
}

#[test]
fn heavy_hitter() {
    Sharded::new("heavy-hitter", program("heavy-hitter").to_owned()).ask();
}

/// Steering by a key of the program's own, with entries that are found by the payload.
#[test]
fn tenants() {
    Sharded::new("tenants", program("tenants").to_owned()).ask();
}

/// Steering by a key that is coarser than a flow, under a plan with flows at the NIC.
#[test]
fn quotas() {
    Sharded::new("quotas-split", program("quotas").to_owned()).ask();
}

/// The same program under the plan with all flows at the host.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn quotas_of_the_host_alone() {
    let program = under(Path::new("host-only"), &["quotas"]).remove("quotas").unwrap();
    Sharded::new("quotas-host-only", program).ask();
}

/// The results of one run.
struct Left {
    report: Value,
    output: PathBuf,
    state: Vec<u8>,
}

/// Packets by flow, both directions together; packets without a flow are one more group.
type Flows = BTreeMap<Option<FiveTuple>, Vec<Vec<u8>>>;

impl Left {
    fn flows(&self) -> Flows {
        let mut flows = Flows::new();
        captures::each(&self.output, |_, packet| {
            let flow = packet.five_tuple().ok().map(|flow| flow.min(flow.reversed()));
            flows.entry(flow).or_default().push(packet.frame().to_vec());
        });
        flows
    }

    fn number(&self, pointer: &str) -> u64 {
        self.report.pointer(pointer).and_then(Value::as_u64).unwrap()
    }

    fn shards(&self) -> Vec<&Value> {
        self.report["shards"].as_array().into_iter().flatten().collect()
    }
}

struct Sharded {
    program: PathBuf,
    room: PathBuf,
    splits: bool,
}

impl Sharded {
    fn new(name: &str, program: PathBuf) -> Self {
        let room = room(&format!("shards-{name}"));
        Self { program, room, splits: !name.ends_with("host-only") }
    }

    /// Runs every number of shards with every kind of NIC on every capture.
    fn ask(&self) {
        for input in inputs() {
            let expected = self.run("off", 1, input, false);
            let flows = expected.flows();
            assert!(flows.len() > 100, "{} flows leave", flows.len());
            for nic in nics() {
                for shards in 1..=MOST {
                    let left = self.run(nic, shards, input, false);
                    self.is_the_same(nic, shards, &left, &expected, &flows);
                }
            }
            // With pauses, in which flows move.
            let left = self.run("native", 2, input, true);
            self.is_the_same("native", 2, &left, &expected, &flows);
            let moved =
                left.shards().into_iter().map(|shard| shard["nic"]["offloads"].as_u64().unwrap());
            assert!(moved.into_iter().all(|moved| (moved > 0) == self.splits), "{:#}", left.report);
        }
    }

    fn run(&self, nic: &str, shards: usize, input: &Path, paced: bool) -> Left {
        let name = format!("{nic}-{shards}-{}", input.file_stem().unwrap().display());
        let (output, state) =
            (self.room.join(format!("{name}.pcap")), self.room.join(format!("{name}.json")));
        let mut command = Command::new(&self.program);
        let from = if paced { Path::new("/dev/stdin") } else { input };
        command.args(["run", "--json", "--nic", nic, "--in"]).arg(from);
        command.arg("--out").arg(&output).arg("--state-out").arg(&state);
        if shards > 1 {
            command.args(["--shards", &shards.to_string()]);
        }
        let running = if paced {
            start_fed(&mut command, captures::paced(input))
        } else {
            start(&mut command)
        };
        let report = running.end(LIMIT).well(&format!("{command:?}")).json();
        Left { report, output, state: std::fs::read(state).unwrap() }
    }

    fn is_the_same(&self, nic: &str, shards: usize, left: &Left, expected: &Left, flows: &Flows) {
        let of = format!("{}, NIC {nic}, {shards} shards", self.program.display());
        assert_eq!(left.report["outcomes"], expected.report["outcomes"], "{of}");
        assert_eq!(left.report["entries"], expected.report["entries"], "{of}");
        assert!(left.state == expected.state, "{of}: another state: {}", left.output.display());
        assert!(left.flows() == *flows, "{of}: other packets: {}", left.output.display());
        if nic == "off" {
            let read = |left: &Left| std::fs::read(&left.output).unwrap();
            assert!(read(left) == read(expected), "{of}: another order than the capture's");
        }
        adds_up(&of, shards, left);
    }
}

/// Asserts that each shard existed and had packets of its own.
fn adds_up(of: &str, shards: usize, left: &Left) {
    let told = left.shards();
    assert_eq!(told.len(), if shards == 1 { 0 } else { shards }, "{of}: {:#}", left.report);
    let handled = |sides: &Value| {
        let of = |side: &str| sides[side]["packets"].as_u64().unwrap();
        of("nic") + of("host")
    };
    let each: Vec<u64> = told.into_iter().map(handled).collect();
    assert!(each.iter().all(|packets| *packets > 100), "{of}: {each:?}");
    let all = left.number("/packets_in");
    assert!(shards == 1 || each.iter().sum::<u64>() == all, "{of}: {each:?} of {all}");
    assert_eq!(handled(&left.report["sides"]), all, "{of}");
}

/// Runs a program, and asserts that it fails.
fn fails(program: &Path, words: &[&str], says: &[&str]) {
    let mut command = Command::new(program);
    command.arg("run").args(words);
    complains(&run(&mut command, LIMIT), says);
}

fn complains(ended: &Ended, says: &[&str]) {
    assert!(matches!(ended.code, Some(1 | 2)) && ended.stdout.is_empty(), "{ended:?}");
    for word in says {
        assert!(ended.stderr.contains(word), "it doesn't say `{word}`: {}", ended.stderr);
    }
}

#[test]
fn a_program_for_one_shard_is_refused_with_the_states_that_keep_it_there() {
    let input = inputs()[0].display().to_string();
    let words = ["--nic", "off", "--shards", "2", "--in", &input];
    fails(
        program("leases"),
        &words,
        &[
            "--shards 2: under this plan the program runs on one shard",
            "`Pool`: it is one value that packets of every flow reach",
            "run it without --shards",
        ],
    );
    let one = ["run", "--nic", "off", "--shards", "1", "--in", &input];
    let _ran = run(Command::new(program("leases")).args(one), LIMIT).well("one shard is fine");
    let many = |shards| ["--nic", "off", "--shards", shards, "--in", &input];
    fails(program("firewall"), &many("0"), &["--shards", "1..=64"]);
    fails(program("firewall"), &many("65"), &["--shards", "1..=64"]);
}

/// Runs on a capture with a cut end, which gives a report and an error.
fn read_to_the_cut(words: &[&str]) -> Ended {
    let mut command = Command::new(program("firewall"));
    command.arg("run").args(words);
    let ended = run(&mut command, LIMIT);
    assert!(ended.code == Some(1) && ended.stdout.contains("ends early"), "{ended:?}");
    ended
}

#[test]
fn what_goes_wrong_anywhere_ends_all_shards() {
    let good = std::fs::read(&inputs()[0]).unwrap();
    let place = inputs()[0].with_file_name("cut.pcap");
    std::fs::write(&place, &good[..good.len() - 7]).unwrap();
    let (cut, input) = (place.display().to_string(), inputs()[0].display().to_string());
    for nic in ["off", "native"] {
        let run =
            |capture, output| ["--nic", nic, "--shards", "3", "--in", capture, "--out", output];
        let ended = read_to_the_cut(&run(&cut, "/dev/null"));
        assert!(ended.stderr.contains("cut.pcap") && ended.stderr.contains("byte"), "{ended:?}");
        fails(program("firewall"), &run(&input, "/dev/full"), &["/dev/full: No space left"]);
    }
}

#[test]
fn a_nic_core_that_dies_ends_the_others() {
    let value = format!("shards-{}", std::process::id());
    let mark = format!("CORA_TEST_MARK={value}\0");
    let bytes = std::fs::read(&inputs()[0]).unwrap();
    let mut command = Command::new(program("firewall"));
    command.args(["run", "--nic", "native", "--shards", "3", "--in", "/dev/stdin"]);
    let (rest, wait) = channel();
    let running = start_fed(command.env("CORA_TEST_MARK", value), move |mut to| {
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let _written = to.write_all(first);
        if wait.recv().is_ok() {
            let _written = to.write_all(second);
        }
    });
    let nics = || halves(running.id(), "__nic");
    assert!(wait_until(LIMIT, || nics().len() == 3), "{:?}", nics());
    std::thread::sleep(Duration::from_millis(300));
    let victim = nics()[1].to_string();
    assert!(Command::new("kill").args(["-KILL", &victim]).status().unwrap().success());
    rest.send(()).unwrap();
    complains(&running.end(LIMIT), &["the NIC process ended early (signal: 9"]);
    assert!(wait_until(Duration::from_secs(5), || marked(&mark).is_empty()), "processes are left");
}
