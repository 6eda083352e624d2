//! One way of running a program on an input, and its results.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::process::{start, start_fed};
use cora_tests::{captures, workshop};
use serde_json::Value;

use crate::programs::program;

/// Upper bound on a run, which takes seconds; a longer one hangs.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// The speed of a capture's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    /// At full speed: most packets of a flow are there before it could move.
    Whole,
    /// With pauses, in which flows move.
    Paced,
}

impl Feed {
    pub(crate) const BOTH: [Self; 2] = [Self::Whole, Self::Paced];
}

/// The plan, NIC and input of a run.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) plan: &'static str,
    pub(crate) nic: &'static str,
    pub(crate) feed: Feed,
    /// Seed of random moves of flows; otherwise the plan decides.
    pub(crate) moves: Option<u64>,
    /// Shards of NIC core and host worker.
    pub(crate) shards: u16,
}

impl Way {
    /// Returns the way that is the baseline of all others.
    pub(crate) fn baseline() -> Self {
        let plan = workshop::plan_of_host_alone();
        Self { plan, nic: "off", feed: Feed::Whole, moves: None, shards: 1 }
    }

    /// Runs the program of this name on a capture, with these configurations (`State=FILE`).
    pub(crate) fn run(
        self,
        name: &str,
        capture: &Path,
        configurations: &[String],
        output: PathBuf,
    ) -> Left {
        let state = output.with_extension("json");
        let mut command = Command::new(program(self.plan, name));
        let from = if self.feed == Feed::Whole { capture } else { Path::new("/dev/stdin") };
        command.args(["run", "--json", "--nic", self.nic, "--in"]).arg(from);
        command.arg("--out").arg(&output).arg("--state-out").arg(&state);
        command.args(configurations.iter().flat_map(|config| ["--config", config]));
        if self.nic.starts_with("card") {
            let card = workshop::card(name).unwrap_or_else(|skipped| panic!("{skipped}"));
            command.arg("--card-program").arg(card);
        }
        if let Some(seed) = self.moves {
            command.arg("--moves").arg(format!("random:{seed}"));
        }
        if self.shards > 1 {
            command.args(["--shards", &self.shards.to_string()]);
        }
        let what = format!("{name}, {self}: {command:?} on {}", capture.display());
        let running = match self.feed {
            Feed::Whole => start(&mut command),
            Feed::Paced => start_fed(&mut command, captures::paced(capture)),
        };
        let report = running.end(LIMIT).well(&what).json();
        let state = std::fs::read(&state).unwrap_or_else(|error| panic!("{what}: {error}"));
        Left { report, output, state }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, nic, feed, moves, shards } = self;
        write!(f, "plan {plan}, NIC {nic}, fed {feed:?}, shards {shards}")?;
        moves.map_or(Ok(()), |seed| write!(f, ", moves random:{seed}"))
    }
}

/// The results of one run: its report, its output, and the final state.
pub(crate) struct Left {
    pub(crate) report: Value,
    pub(crate) output: PathBuf,
    pub(crate) state: Vec<u8>,
}

impl Left {
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        let number = self.report.pointer(pointer).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number {pointer} in {:#}", self.report))
    }

    /// Asserts that every packet has one outcome and was handled on one side.
    #[track_caller]
    pub(crate) fn accounts_for_all(&self, of: &str) {
        let outcomes = self.report["outcomes"].as_object();
        let sum: u64 = outcomes.into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
        assert_eq!(sum, self.number("/packets_in"), "{of}: not every packet has an outcome");
        let handled = self.number("/sides/nic/packets") + self.number("/sides/host/packets");
        assert_eq!(handled, sum, "{of}: not every packet was handled on one side");
    }
}
