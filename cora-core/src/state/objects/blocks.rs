//! Blocks of memory in a few sizes, each with an object in it.
//!
//! A page has blocks of one size, and all pages of a size are full but for the last one. So memory
//! never ends up in holes: the block that is given back is filled with the last one of its size,
//! whose new place the caller notes. Both take the same time however many blocks there are.
#![expect(
    unsafe_code,
    reason = "objects are lent where they lie, between the heads of their blocks"
)]

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;

use super::super::memory::bytes_for;
use super::super::{Memory, OutOfMemory};
use super::classes::{self, CLASSES, LARGEST, PAGE, PAGE_UNITS, UNIT};

/// In place of a place: nowhere.
pub(super) const NOWHERE: u32 = u32::MAX;

/// An object: its head, and bytes behind it, whose number its insertion decided.
#[derive(Debug)]
#[repr(C)]
pub struct Object<T> {
    /// Plain data that every object of the state has.
    pub head: T,
    /// The bytes.
    pub bytes: [u8],
}

/// The unit of memory of blocks.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct Unit([u8; UNIT]);

/// What stands before an object: who it is, and its neighbours.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct BlockHead {
    /// The number in its flow.
    pub(super) serial: u32,
    /// The owner's number.
    pub(super) owner: u32,
    /// Bytes behind the object's head.
    pub(super) length: u32,
    /// What the current run did to it.
    pub(super) noted: Noted,
    class: u8,
    /// The next block in the chain of the index.
    pub(super) chain: u32,
    /// The owner's object before this one, and the one after it.
    pub(super) previous: u32,
    pub(super) next: u32,
}

/// What the current run did to an object, if it can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Noted {
    /// Nothing.
    No,
    /// It is new, or its content from before the run is in the journal.
    Kept,
    /// It is removed, unless the run is undone.
    Removed,
}

/// Bytes of a block before the object.
pub(super) const BEFORE: usize = size_of::<BlockHead>();

/// The blocks of one class.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// The page that is not full, or the last that is.
    last: u32,
    /// Blocks in that page.
    fill: u32,
}

/// The blocks. A *place* is the number of a block's first unit; it is valid from
/// [`Self::insert`] until [`Self::release`] gives it to another block.
pub(super) struct Blocks<T> {
    units: &'static mut [MaybeUninit<Unit>],
    /// Per page the page before it in its class, or among free pages.
    before: &'static mut [u32],
    classes: [Class; CLASSES],
    /// The first free page that was used before.
    free: u32,
    /// Pages used so far, at some time.
    made: u32,
    /// Pages with blocks.
    used: u32,
    objects: PhantomData<T>,
}

impl<T> fmt::Debug for Blocks<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Blocks").field("pages", &self.used).finish_non_exhaustive()
    }
}

impl<T: Copy> Blocks<T> {
    /// Most bytes behind an object's head.
    pub(super) const LONGEST: usize = LARGEST - BEFORE - size_of::<T>();

    /// Bytes of [`Memory`] for so many pages.
    pub(super) const fn bytes(pages: usize) -> usize {
        pages * PAGE + bytes_for::<u32>(pages)
    }

    pub(super) fn create(memory: &mut Memory, pages: usize) -> Result<Self, OutOfMemory> {
        const {
            assert!(align_of::<T>() <= UNIT, "an object begins at a unit");
            assert!(size_of::<T>() <= LARGEST / 2, "the head of an object is too long");
        };
        Ok(Self {
            units: memory.take(pages * PAGE_UNITS as usize)?,
            before: memory.take_u32(pages)?,
            classes: [Class { last: NOWHERE, fill: 0 }; CLASSES],
            free: NOWHERE,
            made: 0,
            used: 0,
            objects: PhantomData,
        })
    }

    /// Pages with blocks.
    #[cfg(test)]
    pub(super) const fn used(&self) -> u32 {
        self.used
    }

    /// Puts an object with this head and so many zeroes behind it into a block. `None` if that
    /// needs more than `most` pages, or the object is longer than any block.
    pub(super) fn insert(&mut self, head: T, length: usize, most: u32) -> Option<u32> {
        let class = classes::class_of(BEFORE + size_of::<T>() + length)?;
        let place = self.take(class, most)?;
        let block = BlockHead {
            serial: 0,
            owner: NOWHERE,
            length: length as u32,
            noted: Noted::No,
            class: class as u8,
            chain: NOWHERE,
            previous: NOWHERE,
            next: NOWHERE,
        };
        let start = self.start_mut(place);
        // SAFETY: `take` gives a place whose block lies within `units`, aligned to 16, and has at
        // least the bytes that its class was chosen for: first those of the block's head.
        unsafe { start.cast::<BlockHead>().write(block) };
        // SAFETY: the object's head follows, within the block.
        let object = unsafe { start.add(BEFORE / UNIT) };
        // SAFETY: as above; the object begins at a unit, and `T` is aligned to one at most.
        unsafe { object.cast::<T>().write(head) };
        // SAFETY: behind its head the block has room for `length` bytes.
        let bytes = unsafe { object.cast::<u8>().add(size_of::<T>()) };
        // SAFETY: as above.
        unsafe { bytes.write_bytes(0, length) };
        Some(place)
    }

    /// A free block of this class.
    fn take(&mut self, class: usize, most: u32) -> Option<u32> {
        let Class { last, fill } = self.classes[class];
        if last == NOWHERE || fill == classes::blocks(class) {
            let page = self.take_page(most)?;
            *self.before.get_mut(page as usize)? = last;
            self.classes[class] = Class { last: page, fill: 0 };
        }
        let of = &mut self.classes[class];
        let place = of.last * PAGE_UNITS + of.fill * classes::units(class);
        of.fill += 1;
        Some(place)
    }

    fn take_page(&mut self, most: u32) -> Option<u32> {
        if self.used >= most {
            return None;
        }
        let page = if self.free == NOWHERE {
            (self.made < self.before.len() as u32).then_some(self.made)?
        } else {
            self.free
        };
        if self.free == NOWHERE {
            self.made += 1;
        } else {
            self.free = self.before[page as usize];
        }
        self.used += 1;
        Some(page)
    }

    /// Gives a block back. The last block of its class is in its place then: returns the former
    /// place of that one, unless it is the same.
    pub(super) fn release(&mut self, place: u32) -> Option<u32> {
        let class = usize::from(self.head(place).class) % CLASSES;
        let units = classes::units(class);
        let Class { last: page, fill } = self.classes[class];
        let last = page * PAGE_UNITS + (fill - 1) * units;
        if last != place {
            let (from, to) = (last as usize, place as usize);
            self.units.copy_within(from..from + units as usize, to);
        }
        self.classes[class].fill = fill - 1;
        if fill == 1 {
            let before = core::mem::replace(&mut self.before[page as usize], self.free);
            self.free = page;
            self.used -= 1;
            let fill = if before == NOWHERE { 0 } else { classes::blocks(class) };
            self.classes[class] = Class { last: before, fill };
        }
        (last != place).then_some(last)
    }

    #[inline]
    fn start(&self, place: u32) -> *const Unit {
        debug_assert!((place as usize) < self.units.len(), "a place of a block");
        self.units.as_ptr().wrapping_add(place as usize).cast()
    }

    #[inline]
    fn start_mut(&mut self, place: u32) -> *mut Unit {
        debug_assert!((place as usize) < self.units.len(), "a place of a block");
        self.units.as_mut_ptr().wrapping_add(place as usize).cast()
    }

    /// What stands before an object.
    #[inline]
    pub(super) fn head(&self, place: u32) -> &BlockHead {
        // SAFETY: `place` is that of a block (see `Blocks`), which `insert` began with a head.
        unsafe { &*self.start(place).cast() }
    }

    #[inline]
    pub(super) fn head_mut(&mut self, place: u32) -> &mut BlockHead {
        // SAFETY: as in `head`; `self` is borrowed exclusively.
        unsafe { &mut *self.start_mut(place).cast() }
    }

    /// The object in a block.
    #[inline]
    pub(super) fn object(&self, place: u32) -> &Object<T> {
        let length = self.head(place).length as usize;
        // SAFETY: behind the block's head, within the block.
        let object = unsafe { self.start(place).add(BEFORE / UNIT) };
        let object = ptr::slice_from_raw_parts(object.cast::<u8>(), length) as *const Object<T>;
        // SAFETY: `insert` wrote a `T` and `length` bytes there, and since then they were only
        // changed as what they are, or moved as a whole. The block has room for the padding behind
        // them: it is of whole units, and the object's alignment is one at most.
        unsafe { &*object }
    }

    /// The object in a block, mutable.
    #[inline]
    pub(super) fn object_mut(&mut self, place: u32) -> &mut Object<T> {
        let length = self.head(place).length as usize;
        // SAFETY: as in `object`.
        let object = unsafe { self.start_mut(place).add(BEFORE / UNIT) };
        let object = ptr::slice_from_raw_parts_mut(object.cast::<u8>(), length) as *mut Object<T>;
        // SAFETY: as in `object`; `self` is borrowed exclusively.
        unsafe { &mut *object }
    }

    /// Units of the object in a block, without the block's head.
    pub(super) fn object_units(&self, place: u32) -> usize {
        (size_of::<T>() + self.head(place).length as usize).div_ceil(UNIT)
    }

    /// The memory of the object in a block.
    pub(super) fn memory(&self, place: u32) -> &[MaybeUninit<Unit>] {
        let from = place as usize + BEFORE / UNIT;
        self.units.get(from..from + self.object_units(place)).unwrap_or_default()
    }

    /// Gives an object its former [memory](Self::memory) again.
    pub(super) fn restore(&mut self, place: u32, memory: &[MaybeUninit<Unit>]) {
        let from = place as usize + BEFORE / UNIT;
        if let Some(to) = self.units.get_mut(from..from + memory.len()) {
            to.copy_from_slice(memory);
        }
    }

    /// Copies bytes of one object to another one, or within one. Both ranges lie within the
    /// objects.
    pub(super) fn copy(
        &mut self,
        (from, first): (u32, usize),
        (to, at): (u32, usize),
        count: usize,
    ) {
        let bytes = |blocks: &Self, place| blocks.head(place).length as usize;
        if first + count > bytes(self, from) || at + count > bytes(self, to) {
            return;
        }
        let before = BEFORE + size_of::<T>();
        let base = self.units.as_mut_ptr().cast::<u8>();
        // SAFETY: the bytes of a block at `from` begin there, within `units`, and there are `count`
        // behind `first` (checked above).
        let source = unsafe { base.add(from as usize * UNIT + before + first) };
        // SAFETY: as above, for `to`.
        let target = unsafe { base.add(to as usize * UNIT + before + at) };
        // SAFETY: both are valid for `count` bytes, and may overlap. `self` is borrowed
        // exclusively.
        unsafe { ptr::copy(source, target, count) };
    }
}
