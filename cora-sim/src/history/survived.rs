//! The invariants of a history in which halves died: a crash loses the contents of the dead half,
//! and nothing else.
//!
//! Each message is handled at most once, in the order of its channel, and not before its time. An
//! answer leaves once, and was sent by a run that was committed before. A message is handled or
//! counted if it was sent behind the last death, or if it still waited for its time then, at a half
//! that lives.

use std::collections::{BTreeSet, HashMap};

use cora_core::message::SENT;
use cora_runtime::link::message::Stamp;

use super::channels::{Channels, Waiting};
use super::replay::{NO_ROOM, NOT_DUE};
use super::{Event, Run};
use crate::apps::SimApp;
use crate::result::Results;

/// Checks such a history of these packets. Returns the number of messages that were lost without
/// being counted.
pub(crate) fn survived<A: SimApp>(
    packets: &[(Stamp, Vec<u8>)],
    events: &[Event],
    found: &Results,
) -> Result<u64, String> {
    let mut survivors = Survivors::default();
    for (stamp, frame) in packets {
        survivors.channels.comes::<A>(stamp.meta, frame);
    }
    for event in events {
        match event {
            Event::Died(half, now) => survivors.died(*half, *now),
            Event::Left(frame) => survivors.left(frame)?,
            Event::Ran(run) => survivors.ran::<A>(run)?,
        }
    }
    survivors.leave_once(found)?;
    survivors.lost(found)
}

/// The messages that the halves that live may still hold.
#[derive(Default)]
struct Survivors {
    channels: Channels,
    overtaken: Vec<Waiting>,
    /// The frames that committed runs sent, each with how often.
    answers: HashMap<Vec<u8>, u64>,
    runs: usize,
    /// The number of runs before the last death, and the time of the latest packet then (ns).
    died_at: (usize, u64),
    dead: BTreeSet<u32>,
}

impl Survivors {
    fn died(&mut self, half: u32, now: u64) {
        self.died_at = (self.runs, now);
        self.dead.insert(half);
    }

    fn left(&self, frame: &[u8]) -> Result<(), String> {
        // One that a dying half did not publish may come again.
        let is_known = self.answers.contains_key(frame);
        is_known.then_some(()).ok_or_else(|| format!("left before its run's commit: {frame:02x?}"))
    }

    fn ran<A: SimApp>(&mut self, run: &Run) -> Result<(), String> {
        let Run { meta, flow, frame, result, .. } = run;
        let of = || format!("at {}, flow {flow:x?}, {frame:02x?}", meta.now);
        let Some(waiting) = self.channels.take(run, &mut self.overtaken) else {
            return Err(format!("handled twice, out of order, or never sent: {}", of()));
        };
        if waiting.delayed && meta.now < waiting.due {
            return Err(format!("handled before its time: {}", of()));
        }
        self.channels.sent::<A>(self.runs, run);
        for (_, frame) in result.sends.iter().filter(|(port, _)| *port != SENT) {
            *self.answers.entry(frame.clone()).or_default() += 1;
        }
        self.runs += 1;
        Ok(())
    }

    /// Each frame that left was sent once by a committed run.
    fn leave_once(&mut self, found: &Results) -> Result<(), String> {
        for (_, frame) in found.frames.values().flatten() {
            let times = self.answers.get_mut(frame).filter(|times| **times > 0);
            *times.ok_or_else(|| format!("left twice: {frame:02x?}"))? -= 1;
        }
        Ok(())
    }

    /// Whether no dead half can have held the message.
    fn is_safe(&self, waiting: &Waiting) -> bool {
        let (runs, now) = self.died_at;
        let waited = waiting.delayed && waiting.due > now && !self.dead.contains(&waiting.half);
        waiting.sent_in >= runs || waited
    }

    fn lost(&self, found: &Results) -> Result<u64, String> {
        let left = self.channels.left().filter(|(from_wire, _)| !from_wire);
        let all: Vec<_> = left.map(|(_, waiting)| waiting).chain(&self.overtaken).collect();
        let safe: Vec<_> = all.iter().filter(|it| it.half > 0 && self.is_safe(it)).collect();
        let counted = [NO_ROOM, NOT_DUE].iter().filter_map(|name| found.outcomes.get(*name));
        let counted: u64 = counted.sum();
        if safe.len() as u64 > counted {
            let (count, first) = (safe.len(), safe.first());
            return Err(format!(
                "{count} lost behind the last death, {counted} counted: {first:02x?}"
            ));
        }
        Ok((all.len() as u64).saturating_sub(counted))
    }
}
