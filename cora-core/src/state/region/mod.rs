//! Regions: items by number, which stay at one side for good.
//!
//! A handler reads and writes items of any number, whatever its flow. All reads of a run are of one
//! moment, and its writes are there at one moment, or not at all.
//!
//! ```text
//! items   the encodings, one behind the other, in whole words; zeroes until they are written
//! log     the items that the current run has read or written
//! ```
//!
//! An item that nobody has written is the one that zero bytes encode.
//!
//! | module | concept |
//! | --- | --- |
//! | `log` | the items of a run |
//! | `report` | items in reports, and on their way to the other side |

mod log;
mod report;
#[cfg(test)]
mod tests;

use core::fmt;

use super::memory::bytes_for;
use super::{Announced, Kind, Memory, OutOfMemory, Stored};
use crate::plain::Plain;
use crate::trace::{Asked, asked};
use crate::verdict::Stop;
use crate::verdict::reasons::{NoSuchItem, TooManyItems};
use log::Log;

/// A state of numbered items, as declared by `#[state(region, length = …)]`.
pub trait RegionState: Plain {
    /// The name of the type.
    const NAME: &'static str;
    /// Number of items.
    const LENGTH: u32;
}

/// Most items that a run may read and write, each once or many times.
pub const MOST_ITEMS: usize = 64;

/// Most bytes of an encoded item.
pub const LONGEST_ITEM: usize = 2_040;

/// Most bytes of all items of a region.
pub const MOST_REGION_BYTES: usize = 1 << 32;

/// The items of a state, as a handler uses them. Items have numbers, from 0 on.
pub struct Region<S: RegionState> {
    words: &'static mut [u64],
    log: Log<S>,
}

impl<S: RegionState> fmt::Debug for Region<S> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct(S::NAME).field("length", &S::LENGTH).finish_non_exhaustive()
    }
}

impl<S: RegionState> Region<S> {
    /// Words of an item.
    const STRIDE: usize = if S::SIZE == 0 { 1 } else { S::SIZE.div_ceil(8) };
    const WORDS: usize = {
        assert!(S::SIZE <= LONGEST_ITEM, "an item of a region has at most 2,040 bytes");
        let words = Self::STRIDE * S::LENGTH as usize;
        assert!(words * 8 <= MOST_REGION_BYTES, "a region has at most 4 GiB");
        words
    };

    /// Number of items.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a region has an item, at least")]
    pub const fn len(&self) -> u32 {
        S::LENGTH
    }

    /// The item with this number, as it is for this run: with what the run itself wrote.
    ///
    /// Refused with `no-such-item` beyond the region's end, and with `too-many-items` if the run
    /// reads and writes more than 64 items. A handler can't go on without the item: `?` ends it.
    #[inline]
    pub fn read(&self, number: u32) -> Result<&S, Stop> {
        asked(S::NAME, Asked::Read);
        if let Some(item) = self.log.get(number) {
            return Ok(item);
        }
        let item = self.stored(number)?;
        self.log.note(number, item).ok_or(Stop::drop(TooManyItems))
    }

    /// The item with this number at any moment: what is read so may be older or newer than what
    /// else the run reads. For a hint that is checked otherwise.
    ///
    /// Refused as [`Self::read`].
    #[inline]
    pub fn peek(&self, number: u32) -> Result<&S, Stop> {
        self.read(number)
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
        self.log.write(number, item).ok_or(Stop::drop(TooManyItems))
    }

    /// The item as it is stored.
    #[inline]
    fn stored(&self, number: u32) -> Result<S, Stop> {
        let at = number as usize * Self::STRIDE;
        let words = self.words.get(at..at + Self::STRIDE).ok_or(Stop::drop(NoSuchItem))?;
        // What is stored is what was encoded: another one is never made.
        S::get(zerocopy::IntoBytes::as_bytes(words)).ok_or(Stop::drop(NoSuchItem))
    }

    /// Stores an item.
    #[inline]
    fn store(words: &mut [u64], number: u32, item: &S) {
        let at = number as usize * Self::STRIDE;
        if let Some(place) = words.get_mut(at..at + Self::STRIDE) {
            item.put(zerocopy::IntoBytes::as_mut_bytes(place));
        }
    }
}

impl<S: RegionState> Stored for Region<S> {
    const NAME: &'static str = S::NAME;
    const KIND: Kind = Kind::Region;
    const BYTES: usize = bytes_for::<u64>(Self::WORDS) + Log::<S>::BYTES;
    type Home = Self;

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { words: memory.take_u64(Self::WORDS)?, log: Log::create(memory)? })
    }

    #[inline]
    fn borrow(home: &mut Self) -> &mut Self {
        home
    }
}

impl<S: RegionState> Announced for Region<S> {}
