//! The cost of a packet in instructions, for each example. A count is independent of the load of
//! the machine, so every rise is real.
//!
//! | kept in `tests/golden` | traffic | counted | built |
//! | --- | --- | --- | --- |
//! | `instructions.txt` | IPv4 and IPv6, all lengths | host half | release without LTO |
//! | `instructions-by-hand.txt` | IPv4, short, 1,000 flows | both halves | release |
//!
//! The host half runs on this machine, the NIC half on an emulated aarch64. The second file has
//! each half beside the same loop by hand.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cora_tests::golden::{blessing, check};
use cora_tests::workshop::{FIRST, library, programs, required, room, root};
use cora_tests::{captures, tell};
use cora_traffic::Profile;
use serde_json::Value;

/// Largest rise of a count without review.
const TOLERANCE_PERCENT: u64 = 2;

const PACKETS: u64 = 20_000;

/// Generates long flows, some with most of the packets, over IPv4 and IPv6.
fn traffic(directory: &Path) -> PathBuf {
    let path = directory.join("zipf.pcap");
    captures::generate(Profile::Zipf, 7, PACKETS, 500, &path);
    path
}

/// Counts the instructions of a whole process that makes `passes` passes over the capture.
fn instructions(program: &Path, capture: &Path, passes: usize) -> u64 {
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["bench", "--in"])
        .arg(capture)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("\n".repeat(passes).as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{told}");
    let count = told.lines().find_map(|line| line.split_once("Collected : ")).unwrap().1;
    count.trim().parse().unwrap()
}

/// Returns the difference between three passes and one: loading and ending cancel out.
fn per_packet(program: &Path, capture: &Path) -> u64 {
    let (one, three) = (instructions(program, capture, 1), instructions(program, capture, 3));
    (three - one) / (2 * PACKETS)
}

/// Returns a message about a count that rose too far.
fn rise(what: &str, before: u64, now: u64) -> Option<String> {
    let far = now * 100 > before * (100 + TOLERANCE_PERCENT);
    far.then(|| format!("{what}: {before} instructions per packet, now {now}"))
}

#[test]
fn a_packet_costs_no_more_than_it_did() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return tell("skipped: no valgrind to count instructions with");
    }
    let capture = traffic(&room("instructions"));
    let programs = one_sided("counted", "host-only", &[], &[]);
    let mut text = String::new();
    let mut risen = Vec::new();
    let kept = std::fs::read_to_string(root().join("tests/golden/instructions.txt"));
    let kept = kept.unwrap_or_default();
    for example in FIRST {
        let now = per_packet(&programs.join(example), &capture);
        writeln!(text, "{example:<14}{now:>6}").unwrap();
        let before = kept.lines().find_map(|line| line.strip_prefix(example)?.trim().parse().ok());
        risen.extend(rise(example, before.unwrap_or(0), now));
    }
    tell(&format!("instructions per packet, host half\n{text}"));
    if blessing() {
        check("instructions.txt", &text).unwrap();
    } else {
        assert!(risen.is_empty(), "{}\n(CORA_BLESS=1 keeps the new counts)", risen.join("\n"));
    }
}

/// Linux on the NIC's machine.
const LINUX_ON_NIC: &str = "aarch64-unknown-linux-musl";

/// The program that compares with loops by hand.
const BENCH: &str = "cora-bench";

/// Builds the examples, and these other programs, for one side alone, and returns their directory.
fn one_sided(profile: &str, plan: &str, others: &[&str], target: &[&str]) -> PathBuf {
    let names = FIRST.iter().chain(others);
    let words: Vec<&str> = ["--profile", profile, "--features", "cora/measure"]
        .into_iter()
        .chain(names.flat_map(|name| ["--package", name]))
        .chain(target.iter().copied())
        .collect();
    let built = programs(&words, Some(Path::new(plan)), &format!("{profile}-{plan}"));
    built[FIRST[0]].parent().unwrap().to_owned()
}

/// Returns whether Rust can build for a target.
fn is_installed(target: &str) -> bool {
    let asked =
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    asked.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir())
}

/// Returns Cora's count and the handwritten loop's, by `<example>/<side>`, and why a side has none.
fn beside_loops() -> (BTreeMap<String, [u64; 2]>, String) {
    let host = one_sided("release", "host-only", &[BENCH], &[]);
    let mut bench = Command::new(host.join(BENCH));
    bench.args(["--json", "--only", "instructions", "--programs"]).arg(&host);
    let mut why = String::new();
    if is_installed(LINUX_ON_NIC) {
        let nic = one_sided("release", "nic-only", &[BENCH], &["--target", LINUX_ON_NIC]);
        bench.arg("--nic-programs").arg(nic).arg("--counter").arg(library("cora-counter"));
    } else {
        why = format!("no Rust target {LINUX_ON_NIC} (cargo xtask test adds it)\n");
    }
    let told = bench.output().unwrap();
    why.push_str(&String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{why}");
    let figures = String::from_utf8_lossy(&told.stdout);
    let counts = figures.lines().map(|line| {
        let figure: Value = serde_json::from_str(line).unwrap();
        let name = figure["name"].as_str().unwrap().strip_prefix("instructions/").unwrap();
        let count = |of: &str| format!("{:.0}", figure[of].as_f64().unwrap()).parse().unwrap();
        (name.to_owned(), [count("cora"), count("baseline")])
    });
    (counts.collect(), why)
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_packet_costs_no_more_than_it_did_beside_loops_by_hand() {
    let (counts, why) = beside_loops();
    let expected = |side: &str| FIRST.map(|example| format!("{example}/{side}"));
    let lacks = |side| expected(side).iter().any(|name| !counts.contains_key(name));
    assert!(!(lacks("nic") && required()), "CORA_REQUIRE_EMULATED=1, but {why}");
    if lacks("nic") || lacks("host") {
        tell(&format!("SKIPPED counts of a side: {why}"));
    }
    let kept = root().join("tests/golden/instructions-by-hand.txt");
    let kept = std::fs::read_to_string(kept).unwrap_or_default();
    let mut text = format!("{:<20}{:>6}{:>10}\n", "", "cora", "by hand");
    let mut risen = Vec::new();
    for (name, now) in &counts {
        writeln!(text, "{name:<20}{:>6}{:>10}", now[0], now[1]).unwrap();
        let before = kept.lines().find_map(|line| line.strip_prefix(name));
        let mut before = before.unwrap_or_default().split_whitespace();
        for (whose, now) in ["Cora", "by hand"].into_iter().zip(now) {
            let before = before.next().map_or(0, |count| count.parse().unwrap());
            risen.extend(rise(&format!("{name}, {whose}"), before, *now));
        }
    }
    tell(&format!("instructions per packet\n{text}"));
    if blessing() {
        assert!(!lacks("nic") && !lacks("host"), "not all can be kept: {why}");
        check("instructions-by-hand.txt", &text).unwrap();
    } else {
        assert!(risen.is_empty(), "{}\n(CORA_BLESS=1 keeps the new counts)", risen.join("\n"));
    }
}
