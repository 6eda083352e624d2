//! What the performance model says against what is measured: `cargo xtask model`.
//!
//! A case is a program, its traffic and a plan. For each, the model predicts the highest rate, from the profile that
//! `cargo cora calibrate` made of this machine just before; and both halves run, on a core each, as fast as they can.
//!
//! | module | concept |
//! | --- | --- |
//! | `cases` | what is compared |
//! | `popularity` | which flow each packet belongs to |
//! | `frames` | captures of those |
//! | `traffic` | captures as traffic profiles |
//! | `calibrate` | what is fitted to this machine |
//! | `predict` | what the model says |
//! | `measure` | how fast it is |
//! | `report` | both, side by side |

mod calibrate;
mod cases;
mod frames;
mod measure;
mod popularity;
mod predict;
mod report;
mod traffic;

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use cora_plan::nic::NicProfile;

use cases::{Case, EMPTY, Nf, Plan};
use frames::Capture;
use measure::Reference;
use popularity::Popularity;
use predict::Model;
use report::Row;

/// Packets that a pass repeats.
const DRAWS: usize = 1 << 20;
const QUICK_DRAWS: usize = 1 << 18;
/// Flows of the programs that are asked beside everything that is measured; the one that works gets no case's number.
const IDLE_FLOWS: u64 = 1_000;
const WORK_FLOWS: u64 = 2_000;

/// Writes a capture with a frame of each of so many flows, all from inside.
pub(crate) fn flow_frames(path: &Path, flows: usize) -> Result<()> {
    let feed = cases::Feed::FromInside;
    Capture::save(path, feed, flows as u64, Popularity::Uniform, 0).map(drop)
}

/// What is asked for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Request {
    /// Predict and measure instead: where the programs stand, built under each plan.
    #[arg(long, value_name = "DIRECTORY", requires = "nic")]
    model: Option<PathBuf>,
    /// The profile of this machine, of `cargo cora calibrate`.
    #[arg(long, value_name = "FILE", requires = "model")]
    nic: Option<PathBuf>,
    /// Passes of each case that must be left alone by other processes.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "model")]
    passes: usize,
}

impl Request {
    /// The directory, the profile and the number of passes, if it is asked for.
    pub(crate) fn wanted(&self) -> Option<(&Path, &Path, usize)> {
        let (programs, nic) = self.model.as_deref().zip(self.nic.as_deref())?;
        Some((programs, nic, self.passes.max(1)))
    }
}

/// Predicts and measures every case whose name has every one of the words in `only`, which commas divide.
pub(crate) fn run(
    (programs, nic, passes): (&Path, &Path, usize),
    quick: bool,
    json: bool,
    only: &str,
) -> Result<()> {
    let text = std::fs::read_to_string(nic)?;
    let nic = NicProfile::parse(&text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::other(format!("{}: {}", nic.display(), errors.join("; ")))
    })?;
    let mut cases = cases::all(quick);
    cases.retain(|case| only.split(',').all(|word| case.name().contains(word)));
    let wanted = |nf: &Nf| !nf.unseen || cases.iter().any(|case| case.nf.name == nf.name);
    let mut model = Model::new(nic, programs, &wanted)?;
    if !json {
        for nf in cases::NFS.iter().filter(|nf| wanted(nf)) {
            let (nic, host) = model.instructions(nf);
            eprintln!(
                "{}: {nic:.0} instructions of a packet at the NIC, {host:.0} at the host",
                nf.name
            );
        }
    }
    let file = programs.join("model.pcap");
    let (draws, passes) = if quick { (QUICK_DRAWS, 1) } else { (DRAWS, passes) };
    let mut tell = |line: &str| {
        if !json {
            eprintln!("{line}");
        }
    };
    let mut reference = reference(programs, draws)?;
    calibrate::calibrate(&mut model, programs, &file, (draws, quick), &mut reference, &mut tell)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut capture: Option<((cases::Feed, u64, String), Capture)> = None;
    for case in cases {
        let key = (case.nf.feed, case.flows, case.skew.name());
        let made = match capture.take() {
            Some((last, made)) if last == key => made,
            _ => Capture::save(&file, case.nf.feed, case.flows, case.skew, draws)?,
        };
        let row = compare(&model, programs, &file, case, &made, passes, &mut reference)?;
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

/// Starts what tells the machine's moments.
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

fn compare(
    model: &Model,
    programs: &Path,
    file: &Path,
    case: Case,
    capture: &Capture,
    passes: usize,
    reference: &mut Reference,
) -> Result<Row> {
    let program = programs.join(case.plan.name()).join(case.nf.name);
    let measured = measure::measure(&program, file, capture.warm, passes, reference)?;
    let predicted = model.predict(&case, capture, measured.moment)?;
    Ok(Row { case, predicted, measured })
}
