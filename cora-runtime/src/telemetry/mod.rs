//! A side's [counters](Counters), which others read while it runs; and its own load: its
//! utilisation, the occupancy of its rings, and its top flows.
//!
//! Counters are those of the [`Report`](crate::link::message::Report), which are kept anyway. Flows
//! are sampled, one packet of [`SAMPLED`], once somebody asks for them. So watching costs less than
//! 1 % of the packets' own work.

mod counters;
mod top_flows;

pub use counters::{BURST_CLASSES, COUNTER_WORDS, Counters, Read, TOOK_WORDS, Table};
pub use top_flows::{Talker, Talkers};

use cora_core::key::Key;

use crate::channel::PeerOutbox;
use crate::link::message::group::{encoded, room};
use crate::link::message::{Load, Telemetry};

/// One packet of this many is sampled. It is a prime, so that periodic traffic does not bias the
/// sample.
pub const SAMPLED: u32 = 61;
/// Flows that a side counts at once.
pub const TALKERS: usize = 64;

/// Samples the flows of one side's packets.
#[derive(Debug)]
pub struct Watch<K> {
    /// The top flows.
    pub talkers: Talkers<K, TALKERS>,
    /// Packets until the next sample.
    left: u32,
    /// Whether sampling is on.
    on: bool,
    /// Bursts by number of packets.
    pub(crate) bursts: [u64; BURST_CLASSES],
}

impl<K: Key> Watch<K> {
    /// Takes no sample before [`Self::begin`].
    pub const fn new() -> Self {
        Self { talkers: Talkers::new(), left: u32::MAX, on: false, bursts: [0; BURST_CLASSES] }
    }

    /// Starts sampling.
    pub const fn begin(&mut self) {
        if !self.on {
            (self.on, self.left) = (true, SAMPLED);
        }
    }

    /// Notes a burst of `packets` packets. `flow` gives the flow of the packet at an index of the
    /// burst, if it has one.
    #[inline(always)]
    pub fn burst(&mut self, packets: usize, flow: impl FnOnce(usize) -> Option<K>) {
        let packets = packets as u32;
        if let Some(bursts) = self.bursts.get_mut(packets.checked_ilog2().unwrap_or(0) as usize) {
            *bursts += u64::from(packets > 0);
        }
        if packets < self.left {
            self.left -= packets;
            return;
        }
        if !self.on {
            self.left = u32::MAX;
            return;
        }
        // A burst is shorter than the distance of two samples.
        let at = self.left.saturating_sub(1);
        self.left = SAMPLED.saturating_sub(packets - self.left).max(1);
        if let Some(key) = flow(at as usize) {
            self.talkers.add(key);
        }
    }

    /// Sends this load, and the top flows behind it.
    pub(crate) fn tell(&mut self, load: &Load, out: &mut impl PeerOutbox) {
        let talkers = self.talkers.all();
        let load = Load { talkers: talkers.len() as u64, ..*load };
        out.send(&Telemetry::Load { load }.into());
        let mut bytes = room();
        for talker in talkers {
            let group = encoded(&talker.key, &mut bytes);
            out.send(&Telemetry::Talker { count: talker.count, error: talker.error, group }.into());
        }
        self.talkers.age();
    }
}

impl<K: Key> Default for Watch<K> {
    fn default() -> Self {
        Self::new()
    }
}
