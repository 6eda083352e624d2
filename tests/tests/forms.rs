//! Each example lets most packets of its form of traffic pass: what it is measured with is what it
//! is for.

#[path = "../../benches/src/examples.rs"]
mod examples;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cora_tests::process::start_fed;
use cora_tests::tell;
use cora_tests::workshop::{EXAMPLES, program, room, root};
use cora_traffic::Ranked;
use examples::Case;
use serde_json::Value;

/// Enough flows for every bucket, some of them replaced, in frames with room for all headers.
const TRAFFIC: &str = "zipf:flows=2000,s=1.1,bytes=100,churn=0.01";
const PACKETS: u64 = 10_000;
/// Packets a second: the capture is longer than several merges are apart.
const RATE: u64 = 20_000;
const ROUNDS: u32 = 2;
/// Upper bound on a measurement, which takes a second.
const LIMIT: Duration = Duration::from_mins(1);
/// The part that has to pass: the others are openings that a program answers itself, and payloads
/// that match a rule.
const LEAST: f64 = 0.8;

#[test]
fn each_example_is_measured() {
    let measured = BTreeSet::from(examples::EXAMPLES.map(|example| example.name));
    assert_eq!(measured, BTreeSet::from(EXAMPLES));
}

#[test]
fn examples_let_most_packets_of_their_form_pass() {
    let (room, packages) = (room("forms"), root().join("examples"));
    let traffic = Ranked { rate: RATE, ..TRAFFIC.parse().expect("a name") };
    for example in examples::EXAMPLES {
        let program = program(example.name);
        let case = example.save(&traffic, ROUNDS, PACKETS, [program, &packages, &room]);
        let case = case.unwrap_or_else(|error| panic!("{}: {error}", example.name));
        assert!(case.warm >= 4_000, "{case:?}");
        let passed = example.passed(program, &case);
        let passed = passed.unwrap_or_else(|error| panic!("{}: {error}", example.name));
        let left = on_two_shards(program, &case);
        let shares = format!("{passed:.3} pass in a run, {left:.3} leave two shards");
        tell(&format!("{}: {shares}", example.name));
        assert!(passed > LEAST && left > LEAST, "{}: {shares}", example.name);
    }
}

/// Returns the part of the packets behind the warm-up that leave when the program is measured on
/// two shards. What one of them is told of neighbours, the other one has from a merge.
fn on_two_shards(program: &Path, case: &Case) -> f64 {
    let mut command = Command::new(program);
    command.args(["bench", "--shards", "2", "--warm", &case.warm.to_string(), "--in"]);
    command.arg(&case.capture).args(&case.words);
    let running = start_fed(&mut command, |mut input| {
        // An ended process reads no more.
        let _written = input.write_all(b"\n");
    });
    let told = running.end(LIMIT).well("two shards").stdout;
    let pass: Value = told.lines().last().and_then(|line| line.parse().ok()).expect("JSON");
    let count = |of: &Value, name: &str| of[name].as_f64().expect("a number");
    let shards = pass["shards"].as_array().expect("shards");
    assert!(shards.iter().all(|shard| count(shard, "packets") > 1_000.0), "{told}");
    shards.iter().map(|shard| count(shard, "left")).sum::<f64>() / count(&pass, "packets")
}
