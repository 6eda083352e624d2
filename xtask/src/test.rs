//! `cargo xtask test`: every test there is, in order, and a table of how they went.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{cargo, command, examples, need, run, shown, target};

/// How a step went.
enum Verdict {
    Done(Tests),
    Failed(Tests, String),
    Skipped(&'static str),
}

/// What the test harnesses below a command counted. A step without any is one test itself.
#[derive(Clone, Copy, Default)]
struct Tests {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// A name, and what is done.
type Step = (&'static str, fn() -> Verdict);

/// How a step went, and how long it took.
type Taken = (&'static str, Verdict, Duration);

/// Cheap ones first. What is built with other flags has a target directory of its own: no step undoes
/// another's work.
const STEPS: [Step; 7] = [
    ("what tests need", || verdict(need::toolchain().and_then(|()| need::programs(true)))),
    ("format", || verdict(run(&mut of_cargo("fmt --all --check")))),
    ("clippy", clippy),
    ("clippy, NIC side", clippy_nic),
    ("documentation", documentation),
    ("core on NIC's machine", core_on_the_nic),
    ("tests, with the oracle", tests),
];

/// Behind them, two rows of steps beside each other. Most of each is a single thread's work, and nothing in them goes by the
/// clock, as tests of whole programs do.
const BESIDE: [&[Step]; 2] = [
    &[("sizes, instructions", sizes_and_instructions)],
    &[
        ("loom: ring and bell", loom),
        ("Miri: core and migration", miri),
        ("fuzz targets", fuzz),
        ("licences, bans", licences),
    ],
];

/// Runs every step; whether all went well.
pub(crate) fn run_all() -> bool {
    let mut results: Vec<Taken> = STEPS.iter().map(taken).collect();
    results.extend(thread::scope(|scope| {
        let rows = BESIDE.map(|steps| scope.spawn(|| steps.iter().map(taken).collect::<Vec<_>>()));
        let ended = rows.into_iter().flat_map(|row| row.join().expect("a step that fails says so"));
        ended.collect::<Vec<_>>()
    }));
    summary(&results)
}

fn taken((name, step): &Step) -> Taken {
    eprintln!("\n== {name}");
    let begun = Instant::now();
    let verdict = step();
    if let Verdict::Failed(_, why) = &verdict {
        eprintln!("FAILED, {name}: {why}");
    }
    (name, verdict, begun.elapsed())
}

/// Prints the table, and below it the one line for whoever reads no tables.
fn summary(results: &[Taken]) -> bool {
    let mut all = Tests::default();
    println!();
    for (name, verdict, time) in results {
        let (tests, word) = match verdict {
            Verdict::Done(tests) => (*tests, "passed".to_owned()),
            Verdict::Failed(tests, why) => (*tests, format!("FAILED: {why}")),
            Verdict::Skipped(why) => {
                (Tests { skipped: 1, ..Tests::default() }, format!("skipped: {why}"))
            }
        };
        println!("{name:<24} {:>7.1} s {:>5}  {word}", time.as_secs_f32(), tests.passed);
        all.add(tests);
    }
    println!("{} passed, {} failed, {} skipped", all.passed, all.failed, all.skipped);
    all.failed == 0
}

/// The NIC halves are linted in a step of their own, so none is built here.
fn clippy() -> Verdict {
    let mut clippy = of_cargo("clippy --workspace --all-targets --all-features -- --deny warnings");
    verdict(run(clippy.env("CORA_SKIP_NIC", "1")))
}

/// Every example has a NIC half.
fn clippy_nic() -> Verdict {
    let lint = || {
        let mut clippy = of_cargo("clippy --target aarch64-unknown-none");
        clippy.args(["--package", "cora-core", "--package", "cora-nic"]);
        for example in examples().map_err(|cause| format!("examples/: {cause}"))? {
            clippy.args(["--package", &example, "--features", &format!("{example}/nic")]);
        }
        run(clippy.args(["--", "--deny", "warnings"]))
    };
    verdict(lint())
}

fn documentation() -> Verdict {
    let mut doc = of_cargo("doc --workspace --no-deps");
    verdict(run(doc.env("RUSTDOCFLAGS", "--deny warnings")))
}

/// What [`sizes_and_instructions`] runs: tests of these names or with these beginnings. If one gets another name, it runs
/// with the others.
const COUNTING: [&str; 2] = ["are_static_freestanding", "a_packet_costs_no_more"];

/// Unit tests, the examples in the documentation, and what crosses crates: on an emulated NIC, too.
fn tests() -> Verdict {
    let mut tests = of_cargo("test --workspace --no-fail-fast --");
    for name in COUNTING {
        tests.args(["--skip", name]);
    }
    // What one of them built, the others need not build again.
    let run = format!("{}-{:?}", std::process::id(), std::time::SystemTime::now());
    counted(tests.env("CORA_REQUIRE_EMULATED", "1").env("CORA_TEST_RUN", run))
}

/// Of the examples as they are released: long to link, soon counted.
fn sizes_and_instructions() -> Verdict {
    let mut tests = of_cargo("test --workspace --no-fail-fast --test elf --test instructions --");
    counted(tests.args(COUNTING).env("CORA_REQUIRE_EMULATED", "1"))
}

/// What the core does by the machine's own instructions, it does by others on the NIC: its unit tests there, emulated.
fn core_on_the_nic() -> Verdict {
    let Some(emulator) = need::emulator() else {
        return verdict(Err("no qemu-aarch64 (Debian: qemu-user)".to_owned()));
    };
    let mut tests = of_cargo("test --package cora-core --lib --target");
    tests.arg(need::LINUX_ON_NIC);
    counted(tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", emulator))
}

/// The ring and the bell under loom, which replaces the atomics.
fn loom() -> Verdict {
    let mut loom = of_cargo("test --package cora-core --release --test ring_loom --test bell_loom");
    loom.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target("loom"));
    // One crate, run once: a link-time optimiser has nothing to do here.
    loom.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    counted(&mut loom)
}

fn miri() -> Verdict {
    if !need::miri() {
        return Verdict::Skipped("no nightly toolchain with Miri");
    }
    // Of the packet's tests none: that code has no unsafe block, and takes Miri minutes.
    let words = "run nightly cargo miri test --package cora-core --package cora-sim --lib \
                 --test migration --test table_model --test ring_threads";
    let mut miri = command("rustup", &words.split(' ').collect::<Vec<_>>());
    // The proptest cases that a native run makes would take Miri hours. State memory is never given
    // back, which is no leak here.
    miri.env("PROPTEST_CASES", "4");
    miri.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
    counted(miri.env("CARGO_TARGET_DIR", target("miri")))
}

/// That they build; how they run is in docs/fuzzing.md.
fn fuzz() -> Verdict {
    if !need::cplusplus() {
        return Verdict::Skipped("no C++ compiler for libFuzzer");
    }
    let mut check = of_cargo("check --manifest-path fuzz/Cargo.toml");
    verdict(run(check.env("CARGO_TARGET_DIR", target("fuzz"))))
}

fn licences() -> Verdict {
    if !need::cargo_deny() {
        return Verdict::Skipped("no cargo-deny (`cargo install cargo-deny`)");
    }
    verdict(run(&mut of_cargo("deny check licenses bans sources")))
}

fn of_cargo(words: &str) -> Command {
    cargo(&words.split(' ').collect::<Vec<_>>())
}

fn verdict(outcome: Result<(), String>) -> Verdict {
    match outcome {
        Ok(()) => Verdict::Done(Tests { passed: 1, ..Tests::default() }),
        Err(why) => Verdict::Failed(Tests { failed: 1, ..Tests::default() }, why),
    }
}

/// Runs test harnesses, showing what they print and adding up what they counted.
fn counted(command: &mut Command) -> Verdict {
    eprintln!("$ {}", shown(command));
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return verdict(Err(format!("`{}` doesn't start: {error}", shown(command)))),
    };
    let mut tests = Tests::default();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.unwrap_or_else(|error| error.to_string());
        println!("{line}");
        tests.add(Tests::told(&line).unwrap_or_default());
    }
    match child.wait() {
        Ok(status) if status.success() && tests.failed == 0 && tests.passed > 0 => {
            Verdict::Done(tests)
        }
        Ok(status) => {
            let why = format!("`{}` ended with {status}", shown(command));
            Verdict::Failed(Tests { failed: tests.failed.max(1), ..tests }, why)
        }
        Err(error) => verdict(Err(error.to_string())),
    }
}

impl Tests {
    /// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn told(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let count = |what: &str| {
            let told = counts.split("; ").find_map(|count| count.strip_suffix(what));
            told.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
        };
        Some(Self { passed: count("passed"), failed: count("failed"), skipped: count("ignored") })
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

#[test]
fn what_a_harness_says_is_counted() {
    let line =
        "test result: FAILED. 18 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished";
    let tests = Tests::told(line).map(|tests| (tests.passed, tests.failed, tests.skipped));
    assert_eq!(tests, Some((18, 2, 1)));
    assert!(Tests::told("test result of another kind").is_none());
}
