//! How states begin, get their versions, and how their entries end.

use super::States;
use crate::bucket::BucketSet;
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::outbox::Outbox;
use crate::record::{Fields, When};
use crate::state::commutative::Merging;
use crate::state::table::{Ending, MovingEnds};
use crate::state::{Malformed, Memory, OutOfMemory};

/// Begin and end of states and entries.
pub trait Lifecycle: States {
    /// Upper bound of the bytes of [`Memory`] that [`Self::new`] takes.
    const MEMORY: usize;
    /// Those of them that hold the items of regions, and are not taken if regions have
    /// [memory of their own](Memory::with_regions). Zero unless a side reads the other's items.
    const ITEMS: usize = 0;
    /// Bytes of its largest [value](crate::state::Stored::VALUE).
    const VALUE: usize = 0;

    /// Whether any of its states is read-mostly.
    const READ_MOSTLY: bool = false;

    /// The numbers of its recorded states.
    const RECORDED: &'static [usize] = &[];

    /// The numbers of its states whose entries have a hook.
    const HOOKED: &'static [usize] = &[];
    /// Whether anything runs at its time: hooks, timers, or handlers of delayed messages.
    const TIMED: bool = !Self::HOOKED.is_empty() || Self::TIMERS || Self::DELAYS;
    /// Whether it may send itself messages, and so delayed ones, too.
    const DELAYS: bool = false;

    /// The periods of its timers (ns).
    const PERIODS: &'static [u64] = &[];
    /// Whether it has timers.
    const TIMERS: bool = !Self::PERIODS.is_empty();

    /// Whether handlers read any commutative state as of a merge.
    const MERGED: bool = false;
    /// Whether all shards are told when an epoch begins: it is time for merges, and for timers.
    const TELLS_EPOCHS: bool = Self::MERGED || Self::TIMERS;

    /// Makes all states, empty, in `memory`.
    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory>;

    /// Makes version 1 of the read-mostly state `name` from a file, at the host; the file gets the
    /// faults. Returns whether there is such a state.
    #[cfg(not(target_os = "none"))]
    fn configure(&mut self, name: &str, file: &mut dyn config::File) -> bool {
        let _ = (name, file);
        false
    }

    /// Reports the entries of recorded states that ended since the last call, each with the number
    /// of its state.
    #[inline]
    fn ended(&mut self, tell: &mut dyn FnMut(u16, Ending<'_>)) {
        let _ = tell;
    }

    /// Visits the states that are read as of a merge, each with its number.
    #[inline]
    fn each_merged(&mut self, visit: &mut dyn FnMut(u16, &mut dyn Merging)) {
        let _ = visit;
    }

    /// Visits the tables of states with hooks, each with its number, where buckets move.
    #[inline]
    fn each_apart(&mut self, visit: &mut dyn FnMut(u16, &mut dyn MovingEnds)) {
        let _ = visit;
    }

    /// This shard has these buckets: timers run for them alone. Before that it has all.
    #[inline]
    fn own_buckets(&mut self, buckets: BucketSet) {
        let _ = buckets;
    }

    /// Whether a hook or a timer may be due at `now`. If not, [`Self::run_due`] has nothing to run.
    #[inline]
    fn is_due(&self, now: u64) -> bool {
        let _ = now;
        !Self::HOOKED.is_empty() || Self::TIMERS
    }

    /// Runs the hooks and timers that are due at `now`, in the order of their times. Every entry
    /// with a hook that is due is known here. The packets that one sends are in `out` when it has
    /// run, and `sent` takes them from there.
    #[inline]
    fn run_due(&mut self, now: u64, out: &mut Outbox, sent: &mut dyn FnMut(&mut Outbox)) {
        let _ = (now, out, sent);
    }

    /// Reports the record of an entry of the recorded state with this number, decoded from `piece`.
    /// Returns the time when a packet last found the entry (ns). Only the host calls it.
    fn record(
        state: usize,
        piece: &[u8],
        when: When,
        fields: &mut dyn Fields,
    ) -> Result<u64, Malformed> {
        let _ = (state, piece, when, fields);
        Err(Malformed)
    }
}
