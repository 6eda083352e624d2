//! The compiler reports the faults of a program: first, all of them, and once.

use std::path::Path;

use cora_tests::process::Ended;
use cora_tests::workshop::{package, told};

/// Returns a program around these items.
fn program(items: &str) -> String {
    let root = "#![cfg_attr(all(feature = \"nic\", target_os = \"none\"), no_std, no_main)]\n";
    format!("{root}use cora::prelude::*;\n{items}\n")
}

const WIRE: &str = "#[flow_handler]\nfn wire(_packet: &mut Packet) -> Verdict { Transmit }\n";

/// Builds a faulty program, and asserts that the build fails.
fn build(name: &str, items: &str, plan: &str) -> Ended {
    let package = package(name, &program(items));
    write(&package.join("cora.toml"), plan);
    let ended = told(&package);
    assert_eq!(ended.code, Some(101), "{}", ended.stderr);
    ended
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Returns the lines of the build output that begin an error.
fn errors(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter(|line| line.starts_with("error")).collect()
}

/// Asserts that the compiler reports these errors first, in this order, and each once.
#[track_caller]
fn tells(ended: &Ended, words: &[&str]) {
    let errors = errors(ended);
    for (error, word) in errors.iter().zip(words) {
        assert!(error.contains(word), "`{word}` is not what is told:\n{}", ended.stderr);
    }
    let faults = errors.iter().filter(|error| error.contains("CORA")).count();
    assert_eq!(faults, words.len(), "{}", ended.stderr);
    assert!(!ended.stderr.contains("custom build command"), "{}", ended.stderr);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn faults_of_items_are_told_at_the_token() {
    let items = "#[state(key = FiveTuple, capacity = 0, idle = \"1 m\")]\nstruct Seen { number: u64 }\n\
                 #[flow_handler]\nfn count(_packet: &mut Packet, _seen: &mut Table<Seen>) {}\n\
                 cora::app!(count);";
    let ended = build("fault-items", items, "");
    tells(&ended, &["CORA0047", "CORA0052", "CORA0013"]);
    for place in ["src/main.rs:3:37", "src/main.rs:3:47", "src/main.rs:6:"] {
        assert!(ended.stderr.contains(&format!("--> {place}")), "{place}\n{}", ended.stderr);
    }
    // The items exist, so there is no error about missing names.
    let others = errors(&ended).into_iter().filter(|line| !line.contains("CORA"));
    let others: Vec<&str> = others.collect();
    assert!(matches!(others[..], [end] if end.contains("could not compile")), "{others:?}");
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_field_that_can_not_be_is_told_first() {
    let items = "#[state(key = FiveTuple, capacity = 10, idle = \"1m\")]\nstruct Seen { name: String }\n\
                 #[flow_handler]\nfn count(_packet: &mut Packet, _seen: &mut Table<Seen>) -> Verdict { Pass }\n\
                 cora::app!(count);";
    tells(&build("fault-field", items, ""), &["CORA0056"]);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn faults_of_the_whole_program_are_told_by_the_compiler_too() {
    let items = format!(
        "{WIRE}#[flow_handler]\nfn count(_packet: &mut Packet, _seen: &mut Table<Sen>) -> Verdict {{ Pass }}\n\
         #[state(key = FiveTuple, capacity = 10, idle = \"1m\")]\nstruct Seen {{ n: u64 }}\n\
         cora::app!(wier, count);"
    );
    let ended = build("fault-chain", &items, "");
    tells(&ended, &["CORA0102", "CORA0106"]);
    assert!(ended.stderr.contains("src/main.rs:9:12"), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean `wire`?"), "{}", ended.stderr);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn faults_of_the_plan_are_told_with_their_line() {
    let items = format!("{WIRE}cora::app!(wire);");
    let plan = "[plan]\nuse = \"split\"\nnic-share = 7\n[plan.places]\nSeen = \"host\"\n";
    let ended = build("fault-plan", &items, plan);
    assert!(!errors(&ended).is_empty(), "{}", ended.stderr);
    assert!(errors(&ended)[0].contains("CORA012"), "{}", ended.stderr);
    assert!(ended.stderr.contains("cora.toml:"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("custom build command"), "{}", ended.stderr);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn without_app_the_build_script_tells() {
    let ended = build("fault-no-app", WIRE, "");
    assert!(ended.stderr.contains("error[CORA0104]"), "{}", ended.stderr);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn what_does_not_parse_is_told_by_the_compiler_alone() {
    let ended = build("fault-unparsable", &format!("{WIRE}cora::app!(wire);\nfn broken( {{"), "");
    assert!(!ended.stderr.contains("error[CORA") && !ended.stderr.contains("error: CORA"));
    assert!(errors(&ended)[0].contains("unclosed delimiter"), "{}", ended.stderr);
}
