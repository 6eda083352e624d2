//! Instructions per packet: the examples through the macros beside the loops by hand, each as a
//! whole process with several passes over the same traffic. The cost of loading and ending cancels
//! out.
//!
//! | side | machine | counted by |
//! | --- | --- | --- |
//! | `host` | this machine | valgrind's callgrind |
//! | `nic` | aarch64, emulated | the plugin in `benches/counter`, loaded into QEMU |
//!
//! A count is independent of the load of the machine: one turn is enough.

use std::io::{BufRead as _, Error, Result};
use std::path::{Path, PathBuf};

use crate::by_hand::BUFFER;
use crate::count::{BY_HAND, Counter};
use crate::figure::Figure;
use crate::keys::Skew;
use crate::nf::{EXAMPLES, Example, GOAL};
use crate::traffic::Traffic;

const FLOWS: u64 = 1_000;
/// Packets of a pass.
const PASS: usize = 20_000;

/// A side's programs, and their counter.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    name: &'static str,
    /// The directory of the examples and this program, built for the side's machine.
    programs: PathBuf,
    counter: Counter,
}

impl Side {
    /// Returns the host half, under a plan with everything at the host.
    pub(crate) fn host(programs: &Path) -> Self {
        Self { name: "host", programs: programs.to_owned(), counter: Counter::Callgrind }
    }

    /// Returns the NIC half, under a plan with everything at the NIC, with the plugin that counts.
    pub(crate) fn nic(programs: &Path, plugin: &Path) -> Self {
        let counter = Counter::Qemu { machine: "aarch64", plugin: plugin.to_owned() };
        Self { name: "nic", programs: programs.to_owned(), counter }
    }
}

/// Counts every example at every side; skips a side without a counter, and prints the reason.
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
    let per_packet = |program: &str, words: &[&str]| {
        side.counter.per_packet(&side.programs, program, words, PASS)
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

/// Runs `--by-hand`: fills the loop's table, and then makes a pass per line of standard input, as
/// an example's `bench` does.
pub(crate) fn replay(name: &str) -> Result<()> {
    let example = EXAMPLES.iter().find(|example| example.name == name);
    let example = example.ok_or_else(|| Error::other(format!("no loop is called {name}")))?;
    let (traffic, mut hand) = (traffic(example), (example.by_hand)());
    let mut buffer = vec![0; BUFFER];
    hand.replay(&traffic, 0, &mut buffer);
    for line in std::io::stdin().lock().lines() {
        line?;
        hand.replay(&traffic, traffic.warm, &mut buffer);
    }
    Ok(())
}
