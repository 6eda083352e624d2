//! The host alone on a recorded schedule. Each message must be the next of its channel, and come
//! when it is due; each run must send and answer the same, with the same verdict; and in the end
//! the states are the same. Each message that was never handled must have been counted.

use std::collections::{BTreeMap, VecDeque};

use cora_core::message::SENT;
use cora_core::packet::Packet;
use cora_core::state::{EveryState, NO_FLOW, Visit};
use cora_runtime::exec::burst::ALONE;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;

use super::channels::{Channels, Waiting};
use super::{Event, Outcome, Recorded, Run, apart};
use crate::apps::SimApp;
use crate::halves;
use crate::memory::Supply;
use crate::result::Results;

/// How messages are counted that find no room, and those that are not due before the end.
pub(crate) const NO_ROOM: &str = "too-many-messages";
pub(super) const NOT_DUE: &str = "not-yet-due";

/// The totals of a replay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Replayed {
    /// Runs.
    pub(crate) runs: u64,
    /// Messages that were sent.
    pub(crate) sent: u64,
}

/// Replays a history of these packets, with the results `found`. An error names the first
/// difference to any single-threaded run.
pub(crate) fn replay<A: SimApp>(
    packets: &[(Stamp, Vec<u8>)],
    events: &[Event],
    seed: u64,
    found: &Results,
) -> Result<Replayed, String> {
    let mut supply = Supply::default();
    let mut alone = Alone::<A> {
        host: halves::host(&mut supply, seed, false),
        channels: Channels::default(),
        overtaken: Vec::new(),
        answers: VecDeque::new(),
        expected: Results::default(),
        replayed: Replayed::default(),
    };
    for (stamp, frame) in packets {
        alone.channels.comes::<A>(stamp.meta, frame);
    }
    for event in events {
        match event {
            Event::Ran(run) => alone.again(run)?,
            Event::Left(frame) => alone.left(frame)?,
            Event::Died(..) => return Err("a half died".to_owned()),
        }
    }
    alone.ends(packets.len() as u64, found)
}

/// The host alone.
struct Alone<A: SimApp> {
    // It lies in memory of a supply, which is dropped behind it.
    host: HostHalf<Recorded<A>>,
    channels: Channels,
    overtaken: Vec<Waiting>,
    /// The frames that committed runs sent and that did not leave yet.
    answers: VecDeque<Vec<u8>>,
    expected: Results,
    replayed: Replayed,
}

impl<A: SimApp> Alone<A> {
    /// The next run of the history.
    fn again(&mut self, run: &Run) -> Result<(), String> {
        let Run { flow, meta, .. } = run;
        let of = || format!("at {}, flow {flow:x?}, {:02x?}", meta.now, run.frame);
        let Some(waiting) = self.channels.take(run, &mut self.overtaken) else {
            return Err(format!("handled twice, out of order, or never sent: {}", of()));
        };
        if waiting.delayed && meta.now < waiting.due {
            return Err(format!("handled {} before its time: {}", waiting.due - meta.now, of()));
        }
        let result = self.run(run);
        if result != run.result {
            let (found, alone) = (&run.result, &result);
            return Err(format!("{}: {found:02x?}, at the host alone {alone:02x?}", of()));
        }
        self.channels.sent::<A>(self.replayed.runs as usize, run);
        for (port, frame) in &run.result.sends {
            if *port == SENT {
                self.replayed.sent += 1;
            } else {
                self.expected.left(port.0, frame);
                self.answers.push_back(frame.clone());
            }
        }
        self.replayed.runs += 1;
        Ok(())
    }

    /// Runs the message at the host alone.
    fn run(&mut self, run: &Run) -> Outcome {
        let mut frame = run.frame.clone();
        let mut packet = Packet::new(&mut frame, run.meta);
        let visit = Visit { undo: false, flow: NO_FLOW, ahead: ALONE, ..run.visit };
        let engine = self.host.engine();
        let events = apart(|| {
            engine.run::<EveryState>(&mut packet, visit);
        });
        match events.into_iter().next() {
            Some(Event::Ran(again)) => again.result,
            _ => Outcome { verdict: "none".to_owned(), sends: Vec::new() },
        }
    }

    /// A frame leaves: a run that sent it was committed before.
    fn left(&mut self, frame: &[u8]) -> Result<(), String> {
        let at = self.answers.iter().position(|answer| answer == frame);
        let at = at.ok_or_else(|| format!("left before its run's commit: {frame:02x?}"))?;
        self.answers.remove(at);
        Ok(())
    }

    /// The history is over.
    fn ends(mut self, packets: u64, found: &Results) -> Result<Replayed, String> {
        if let Some(frame) = self.answers.front() {
            return Err(format!("never left, though its run was committed: {frame:02x?}"));
        }
        self.accounts(packets, found)?;
        let Self { host, expected, .. } = &mut self;
        expected.outcomes.clone_from(&found.outcomes);
        let now = u64::MAX >> 1;
        expected.hold(host.engine().app(), now);
        found.difference(expected).map_or(Ok(self.replayed), Err)
    }

    /// Checks that packets and messages are the sum of all outcomes, and that each of those that
    /// nobody handled was counted.
    fn accounts(&mut self, packets: u64, found: &Results) -> Result<(), String> {
        let all: u64 = found.outcomes.values().sum();
        let came = packets + self.replayed.sent;
        if all != came {
            return Err(format!(
                "{packets} packets and {} messages, but {all} have an outcome: {:?}",
                self.replayed.sent, found.outcomes
            ));
        }
        let mut handled = BTreeMap::new();
        self.host.engine().outcomes.each(&mut |name, count| {
            *handled.entry(name).or_default() += count;
        });
        let [no_room, not_due] =
            [NO_ROOM, NOT_DUE].map(|name| found.outcomes.get(name).copied().unwrap_or_default());
        for (name, count) in [(NO_ROOM, no_room), (NOT_DUE, not_due)] {
            if count > 0 {
                *handled.entry(name).or_default() += count;
            }
        }
        if handled != found.outcomes {
            return Err(format!("outcomes {:?}, of runs {handled:?}", found.outcomes));
        }
        let left = self.channels.left();
        let mut left: Vec<bool> = left.map(|(_, waiting)| waiting.delayed).collect();
        left.extend(self.overtaken.iter().map(|_| false));
        let delayed = left.iter().filter(|delayed| **delayed).count() as u64;
        // A delayed message may find no room when it is sent, or when it is due.
        let counts_all = left.len() as u64 == no_room + not_due && delayed >= not_due;
        if counts_all { Ok(()) } else { Err(format!("{left:?} were lost: {:?}", found.outcomes)) }
    }
}
