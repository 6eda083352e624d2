//! A wire in memory: frames of a capture that was read before, pass after pass.

use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::BurstBuffer;
use cora_runtime::node::{Filled, Ingress, NodeError};

use crate::traffic::{Pass, Traffic};

/// Frames, pass after pass. Time goes on from pass to pass.
pub(crate) struct Wire<'a> {
    traffic: &'a Traffic,
    pass: Pass<'a>,
    /// Added to the frame times of this pass.
    later: u64,
    /// Time of the latest packet.
    now: u64,
    /// Packets that came in.
    pub(crate) packets: u64,
    /// Packets that may come in now.
    pub(crate) open: u64,
}

impl<'a> Wire<'a> {
    /// Creates a closed wire. The first pass takes all frames.
    pub(crate) fn new(traffic: &'a Traffic) -> Self {
        let pass = traffic.pass(0);
        Self { traffic, pass, later: 0, now: 0, packets: 0, open: 0 }
    }

    /// Returns whether the pass is over.
    pub(crate) fn is_over(&self) -> bool {
        self.pass.is_over()
    }

    /// Begins another pass, with the frames from number `from` on.
    pub(crate) fn begin(&mut self, from: usize) {
        if self.packets > 0 {
            // Its first frame follows the last one of the previous pass.
            self.later = self.now.saturating_sub(self.traffic.begins(from)) + 1;
        }
        self.pass = self.traffic.pass(from);
    }

    /// Returns the number of the next frame in the traffic.
    pub(crate) fn at(&self) -> usize {
        self.traffic.len() - self.pass.left()
    }
}

impl Ingress for Wire<'_> {
    fn is_empty(&mut self) -> Result<bool, NodeError> {
        Ok(self.open == 0 || self.pass.is_over())
    }

    #[inline(always)]
    fn fill<'a>(
        &mut self,
        frames: &mut BurstBuffer<'a>,
        burst: &mut Burst<'a>,
    ) -> Result<Filled<'a>, NodeError> {
        let Self { pass, later, now, packets, open, .. } = self;
        while !burst.is_full() && *open > 0 {
            let received = pass.receive(frames, |mut stamp, frame| {
                for time in [&mut stamp.meta.time, &mut stamp.meta.now, &mut stamp.horizon] {
                    *time += *later;
                }
                *now = stamp.meta.now;
                stamp.number = *packets;
                // The loop's condition ensures room.
                burst.push_roomy(stamp, frame);
            });
            if !received {
                break;
            }
            *packets += 1;
            *open -= 1;
        }
        Ok(Filled::Burst)
    }
}
