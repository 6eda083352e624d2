//! Frames from the cable to the shards that take them.

use cora_core::app::App;
use cora_core::bucket::Bucket;
use cora_core::state::commutative::epoch_end;
use cora_runtime::link::message::Stamp;

use crate::RunError;
use crate::ingress::capture::{Cable, Next};
use crate::ingress::door::Door;
use crate::ingress::offers::Offered;

/// Frames fed to each shard before their output is sent.
const BURST: usize = 64;
/// A silence of the wire is told at this interval (ns).
const SILENCE: u64 = 100_000_000;
/// The same for a program whose messages are due soon after others.
const SHORT_SILENCE: u64 = 1_000_000;

/// The interval at which the program is told of a silence (ns), if time matters to it.
pub(crate) const fn silence<A: App>() -> Option<u64> {
    if !A::TIMED {
        None
    } else if A::DELAYS {
        Some(SHORT_SILENCE)
    } else {
        Some(SILENCE)
    }
}

/// What frames are fed to.
pub(crate) trait Takes {
    /// Offers a frame. Others wait behind it, if it is not the only shard.
    fn offer<C: Cable>(
        &mut self,
        stamp: Stamp,
        frame: &[u8],
        is_alone: bool,
    ) -> Result<Offered, RunError>;

    /// Tells that time passes without frames, if none came for `every` (ns); returns whether it did
    /// now.
    fn feed_silence(&mut self, now: u64, every: u64) -> Result<bool, RunError>;

    /// An epoch begins for all shards, which ends then (ns).
    fn epoch_begins(&mut self, ends: u64);
}

/// Who deals buckets to shards, if they move.
pub(crate) trait Deals {
    /// Whether a packet of this time must wait, and all behind it; an epoch begins with it or not:
    /// see [`cora_switch::Dealer::stops`].
    fn stops(&self, packet_ns: u64, begins: bool) -> bool;
    /// Whether shards may be told that this much time has passed (ns of packet time).
    fn may_tell(&self, now: u64) -> bool;
    /// The shard that gets packets of this bucket.
    fn shard_of(&self, bucket: Bucket) -> usize;
    /// A packet went to the shard of its bucket.
    fn passed(&mut self, stamp: &Stamp, bytes: usize);
}

/// Where frames come in.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) door: Door,
    /// The end of the epoch that all shards were told, for a program that reads merges on several.
    epoch_ends: u64,
    /// No more frames come: the time of the last one.
    ended: Option<u64>,
}

impl Intake {
    pub(crate) const fn new(door: Door) -> Self {
        Self { door, epoch_ends: 0, ended: None }
    }

    /// The time of the last frame, if no more come.
    pub(crate) const fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Feeds frames to their shards; returns whether there were any.
    pub(crate) fn feed<A: App, C: Cable>(
        &mut self,
        cable: &mut C,
        shards: &mut [impl Takes],
        mut dealer: Option<&mut dyn Deals>,
    ) -> Result<bool, RunError> {
        let Self { door, epoch_ends, ended } = self;
        let is_alone = shards.len() == 1;
        let mut fed = false;
        for _ in 0..BURST * shards.len() {
            let (stamp, frame) = match cable.peek()? {
                Next::Frame(stamp, frame) => (stamp, frame),
                Next::NotYet => {
                    if let Some(every) = silence::<A>()
                        && let Some(now) = cable.silent_until()
                        && dealer.as_ref().is_none_or(|dealer| dealer.may_tell(now))
                    {
                        for shard in shards.iter_mut() {
                            fed |= shard.feed_silence(now, every)?;
                        }
                    }
                    break;
                }
                Next::End(now) => {
                    *ended = Some(now);
                    break;
                }
            };
            let begins = A::TELLS_EPOCHS && !is_alone && stamp.meta.now >= *epoch_ends;
            if let Some(dealer) = &dealer
                && dealer.stops(stamp.meta.now, begins)
            {
                break;
            }
            if begins {
                *epoch_ends = epoch_end(stamp.meta.now);
                for shard in shards.iter_mut() {
                    shard.epoch_begins(*epoch_ends);
                }
            }
            let (shard, stamp) = door.steer::<A>(stamp, frame);
            let bucket = stamp.meta.mark.bucket;
            let shard = dealer.as_ref().map_or(shard, |dealer| dealer.shard_of(bucket));
            let Some(shard) = shards.get_mut(shard) else { break };
            match shard.offer::<C>(stamp, frame, is_alone)? {
                Offered::Waits => break,
                Offered::Dropped => {}
                Offered::Taken => {
                    if let Some(dealer) = &mut dealer {
                        dealer.passed(&stamp, frame.len());
                    }
                }
            }
            cable.pass();
            fed = true;
        }
        Ok(fed)
    }
}
