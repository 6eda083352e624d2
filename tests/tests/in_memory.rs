//! `bench`: every choice of halves handles the capture, pass by pass, and prints its results.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::process::{run, start_fed};
use cora_tests::workshop::{program, room};
use cora_traffic::Profile;
use serde_json::Value;

const LIMIT: Duration = Duration::from_mins(1);
const PACKETS: u64 = 4_000;

static CAPTURE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = room("in-memory").join("zipf.pcap");
    captures::generate(Profile::Zipf, 4, PACKETS, 400, &path);
    path
});

/// Returns `<program> bench --half <half>`.
fn bench(name: &str, half: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program(name));
    command.args(["bench", "--half", half, "--in"]).arg(&*CAPTURE).args(words);
    command
}

#[test]
fn a_pass_is_made_and_told_per_line() {
    for half in ["host", "none"] {
        let mut command = bench("empty-chain", half, &["--warm", "1000"]);
        let running = start_fed(&mut command, |mut input| {
            // An ended process reads no more.
            let _written = input.write_all(b"\n\n");
        });
        let told = running.end(LIMIT).well(half).stdout;
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 3, "{told}");
        assert!(lines[0].starts_with("ready"), "{told}");
        for line in &lines[1..] {
            let pass: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(pass["packets"], PACKETS - 1_000, "{told}");
            assert!(pass["ns"].as_u64() > Some(0), "{told}");
        }
    }
}

#[test]
fn packets_that_are_away_from_the_nic_are_timed() {
    let ways = run(&mut bench("punt-each", "both", &[]), LIMIT).well("both").json();
    let mut all = 0;
    for way in ["punted", "passed_on"] {
        let [count, p50, p99, max] =
            ["count", "p50", "p99", "max"].map(|name| ways[way][name].as_u64().unwrap_or_default());
        assert!(count > 100 && p50 > 0 && p50 <= p99 && p99 <= max, "{ways}");
        all += count;
    }
    assert!(all <= PACKETS, "{ways}");
    // Without the first packets of the capture.
    let warm = run(&mut bench("punt-each", "both", &["--warm", "2000"]), LIMIT).well("both").json();
    assert!(warm["punted"]["count"].as_u64() < ways["punted"]["count"].as_u64(), "{warm} {ways}");
}
