//! Messages between shards: the supervisor passes them on, and knows when none is under way.
//!
//! A message for a flow of another shard leaves its shard at the port
//! [`ELSEWHERE`](cora_core::message::ELSEWHERE), and comes to the other one in front of later
//! frames. While messages wait for a shard, it gets no frame. So messages of a flow arrive in
//! order, and no ring waits for another one.
//!
//! The wire must not end for one shard while another may still send to it. So behind the last
//! frames, each shard gets a question, which it answers when nothing is left of what came before.
//! If all have answered, and no message went from shard to shard since they were asked, none will.
//! Otherwise they are asked again; also if a half was started again, which may not have heard the
//! question.

use cora_core::app::App;
use cora_runtime::link::message::{Control, Hooks};

use super::Supervisor;
use crate::ingress::capture::Cable;
use crate::ingress::crossing::arrival;
use crate::ingress::feed::encoded;
use crate::supervisor::shard::Shard;

/// The questions to all shards whether they are quiet.
#[derive(Debug, Default)]
pub(super) struct Waves {
    /// The number of the last one; 0 if none was asked.
    number: u64,
    /// Messages that went from shard to shard so far, and as it was asked.
    passed_on: u64,
    then: u64,
    /// Halves that were started again, as it was asked.
    restarts: u64,
}

impl<C: Cable> Supervisor<'_, C> {
    /// Whether messages go from shard to shard.
    const fn crosses<A: App>(&self) -> bool {
        A::MESSAGES && self.shards.len() > 1 && self.dealer.is_none()
    }

    /// Passes on messages for flows of other shards. Returns whether there were any.
    pub(super) fn pass_on_messages<A: App>(&mut self) -> bool {
        if !self.crosses::<A>() {
            return false;
        }
        let mut any = false;
        let latest = self.shards.iter().map(|shard| shard.wire.latest()).max().unwrap_or(0);
        for number in 0..self.shards.len() {
            for (stamp, mut frame) in std::mem::take(&mut self.shards[number].wire.crossing.leaving)
            {
                let stamp = arrival(&stamp, latest);
                let (to, stamp) = self.intake.door.steer::<A>(stamp, &mut frame);
                if let Some(shard) = self.shards.get_mut(to) {
                    shard.wire.comes_over(stamp, &frame);
                }
                self.waves.passed_on += 1;
                any = true;
            }
        }
        any
    }

    /// Whether the wire may end at this time for all shards: no message goes from one to another,
    /// and none will.
    pub(super) fn is_quiet<A: App>(&mut self, now: u64) -> bool {
        if !self.crosses::<A>() {
            return true;
        }
        let restarts = self.shards.iter().flat_map(Shard::halves).map(|half| half.restarts).sum();
        let Self { waves, shards, .. } = self;
        let has_news = waves.passed_on != waves.then || waves.restarts != restarts;
        let answered = shards.iter().all(|shard| shard.wire.crossing.answered == waves.number);
        if waves.number > 0 && answered && !has_news {
            return true;
        }
        // Whoever asks again and again hears no answer sooner.
        if waves.number == 0 || has_news && (answered || waves.restarts != restarts) {
            *waves = Waves { number: waves.number + 1, then: waves.passed_on, restarts, ..*waves };
            for shard in shards {
                // What is due by then may send, too.
                if A::TIMED {
                    shard.wire.place(encoded(&Hooks::Reached { now }.into()));
                }
                shard.wire.place(encoded(&Control::Quiet { wave: waves.number }.into()));
            }
        }
        false
    }
}
