//! Whether it pays to move flows while traffic changes: `cargo xtask adapt`.
//!
//! A program runs its own trials (`<program> bench --half adapt`): both halves, under one
//! controller after the other, on traffic whose rate, skew and popular flows change in steps. What
//! is compared is the time that packets take of the host, against a controller that knows the
//! traffic beforehand; and how soon after a step the NIC has the packets that it will have.
//!
//! | module | concept |
//! | --- | --- |
//! | `scenario` | the traffic, and how little the NIC has |
//! | `outcome` | what trials came to |
//! | `plot` | the host's time over time, drawn |
//! | `page` | all of it on a page |

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

/// What is asked for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Comparison {
    /// Compare controllers on changing traffic instead: a program built under a plan that splits.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) adapt: Option<PathBuf>,
    /// Of the traffic, and of what is drawn by chance.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "adapt")]
    pub(crate) seed: u64,
}

/// Runs the trials; prints a table or JSON, and draws `page` and a picture beside it.
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
    // Flows may move as they will: no packet is lost over it.
    match outcome.trials.iter().find(|trial| trial.came != trial.left) {
        Some(lost) => {
            let (name, came, left) = (&lost.controller, lost.came, lost.left);
            Err(Error::other(format!("{name}: {came} packets came, and {left} left")))
        }
        None => Ok(()),
    }
}
