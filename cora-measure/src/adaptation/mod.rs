//! Whether moving flows pays while traffic changes: controllers beside each other, each with both
//! halves of the program, on the same traffic.
//!
//! ```text
//! arrivals ─→ card (NIC half, its clock) ─ rings ─→ worker (host half, its clock) ← controller
//! ```
//!
//! Both halves, their protocol and their rings are those of a run; their *time* is not. One thread
//! lets both take turns. Each side's clock advances by the processor time of its turns (the NIC's
//! by a stated multiple: cores of cards are slower). So other users of the machine change no order
//! and no schedule, and time that neighbours of a core steal is not counted. Cache lines that
//! travel between cores are left out. Trials take turns of some milliseconds, too, so a slow
//! machine slows all of them.
//!
//! | module | concept |
//! | --- | --- |
//! | `trace` | traffic in phases: packets and their times |
//! | `clock` | a side's time |
//! | `card` | the NIC's side, with little room and slow |
//! | `trial` | both sides under a controller, slice by slice |
//! | `oracle` | a controller that knows the traffic |

mod card;
mod clock;
mod oracle;
mod trace;
mod trial;

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;

use cora_core::app::App;
use cora_core::packet::{Meta, Packet};
use cora_host::RunError;
use cora_host::parts::Supply;
use serde::Deserialize;

use crate::traffic::Traffic;

use trace::{Phase, Trace};
use trial::{Setting, Trial};

/// Length of a trial's turn (ns of its time).
const TURN: u64 = 5_000_000;

/// A request: a line of standard input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    phases: Vec<Phase>,
    /// Flows that are there from the beginning. The capture has a frame of each, and behind them
    /// those of crowds.
    flows: usize,
    /// Flows that the NIC has room for.
    room: u32,
    /// Factor by which the NIC's core is slower than this machine's.
    slower: f64,
    /// Seed of all random choices in the traffic.
    seed: u64,
    /// Length of a slice (ns).
    slice: u64,
    /// Names of controllers: one trial each.
    controllers: Vec<String>,
}

/// Answers lines: each asks for trials, and gets a line of JSON with their slices.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
) -> Result<(), RunError> {
    let frames = traffic.frames();
    let said = |text: &str| writeln!(std::io::stdout(), "{text}").map_err(not_said);
    said("ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(not_said)?;
        let request: Request = serde_json::from_str(&line).map_err(|why| wrong(&why))?;
        let answer = compare::<A>(&request, &frames, supply, configurations)?;
        said(&answer)?;
    }
    Ok(())
}

/// Runs the trials of a request, turn by turn.
fn compare<A: App>(
    request: &Request,
    frames: &[Vec<u8>],
    supply: Supply,
    configurations: &[(String, PathBuf)],
) -> Result<String, RunError> {
    let trace = Trace::new(&request.phases, request.flows, request.seed);
    if frames.len() < trace.most_flows() {
        let lacking = format!("{} frames for {} flows", frames.len(), trace.most_flows());
        return Err(wrong(&lacking));
    }
    let groups: Vec<A::Group> = frames.iter().filter_map(|frame| group::<A>(frame)).collect();
    let mut trials = Vec::new();
    for name in &request.controllers {
        let Request { room, slower, slice, .. } = *request;
        let setting = Setting { room, slower, slice, configurations };
        let mut trial = Trial::<A>::new(&trace, frames, &groups, supply, &setting)?;
        trial.control_by(name, &groups).map_err(|why| wrong(&why))?;
        trials.push(trial);
    }
    let mut until = 0;
    while until < trace.end() {
        until = (until + TURN).min(trace.end());
        for trial in &mut trials {
            trial.advance(until)?;
        }
    }
    let mut told = Vec::new();
    for (trial, name) in trials.iter_mut().zip(&request.controllers) {
        told.push(trial.finish(name)?);
    }
    Ok(serde_json::json!({ "begins": trace.begins(), "trials": told }).to_string())
}

/// Returns the flow of a frame.
fn group<A: App>(frame: &[u8]) -> Option<A::Group> {
    use cora_core::key::PacketKey as _;
    let mut frame = frame.to_vec();
    let meta = Meta { time: 0, now: 0, port: cora_core::packet::Port::INSIDE, ..Meta::default() };
    A::Group::of_packet(&Packet::new(&mut frame, meta)).ok()
}

fn wrong(why: &impl ToString) -> RunError {
    let cause = std::io::Error::other(why.to_string());
    RunError::System { what: "the line that asks for trials", cause }
}

fn not_said(cause: std::io::Error) -> RunError {
    RunError::System { what: "standard input and output", cause }
}
