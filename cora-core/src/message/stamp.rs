//! What accompanies a frame on every ring.

use super::decode::word;
use crate::packet::{Meta, Port};

/// What accompanies a frame everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The packet's own time and port, and the run's time.
    pub meta: Meta,
    /// The packet's number in the order of arrival.
    pub number: u64,
    /// No later packet on this way is older (ns of run time): see [`Visit`](crate::state::Visit).
    pub horizon: u64,
    /// Where it leaves; meaningless before a verdict.
    pub egress: Port,
}

impl Stamp {
    /// Whole words, so that the frame behind it is moved by words, too.
    pub(super) const BYTES: usize = 40;

    pub(super) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.meta.time.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.meta.now.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.horizon.to_le_bytes());
        bytes[32] = self.meta.port.0;
        bytes[33] = self.egress.0;
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<{ Self::BYTES }>()?;
        let meta = Meta { time: word(head, 0)?, now: word(head, 8)?, port: Port(head[32]) };
        let (number, horizon) = (word(head, 16)?, word(head, 24)?);
        Some((Self { meta, number, horizon, egress: Port(head[33]) }, rest))
    }
}
