//! The predictions of the performance model against measurements: `cargo xtask model`.
//!
//! A case is a program, its traffic and a plan. For each, the model predicts the highest rate, from
//! the profile that `cargo cora calibrate` has just made of this machine. Both halves also run, on
//! a core each, at full speed.
//!
//! | module | concept |
//! | --- | --- |
//! | `cases` | the cases |
//! | `popularity` | the flow of each packet |
//! | `frames` | captures of these flows |
//! | `traffic` | captures as traffic profiles |
//! | `calibrate` | the fit to this machine |
//! | `predict` | the predictions |
//! | `measure` | the measurements |
//! | `source` | new measurements, or earlier ones |
//! | `report` | both, side by side |

mod calibrate;
mod cases;
mod frames;
mod measure;
mod popularity;
mod predict;
mod report;
mod source;
mod traffic;

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use cora_plan::nic::NicProfile;

use cases::{Case, EMPTY, Plan};
use frames::Capture;
use measure::Reference;
use popularity::Popularity;
use predict::Model;
use report::Row;
use source::Source;

/// Packets that a pass repeats.
const DRAWS: usize = 1 << 20;
const QUICK_DRAWS: usize = 1 << 18;
/// Flows of the reference programs, which run beside every measurement; the working one's number is
/// in no case.
const IDLE_FLOWS: u64 = 1_000;
const WORK_FLOWS: u64 = 2_000;

/// Writes a capture with a frame of each of `flows` flows, all from inside.
pub(crate) fn flow_frames(path: &Path, flows: usize) -> Result<()> {
    let feed = cases::Feed::FromInside;
    Capture::save(path, feed, flows as u64, Popularity::Uniform, 0).map(drop)
}

/// The options of the model.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Request {
    /// Predict and measure instead: the directory of the programs, built under each plan.
    #[arg(long, value_name = "DIRECTORY", requires_all = ["nic", "counter"])]
    model: Option<PathBuf>,
    /// The profile of this machine, of `cargo cora calibrate`.
    #[arg(long, value_name = "FILE", requires = "model")]
    nic: Option<PathBuf>,
    /// Undisturbed passes of each case.
    #[arg(long, value_name = "N", default_value_t = 7, requires = "model")]
    passes: usize,
    /// Predict the cases of the last measurement again, and measure nothing.
    #[arg(long, requires = "model")]
    again: bool,
}

/// The parameters of a run.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    programs: &'a Path,
    nic: &'a Path,
    counter: &'a Path,
    passes: usize,
    again: bool,
}

impl Request {
    /// Returns the parameters of the run, if the options ask for it.
    pub(crate) fn wanted<'a>(&'a self, counter: Option<&'a Path>) -> Option<Wanted<'a>> {
        let (programs, nic) = self.model.as_deref().zip(self.nic.as_deref())?;
        let passes = self.passes.max(1);
        Some(Wanted { programs, nic, counter: counter?, passes, again: self.again })
    }
}

/// Predicts and measures every case that has all comma-separated words of `only` in its name.
pub(crate) fn run(wanted: &Wanted<'_>, quick: bool, json: bool, only: &str) -> Result<()> {
    let file = wanted.programs.join("model.pcap");
    let mut source = if wanted.again {
        Source::kept(wanted.programs, wanted.counter)?
    } else {
        let (draws, passes) = if quick { (QUICK_DRAWS, 3) } else { (DRAWS, wanted.passes) };
        let reference = reference(wanted.programs, draws)?;
        let of = (wanted.programs, wanted.counter);
        Source::machine(of, &file, (draws, quick), passes, reference)
    };
    let (draws, quick) = source.extent();
    let mut cases = cases::all(quick);
    cases.retain(|case| only.split(',').all(|word| case.name().contains(word)));
    cases.retain(|case| source.has(case));
    let mut tell = |line: &str| {
        if !json {
            eprintln!("{line}");
        }
    };
    let mut model = model(wanted, &mut source, &cases, &mut tell)?;
    calibrate::calibrate(&mut model, &file, &mut source, &mut tell)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut capture: Option<((cases::Feed, u64, String), Capture)> = None;
    for case in cases {
        let key = (case.nf.feed, case.flows, case.skew.name());
        let made = match capture.take() {
            Some((last, made)) if last == key => made,
            _ => Capture::save(&file, case.nf.feed, case.flows, case.skew, draws)?,
        };
        let measured = source.measure(&case, &made)?;
        let moments: Vec<_> = measured.passes.iter().map(|taken| taken.moment).collect();
        let Some(row) = Row::of(case, measured, model.predict(&case, &made, &moments)?) else {
            continue;
        };
        if !json {
            println!("{}", row.line());
        }
        rows.push(row);
        capture = Some((key, made));
    }
    if json {
        println!("{}", report::json(&rows));
    } else {
        println!("\n{}", report::summary(&rows));
    }
    Ok(())
}

/// Makes the model of the cases, before its fit to this machine.
fn model(
    wanted: &Wanted<'_>,
    source: &mut Source,
    cases: &[Case],
    tell: &mut dyn FnMut(&str),
) -> Result<Model> {
    let text = std::fs::read_to_string(wanted.nic)?;
    let nic = NicProfile::parse(&text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::other(format!("{}: {}", wanted.nic.display(), errors.join("; ")))
    })?;
    Model::new(nic, wanted.programs, source, cases, tell)
}

/// Starts the programs that measure the machine's moments.
fn reference(programs: &Path, draws: usize) -> Result<Reference> {
    let uniform = Popularity::Uniform;
    let (idle, work) = (programs.join("idle.pcap"), programs.join("work.pcap"));
    let idle_warm = Capture::save(&idle, EMPTY.feed, IDLE_FLOWS, uniform, draws)?.warm;
    let nf = &cases::NFS[0];
    let work_warm = Capture::save(&work, nf.feed, WORK_FLOWS, uniform, draws)?.warm;
    let nothing = programs.join(Plan::HostOnly.name()).join(EMPTY.name);
    let something = programs.join(Plan::NicOnly.name()).join(nf.name);
    Reference::start((&nothing, &idle, idle_warm), (&something, &work, work_warm))
}
