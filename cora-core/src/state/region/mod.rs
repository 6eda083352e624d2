//! Regions: items by number, which stay at one side for good.
//!
//! A handler reads and writes items of any number, whatever its flow. All reads of a run are of one
//! moment, and its writes are there at one moment, or not at all.
//!
//! The items are at their home, a side that handles messages one by one. The other side may fetch
//! copies of them, if the plan lets it: its runs read, and what they read is of one moment, or the
//! run is taken back and its message goes to the home. So does the message of a run that writes.
//!
//! An item that nobody has written is the one that zero bytes encode.
//!
//! | module | concept |
//! | --- | --- |
//! | `items` | the items there, with versions |
//! | `log` | the items of a run |
//! | `report` | items in reports, and on their way to the other side |

mod items;
mod log;
mod report;
#[cfg(test)]
mod tests;

use core::fmt;

use super::reads::Reads;
pub use super::reads::{MOST_FETCHED, MOST_FETCHED_BYTES};
use super::{Announced, Kind, Memory, OutOfMemory, Stored};
use crate::plain::Plain;
use crate::trace::{Asked, asked};
use crate::verdict::Stop;
use crate::verdict::reasons::{NoSuchItem, TooManyItems};
use items::Items;
use log::{Log, Noted};

/// A state of numbered items, as declared by `#[state(region, length = …)]`.
pub trait RegionState: Plain {
    /// The name of the type.
    const NAME: &'static str;
    /// Number of items.
    const LENGTH: u32;
}

/// Most items that a run may read and write, each once or many times.
pub const MOST_ITEMS: usize = 64;

/// Most reads of a run, of all of its items: a loop that follows items in a circle ends by it.
pub const MOST_READS: u32 = 4_096;

/// Most bytes of an encoded item.
pub const LONGEST_ITEM: usize = 2_040;

/// Most bytes of all items of a region.
pub const MOST_REGION_BYTES: usize = 1 << 32;

/// The items of a state, as a handler uses them. Items have numbers, from 0 on.
pub struct Region<S: RegionState> {
    items: Items<S>,
    log: Log<S>,
}

impl<S: RegionState> fmt::Debug for Region<S> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct(S::NAME).field("length", &S::LENGTH).finish_non_exhaustive()
    }
}

impl<S: RegionState> Region<S> {
    /// Number of items.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a region has an item, at least")]
    pub const fn len(&self) -> u32 {
        S::LENGTH
    }

    /// The item with this number, as it is for this run: with what the run itself wrote.
    ///
    /// Refused with `no-such-item` beyond the region's end, and with `too-many-items` if the run
    /// reads and writes more than 64 items, or reads more than 4,096 times. A handler can't go on
    /// without the item: `?` ends it.
    #[inline]
    pub fn read(&self, number: u32) -> Result<&S, Stop> {
        asked(S::NAME, Asked::Read);
        let noted = self.noted(number)?;
        if let Some(reads) = self.items.reads()
            && let Some(version) = noted.check()
        {
            let is_old = !self.log.is_last(noted);
            if !reads.check(self.items.version_at(number), version, is_old) {
                return Err(lacks(reads));
            }
        }
        Ok(noted.item())
    }

    /// The item with this number at any moment: what is read so may be older or newer than what
    /// else the run reads. For a hint that is checked otherwise.
    ///
    /// Refused as [`Self::read`].
    #[inline]
    pub fn peek(&self, number: u32) -> Result<&S, Stop> {
        asked(S::NAME, Asked::Read);
        self.noted(number).map(Noted::item)
    }

    /// Writes the item with this number. It is there when the run has ended well.
    ///
    /// Refused as [`Self::read`].
    #[inline]
    pub fn write(&mut self, number: u32, item: S) -> Result<(), Stop> {
        asked(S::NAME, Asked::Write);
        if number >= S::LENGTH {
            return Err(Stop::drop(NoSuchItem));
        }
        if let Some(reads) = self.items.reads() {
            return Err(lacks(reads));
        }
        self.log.write(number, item).ok_or(Stop::drop(TooManyItems))
    }

    /// The item in the log of this run.
    #[inline]
    fn noted(&self, number: u32) -> Result<&Noted<S>, Stop> {
        let reads = self.items.reads();
        let is_circle = self.log.count_read() > MOST_READS;
        if is_circle || reads.is_some_and(Reads::have_lacked) {
            return Err(reads.map_or(Stop::drop(TooManyItems), lacks));
        }
        if let Some(noted) = self.log.get(number) {
            return Ok(noted);
        }
        let Some(reads) = reads else {
            let item = self.items.get(number).ok_or(Stop::drop(NoSuchItem))?;
            return self.log.note(number, (item, 0)).ok_or(Stop::drop(TooManyItems));
        };
        // Copies of several moments may make a number that is of no item: the home decides.
        let copy = if reads.may_fetch(S::SIZE) { self.items.copy(number) } else { None };
        copy.and_then(|copy| self.log.note(number, copy)).ok_or_else(|| lacks(reads))
    }
}

/// The run is void: its message goes to the items' home.
#[cold]
fn lacks(reads: Reads) -> Stop {
    reads.lacks();
    Stop::punt()
}

impl<S: RegionState> Stored for Region<S> {
    const NAME: &'static str = S::NAME;
    const KIND: Kind = Kind::Region;
    const BYTES: usize = Self::ITEMS + Reads::BYTES + Log::<S>::BYTES;
    const ITEMS: usize = Items::<S>::BYTES;
    type Home = Self;

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let (items, log) = (Items::create(memory)?, Log::create(memory)?);
        Ok(Self { items, log })
    }

    #[inline]
    fn borrow(home: &mut Self) -> &mut Self {
        home
    }
}

impl<S: RegionState> Announced for Region<S> {}
