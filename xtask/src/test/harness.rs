//! The output of test harnesses, shown while it comes and counted.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::Verdict;
use crate::{named, shown};

/// Counts of the test harnesses below a command.
#[derive(Clone, Copy, Default)]
pub(super) struct Tests {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
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

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// The executables of tests that a build made, by the names of their sources: `tests/elf.rs`.
static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();

/// Builds tests, without running any, and notes where they are.
pub(super) fn build(command: &mut Command) -> Result<(), String> {
    eprintln!("$ {}", shown(command));
    let told = named(command);
    let failed = |why: String| format!("`{told}`: {why}");
    let mut child =
        command.stderr(Stdio::piped()).spawn().map_err(|error| failed(error.to_string()))?;
    let mut built = BTreeMap::new();
    for line in child.stderr.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.unwrap_or_else(|error| error.to_string());
        built.extend(executable(&line));
        eprintln!("{line}");
    }
    // A second build of one run makes the same.
    let _first = BUILT.set(built);
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("it ended with {status}"))),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Reads `Executable tests/elf.rs (target/debug/deps/elf-0123)`.
fn executable(line: &str) -> Option<(String, PathBuf)> {
    let (source, path) = line.trim().strip_prefix("Executable ")?.split_once(" (")?;
    Some((source.to_owned(), crate::root().join(path.strip_suffix(')')?)))
}

/// Where this run's build put the test `tests/NAME.rs`; `None` if it has not built it.
pub(super) fn built(name: &str) -> Option<PathBuf> {
    BUILT.get().and_then(|built| built.get(&format!("tests/{name}.rs"))).cloned()
}

/// Runs test harnesses; shows their output and adds up their counts.
pub(super) fn counted(command: &mut Command) -> Verdict {
    eprintln!("$ {}", shown(command));
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            return Verdict::of(Err(format!("`{}` doesn't start: {error}", named(command))));
        }
    };
    let mut tests = Tests::default();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.unwrap_or_else(|error| error.to_string());
        println!("{line}");
        tests = tests.plus(Tests::told(&line).unwrap_or_default());
    }
    match child.wait() {
        Ok(status) if status.success() && tests.failed == 0 && tests.passed > 0 => {
            Verdict::Done(tests)
        }
        Ok(status) => {
            let why = format!("`{}` ended with {status}", named(command));
            Verdict::Failed(Tests { failed: tests.failed.max(1), ..tests }, why)
        }
        Err(error) => Verdict::of(Err(error.to_string())),
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

#[test]
fn where_a_test_was_built_is_read() {
    let line = "  Executable tests/elf.rs (target/debug/deps/elf-0123)";
    let (source, path) = executable(line).unwrap_or_default();
    assert_eq!(source, "tests/elf.rs");
    assert!(path.ends_with("target/debug/deps/elf-0123"), "{}", path.display());
    assert!(executable("    Finished `test` profile").is_none());
}
