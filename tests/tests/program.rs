//! A user's program: the commands and options of its host half, the crates of Cora that are linked
//! into it, and its size, as kept in `tests/golden/program.txt`. Code for measurements and tests is
//! in none of them.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use cora_tests::golden::{blessing, check};
use cora_tests::process::{Ended, run};
use cora_tests::tell;
use cora_tests::workshop::{linked, programs, root};

const LIMIT: Duration = Duration::from_mins(1);

/// Largest change of the size without review.
const TOLERANCE_PERCENT: u64 = 5;

/// The line of the golden file with the size.
const SIZE: &str = "bytes loaded: ";

/// An example as `cargo build` makes it, but with less work for the optimiser.
static FIREWALL: LazyLock<PathBuf> = LazyLock::new(|| {
    let words = ["--package", "firewall"];
    programs(&words, None, "users-firewall").remove("firewall").unwrap()
});

fn firewall(words: &[&str]) -> Ended {
    run(Command::new(&*FIREWALL).args(words), LIMIT)
}

/// Returns the commands in the help.
fn commands() -> Vec<String> {
    let help = firewall(&["--help"]).well("--help").stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Returns the bytes of an ELF file that are loaded; symbols do not count.
fn loaded(path: &Path) -> u64 {
    const LOAD: u64 = 1;
    let file = std::fs::read(path).unwrap();
    let number = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    };
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let segments = (0..count).map(|segment| (table + segment * size) as usize);
    segments.filter(|at| number(*at, 4) == LOAD).map(|at| number(at + 32, 8)).sum()
}

#[test]
fn a_program_carries_what_runs_it_and_no_more() {
    let tree = linked("firewall", None, "normal,no-proc-macro");
    let ours: Vec<&str> =
        tree.iter().map(String::as_str).filter(|name| name.starts_with("cora")).collect();
    assert!(!ours.contains(&"cora-measure"), "{ours:?}");
    let mut text = format!("crates of Cora: {}\n", ours.join(", "));
    for command in commands() {
        let help = firewall(&[&command, "--help"]).well(&command).stdout;
        write!(text, "\n== {command}\n\n{help}").unwrap();
    }
    // Its size differs a little from build to build, so the comparison of the size is separate.
    let size = loaded(&FIREWALL);
    let kept = std::fs::read_to_string(root().join("tests/golden/program.txt")).unwrap_or_default();
    let before = kept.lines().find_map(|line| line.strip_prefix(SIZE)?.parse::<u64>().ok());
    let near = |before: u64| before.abs_diff(size) * 100 <= before * TOLERANCE_PERCENT;
    let shown = before.filter(|before| !blessing() && near(*before)).unwrap_or(size);
    write!(text, "\n{SIZE}{shown}\n").unwrap();
    tell(&format!("bytes loaded of firewall: {size}"));
    check("program.txt", &text).unwrap();
}

#[test]
fn what_measures_and_tests_is_not_to_be_had() {
    for command in ["bench", "trace", "count"] {
        let refused = firewall(&[command, "--in", "a.pcap"]);
        assert_eq!(refused.code, Some(2), "{command}: {}", refused.stderr);
        assert!(refused.stderr.contains("unrecognized subcommand"), "{}", refused.stderr);
    }
    let refused = firewall(&["run", "--nic", "off", "--in", "a.pcap", "--moves", "random:1"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no controller `random`; say plan, adapt"),
        "{}",
        refused.stderr
    );
}
