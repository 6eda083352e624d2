//! Totals of a coordinator, and the move that is under way.

use std::fmt;

use crate::Shard;
use crate::rules::Epoch;

/// Totals since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Totals {
    /// Moves that are over.
    pub moves: u64,
    /// Moves whose buckets began afresh at their new owner.
    pub voids: u64,
    /// Buckets that stayed, because the flow table refused their rules.
    pub stayed: u64,
    /// Operations that were asked for.
    pub operations: u64,
    /// How many of these were asked for again.
    pub again: u64,
    /// Frames that were passed on to their owner.
    pub strays: u64,
    /// Frames whose owner was down.
    pub lost_strays: u64,
    /// Duration of the last move.
    pub last_ns: u64,
    /// Duration of the longest move.
    pub longest_ns: u64,
    /// Duration of all moves together.
    pub all_ns: u64,
}

/// Steps of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Rules to the new owner are being inserted. The old one handles the buckets.
    Inserting,
    /// The old owner has the marker in its queue, and sends its entries. The new one holds.
    Handing,
    /// The new owner has the buckets. Old rules are being removed.
    Removing,
}

/// The move that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// Its epoch.
    pub epoch: Epoch,
    /// The old owner.
    pub from: Shard,
    /// The new owner.
    pub to: Shard,
    /// Number of its buckets.
    pub buckets: usize,
    /// Its step.
    pub phase: Phase,
    /// Operations of this step that have no answer yet.
    pub unanswered: usize,
    /// Bytes of frames that the new owner holds.
    pub held_bytes: u64,
    /// Time since its beginning.
    pub for_ns: u64,
}

/// A report, to be logged or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Totals since the beginning.
    pub totals: Totals,
    /// The move that is under way.
    pub under_way: Option<UnderWay>,
    /// Number of buckets that wait for a move.
    pub waiting: usize,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { moves, operations, again, strays, stayed, .. } = self.totals;
        let mean = self.totals.all_ns.checked_div(moves).unwrap_or(0);
        write!(f, "{moves} moves done, in the mean in {}", Time(mean))?;
        write!(f, "; {operations} rule operations, {again} of them asked again")?;
        write!(f, "; {strays} strays")?;
        if stayed > 0 {
            write!(f, "; {stayed} buckets stayed: the flow table had no room for their rules")?;
        }
        if let Some(under_way) = &self.under_way {
            write!(f, "; {under_way}")?;
        }
        if self.waiting > 0 {
            write!(f, "; {} buckets wait for a move", self.waiting)?;
        }
        Ok(())
    }
}

impl fmt::Display for UnderWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, from, to, buckets, unanswered, held_bytes, .. } = self;
        write!(
            f,
            "move {epoch} of {buckets} buckets from {from} to {to} for {}",
            Time(self.for_ns)
        )?;
        match self.phase {
            Phase::Inserting if *unanswered == 0 => write!(f, ", waits for {to} to run"),
            Phase::Inserting => write!(f, ", waits for {unanswered} rules to be inserted"),
            Phase::Handing => write!(f, ", waits for the entries of {from}"),
            Phase::Removing => write!(f, ", waits for {unanswered} old rules to be removed"),
        }?;
        write!(f, ", holds {held_bytes} bytes")
    }
}

/// A duration, in a unit that suits it.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns @ 0..10_000 => write!(f, "{ns} ns"),
            ns @ 10_000..10_000_000 => write!(f, "{} us", ns / 1_000),
            ns => write!(f, "{} ms", ns / 1_000_000),
        }
    }
}
