//! The two rings of a host half: orders to it, and its answers.
//!
//! Each host half gets rings of its own, so nothing of a dead one's is taken for its successor's.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use cora_runtime::link::ring::{CONTROL_WORDS, SharedMemory};

use crate::RunError;
use crate::memory::map;

/// Bytes of the rings: an order is short, and the longest answer is an entry with its group.
const ORDER_BYTES: usize = 4096;
pub(crate) const ANSWER_BYTES: usize = 1 << 18;

const ORDER_WORDS: usize = CONTROL_WORDS + ORDER_BYTES / 8;
const ANSWER_WORDS: usize = CONTROL_WORDS + ANSWER_BYTES / 8;

/// Bytes of both.
pub(crate) const BYTES: usize = 8 * (ORDER_WORDS + ANSWER_WORDS);

/// The rings of one host half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) orders: SharedMemory,
    pub(crate) answers: SharedMemory,
}

impl Line {
    /// New rings, and their file for the host half.
    pub(crate) fn create() -> Result<(Self, OwnedFd), RunError> {
        let failed = |errno: rustix::io::Errno| RunError::System {
            what: "shared memory",
            cause: errno.into(),
        };
        let (file, words) = map::shared_memory(BYTES).map_err(failed)?;
        Ok((Self::of(words)?, file))
    }

    /// The rings in this memory, which has [`BYTES`].
    pub(crate) fn of(words: &'static [AtomicU64]) -> Result<Self, RunError> {
        let rings = words.split_at_checked(ORDER_WORDS).and_then(|(orders, answers)| {
            let answers = answers.get(..ANSWER_WORDS)?;
            Some(Self { orders: SharedMemory::new(orders)?, answers: SharedMemory::new(answers)? })
        });
        let cause = || std::io::ErrorKind::UnexpectedEof.into();
        rings.ok_or_else(|| RunError::System { what: "an operator's rings", cause: cause() })
    }
}

/// The rings of each shard's host half, with a number that is another one for each host half.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    each: Mutex<Vec<Option<(u64, Line)>>>,
}

impl Lines {
    /// A host half of this shard begins, with these rings.
    pub(crate) fn renew(&self, shard: u16, line: Line) {
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        let shard = usize::from(shard);
        if each.len() <= shard {
            each.resize(shard + 1, None);
        }
        if let Some(place) = each.get_mut(shard) {
            *place = Some((place.map_or(0, |(number, _)| number + 1), line));
        }
    }

    /// The current rings of this shard.
    pub(crate) fn of_shard(&self, shard: u16) -> Option<(u64, Line)> {
        let each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        each.get(usize::from(shard)).copied().flatten()
    }
}
