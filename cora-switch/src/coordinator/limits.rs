//! Limits of moves.

use cora_core::app::FlowTableFacts;

/// Limits of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of frames that a new owner holds. With more, nothing is taken from the wire until it
    /// owns the buckets.
    pub held_bytes: u64,
    /// Nanoseconds of packet time that go on during a move. Later packets stay on the wire until
    /// the new owner owns the buckets, so the old one's clock is never far behind.
    pub packet_ns: u64,
    /// Time without any answer after which an operation counts as lost, and is asked for again.
    pub again_ns: u64,
    /// Bytes of entries of a move: more are a fault of the old owner.
    pub entry_bytes: u64,
    /// Most rule operations without an answer.
    pub in_flight: usize,
}

impl Limits {
    /// Limits with the plan's flow table. An answer that only takes its time is not lost: asked for
    /// again, the operation would hold up the others.
    #[must_use]
    pub fn of_plan(facts: FlowTableFacts) -> Self {
        let usual = Self::default();
        Self { again_ns: usual.again_ns.max(facts.delay_ns.saturating_mul(4)), ..usual }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            held_bytes: 1 << 20,
            packet_ns: 500_000_000,
            again_ns: 100_000_000,
            entry_bytes: 1 << 32,
            in_flight: 64,
        }
    }
}
