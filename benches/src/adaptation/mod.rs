//! The benefit of moving flows while traffic changes: `cargo xtask adapt`.
//!
//! A program runs its own trials (`<program> bench --half adapt`). Both halves run under one
//! controller after the other; the traffic's rate, skew and popular flows change in steps. The
//! figures are the host's time per packet, relative to a controller that knows the traffic in
//! advance, and the reaction time: until the NIC has its packets after a step.
//!
//! | module | concept |
//! | --- | --- |
//! | `scenario` | the traffic, and the small room of the NIC |
//! | `outcome` | results of the trials |
//! | `plot` | the host's time over time, drawn |
//! | `page` | the results on a page |

mod outcome;
mod page;
mod plot;
mod scenario;

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use crate::figure::machine;
use crate::model::flow_frames;
use crate::program::Program;

use outcome::Outcome;
use scenario::Scenario;

/// The options of the comparison.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Comparison {
    /// Compare controllers on changing traffic instead: a program built under a plan that splits.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) adapt: Option<PathBuf>,
    /// Seed of the traffic and of random choices.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "adapt")]
    pub(crate) seed: u64,
}

/// Runs the trials, prints a table or JSON, and draws `page` and a picture beside it.
pub(crate) fn run(
    program: &Path,
    seed: u64,
    quick: bool,
    json: bool,
    page: Option<&Path>,
) -> Result<()> {
    let scenario = Scenario::new(quick, seed);
    let capture = std::env::temp_dir().join(format!("cora-adapt-{}.pcap", std::process::id()));
    flow_frames(&capture, scenario.most_flows())?;
    let asked = serde_json::to_string(&scenario)?;
    let answer = Program::start_half(program, "adapt", &capture, 0)
        .and_then(|mut program| program.ask_for(&asked));
    std::fs::remove_file(&capture)?;
    let outcome = Outcome::of(&scenario, &answer?).ok_or_else(|| Error::other("no trial"))?;
    if json {
        println!("{}", serde_json::to_string(&outcome)?);
    } else {
        print!("{}", outcome.table(&scenario));
    }
    if let Some(page) = page {
        let picture = page.with_extension("svg");
        std::fs::write(&picture, plot::draw(&scenario, &outcome))?;
        std::fs::write(page, page::draw(&scenario, &outcome, &machine()))?;
        eprintln!("drawn: {} and {}", page.display(), picture.display());
    }
    // Moves of flows must lose no packet.
    match outcome.trials.iter().find(|trial| trial.came != trial.left) {
        Some(lost) => {
            let (name, came, left) = (&lost.controller, lost.came, lost.left);
            Err(Error::other(format!("{name}: {came} packets came, and {left} left")))
        }
        None => Ok(()),
    }
}
