//! Captures of flows with rates by a law: equal ones, or Zipf's.
//!
//! [`generate()`](crate::generate()) makes odd traffic; this makes traffic with a known
//! distribution. Each packet is of the flow of rank `k` with a probability in proportion to `k^-s`;
//! all frames have one transport and length. Flows are assigned in turn, in the order of their
//! rank, to hosts inside (a host for each eight flows) and servers outside (one for each
//! thirty-two). Packets of a flow go both ways in turn, the first one from the inside. With churn,
//! a new flow between the same addresses may replace any flow.

mod conversation;
mod name;

use std::io::Write;

use crate::generate::{BEGIN, Generated, write_frames};
use crate::random::Random;
use crate::zipf::Zipf;
use crate::{Summary, TrafficError};
use conversation::Conversation;

/// Maximum number of flows.
pub const MOST_FLOWS: u64 = 1 << 24;

/// A million: churn is counted per million packets.
const MILLION: u64 = 1_000_000;

/// Flows with rates by a law. Parsed from a name such as
/// `zipf:flows=1000000,s=0.99,bytes=64,churn=0.01` or `uniform:flows=32000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Concurrent flows, 1 to [`MOST_FLOWS`].
    pub flows: u64,
    /// Exponent of Zipf's law in thousandths, at most 3000: 0 for equal flows. 1000 is taken as
    /// 1001.
    pub exponent: u16,
    /// Length of frames, 60 to 1514; TCP's handshake is shorter.
    pub bytes: u16,
    /// Flows that are replaced per million packets.
    pub churn: u32,
    /// Transport of all frames.
    pub transport: Transport,
    /// Packets per second, 1 or more.
    pub rate: u64,
}

/// The transport of ranked flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP: requests and answers.
    Udp,
    /// TCP: a handshake, then data both ways, acknowledged. Replaced flows don't close.
    Tcp,
}

impl Default for Ranked {
    /// A hundred thousand flows, Zipf's law with exponent 1.1, UDP of 64 bytes at a million packets
    /// a second.
    fn default() -> Self {
        Self {
            flows: 100_000,
            exponent: 1_100,
            bytes: 64,
            churn: 0,
            transport: Transport::Udp,
            rate: MILLION,
        }
    }
}

impl Ranked {
    /// Returns the frames, without end; the same arguments make the same ones everywhere.
    pub fn frames(&self, seed: u64) -> RankedFrames {
        let flows = self.flows.clamp(1, MOST_FLOWS);
        RankedFrames {
            ranked: Self { flows, ..*self },
            random: Random::new(seed ^ 0x7a6e_6b65_6400_0000),
            zipf: (self.exponent > 0).then(|| Box::new(Zipf::new(flows, self.exponent))),
            conversations: vec![Conversation::default(); flows as usize],
            clock: BEGIN,
        }
    }

    /// Writes a capture of `packets` frames.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, seed: u64, packets: u64, out: impl Write) -> Result<Summary, TrafficError> {
        write_frames(self.frames(seed).take(packets as usize), out)
    }
}

/// The frames of [`Ranked`] flows.
#[derive(Debug)]
pub struct RankedFrames {
    ranked: Ranked,
    random: Random,
    /// `None` if all flows are equal.
    zipf: Option<Box<Zipf>>,
    /// The current conversation of each rank.
    conversations: Vec<Conversation>,
    clock: u64,
}

impl RankedFrames {
    fn rank(&mut self) -> u64 {
        match &self.zipf {
            Some(zipf) => zipf.draw(&mut self.random),
            None => self.random.below(self.ranked.flows),
        }
    }

    fn churn(&mut self) {
        if self.ranked.churn > 0 && self.random.below(MILLION) < u64::from(self.ranked.churn) {
            let replaced = self.random.below(self.ranked.flows) as usize;
            self.conversations[replaced].replace();
        }
    }
}

impl Iterator for RankedFrames {
    type Item = Generated;

    fn next(&mut self) -> Option<Generated> {
        let mean = crate::flow::SECOND / self.ranked.rate.max(1);
        self.clock += self.random.below(2 * mean + 1);
        let rank = self.rank();
        let bytes = self.conversations[rank as usize].say(rank, &self.ranked);
        self.churn();
        Some(Generated { time: self.clock, bytes, sound: true })
    }
}
