//! What a packet costs: instructions per packet of each example's host half, kept in
//! `tests/golden/instructions.txt`. A count does not depend on what else the machine does, so a rise is
//! a rise.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use cora_tests::golden::{blessing, check};
use cora_tests::workshop::{EXAMPLES, examples, room, root};
use cora_tests::{captures, tell};
use cora_traffic::Profile;

/// How far a count may rise before somebody has to look.
const TOLERANCE_PERCENT: u64 = 2;

const PACKETS: u64 = 20_000;

/// Long flows, some with most of the packets, over IPv4 and IPv6.
fn traffic(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("zipf.pcap");
    captures::generate(Profile::Zipf, 7, PACKETS, 500, &path);
    path
}

/// Instructions of a whole process that makes so many passes over the capture.
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

/// The difference between three passes and one: loading and ending cancel out.
fn per_packet(program: &Path, capture: &Path) -> u64 {
    let (one, three) = (instructions(program, capture, 1), instructions(program, capture, 3));
    (three - one) / (2 * PACKETS)
}

#[test]
fn a_packet_costs_no_more_than_it_did() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return tell("skipped: no valgrind to count instructions with");
    }
    let capture = traffic(&room("instructions"));
    let programs = examples("host-only");
    let mut text = String::new();
    let mut risen = Vec::new();
    let kept = std::fs::read_to_string(root().join("tests/golden/instructions.txt"));
    let kept = kept.unwrap_or_default();
    for example in EXAMPLES {
        let now = per_packet(&programs[example], &capture);
        writeln!(text, "{example:<14}{now:>6}").unwrap();
        let before = kept.lines().find_map(|line| line.strip_prefix(example)?.trim().parse().ok());
        let before: u64 = before.unwrap_or(0);
        if now * 100 > before * (100 + TOLERANCE_PERCENT) {
            risen.push(format!("{example}: {before} instructions per packet, now {now}"));
        }
    }
    tell(&format!("instructions per packet, host half\n{text}"));
    if blessing() {
        check("instructions.txt", &text).unwrap();
    } else {
        assert!(risen.is_empty(), "{}\n(CORA_BLESS=1 keeps the new counts)", risen.join("\n"));
    }
}
