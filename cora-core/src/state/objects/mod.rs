//! Objects: things of variable length that belong to a flow, found by ids that are plain data.
//!
//! A handler inserts an object with a head, which is plain data as the state declares it, and so
//! many bytes behind it. Its [`Id`] may stand in entries of the flow, and in other objects: so
//! flows have lists, trees and logs of their own. They travel with their flow, and the ids stay
//! valid.
//!
//! ```text
//! owners   per flow: its key, last use, number of the next object, list of its objects
//! index    (owner, number) to place
//! blocks   pages of blocks of one size; no holes, since the last block fills each gap
//! journal  undo log of the current run's writes, for a punt
//! ```
//!
//! An id is the number of the object in its flow, which is never used twice, and a tag of the flow.
//! So it says nothing of places, an id of a removed object finds none, and one of another flow
//! finds none, or at most (of 2³²) an object of the flow itself.
//!
//! # Memory
//!
//! Each side has the declared bytes, in pages of 64 KiB, and as much again for flows that come back
//! when it is full: all objects of both sides fit the host. An object takes 32 bytes more than its
//! length, and this is rounded up by at most a quarter (and to 64 bytes at least); 1/8 of a page
//! may be unused at its end, and of each of the 33 sizes a page that is not full. Insert and remove
//! take a time that depends on the object's length alone.
//!
//! | module | concept |
//! | --- | --- |
//! | `classes` | sizes of blocks |
//! | `blocks` | blocks in pages, and the objects in them |
//! | `owners` | the flows |
//! | `store` | objects by owner and number |
//! | `journal` | undo |
//! | `transaction` | a run: begin, commit, roll back |
//! | `lifetime` | the end of a flow's objects |
//! | `travel` | to the other side |

mod blocks;
mod classes;
mod journal;
mod lifetime;
mod owners;
mod report;
mod store;
#[cfg(test)]
mod tests;
mod transaction;
mod travel;

pub use blocks::Object;

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

use super::table::by_flow::ByFlow;
use super::{Kind, Memory, OutOfMemory, Stored, Visit};
use crate::plain::{Describe, Plain};
use crate::trace::{Asked, asked};
use crate::verdict::{Reason, Stop, reasons};
use blocks::{Blocks, NOWHERE, Noted};
use classes::PAGE;
use journal::{Journal, Write};
use store::Store;
use travel::{BEGINNING, Coming, Going};

/// A state with objects, as declared by `#[state(objects, …)]`: the head of each.
pub trait ObjectState: Plain {
    /// The name of the type.
    const NAME: &'static str;
    /// Bytes of memory for objects at each side.
    const BYTES: usize;
    /// Most flows with objects at a side.
    const FLOWS: u32;
    /// How long a flow's objects stay while no handler takes the state for it (ns of packet time);
    /// [`NEVER`](super::table::NEVER) if they stay for good.
    const IDLE: u64;
}

/// Most bytes of an encoded head.
pub const LONGEST_HEAD: usize = 1016;

/// The name of an object: plain data, for fields of states and of other objects.
///
/// It finds the object in the flow that inserted it, wherever that is, until it is removed.
pub struct Id<T> {
    tag: u32,
    serial: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// An id that finds no object: the end of a list.
    pub const NONE: Self = Self { tag: 0, serial: u32::MAX, of: PhantomData };

    /// Whether this is [`Self::NONE`].
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.serial == u32::MAX
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> Default for Id<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.tag, self.serial) == (other.tag, other.serial)
    }
}

impl<T> Eq for Id<T> {}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return to.write_str("none");
        }
        write!(to, "{:08x}:{}", self.tag, self.serial)
    }
}

impl<T: 'static> Plain for Id<T> {
    const SIZE: usize = 8;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        (u64::from(self.tag) << 32 | u64::from(self.serial)).put(out);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        let word = u64::get(bytes)?;
        Some(Self { tag: (word >> 32) as u32, serial: word as u32, of: PhantomData })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.text(&format_args!("{self:?}"));
    }
}

/// Why something could not be done with objects. `?` turns it into a drop with that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectError {
    /// There is no room for the object, or for another flow with objects.
    NoRoom,
    /// No object may be so long.
    TooLong,
    /// There is no such object in the flow.
    NoObject,
    /// The bytes are beyond the end of the object.
    Outside,
    /// The message belongs to no flow.
    NoFlow,
}

impl From<ObjectError> for Reason {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::NoRoom => reasons::NoRoomForObjects,
            ObjectError::TooLong => reasons::ObjectTooLong,
            ObjectError::NoObject => reasons::NoSuchObject,
            ObjectError::Outside => reasons::OutsideObject,
            ObjectError::NoFlow => reasons::NoFlow,
        }
    }
}

impl From<ObjectError> for Stop {
    fn from(error: ObjectError) -> Self {
        Self::drop(error.into())
    }
}

/// The objects of a state, as a handler uses them: those of its message's flow.
pub struct Objects<S: ObjectState> {
    store: Store<S>,
    journal: Journal,
    by_flow: ByFlow,
    going: Going,
    coming: Coming,
    /// The beginning of the object that goes, and of the one that comes.
    beginning: [u8; BEGINNING],
    arriving: [u8; BEGINNING],
    /// The current run, and the words of its flow's key.
    visit: Visit,
    words: Option<[u64; 5]>,
    /// The flow of the current run, if it has objects.
    current: u32,
    /// For undo: the number that was next when the run began. `None`: the flow is new.
    next: Option<u32>,
    /// The next flow to be examined.
    hand: u32,
    evicted: u64,
    /// The same of those that were idle for long.
    expired: u64,
    /// Objects of flows that came back for which there was no room.
    lost: u64,
}

impl<S: ObjectState> fmt::Debug for Objects<S> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct(S::NAME).field("flows", &self.store.owners.len()).finish_non_exhaustive()
    }
}

impl<S: ObjectState> Objects<S> {
    /// Most flows with objects, for generated code.
    #[doc(hidden)]
    pub const CAPACITY: u32 = S::FLOWS;

    /// Most bytes behind the head of an object.
    pub const LONGEST: usize = Blocks::<S>::LONGEST;

    /// Pages for objects that are inserted here, or offered to this side.
    const PAGES: u32 = (S::BYTES / PAGE) as u32;
    /// Pages with those for flows that come back.
    const MOST_PAGES: u32 = 2 * Self::PAGES;
    /// Numbers of flows: those of both sides may come to one, and some end a bit at a time.
    const MOST_FLOWS: usize = 2 * S::FLOWS as usize + 16;

    /// Makes the state, empty.
    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        const {
            assert!(S::SIZE <= LONGEST_HEAD, "the head of an object has at most 1,016 bytes");
        };
        Ok(Self {
            store: Store::create(memory, Self::MOST_PAGES as usize, Self::MOST_FLOWS)?,
            journal: Journal::create(memory)?,
            by_flow: ByFlow::unknown(),
            going: Going::NOBODY,
            coming: Coming::NOBODY,
            beginning: [0; BEGINNING],
            arriving: [0; BEGINNING],
            visit: Visit::OF_A_HOOK,
            words: None,
            current: NOWHERE,
            next: None,
            hand: 0,
            evicted: 0,
            expired: 0,
            lost: 0,
        })
    }

    /// Inserts an object with this head, and so many bytes behind it, all of them zero.
    pub fn insert(&mut self, head: S, length: usize) -> Result<Id<S>, ObjectError> {
        asked(S::NAME, Asked::Insert);
        if length > Self::LONGEST {
            return Err(ObjectError::TooLong);
        }
        let number = self.current_or_new()?;
        let owner = self.store.owners.get_mut(number).ok_or(ObjectError::NoRoom)?;
        let (tag, serial) = (owner.tag, owner.next);
        // The last number is that of no object.
        owner.next =
            serial.checked_add(1).filter(|_| serial < u32::MAX - 1).ok_or(ObjectError::NoRoom)?;
        if self.visit.undo && !self.journal.note(Write::Insert(serial)) {
            return Err(ObjectError::NoRoom);
        }
        let place = match self.store.insert((number, serial), head, length, Self::PAGES) {
            None => {
                self.end_expired();
                self.store.insert((number, serial), head, length, Self::PAGES)
            }
            place => place,
        };
        let place = place.ok_or(ObjectError::NoRoom)?;
        if self.visit.undo {
            self.store.blocks.head_mut(place).noted = Noted::Kept;
        }
        Ok(Id { tag, serial, of: PhantomData })
    }

    /// Inserts an object with this head and these bytes behind it.
    pub fn insert_with(&mut self, head: S, bytes: &[u8]) -> Result<Id<S>, ObjectError> {
        let id = self.insert(head, bytes.len())?;
        if let Some(place) = self.place(id) {
            self.store.blocks.object_mut(place).bytes.copy_from_slice(bytes);
        }
        Ok(id)
    }

    /// The object with this id.
    #[inline]
    pub fn get(&self, id: Id<S>) -> Option<&Object<S>> {
        asked(S::NAME, Asked::Read);
        Some(self.store.blocks.object(self.place(id)?))
    }

    /// The object with this id, mutable.
    #[inline]
    pub fn get_mut(&mut self, id: Id<S>) -> Option<&mut Object<S>> {
        asked(S::NAME, Asked::Write);
        let place = self.place(id)?;
        self.keep(place).then(|| self.store.blocks.object_mut(place))
    }

    /// Removes an object, and returns its head.
    pub fn remove(&mut self, id: Id<S>) -> Option<S> {
        asked(S::NAME, Asked::Remove);
        let place = self.place(id)?;
        let head = self.store.blocks.object(place).head;
        self.take_away(id.serial, place).then_some(head)
    }

    /// Copies bytes of one object to another place, in the same object or another one.
    pub fn copy(
        &mut self,
        from: Id<S>,
        range: Range<usize>,
        to: Id<S>,
        at: usize,
    ) -> Result<(), ObjectError> {
        asked(S::NAME, Asked::Write);
        let (from, to) = (self.place(from), self.place(to));
        let (Some(from), Some(to)) = (from, to) else { return Err(ObjectError::NoObject) };
        let length = |place| self.store.blocks.head(place).length as usize;
        let count = range.end.checked_sub(range.start).ok_or(ObjectError::Outside)?;
        let ends = at.checked_add(count).ok_or(ObjectError::Outside)?;
        if range.end > length(from) || ends > length(to) {
            return Err(ObjectError::Outside);
        }
        if self.keep(to) {
            self.store.blocks.copy((from, range.start), (to, at), count);
        }
        Ok(())
    }

    /// Number of the flow's objects.
    #[must_use]
    pub fn len(&self) -> usize {
        asked(S::NAME, Asked::Read);
        let mut count = 0;
        self.store.each(self.current, &mut |place| {
            count += usize::from(self.store.blocks.head(place).noted != Noted::Removed);
        });
        count
    }

    /// Whether the flow has no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all objects of the flow.
    pub fn clear(&mut self) {
        asked(S::NAME, Asked::Remove);
        if !self.visit.undo {
            self.store.free_all(self.current);
            return;
        }
        let mut place = self.store.owners.get(self.current).map_or(NOWHERE, |owner| owner.first);
        while place != NOWHERE && !self.journal.overflowed() {
            let head = *self.store.blocks.head(place);
            if head.noted != Noted::Removed {
                self.take_away(head.serial, place);
            }
            place = head.next;
        }
    }

    /// The place of an object of the current flow.
    #[inline]
    fn place(&self, id: Id<S>) -> Option<u32> {
        let owner = self.store.owners.get(self.current)?;
        if owner.tag != id.tag {
            return None;
        }
        self.store.find_kept(self.current, id.serial)
    }
}

impl<S: ObjectState> Stored for Objects<S> {
    const NAME: &'static str = S::NAME;
    const KIND: Kind = Kind::Keyed;
    const BYTES: usize =
        Store::<S>::bytes(Self::MOST_PAGES as usize, Self::MOST_FLOWS) + Journal::BYTES;
    type Home = Self;

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Self::new(memory)
    }

    #[inline]
    fn borrow(home: &mut Self) -> &mut Self {
        home
    }
}
