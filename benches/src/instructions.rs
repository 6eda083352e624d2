//! Instructions per packet: the examples through the macros beside the loops by hand, each as a whole process
//! that makes so many passes over the same traffic. What loading and ending take cancels out.
//!
//! | side | machine | counted by |
//! | --- | --- | --- |
//! | `host` | that of this process | valgrind's callgrind |
//! | `nic` | aarch64, emulated | the plugin in `benches/counter`, loaded into QEMU |
//!
//! A count does not depend on what else the machine does: one turn is enough.

use std::io::{BufRead as _, Error, Result, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::by_hand::BURST;
use crate::figure::Figure;
use crate::keys::Skew;
use crate::nf::{EXAMPLES, Example, GOAL};
use crate::traffic::{FRAME, Traffic};

const FLOWS: u64 = 1_000;
/// Packets of a pass.
const PASS: usize = 20_000;
/// The name of this very program, which runs the loops by hand.
const BY_HAND: &str = "cora-bench";

/// A side's programs, and what counts their instructions.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    name: &'static str,
    /// Where the examples' programs and this one stand, built for the side's machine.
    programs: PathBuf,
    counter: Counter,
}

#[derive(Clone, Debug)]
enum Counter {
    Callgrind,
    /// The plugin's file.
    Qemu(PathBuf),
}

impl Side {
    /// The host half, under a plan that runs all of it there.
    pub(crate) fn host(programs: &Path) -> Self {
        Self { name: "host", programs: programs.to_owned(), counter: Counter::Callgrind }
    }

    /// The NIC half, likewise, with the plugin that counts.
    pub(crate) fn nic(programs: &Path, plugin: &Path) -> Self {
        let counter = Counter::Qemu(plugin.to_owned());
        Self { name: "nic", programs: programs.to_owned(), counter }
    }
}

/// Counts every example at every side; a side without what counts there is left out, with a word why.
pub(crate) fn run(
    sides: &[Side],
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> Result<()> {
    for side in sides {
        if let Err(why) = side.counter.works(&side.programs) {
            eprintln!("instructions/*/{} left out: {why}", side.name);
            continue;
        }
        for example in &EXAMPLES {
            let name = format!("instructions/{}/{}", example.name, side.name);
            if wanted(&name) {
                tell(compare(name, example, side)?);
            }
        }
    }
    Ok(())
}

fn compare(name: String, example: &Example, side: &Side) -> Result<Figure> {
    let traffic = traffic(example);
    let capture = traffic.save(&side.programs.join("instructions.pcap"))?;
    let per_packet = |program: &str, words: &[&str]| -> Result<f64> {
        let count = |passes| side.counter.count(&side.programs, program, words, passes);
        let (one, three) = (count(1)?, count(3)?);
        Ok(three.saturating_sub(one) as f64 / (2 * PASS) as f64)
    };
    let (warm, capture) = (traffic.warm.to_string(), capture.display().to_string());
    let words = ["bench", "--half", side.name, "--warm", &warm, "--in", &capture];
    let cora = per_packet(example.name, &words)?;
    let by_hand = per_packet(BY_HAND, &["--by-hand", example.name])?;
    Ok(Figure::of_counts(name, cora, by_hand, "by hand", "instructions", GOAL))
}

fn traffic(example: &Example) -> Traffic {
    (example.traffic)(FLOWS, Skew::Zipf, PASS)
}

/// What `--by-hand` does: fills the loop's table, and then makes a pass per line of standard input, as an
/// example's `bench` does.
pub(crate) fn replay(name: &str) -> Result<()> {
    let example = EXAMPLES.iter().find(|example| example.name == name);
    let example = example.ok_or_else(|| Error::other(format!("no loop is called {name}")))?;
    let (traffic, mut hand) = (traffic(example), (example.by_hand)());
    let mut buffer = [[0; FRAME]; BURST];
    hand.replay(&traffic, 0, &mut buffer);
    for line in std::io::stdin().lock().lines() {
        line?;
        hand.replay(&traffic, traffic.warm, &mut buffer);
    }
    Ok(())
}

impl Counter {
    /// Whether it can count; the error says why not.
    fn works(&self, programs: &Path) -> std::result::Result<(), String> {
        let why = |error: Error| match self {
            Self::Callgrind => format!("valgrind does not count ({error})"),
            Self::Qemu(_) => format!("qemu-aarch64 does not count with the plugin ({error})"),
        };
        // The loops by hand, of which it makes no pass, are a program that surely ends.
        self.count(programs, BY_HAND, &["--by-hand", "firewall"], 0).map(|_| ()).map_err(why)
    }

    /// Instructions of a whole process that makes so many passes.
    fn count(&self, programs: &Path, program: &str, words: &[&str], passes: usize) -> Result<u64> {
        let out = programs.join("instructions.out");
        let _was_there = std::fs::remove_file(&out);
        let mut command = self.command(&out);
        command.arg(programs.join(program)).args(words);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut lines) = child.stdin.take() {
            lines.write_all("\n".repeat(passes).as_bytes())?;
        }
        let ended = child.wait_with_output()?;
        if !ended.status.success() {
            let told = String::from_utf8_lossy(&ended.stderr);
            return Err(Error::other(format!("{program}: {}: {}", ended.status, told.trim())));
        }
        let counted = std::fs::read_to_string(&out)?;
        let number = self.read(&counted).and_then(|number| number.trim().parse().ok());
        number.ok_or_else(|| Error::other(format!("{program}: no count in {}", out.display())))
    }

    fn command(&self, out: &Path) -> Command {
        match self {
            Self::Callgrind => {
                let mut command = Command::new("valgrind");
                let out = format!("--callgrind-out-file={}", out.display());
                command.args(["--quiet", "--tool=callgrind", &out]);
                command
            }
            Self::Qemu(plugin) => {
                let mut command = Command::new("qemu-aarch64");
                let plugin = format!("{},out={}", plugin.display(), out.display());
                command.args(["-plugin", &plugin]);
                command
            }
        }
    }

    /// The count in what it left behind.
    fn read<'a>(&self, left: &'a str) -> Option<&'a str> {
        match self {
            Self::Callgrind => left.lines().find_map(|line| line.strip_prefix("summary: ")),
            Self::Qemu(_) => Some(left),
        }
    }
}
