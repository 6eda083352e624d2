//! Programs with messages: their results are those of the host alone, or at least those of the host
//! alone on the schedule that the history tells. Halves that die take along no more than they held.

use cora_runtime::classes::Limits;

use super::nic::Others;
use super::{Planted, Ran, Runtime};
use crate::apps::SimApp;
use crate::apps::actors::{self, SENDERS, request};
use crate::history::{self, Recorded};
use crate::memory::Supply;
use crate::random::Random;
use crate::result::Results;
use crate::traffic::{self, Case};

/// Rounds in which all that is due at the end must come to its end.
const ROUNDS: usize = 10_000;

/// A run of a program with messages.
#[derive(Clone, Copy, Debug)]
pub struct Messages {
    /// Number of packets.
    pub packets: u32,
    /// Whether only requests occur with results that no schedule may change.
    pub settled: bool,
    /// Maximum number of kills.
    pub kills: u64,
    /// The planted mistake.
    pub planted: Option<Planted>,
}

/// Makes the packets of a run, and the results of the host alone.
fn case<A: SimApp>(seed: u64, messages: Messages) -> Case {
    let mut random = Random::new(seed ^ 0x6163_746f_7273);
    let requests = if messages.settled { request::SETTLED } else { request::REQUESTS };
    let stamp = traffic::stamp;
    traffic::case::<A>(seed, messages.packets, |number, _| {
        let sender = random.below(SENDERS) * random.below(SENDERS + 1) / SENDERS;
        let (asks, arg) = (random.below(requests), random.below(32));
        let mut frame = actors::datagram([sender, u64::from(number), asks, arg]);
        if random.once_in(40) {
            // It is no such message.
            frame.truncate(50);
        }
        (stamp(number), frame)
    })
}

/// Runs such a program under the faults of `seed`. An error describes the violation.
pub fn run_messages<A: SimApp>(seed: u64, messages: Messages) -> Result<Ran, String> {
    let case = case::<A>(seed, messages);
    let mut supply = Supply::default();
    history::begin();
    let mut runtime = Runtime::<Recorded<A>>::new(&case, seed, &mut supply);
    runtime.kills = messages.kills;
    runtime.plant(messages.planted);
    let ran = runtime.run();
    let results = ran.and_then(|()| runtime.settle()).and_then(|()| runtime.results());
    let events = history::end();
    let results = results?;
    if let Some(entry) = results.doubled.first() {
        return Err(format!("both sides hold {entry}"));
    }
    let ran = runtime.ran();
    if ran.faults.nic_kills + ran.faults.host_kills > 0 {
        let lost = history::survived::<A>(&case.packets, &events, &results)?;
        return Ok(Ran { lost, ..ran });
    }
    if runtime.host.half.report.refused > 0 {
        return Err("the key of an entry that came back was another's".to_owned());
    }
    let replayed = history::replay::<A>(&case.packets, &events, seed, &results)?;
    if messages.settled && !has_refused(&results) {
        results.difference(&case.expected).map_or(Ok(()), Err)?;
    }
    Ok(Ran { messages: replayed.sent, ..ran })
}

/// Whether messages found no room.
fn has_refused(results: &Results) -> bool {
    results.outcomes.contains_key(history::NO_ROOM)
}

impl<A: SimApp> Runtime<'_, A> {
    /// Limits the time of messages at both halves, if the conditions say so.
    pub(super) const fn limit(&mut self) {
        if let Some(limits) = self.conditions.limits {
            self.nic.core.half.limit_classes(limits);
            self.host.half.limit_classes(limits);
        }
    }

    /// The time of the run ends: delayed messages that are due by then come, with their
    /// effects.
    fn settle(&mut self) -> Result<(), String> {
        // A kill from here on would come after the run.
        self.nic.life.spare();
        self.host.life.spare();
        let now = self.nic.core.half.now().max(self.host.half.now());
        for _ in 0..ROUNDS {
            let mut others = Others { host: &mut self.host, wire: &mut self.wire };
            self.nic.end_hooks(now, &mut others);
            self.host.end_hooks(now);
            self.host.poll(usize::MAX);
            let is_quiet = !self.host.is_busy();
            let mut others = Others { host: &mut self.host, wire: &mut self.wire };
            self.nic.serve(usize::MAX, &mut others);
            self.wire.drain();
            self.check()?;
            let is_quiet = is_quiet && !self.host.is_busy() && !self.nic.has_mail();
            if is_quiet && self.nic.core.half.is_drained() && self.host.half.is_drained() {
                self.nic.core.half.end_messages();
                self.host.half.end_messages();
                return Ok(());
            }
        }
        Err("messages never come to an end".to_owned())
    }
}

/// Draws limits of messages, under which some wait behind the bursts and some flows are pushed to
/// the host.
pub(super) fn limits(seed: u64) -> Option<Limits> {
    let mut random = Random::new(seed ^ 0x6c69_6d69_7473);
    let limits = Limits { tail: 10_000, round: 5_000, mean: u64::MAX };
    random.pick(&[None, Some(limits), Some(Limits { mean: 2_000, ..limits })])
}
