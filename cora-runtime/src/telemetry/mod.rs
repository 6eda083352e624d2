//! What a side sees of its own load: how busy it is, how full its rings are, which flows have most
//! packets.
//!
//! Counters are those of the [`Report`](crate::link::message::Report), which are kept anyway; flows are
//! sampled, one packet of [`SAMPLED`], from when somebody asks for them. So watching costs less
//! than a hundredth of the packets' own work.

mod top_flows;

pub use top_flows::{Talker, Talkers};

use cora_core::key::Key;

/// One packet of so many is looked at; a prime, so that traffic with a rhythm is not seen askew.
pub const SAMPLED: u32 = 61;
/// Flows that a side counts at a time.
pub const TALKERS: usize = 64;

/// Watches the flows of one side's packets.
#[derive(Debug)]
pub struct Watch<K> {
    /// The flows with most packets.
    pub talkers: Talkers<K, TALKERS>,
    /// Packets until the next one that is looked at.
    left: u32,
    /// Whether anyone wants to know.
    on: bool,
}

impl<K: Key> Watch<K> {
    /// Nothing is looked at before [`Self::begin`].
    pub const fn new() -> Self {
        Self { talkers: Talkers::new(), left: u32::MAX, on: false }
    }

    /// From now on packets are looked at.
    pub const fn begin(&mut self) {
        if !self.on {
            (self.on, self.left) = (true, SAMPLED);
        }
    }

    /// A burst of so many packets came; `flow` gives the flow of the packet at a place of the
    /// burst, if it has one.
    #[inline(always)]
    pub fn burst(&mut self, packets: usize, flow: impl FnOnce(usize) -> Option<K>) {
        let packets = packets as u32;
        if packets < self.left {
            self.left -= packets;
            return;
        }
        if !self.on {
            self.left = u32::MAX;
            return;
        }
        // A burst is shorter than the distance of two that are looked at.
        let at = self.left.saturating_sub(1);
        self.left = SAMPLED.saturating_sub(packets - self.left).max(1);
        if let Some(key) = flow(at as usize) {
            self.talkers.add(key);
        }
    }
}

impl<K: Key> Default for Watch<K> {
    fn default() -> Self {
        Self::new()
    }
}
