//! Each example lets most packets of its form of traffic pass: what it is measured with is what it
//! is for.

#[path = "../../benches/src/examples.rs"]
mod examples;

use std::collections::BTreeSet;

use cora_tests::tell;
use cora_tests::workshop::{EXAMPLES, program, room, root};
use cora_traffic::Ranked;

/// Enough flows for every bucket, some of them replaced, in frames with room for all headers.
const TRAFFIC: &str = "zipf:flows=2000,s=1.1,bytes=100,churn=0.01";
const PACKETS: u64 = 10_000;
const ROUNDS: u32 = 2;
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
    let traffic: Ranked = TRAFFIC.parse().expect("a name");
    for example in examples::EXAMPLES {
        let program = program(example.name);
        let case = example.save(&traffic, ROUNDS, PACKETS, [program, &packages, &room]);
        let case = case.unwrap_or_else(|error| panic!("{}: {error}", example.name));
        assert!(case.warm >= 4_000, "{case:?}");
        let passed = example.passed(program, &case);
        let passed = passed.unwrap_or_else(|error| panic!("{}: {error}", example.name));
        tell(&format!("{}: {:.1} % pass", example.name, passed * 100.0));
        assert!(passed > LEAST, "{}: {passed} of all packets pass", example.name);
    }
}
