//! `calibrate`, of an optimised build: `cargo test --release --package cargo-cora --test
//! calibrate`. A build that is not optimised refuses.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
#![expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

#[path = "../src/calibrate/counts.rs"]
mod counts;
#[path = "../src/calibrate/traffic.rs"]
#[expect(dead_code, reason = "what is counted is a part of what is timed")]
mod traffic;

use traffic::{Capture, Order, SHORT};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-cora");

fn calibrate(words: &[&str]) -> Output {
    Command::new(PROGRAM).arg("calibrate").args(words).output().unwrap()
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "an optimised build calibrates")]
fn a_build_that_is_not_optimised_refuses() {
    let output = calibrate(&["--quick"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("not optimised") && told.contains("--release"), "{told}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "times of a build that is not optimised say nothing")]
fn a_quick_calibration_writes_a_profile_that_plans_can_be_made_from() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("mine.toml");
    let output = calibrate(&["--quick", "--out", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "the profile went into the file");
    let profile = cora_plan::nic::NicProfile::load(file.to_str().unwrap()).unwrap();
    for tier in [&profile.nic, &profile.host] {
        let instruction_ns = tier.instruction_ns.value;
        assert!((0.01..2.0).contains(&instruction_ns), "{}", tier.instruction_ns);
        assert!((20.0..1_000.0).contains(&tier.memory_ns.value), "{}", tier.memory_ns);
        assert!(tier.exposed.value < 1.0 && tier.byte_ns.value < 1.0);
        assert_eq!(tier.instruction_ns.source.word(), "measured");
    }
    let link = &profile.link;
    assert!(link.nic_ns.value > 0.0 && link.host_ns.value > 0.0, "{link:?}");
}

/// Instructions and mispredictions of `packets` packets of a pass; `None` where valgrind isn't.
fn counted(words: [&str; 3], capture: &Capture, packets: u64) -> Option<(f64, f64)> {
    let count = |passes: usize| {
        let mut child = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--branch-sim=yes"])
            .arg(PROGRAM)
            .args(["calibration-program", words[0], "bench", words[1], words[2], "--warm"])
            .args([&capture.warm.to_string(), "--in"])
            .arg(&capture.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all("\n".repeat(passes).as_bytes()).unwrap();
        let told = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        let line = told.lines().find_map(|line| line.split_once("Collected : "));
        let line = line.unwrap_or_else(|| panic!("{told}")).1;
        // Instructions, conditional branches and those of them foretold wrongly, others likewise.
        let counts: Vec<f64> = line.split_whitespace().map(|it| it.parse().unwrap()).collect();
        Some((counts[0], counts[2] + counts[4]))
    };
    let ((one, one_wrong), (three, three_wrong)) = (count(1)?, count(3)?);
    let packets = 2.0 * packets as f64;
    Some(((three - one) / packets, (three_wrong - one_wrong) / packets))
}

#[test]
#[cfg_attr(debug_assertions, ignore = "instructions of a build that is not optimised are others")]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the counts are those of x86-64")]
fn the_program_takes_as_many_instructions_as_the_calibration_believes() {
    let room = tempfile::tempdir().unwrap();
    let (flows, packets) = (1_000, 20_000);
    let steady = Capture::steady(room.path(), flows, packets, SHORT).unwrap();
    let churn = Capture::churn(room.path(), flows).unwrap();
    let host = ["host-only", "--half", "host"];
    let nic = ["nic-only", "--half", "nic"];
    let mut wrong = Vec::new();
    for (what, words, capture, packets, believed) in [
        ("carried", ["host-only", "--half", "none"], &steady, packets, counts::CARRIED),
        ("host, hit", host, &steady, packets, counts::HOST.hit),
        ("host, come and go", host, &churn, flows, counts::HOST.churn),
        ("nic, hit", nic, &steady, packets, counts::NIC.hit),
        ("nic, come and go", nic, &churn, flows, counts::NIC.churn),
    ] {
        let Some((counted, _)) = counted(words, capture, packets) else {
            eprintln!("not counted: valgrind is not installed");
            return;
        };
        if (counted / believed - 1.0).abs() > 0.05 {
            wrong.push(format!("{what}: {counted:.0}, believed {believed}"));
        }
    }
    assert!(wrong.is_empty(), "in counts.rs, write:\n{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "branches of a build that is not optimised are others")]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the counts are those of x86-64")]
fn as_many_branches_are_foretold_wrongly_as_the_calibration_believes() {
    let room = tempfile::tempdir().unwrap();
    let (flows, packets) = (512, 20_000);
    let steady = Capture::steady(room.path(), flows, packets, SHORT).unwrap();
    let mixed = Capture::mixed(room.path(), flows, packets, Order::Drawn).unwrap();
    let wrong = |words, capture: &Capture| counted(words, capture, packets).map(|counts| counts.1);
    let (host, nic) = (["host-only", "--half", "host"], ["nic-only", "--half", "nic"]);
    let (Some(host), Some(nic), Some(mixed)) =
        (wrong(host, &steady), wrong(nic, &steady), wrong(nic, &mixed))
    else {
        eprintln!("not counted: valgrind is not installed");
        return;
    };
    for (what, counted, believed) in [
        ("host, hit", host, counts::HOST.wrong),
        ("nic, hit", nic, counts::NIC.wrong),
        ("mixed, beyond that", mixed - nic, counts::MIXED),
    ] {
        assert!((counted - believed).abs() < 0.1, "{what}: {counted:.2}, believed {believed}");
    }
}
