//! The items that a run has read or written. Those that it wrote are stored when it ends well.

use core::cell::{Cell, OnceCell};

use super::super::memory::bytes_for;
use super::super::{Memory, OutOfMemory};
use super::MOST_ITEMS;

/// An item of the run.
#[derive(Debug)]
pub(super) struct Noted<S> {
    number: u32,
    written: bool,
    /// The version of a copy, and whether the copy must be of the moment of all others.
    version: u64,
    checked: Cell<bool>,
    item: S,
}

impl<S> Noted<S> {
    /// The item.
    #[inline]
    pub(super) const fn item(&self) -> &S {
        &self.item
    }

    /// From now on it must be of the moment of all others: its version, if that is new.
    #[inline]
    pub(super) fn check(&self) -> Option<u64> {
        (!self.checked.replace(true)).then_some(self.version)
    }
}

/// The items of the current run, in the order of their first use. Each stays where it is, since
/// handlers have references to it.
#[derive(Debug)]
pub(super) struct Log<S: 'static> {
    places: &'static mut [OnceCell<Noted<S>>],
    used: Cell<usize>,
    /// Reads so far.
    reads: Cell<u32>,
}

impl<S: Copy + 'static> Log<S> {
    /// Bytes of [`Memory`] that it takes.
    pub(super) const BYTES: usize = bytes_for::<OnceCell<Noted<S>>>(MOST_ITEMS);

    pub(super) fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let places = memory.take_made(MOST_ITEMS, OnceCell::new)?;
        Ok(Self { places, used: Cell::new(0), reads: Cell::new(0) })
    }

    /// Counts a read. Returns the number of reads.
    #[inline]
    pub(super) fn count_read(&self) -> u32 {
        self.reads.set(self.reads.get().saturating_add(1));
        self.reads.get()
    }

    /// The items so far.
    #[inline]
    fn noted(&self) -> impl Iterator<Item = &Noted<S>> {
        self.places.iter().take(self.used.get()).filter_map(OnceCell::get)
    }

    /// The item with this number, if the run has used it.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Noted<S>> {
        self.noted().find(|noted| noted.number == number)
    }

    /// Notes an item that is read for the first time; `None` if there is no room.
    #[inline]
    pub(super) fn note(&self, number: u32, (item, version): (S, u64)) -> Option<&Noted<S>> {
        let place = self.places.get(self.used.get())?;
        let checked = Cell::new(false);
        // The place is free: those in use are in front of it.
        let _was_free = place.set(Noted { number, written: false, version, checked, item });
        self.used.set(self.used.get() + 1);
        place.get()
    }

    /// Whether no item was noted behind this one.
    #[inline]
    pub(super) fn is_last(&self, noted: &Noted<S>) -> bool {
        self.noted().last().is_some_and(|last| last.number == noted.number)
    }

    /// Notes an item that is written; `None` if there is no room.
    #[inline]
    pub(super) fn write(&mut self, number: u32, item: S) -> Option<()> {
        let used = self.used.get();
        let now = Noted { number, written: true, version: 0, checked: Cell::new(true), item };
        let noted = self.places.iter_mut().take(used).filter_map(OnceCell::get_mut);
        for place in noted {
            if place.number == number {
                *place = now;
                return Some(());
            }
        }
        let place = self.places.get(used)?;
        let _was_free = place.set(now);
        self.used.set(used + 1);
        Some(())
    }

    /// The items that were written, in the order of their first use.
    #[inline]
    pub(super) fn written(&self) -> impl Iterator<Item = (u32, &S)> {
        self.noted().filter(|noted| noted.written).map(|noted| (noted.number, &noted.item))
    }

    /// Forgets all.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.reads.set(0);
        for place in self.places.iter_mut().take(self.used.replace(0)) {
            let _noted = place.take();
        }
    }
}
