//! `cargo xtask test`: every test there is, in order, and a table of how they went.

use std::time::{Duration, Instant};

use crate::{cargo, command, need, run, target};

/// How a step went.
enum Verdict {
    Passed,
    Failed,
    Skipped(&'static str),
}

/// A name, and what is done.
type Step = (&'static str, fn() -> Verdict);

const STEPS: [Step; 8] = [
    ("what tests need", || verdict(need::nic_target().and_then(|()| need::programs()))),
    ("format", || of_cargo("fmt --all --check")),
    ("clippy", || of_cargo("clippy --workspace --all-targets -- --deny warnings")),
    ("tests, with the oracle", || of_cargo("test --workspace")),
    ("clippy, NIC side", || {
        let packages = "--package cora-core --package cora-nic";
        of_cargo(&format!("clippy {packages} --target aarch64-unknown-none -- --deny warnings"))
    }),
    ("loom: the ring", loom),
    ("Miri: cora-core", miri),
    ("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
        verdict(run(doc.env("RUSTDOCFLAGS", "--deny warnings")))
    }),
];

pub(crate) fn run_all() -> Result<(), String> {
    let results = STEPS.map(|(name, step)| {
        eprintln!("\n== {name}");
        let begun = Instant::now();
        (name, step(), begun.elapsed())
    });
    summary(&results)
}

fn summary(results: &[(&str, Verdict, Duration)]) -> Result<(), String> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!();
    for (name, verdict, time) in results {
        let (count, word) = match verdict {
            Verdict::Passed => (&mut passed, "passed".to_owned()),
            Verdict::Failed => (&mut failed, "FAILED".to_owned()),
            Verdict::Skipped(why) => (&mut skipped, format!("skipped: {why}")),
        };
        *count += 1;
        println!("{name:<24} {:>7.1} s  {word}", time.as_secs_f32());
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", results.len())) }
}

/// The ring under loom, which replaces the atomics: built apart from everything else.
fn loom() -> Verdict {
    let arguments = ["test", "--package", "cora-core", "--release", "--test", "ring_loom"];
    let mut loom = cargo(&arguments);
    loom.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target("loom"));
    verdict(run(&mut loom))
}

fn miri() -> Verdict {
    if !need::miri() {
        return Verdict::Skipped("no nightly with Miri");
    }
    let arguments = ["run", "nightly", "cargo", "miri", "test", "--package", "cora-core"];
    let mut miri = command("rustup", &arguments);
    // The proptest cases that a native run makes would take Miri hours.
    miri.env("PROPTEST_CASES", "4").env("MIRIFLAGS", "-Zmiri-disable-isolation");
    miri.env("CARGO_TARGET_DIR", target("miri"));
    verdict(run(&mut miri))
}

fn of_cargo(arguments: &str) -> Verdict {
    verdict(run(cargo(&[]).args(arguments.split(' '))))
}

fn verdict(outcome: Result<(), String>) -> Verdict {
    match outcome {
        Ok(()) => Verdict::Passed,
        Err(why) => {
            eprintln!("FAILED: {why}");
            Verdict::Failed
        }
    }
}
