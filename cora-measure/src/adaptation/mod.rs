//! Whether it pays to move flows while traffic changes: controllers beside each other, each with
//! both halves of the program, on the same traffic.
//!
//! ```text
//! arrivals ─→ card (NIC half, its clock) ─ rings ─→ worker (host half, its clock) ← controller
//! ```
//!
//! Both halves, their protocol and their rings are those of a run; their *time* is not. One thread
//! lets both take turns, and each side's clock goes on by the processor time that its turns really
//! took (the NIC's by a stated multiple: cores of cards are slower). So a machine that others use
//! at the same time changes no order and no schedule, and what a core's neighbours steal is not
//! counted. What it leaves out: cache lines that travel from core to core. Trials take turns of
//! some milliseconds, too, so whatever slows the machine slows all of them.
//!
//! | module | concept |
//! | --- | --- |
//! | `trace` | traffic in phases: which packets come when |
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

/// A trial runs so long (ns of its time) before the next one does.
const TURN: u64 = 5_000_000;

/// What is asked for: a line of standard input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    phases: Vec<Phase>,
    /// Flows that are there from the beginning; the capture has a frame of each, and behind them
    /// those of crowds.
    flows: usize,
    /// Flows that the NIC has room for.
    room: u32,
    /// The NIC's core takes so many times as long as this machine's.
    slower: f64,
    /// Of arrivals, and of what is drawn by chance.
    seed: u64,
    /// How long a slice is (ns).
    slice: u64,
    /// Who decides, by name: each a trial.
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

/// Trials, each with its controller, turn by turn.
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

/// Which flow a frame belongs to.
fn group<A: App>(frame: &[u8]) -> Option<A::Group> {
    use cora_core::key::Key as _;
    let mut frame = frame.to_vec();
    let meta = Meta { time: 0, now: 0, port: cora_core::packet::Port::INSIDE };
    A::Group::of(&Packet::new(&mut frame, meta)).ok()
}

fn wrong(why: &impl ToString) -> RunError {
    let cause = std::io::Error::other(why.to_string());
    RunError::System { what: "the line that asks for trials", cause }
}

fn not_said(cause: std::io::Error) -> RunError {
    RunError::System { what: "standard input and output", cause }
}
