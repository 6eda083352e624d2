//! The controller in real runs: the results are those of the host alone, and its log replays to the
//! same decisions.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cora_tests::captures::{self, paced};
use cora_tests::process::{run, start_fed};
use cora_tests::workshop::{cora, program, room};
use cora_traffic::Profile;

/// Upper bound on a run, which takes some seconds; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);

/// Returns outcomes, and the final state.
fn left(program: &Path, words: &[&str], capture: &Path, state: &Path) -> (String, Vec<u8>) {
    let mut command = Command::new(program);
    command.args(["run", "--json", "--in", "/dev/stdin", "--state-out"]).arg(state).args(words);
    let ended = start_fed(&mut command, paced(capture)).end(LIMIT).well(&format!("{words:?}"));
    let outcomes = ended.json()["outcomes"].to_string();
    (outcomes, std::fs::read(state).unwrap())
}

#[test]
fn a_real_run_is_right_and_its_log_replays() {
    let room = room("moves");
    let capture = room.join("zipf.pcap");
    captures::generate(Profile::Zipf, 31, 60_000, 2_000, &capture);
    let program = program("firewall");
    let log = room.join("log");
    let moves = format!("adapt:{}", log.display());
    let state = room.join("state");
    let alone = left(program, &["--nic", "off"], &capture, &state);
    let adapted = left(program, &["--nic", "native", "--moves", &moves], &capture, &state);
    assert_eq!(adapted, alone, "what moved shows in no result");

    let replayed = run(cora().arg("replay").arg(&log), LIMIT).well("replay");
    println!("{}", replayed.stdout);
    assert!(replayed.stdout.contains("decided anew, all are the same"), "{}", replayed.stdout);
    assert!(replayed.stdout.contains("it begins with the plan's admission"), "{}", replayed.stdout);

    // The replay refuses the log with another decision in one line.
    let text = std::fs::read_to_string(&log).unwrap();
    let changed = text.replacen("it begins", "it began", 1);
    assert_ne!(changed, text);
    std::fs::write(&log, changed).unwrap();
    let refused = run(cora().arg("replay").arg("--brief").arg(&log), LIMIT);
    assert_eq!(refused.code, Some(1), "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("another decision comes out"), "{}", refused.stderr);

    // It also refuses a file that is not a log.
    File::create(&log).unwrap();
    let refused = run(cora().arg("replay").arg(&log), LIMIT);
    assert!(refused.stderr.contains("not that of a log of moves"), "{}", refused.stderr);
}
