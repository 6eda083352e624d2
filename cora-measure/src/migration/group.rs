//! The move of one flow with many entries, under load, in its parts.

use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_host::RunError;
use serde::Serialize;

use super::host::Task;
use super::nic::{Feed, Nic, Pace};
use super::spread::Summary;
use super::{TURNS, bears};

/// Parts of the load that both sides bear, at which it moves.
const PARTS: [f64; 2] = [0.5, 0.9];
/// Packets continue for this time after a move, for those that waited on the wire.
const AFTER: Duration = Duration::from_millis(20);

/// A move of the flow.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Move {
    /// Whether it moved.
    moved: u64,
    /// From the order until the flow's packets run at the other side.
    ns: u64,
    /// Of that: time to agree, record and forget.
    books_ns: u64,
    /// Of that: time of the entries' transfer.
    copy_ns: u64,
    /// Of that: time to handle packets that waited.
    waiting_ns: u64,
    entries: u32,
    bytes: u64,
    /// Packets that waited for it.
    held: u64,
    lost: u64,
    /// Time in which either thread was ready without a core; not known everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    robbed_ns: Option<u64>,
    /// Packets of other flows, from the order until shortly after the end.
    others: Summary,
    /// Packets of the flow that came while it was on its way.
    waited: Summary,
}

/// The result for the flow.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    /// Packets a second that both sides bear.
    bears: f64,
    turns: Vec<Turns>,
}

/// Its moves at one load.
#[derive(Debug, Serialize)]
struct Turns {
    part: f64,
    offload: Vec<Move>,
    recall: Vec<Move>,
}

/// Moves the first flow to and fro.
pub(super) fn measure<A: App>(nic: &mut Nic<'_, A>, flows: usize) -> Result<Group, RunError> {
    // Half of the others are at the NIC.
    super::all(nic, Task::Offer(1..flows.div_ceil(2)))?;
    let bears = bears(nic, flows)?;
    let mut turns = Vec::new();
    for part in PARTS {
        let (mut offload, mut recall) = (Vec::new(), Vec::new());
        for turn in 0..=TURNS {
            let there = one(nic, flows, part * bears, Task::Offer(0..1))?;
            let back = one(nic, flows, part * bears, Task::Recall(0..1))?;
            if turn > 0 {
                offload.push(there);
                recall.push(back);
            }
        }
        turns.push(Turns { part, offload, recall });
    }
    Ok(Group { bears, turns })
}

fn one<A: App>(
    nic: &mut Nic<'_, A>,
    flows: usize,
    per_second: f64,
    task: Task,
) -> Result<Move, RunError> {
    let before = nic.end.half.report;
    let there = matches!(task, Task::Offer(_));
    nic.notes(flows);
    let mut feed = Feed::At(Pace::new(per_second));
    nic.serve(AFTER, &mut feed)?;
    // Only packets from now on count.
    nic.notes(flows);
    let (start, robbed) = (Instant::now(), nic.robbed());
    nic.ask(task)?;
    let done = nic.until_done(&mut feed)?;
    // The host is done after its last entry; the NIC, after the packets that waited for the flow.
    while there && nic.end.half.report.offloads == before.offloads && start.elapsed() < 50 * AFTER {
        nic.round(&mut feed)?;
    }
    let took = start.elapsed();
    let robbed_ns = nic.robbed().zip(robbed).map(|(now, then)| now - then);
    nic.serve(AFTER, &mut feed)?;
    let Feed::At(Pace { lost, .. }) = feed else { unreachable!("made so above") };
    nic.drain()?;
    let tally = nic.noted();
    let report = nic.end.half.report;
    let parts = tally.parts;
    let ns = took.as_nanos() as u64;
    let (copy_ns, waiting_ns) = if there { (parts.copy_ns, parts.waiting_ns) } else { (ns, 0) };
    Ok(Move {
        moved: done.moved,
        ns,
        books_ns: ns.saturating_sub(copy_ns + waiting_ns),
        copy_ns,
        waiting_ns,
        entries: parts.entries,
        bytes: if there { parts.bytes } else { report.moved_bytes - before.moved_bytes },
        held: report.held - before.held,
        lost,
        robbed_ns,
        others: tally.others.summary(),
        waited: tally.held.summary(),
    })
}
