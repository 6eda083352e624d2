//! `cora-lab wires NAME=PROGRAM…`.

use std::io::Write as _;

use super::figure::HEAD;
use super::{Request, run};
use crate::Result;

const USAGE: &str = "usage: cora-lab wires [--quick] [--json] NAME=PROGRAM…";

/// Measures the programs of these arguments, and prints a line for each figure.
///
/// # Errors
/// When a word is wrong, or something can't be measured.
pub fn wires(words: impl Iterator<Item = String>) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("cora-wires-{}", std::process::id()));
    let mut request = Request { programs: Vec::new(), quick: false, directory };
    let mut json = false;
    for word in words {
        match (word.as_str(), word.split_once('=')) {
            ("--quick", _) => request.quick = true,
            ("--json", _) => json = true,
            (_, Some((name, path))) => request.programs.push((name.to_owned(), path.into())),
            _ => return Err(USAGE.to_owned()),
        }
    }
    if request.programs.is_empty() {
        return Err(USAGE.to_owned());
    }
    eprintln!("{}", conditions());
    let mut out = std::io::stdout();
    let mut failed = None;
    let mut print = |line: String| {
        // The first error counts: the reader of the output may be gone.
        failed = failed.take().or(writeln!(out, "{line}").err());
    };
    if !json {
        print(HEAD.to_owned());
    }
    let measured = run(&request, &mut |figure| {
        print(if json { figure.to_json().to_string() } else { figure.to_string() });
    });
    let _removed = std::fs::remove_dir_all(&request.directory);
    measured?;
    failed.map_or(Ok(()), |error| Err(format!("standard output: {error}")))
}

/// The machine and the input.
fn conditions() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{}; kernel {}; load average {} before. The sender has the first processor for itself; UDP of {} \
         flows in frames of 64 bytes over veth",
        cpu.map_or("unknown CPU", |(_, name)| name),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        load.split(' ').next().unwrap_or("unknown"),
        super::FLOWS,
    )
}
