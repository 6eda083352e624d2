//! The cost of moves: both halves on a core each, never asleep, frames from memory. The host moves
//! flows on request, by the orders that a controller would give.
//!
//! First every flow comes once, and the host owns all of them. Then, each in several turns:
//!
//! 1. *Rate.* All flows to the NIC and back, as fast as possible, without packets.
//! 2. *Load.* Half of the flows at either side, packets as fast as they are taken: the load that
//!    both cores bear. In every other turn the NIC reports its load each millisecond.
//! 3. *Pauses.* Nine tenths of the load that both cores bear at that moment, at a steady pace,
//!    whether it is taken or not, first without moves and then with many: latency of packets,
//!    pauses of flows, and drops at the wire.
//!
//! Or, for a flow of many entries, in the place of the first and the last: that flow to the NIC and
//! back under the same load, and the time of each part.
//!
//! | module | concept |
//! | --- | --- |
//! | `flows` | the flow of a frame |
//! | `host` | the host's loop, and the moves that it is asked for |
//! | `nic` | the NIC's loop, and frames at a pace |
//! | `note` | moves as the NIC's side sees them |
//! | `tally` | waiting times |
//! | `spread` | distribution of times |
//! | `group` | the move of one flow with many entries |
#![expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a few seconds")]

mod flows;
mod group;
mod host;
mod nic;
mod note;
mod spread;
mod tally;

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::Supply;
use cora_runtime::link::message::Report;
use serde::Serialize;

use crate::in_memory::{self, on_a_core_each};
use crate::traffic::Traffic;
use flows::FlowsOf;
use host::Task;
use nic::{Feed, Nic, Pace};
use spread::Summary;

/// Turns of every measurement with turns.
const TURNS: usize = 5;
/// Turns at a pace: short ones, since some will be disturbed.
const PACED_TURNS: usize = 20;
/// Duration of a turn under load.
const TURN: Duration = Duration::from_millis(200);
/// Duration of a look at the load that the cores bear, before and after a turn at a pace.
const LOOK: Duration = Duration::from_millis(100);
/// Most looks, if a core is taken away meanwhile.
const LOOKS: usize = 4;
/// Duration of a turn at a pace.
const PACED: Duration = Duration::from_millis(150);
/// Packets a second that no two cores bear.
const TOO_MANY: f64 = 1e8;
/// Part of the load that both sides bear, fed at a pace.
const PART: f64 = 0.9;
/// Distance of two moves while packets come.
const BETWEEN_MOVES: Duration = Duration::from_micros(50);
/// Interval of the NIC's load reports.
const TOLD: Duration = Duration::from_millis(1);

/// The flows that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All flows.
    Flows,
    /// The flow of the first frame.
    First,
}

/// The moves of all flows in one direction.
#[derive(Clone, Copy, Debug, Serialize)]
struct Moved {
    flows: u64,
    ns: u64,
    bytes: u64,
}

/// A turn under load.
#[derive(Clone, Copy, Debug, Serialize)]
struct Borne {
    per_second: f64,
    /// The rate while the NIC reports its load.
    per_second_watched: f64,
}

/// A turn at a pace.
#[derive(Clone, Debug, Serialize)]
struct Paced {
    per_second: f64,
    /// Packets a second that the cores bore right after it, without moves. `per_second` is a part
    /// of the rate before it.
    bore: f64,
    packets: u64,
    lost: u64,
    /// The host's time with something to do.
    host_busy_ns: u64,
    ns: u64,
    /// Time in which either thread was ready without a core; not known everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    robbed_ns: Option<u64>,
    offloads: u64,
    released: u64,
    declined: u64,
    bytes: u64,
    /// Packets that waited for a flow that moved.
    held: u64,
    /// From the offer until the flow's packets ran at the NIC.
    pause: Summary,
    /// Packets of flows on their way to the NIC.
    waited: Summary,
    /// First packets after a recall.
    recalled: Summary,
    /// All other packets.
    others: Summary,
}

/// The result for flows.
#[derive(Debug, Serialize)]
struct Flows {
    #[serde(rename = "flows")]
    all: usize,
    offload: Vec<Moved>,
    recall: Vec<Moved>,
    load: Vec<Borne>,
    still: Vec<Paced>,
    moving: Vec<Paced>,
}

/// Measures. Returns the result as JSON.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
    which: Which,
) -> Result<String, RunError> {
    let between = in_memory::between::<A>(supply)?;
    let flows = FlowsOf::<A::Group>::new(traffic)?;
    let (tasks, to_do) = channel();
    let (did, done) = channel();
    on_a_core_each(
        |told| {
            let worker = in_memory::worker::<A>(&between, supply, configurations)?;
            host::serve(worker, traffic, told, (to_do, did))
        },
        |told| {
            let ends = (told, tasks, done);
            let mut nic = Nic::<A>::new(&between, supply, (traffic, warm), &flows, ends)?;
            nic.warm_up()?;
            let count = flows.groups.len();
            match which {
                Which::Flows => as_json(&measure(&mut nic, count)?),
                Which::First => as_json(&group::measure(&mut nic, count)?),
            }
        },
    )
}

fn as_json(all: &impl Serialize) -> Result<String, RunError> {
    let failed =
        |error: serde_json::Error| RunError::System { what: "writing JSON", cause: error.into() };
    serde_json::to_string(all).map_err(failed)
}

fn measure<A: App>(nic: &mut Nic<'_, A>, flows: usize) -> Result<Flows, RunError> {
    let (mut offload, mut recall) = (Vec::new(), Vec::new());
    // The first turn touches memory for the first time.
    for turn in 0..=TURNS {
        let there = all(nic, Task::Offer(0..flows))?;
        let back = all(nic, Task::Recall(0..flows))?;
        if turn > 0 {
            offload.push(there);
            recall.push(back);
        }
    }
    all(nic, Task::Offer(0..flows / 2))?;
    let load = borne(nic)?;
    let (mut still, mut moving) = (Vec::new(), Vec::new());
    // On cores that are not the machine's own, the load that they bear changes within a second.
    let mut bore = bears(nic, flows)?;
    for _ in 0..PACED_TURNS {
        for (moves, turns) in [(None, &mut still), (Some(BETWEEN_MOVES), &mut moving)] {
            let turn = paced(nic, flows, PART * bore, moves)?;
            bore = bears(nic, flows)?;
            turns.push(Paced { bore, ..turn });
        }
    }
    Ok(Flows { all: flows, offload, recall, load, still, moving })
}

/// Moves all those flows in one direction.
fn all<A: App>(nic: &mut Nic<'_, A>, task: Task) -> Result<Moved, RunError> {
    let back = matches!(task, Task::Recall(_));
    let before = nic.end.half.report.moved_bytes;
    nic.ask(task)?;
    let done = nic.until_done(&mut Feed::None)?;
    nic.drain()?;
    // Bytes are counted by the sender.
    let bytes = if back { nic.end.half.report.moved_bytes - before } else { 0 };
    Ok(Moved { flows: done.moved, ns: done.took.as_nanos() as u64, bytes })
}

/// Measures the load that both sides bear.
fn borne<A: App>(nic: &mut Nic<'_, A>) -> Result<Vec<Borne>, RunError> {
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        nic.watch(None);
        let per_second = fast(nic)?;
        nic.watch(Some(TOLD));
        turns.push(Borne { per_second, per_second_watched: fast(nic)? });
    }
    nic.watch(None);
    Ok(turns)
}

/// Returns the packets a second that both sides bear now while each packet's time is noted: more
/// come than are taken.
fn bears<A: App>(nic: &mut Nic<'_, A>, flows: usize) -> Result<f64, RunError> {
    let mut rate = 0.0;
    for _ in 0..LOOKS {
        nic.notes(flows);
        let (before, robbed, start) = (nic.packets(), nic.robbed(), Instant::now());
        nic.serve(LOOK, &mut Feed::At(Pace::new(TOO_MANY)))?;
        rate = (nic.packets() - before) as f64 / start.elapsed().as_secs_f64();
        let robbed = nic.robbed().zip(robbed).map_or(0, |(now, then)| now - then);
        nic.drain()?;
        drop(nic.noted());
        if u128::from(robbed) < LOOK.as_nanos() / 100 {
            break;
        }
    }
    Ok(rate)
}

/// Returns the packets a second, as fast as they are taken.
fn fast<A: App>(nic: &mut Nic<'_, A>) -> Result<f64, RunError> {
    let (before, start) = (nic.packets(), Instant::now());
    nic.serve(TURN, &mut Feed::Fast)?;
    nic.drain()?;
    Ok((nic.packets() - before) as f64 / start.elapsed().as_secs_f64())
}

/// Runs a turn at a pace, with moves at this interval or none.
fn paced<A: App>(
    nic: &mut Nic<'_, A>,
    flows: usize,
    per_second: f64,
    moves: Option<Duration>,
) -> Result<Paced, RunError> {
    let (before, packets) = (nic.end.half.report, nic.packets());
    nic.notes(flows);
    if let Some(every) = moves {
        nic.ask(Task::Churn(every))?;
    }
    let mut feed = Feed::At(Pace::new(per_second));
    let (robbed, busy, start) = (nic.robbed(), nic.host_busy_ns(), Instant::now());
    nic.serve(PACED, &mut feed)?;
    let ns = start.elapsed().as_nanos() as u64;
    let robbed_ns = nic.robbed().zip(robbed).map(|(now, then)| now - then);
    let host_busy_ns = nic.host_busy_ns() - busy;
    let Feed::At(Pace { lost, .. }) = feed else { unreachable!("made so above") };
    if moves.is_some() {
        nic.ask(Task::Rest)?;
        nic.until_done(&mut Feed::None)?;
    }
    nic.drain()?;
    let tally = nic.noted();
    let Report { offloads, released, declined, held, moved_bytes, .. } = nic.end.half.report;
    Ok(Paced {
        per_second,
        bore: 0.0,
        packets: nic.packets() - packets,
        lost,
        host_busy_ns,
        ns,
        robbed_ns,
        offloads: offloads - before.offloads,
        released: released - before.released,
        declined: declined - before.declined,
        bytes: moved_bytes - before.moved_bytes,
        held: held - before.held,
        pause: tally.pauses.summary(),
        waited: tally.held.summary(),
        recalled: tally.recalled.summary(),
        others: tally.others.summary(),
    })
}
