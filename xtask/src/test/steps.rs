//! The commands of each step.
//!
//! Which tests a step runs is said by `CORA_TESTS` (`quick`, the default, or `all`), and by
//! `#[ignore]` on tests that take minutes. All steps that build tests use the same packages,
//! features and profile, so each crate is compiled once.

use std::io;
use std::process::Command;

use super::Verdict;
use super::harness::{self, counted};
use crate::{
    arrows, cargo, chaos, command, deny, examples, names_in, need, root, run, target, words,
};

/// All packages, so that each crate is compiled once. Which targets of them run, the steps say.
const WORKSPACE: &str = "test --workspace --no-fail-fast";

/// Tests that build and count what the step `instructions` does.
const COUNTING: &str = "a_packet_costs_no_more";

pub(super) fn machine() -> Verdict {
    let programs = || need::programs(true);
    let outcome = need::toolchain().and_then(|()| programs()).and_then(|()| need::miri());
    Verdict::of(outcome)
}

pub(super) fn format() -> Verdict {
    Verdict::of(run(&mut of_cargo("fmt --all --check")))
}

pub(super) fn words() -> Verdict {
    Verdict::of(words::check())
}

pub(super) fn arrows() -> Verdict {
    Verdict::of(arrows::check())
}

/// The NIC halves are linted in a step of their own, so none is built here.
pub(super) fn clippy() -> Verdict {
    let mut clippy = of_cargo("clippy --workspace --all-targets --all-features -- --deny warnings");
    Verdict::of(run(clippy.env("CORA_SKIP_NIC", "1")))
}

/// Every example has a NIC half.
pub(super) fn clippy_nic() -> Verdict {
    let lint = || {
        let mut clippy = of_cargo("clippy --target aarch64-unknown-none");
        clippy.args([
            "--package",
            "cora-core",
            "--package",
            "cora-runtime",
            "--package",
            "cora-nic",
        ]);
        for example in examples().map_err(|cause| format!("examples/: {cause}"))? {
            clippy.args(["--package", &example, "--features", &format!("{example}/nic")]);
        }
        run(clippy.args(["--", "--deny", "warnings"]))
    };
    Verdict::of(lint())
}

pub(super) fn documentation() -> Verdict {
    let mut doc = of_cargo("doc --workspace --no-deps --lib");
    Verdict::of(run(doc.env("RUSTDOCFLAGS", "--deny warnings")))
}

pub(super) fn build() -> Verdict {
    Verdict::of(harness::build(of_cargo(WORKSPACE).arg("--no-run")))
}

/// The first test that asks for programs: it builds all of them.
pub(super) fn sizes() -> Verdict {
    counted(&mut in_this_run(test_of_tests("elf")))
}

/// Tests of the crates `cora-*`, and all examples in the documentation.
pub(super) fn units() -> Verdict {
    let units = || {
        let mut units = of_cargo(WORKSPACE);
        Ok(counted(integration(units.arg("--lib"), &library_directories()?)?))
    };
    or_unread(units()).and(|| counted(of_cargo(WORKSPACE).arg("--doc")))
}

/// Compile-fail tests, beside the library.
pub(super) fn diagnostics() -> Verdict {
    counted(of_cargo(WORKSPACE).args(["--test", "ui"]))
}

/// Tests of the command and of the examples, and tests that cross crates: on an emulated NIC, too.
pub(super) fn tests() -> Verdict {
    let tests = || {
        let mut tests = in_this_run(of_cargo(WORKSPACE));
        let mut packages = vec!["cargo-cora".to_owned(), "tests".to_owned()];
        let examples = names_in(&root().join("examples"))?;
        packages.extend(examples.iter().map(|name| format!("examples/{name}")));
        // Examples of a package: clients that have unit tests of their own.
        integration(tests.args(["--bins", "--examples"]), &packages)?;
        Ok(counted(tests.args(["--", "--skip", COUNTING])))
    };
    or_unread(tests())
}

fn or_unread(verdict: io::Result<Verdict>) -> Verdict {
    verdict.unwrap_or_else(|cause| Verdict::of(Err(format!("tests are not found: {cause}"))))
}

/// The directories of the crates `cora-*`.
fn library_directories() -> io::Result<Vec<String>> {
    let mut names = names_in(root())?;
    names.retain(|name| name.starts_with("cora-"));
    Ok(names)
}

/// Adds the integration tests of these packages: `tests/NAME.rs` and `tests/NAME/main.rs`.
fn integration<'a>(tests: &'a mut Command, packages: &[String]) -> io::Result<&'a mut Command> {
    for tests_of_package in packages.iter().map(|package| root().join(package).join("tests")) {
        if !tests_of_package.is_dir() {
            continue;
        }
        for path in names_in(&tests_of_package)?.iter().map(|name| tests_of_package.join(name)) {
            let is_test =
                path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").is_file();
            if let (true, Some(name)) = (is_test, path.file_stem()) {
                tests.arg("--test").arg(name);
            }
        }
    }
    Ok(tests)
}

/// Of the examples, nearly as they are released: long to build, soon counted.
pub(super) fn instructions() -> Verdict {
    counted(&mut in_this_run(test_of_tests("instructions")))
}

/// The core has code for this machine's instructions, and other code for the NIC's: its unit tests
/// there, emulated.
pub(super) fn core_on_the_nic() -> Verdict {
    let Some(emulator) = need::emulator() else {
        return Verdict::of(Err("no qemu-aarch64 (Debian: qemu-user)".to_owned()));
    };
    let mut tests = of_cargo("test --package cora-core --package cora-runtime --lib --target");
    tests.arg(need::LINUX_ON_NIC);
    counted(tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", emulator))
}

/// The ring and the bell under loom, which replaces the atomics.
pub(super) fn loom() -> Verdict {
    let mut loom =
        of_cargo("test --package cora-runtime --release --test ring_loom --test bell_loom");
    loom.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target("loom"));
    // One crate, run once: a link-time optimiser has nothing to do here.
    loom.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    counted(&mut loom)
}

/// The modules that have unsafe blocks, and those that are little but their callers: the rest takes
/// Miri minutes, in a run of all tests.
pub(super) fn miri() -> Verdict {
    const UNSAFE: &str = "ring:: region:: payload:: state::memory state::table::simd \
                          state::table::index state::table::prefetch state::kept \
                          --skip steering:: --skip no_header_says_that_there_is_none";
    interpreted("--package cora-core --package cora-runtime --lib", &split(UNSAFE))
}

pub(super) fn miri_all() -> Verdict {
    let packages = "--package cora-core --package cora-runtime --package cora-sim --lib --test migration \
                    --test table_model --test ring_threads";
    interpreted(packages, &[])
}

fn interpreted(packages: &str, names: &[&str]) -> Verdict {
    let mut miri = command("rustup", &["run", "nightly", "cargo", "miri", "test"]);
    miri.args(split(packages)).arg("--").args(names);
    // The proptest cases that a native run makes would take Miri hours. State memory is never given
    // back, which is no leak here.
    miri.env("PROPTEST_CASES", "4");
    miri.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
    counted(miri.env("CARGO_TARGET_DIR", target("miri")))
}

pub(super) fn oracle() -> Verdict {
    let mut tests = in_this_run(of_cargo("test --package cora-tests --no-fail-fast"));
    for test in ["equivalence", "odd_packets", "configuration", "records"] {
        tests.args(["--test", test]);
    }
    counted(tests.env("CORA_TESTS", "all"))
}

/// Times and counts of an optimised command: an unoptimised one refuses.
pub(super) fn calibration() -> Verdict {
    counted(&mut of_cargo("test --release --package cargo-cora --test calibrate"))
}

/// Of the documentation's examples none: those that are ignored are not meant to compile.
pub(super) fn long_tests() -> Verdict {
    let mut tests = in_this_run(of_cargo(WORKSPACE));
    tests.args(["--tests", "--", "--ignored", "--skip", "calibration", "--skip", "handovers_of"]);
    counted(tests.env("CORA_TESTS", "all"))
}

pub(super) fn chaos() -> Verdict {
    let mut schedules = of_cargo("test --package cora-sim --test migration");
    // Millions of states: optimised, as the simulator is.
    let handovers = "test --profile chaos --package cora-switch --test handover -- --ignored";
    counted(schedules.env("CORA_TESTS", "all"))
        .and(|| counted(&mut of_cargo(handovers)))
        .and(|| Verdict::of(chaos::run(&split_owned("--messages --seconds 20"))))
        .and(|| Verdict::of(chaos::run(&split_owned("--seconds 120"))))
}

/// That they build; how they run is in docs/fuzzing.md.
pub(super) fn fuzz() -> Verdict {
    let check = || {
        need::cplusplus()?;
        let mut check = of_cargo("check --manifest-path fuzz/Cargo.toml");
        run(check.env("CARGO_TARGET_DIR", target("fuzz")))
    };
    Verdict::of(check())
}

pub(super) fn dependencies() -> Verdict {
    Verdict::of(deny::check())
}

/// The test `tests/NAME.rs`: as this run built it, so that it need not wait for a cargo that builds
/// something else, or by cargo.
fn test_of_tests(name: &str) -> Command {
    let Some(built) = harness::built(name) else {
        let mut command = of_cargo(WORKSPACE);
        command.args(["--test", name, "--"]);
        return command;
    };
    let mut command = Command::new(built);
    command.current_dir(root().join("tests"));
    command
}

fn of_cargo(words: &str) -> Command {
    cargo(&split(words))
}

fn split_owned(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn split(words: &str) -> Vec<&str> {
    words.split_whitespace().collect()
}

/// A run of tests that build programs: the emulated NIC must not be left out, and a program that
/// one step built, the others need not build again.
fn in_this_run(mut tests: Command) -> Command {
    tests.env("CORA_REQUIRE_EMULATED", "1").env("CORA_TEST_RUN", this_run());
    tests
}

/// A name for this run.
fn this_run() -> &'static str {
    static NAME: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    NAME.get_or_init(|| format!("{}-{:?}", std::process::id(), std::time::SystemTime::now()))
}
