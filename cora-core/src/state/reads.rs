//! The reads of a run away from the items' home, of all regions together: they must be of one
//! moment. As long as nobody commits, the number of commits alone is looked at.
//!
//! Words are atomic for the compiler's sake: one thread uses them.

use core::sync::atomic::{AtomicU64, Ordering, fence};

use super::memory::bytes_for;
use super::{Memory, OutOfMemory};

/// How often a reader looks for the end of a write. A home that is asleep within one holds nobody
/// up: the message goes there.
pub(super) const LOOKS: u32 = 64;

/// Whether nothing is being written.
#[inline]
pub(super) const fn is_even(number: u64) -> bool {
    number.is_multiple_of(2)
}

const RELAXED: Ordering = Ordering::Relaxed;

/// Most items that a run fetches, and most bytes of them. A run that needs more goes to the items:
/// a message is shorter than they are.
pub const MOST_FETCHED: usize = 16;
/// See [`MOST_FETCHED`].
pub const MOST_FETCHED_BYTES: usize = 8 << 10;

/// In place of a number of commits: the reads are not known to be of one moment.
const UNKNOWN: u64 = u64::MAX;

/// A checked read: where the item's version stands, and which one was read.
#[derive(Debug, Default)]
struct Read {
    at: AtomicU64,
    version: AtomicU64,
}

/// The reads of the current run.
#[derive(Debug)]
struct Run {
    /// The number of commits when all reads so far were current.
    moment: AtomicU64,
    /// The run was refused something.
    lacks: AtomicU64,
    /// Number of items that were fetched, and their bytes.
    fetched: AtomicU64,
    bytes: AtomicU64,
    /// Number of those that are checked.
    checked: AtomicU64,
    reads: [Read; MOST_FETCHED],
}

/// The reads of a side that is away from the items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    run: &'static Run,
    commits: &'static AtomicU64,
    /// All words that versions stand among.
    words: &'static [AtomicU64],
}

impl Reads {
    /// Bytes of [`Memory`] that they take.
    pub(super) const BYTES: usize = bytes_for::<Run>(1);

    pub(super) fn create(
        memory: &mut Memory,
        commits: &'static AtomicU64,
        words: &'static [AtomicU64],
    ) -> Result<Self, OutOfMemory> {
        let made = memory.take_made(1, || Run {
            moment: AtomicU64::new(UNKNOWN),
            lacks: AtomicU64::new(0),
            fetched: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            reads: Default::default(),
        })?;
        let lacks = OutOfMemory { asked: Self::BYTES, left: 0 };
        Ok(Self { run: made.first().ok_or(lacks)?, commits, words })
    }

    /// Before an item of so many bytes is fetched. `false`: the run fetches too much.
    #[inline]
    pub(super) fn may_fetch(self, bytes: usize) -> bool {
        let run = self.run;
        let (fetched, before) = (run.fetched.load(RELAXED), run.bytes.load(RELAXED));
        if fetched == 0 {
            // As of the last commit that has ended.
            run.moment.store(self.commits.load(Ordering::Acquire) & !1, RELAXED);
        }
        run.fetched.store(fetched + 1, RELAXED);
        run.bytes.store(before + bytes as u64, RELAXED);
        fetched < MOST_FETCHED as u64 && before + bytes as u64 <= MOST_FETCHED_BYTES as u64
    }

    /// From now on this item is checked. It is `old` if others were read since it was copied.
    /// Returns whether all are of one moment.
    #[inline]
    pub(super) fn check(self, at: usize, version: u64, old: bool) -> bool {
        let run = self.run;
        let checked = run.checked.load(RELAXED);
        let Some(read) = run.reads.get(checked as usize) else { return false };
        read.at.store(at as u64, RELAXED);
        read.version.store(version, RELAXED);
        run.checked.store(checked + 1, RELAXED);
        if old {
            run.moment.store(UNKNOWN, RELAXED);
        }
        self.are_of_one_moment()
    }

    /// Whether all checked items are of one moment, which is then as late as can be.
    #[inline]
    pub(super) fn are_of_one_moment(self) -> bool {
        // Nothing was written since they were.
        self.commits.load(Ordering::Acquire) == self.run.moment.load(RELAXED) || self.look_again()
    }

    #[cold]
    fn look_again(self) -> bool {
        let run = self.run;
        for _ in 0..LOOKS {
            let commits = self.commits.load(Ordering::Acquire);
            if is_even(commits) {
                let mut checked = run.reads.iter().take(run.checked.load(RELAXED) as usize);
                let are_current = checked.all(|read| {
                    let version = self.words.get(read.at.load(RELAXED) as usize);
                    version.is_some_and(|it| it.load(RELAXED) == read.version.load(RELAXED))
                });
                fence(Ordering::Acquire);
                if self.commits.load(RELAXED) == commits {
                    run.moment.store(if are_current { commits } else { UNKNOWN }, RELAXED);
                    return are_current;
                }
            }
            core::hint::spin_loop();
        }
        false
    }

    /// The run was refused something.
    #[cold]
    pub(super) fn lacks(self) {
        self.run.lacks.store(1, RELAXED);
    }

    /// Whether the run was refused something. Then it is refused all: what its handler makes of the
    /// error, it sees no mixture of moments.
    #[inline]
    pub(super) fn have_lacked(self) -> bool {
        self.run.lacks.load(RELAXED) != 0
    }

    /// Whether the run can't stand: it was refused something, or what it read is of several
    /// moments.
    #[inline]
    pub(super) fn are_void(self) -> bool {
        let run = self.run;
        let none = run.fetched.load(RELAXED) | run.lacks.load(RELAXED) == 0;
        !none && (self.have_lacked() || !self.are_of_one_moment())
    }

    /// Forgets all.
    #[inline]
    pub(super) fn clear(self) {
        for word in [&self.run.lacks, &self.run.fetched, &self.run.bytes, &self.run.checked] {
            word.store(0, RELAXED);
        }
    }
}
