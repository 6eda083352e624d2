//! Memory supplied by the caller: fixed before the first packet, allocated once.
#![expect(
    unsafe_code,
    reason = "turns plain cache lines into slices of other types, once, at start"
)]

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};

use super::region_memory::{RegionMemory, RegionWords};
use crate::prefetch::{prefetch_at, prefetch_both};
use crate::sentence::Sentence;

/// A cache line, the unit of supplied memory: every piece starts on its own line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line([u64; 8]);

impl Line {
    /// A line of zeroes.
    pub const ZERO: Self = Self([0; 8]);
    /// Bytes of a line.
    pub const BYTES: usize = 64;

    /// The line as words.
    #[inline]
    pub(crate) const fn words(&self) -> &[u64; 8] {
        &self.0
    }

    /// The line as words, mutable.
    #[inline]
    pub(crate) const fn words_mut(&mut self) -> &mut [u64; 8] {
        &mut self.0
    }
}

/// Zero-filled memory, allocated from front to back and never freed.
#[derive(Debug)]
pub struct Memory {
    lines: &'static mut [Line],
    seed: u64,
    /// The last failed request.
    lacked: OutOfMemory,
    regions: Option<RegionMemory>,
}

/// The supplied memory is too small for the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes of the failed request.
    pub asked: usize,
    /// Bytes that were left.
    pub left: usize,
}

impl OutOfMemory {
    /// The error message.
    pub const fn sentence(&self) -> Sentence {
        Sentence::new(
            &["the states need ", " more bytes of memory, ", " are left"],
            &[self.asked as u64, self.left as u64],
        )
    }
}

impl core::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.sentence().fmt(f)
    }
}

impl Memory {
    /// Memory over `lines`, which must be zero. Otherwise an index in it would find entries that
    /// were never inserted (wrong results, but no undefined behaviour).
    #[must_use]
    pub const fn new(lines: &'static mut [Line]) -> Self {
        Self { lines, seed: 0, lacked: OutOfMemory { asked: 0, left: 0 }, regions: None }
    }

    /// Regions get this memory, not a part of the rest.
    #[must_use]
    pub fn with_regions(self, regions: RegionMemory) -> Self {
        Self { regions: Some(regions), ..self }
    }

    /// Sets the hash seed of tables in this memory, so that nobody outside can choose colliding
    /// keys. Both sides of a run use the same seed.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The hash seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Uninitialised space for `count` values.
    pub fn take<T: 'static>(
        &mut self,
        count: usize,
    ) -> Result<&'static mut [MaybeUninit<T>], OutOfMemory> {
        const { assert!(align_of::<T>() <= Line::BYTES, "aligned to at most a cache line") };
        let lines = self.cut(bytes_for::<T>(count))?;
        // SAFETY: `cut` gives exclusive `'static` lines of at least `count * size_of::<T>()` bytes,
        // aligned to 64 ≥ align_of::<T>(); `MaybeUninit<T>` is valid for every content.
        Ok(unsafe { core::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) })
    }

    /// One zero value, made in place: it is never on a stack, which may be too small. A type
    /// without a valid zero value fails the build.
    pub(crate) fn take_zeroes<T: 'static>(&mut self) -> Result<&'static mut T, OutOfMemory> {
        const { assert!(align_of::<T>() <= Line::BYTES, "aligned to at most a cache line") };
        const { Zeroes::<T>::ARE_A_VALUE };
        let lines = self.cut(bytes_for::<T>(1))?;
        lines.fill(Line::ZERO);
        // SAFETY: `cut` gives exclusive `'static` lines of at least `size_of::<T>()` bytes, aligned
        // to 64 ≥ align_of::<T>(); all of them are zero, which is a valid `T` (checked above).
        Ok(unsafe { &mut *lines.as_mut_ptr().cast() })
    }

    /// `count` values, each as `make` makes it.
    pub(crate) fn take_made<T: 'static>(
        &mut self,
        count: usize,
        make: impl Fn() -> T,
    ) -> Result<&'static mut [T], OutOfMemory> {
        let places = self.take::<T>(count)?;
        for place in places.iter_mut() {
            place.write(make());
        }
        // SAFETY: the loop has written each of them.
        Ok(unsafe { places.assume_init_mut() })
    }

    /// `count` zero words of 32 bits.
    pub fn take_u32(&mut self, count: usize) -> Result<&'static mut [u32], OutOfMemory> {
        let lines = self.cut(bytes_for::<u32>(count))?;
        // SAFETY: as in `take`; lines hold initialised integers, and every content is a valid
        // `u32`.
        Ok(unsafe { core::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) })
    }

    /// `count` zero words of 64 bits.
    pub fn take_u64(&mut self, count: usize) -> Result<&'static mut [u64], OutOfMemory> {
        let lines = self.cut(bytes_for::<u64>(count))?;
        // SAFETY: as in `take`; lines hold initialised integers, and every content is a valid
        // `u64`.
        Ok(unsafe { core::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) })
    }

    /// The words of a region, zero unless the other side has it.
    pub(crate) fn take_region(&mut self, count: usize) -> Result<RegionWords, OutOfMemory> {
        if let Some(mut regions) = self.regions.take() {
            let taken = regions.take(count, self);
            self.regions = Some(regions);
            return taken;
        }
        let lines = self.cut(RegionMemory::bytes(count))?;
        // SAFETY: `cut` gives exclusive `'static` lines, aligned to 64, of initialised integers;
        // every content is a valid `AtomicU64`, and nobody accesses them but through these.
        let words =
            unsafe { core::slice::from_raw_parts(lines.as_mut_ptr().cast(), lines.len() * 8) };
        RegionMemory::at_home(words, 0).take(count, self)
    }

    /// `count` lines of zeroes.
    pub fn take_lines(&mut self, count: usize) -> Result<&'static mut [Line], OutOfMemory> {
        self.cut(count * Line::BYTES)
    }

    #[inline]
    fn cut(&mut self, bytes: usize) -> Result<&'static mut [Line], OutOfMemory> {
        match self.cut_off(bytes) {
            Some(cut) => Ok(cut),
            None => Err(self.lacked),
        }
    }

    /// As [`Self::cut`], but stores the error in `lacked`. The result then fits registers, and each
    /// of the many pieces of a table takes few instructions.
    #[inline(never)]
    fn cut_off(&mut self, bytes: usize) -> Option<&'static mut [Line]> {
        let count = bytes / Line::BYTES;
        if count > self.lines.len() {
            self.lacked = OutOfMemory { asked: bytes, left: self.lines.len() * Line::BYTES };
            return None;
        }
        let (cut, rest) = core::mem::take(&mut self.lines).split_at_mut(count);
        self.lines = rest;
        Some(cut)
    }
}

/// Checks at compile time that zero bytes are a valid value of a type. The compiler refuses a
/// constant with an invalid value ("it is undefined behavior to use this value").
struct Zeroes<T>(PhantomData<T>);

impl<T> Zeroes<T> {
    // SAFETY: this is evaluated only at compile time. If zeroes are not a valid `T`, the build
    // fails.
    const VALUE: ManuallyDrop<T> =
        ManuallyDrop::new(unsafe { MaybeUninit::<T>::zeroed().assume_init() });
    const ARE_A_VALUE: () = assert!(size_of_val(&Self::VALUE) == size_of::<T>());
}

/// Maximum size in bytes of a state of one value: a singleton, a read-mostly or a commutative
/// state.
pub const MOST_BYTES: usize = 64 << 20;

/// Refuses a larger state, at build time if called in a constant.
///
/// # Panics
/// If the state is larger.
pub const fn within_limit<T>() {
    const MESSAGE: &str = "CORA0131: the state has more than 67,108,864 bytes (64 MiB), the most that a state of one \
                           value may have; help: make its arrays shorter, or make it a table with a `key`";
    const { assert!(MOST_BYTES == 67_108_864, "as the message says") };
    assert!(size_of::<T>() <= MOST_BYTES, "{}", MESSAGE);
}

/// The largest of these numbers; 0 for none.
#[must_use]
pub const fn largest(bytes: &[usize]) -> usize {
    let (mut most, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] > most {
            most = bytes[at];
        }
        at += 1;
    }
    most
}

/// Bytes of [`Memory`] for `count` values, in whole lines.
#[must_use]
pub const fn bytes_for<T>(count: usize) -> usize {
    (count * size_of::<T>()).next_multiple_of(Line::BYTES)
}

/// A growing array in supplied memory. Values are made in order and never dropped, and unused
/// memory is never touched.
///
/// A value that nearly fills its last cache line gets that line alone, so that a read touches as
/// few lines as possible.
#[derive(Debug)]
pub(crate) struct Arena<T: 'static> {
    // Cells, because values may contain cells, which are written through shared references.
    room: &'static mut [MaybeUninit<UnsafeCell<Line>>],
    capacity: usize,
    made: usize,
    values: PhantomData<T>,
}

impl<T: 'static> Arena<T> {
    /// Distance between values: whole lines, if that costs at most a quarter more.
    const STRIDE: usize = {
        let lines = size_of::<T>().next_multiple_of(Line::BYTES);
        if lines * 4 <= size_of::<T>() * 5 { lines } else { size_of::<T>() }
    };

    /// Bytes of [`Memory`] for `count` values.
    pub(crate) const fn bytes(count: usize) -> usize {
        (count * Self::STRIDE).next_multiple_of(Line::BYTES)
    }

    /// Space for no values.
    pub(crate) const fn empty() -> Self {
        Self { room: &mut [], capacity: 0, made: 0, values: PhantomData }
    }

    /// Space for `count` values, none made.
    pub(crate) fn create(memory: &mut Memory, count: usize) -> Result<Self, OutOfMemory> {
        const { assert!(align_of::<T>() <= Line::BYTES, "aligned to at most a cache line") };
        let room = memory.take(Self::bytes(count) / Line::BYTES)?;
        Ok(Self { room, capacity: count, made: 0, values: PhantomData })
    }

    /// Values made so far.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.made
    }

    /// Maximum number of values.
    #[inline]
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends a value; returns it if there is no space.
    #[inline]
    pub(crate) fn push(&mut self, value: T) -> Result<u32, T> {
        if self.made >= self.capacity {
            return Err(value);
        }
        let place = self.room.as_mut_ptr().cast::<u8>().wrapping_add(self.made * Self::STRIDE);
        // SAFETY: `made` is below `capacity`, so the place and `size_of::<T>()` ≤ `STRIDE` bytes
        // behind it lie within `room`, which is borrowed exclusively. `STRIDE` is a multiple of the
        // alignment of `T`, as the size of a type and a cache line are, and `room` begins at a
        // line.
        unsafe { place.cast::<T>().write(value) };
        self.made += 1;
        Ok((self.made - 1) as u32)
    }

    /// Forgets all values.
    #[inline]
    pub(crate) const fn clear(&mut self) {
        self.made = 0;
    }

    /// The value with this number.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        if number as usize >= self.made {
            return None;
        }
        // SAFETY: `number` is below `made`, so the place lies within `room`, see `push`.
        let place = unsafe { self.room.as_ptr().cast::<u8>().add(number as usize * Self::STRIDE) };
        // SAFETY: `push` wrote the first `made` places (see there for their bounds) with values
        // that are never dropped. While `self` is borrowed nobody writes one, except through cells
        // of its own, which the cells of `room` allow.
        Some(unsafe { &*place.cast::<T>() })
    }

    /// Prefetches the value with this number, if there is one: its cache line, or the first two.
    #[inline(always)]
    pub(crate) fn prefetch(&self, number: u32) {
        let place = self.room.as_ptr().cast::<u8>().wrapping_add(number as usize * Self::STRIDE);
        if Self::STRIDE == Line::BYTES {
            prefetch_at(place);
        } else {
            prefetch_both(place.cast::<T>());
        }
    }

    /// The value with this number.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        if number as usize >= self.made {
            return None;
        }
        let room = self.room.as_mut_ptr().cast::<u8>();
        // SAFETY: as in `get`.
        let place = unsafe { room.add(number as usize * Self::STRIDE) };
        // SAFETY: as in `get`; `self` is borrowed exclusively.
        Some(unsafe { &mut *place.cast::<T>() })
    }
}

#[cfg(test)]
pub(crate) fn leak(bytes: usize) -> Memory {
    Memory::new(std::vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_out_disjoint_aligned_pieces_until_it_is_used_up() {
        let mut memory = leak(192);
        let bytes = memory.take::<u8>(3).unwrap().as_ptr() as usize;
        let words = memory.take_u64(8).unwrap();
        assert_eq!(bytes % 64, 0);
        assert_eq!(words.as_ptr() as usize, bytes + 64);
        words.fill(7);
        assert_eq!(memory.take_u32(17).unwrap_err(), OutOfMemory { asked: 128, left: 64 });
        assert_eq!(memory.take_u32(16).unwrap(), &[0; 16]);
    }

    #[test]
    fn values_are_made_one_by_one() {
        let mut memory = leak(128);
        let made = memory.take_made(5, core::cell::OnceCell::<u64>::new).unwrap();
        assert!(made.iter().all(|cell| cell.get().is_none()));
        assert_eq!(made[4].set(7), Ok(()));
        assert_eq!(made[4].get(), Some(&7));
        let more = memory.take_made(9, || 0_u64).unwrap_err();
        assert_eq!(more, OutOfMemory { asked: 128, left: 0 });
    }

    #[test]
    fn a_value_of_zeroes_is_made_over_whatever_was_there() {
        let lines = std::vec![Line([7; 8]); 1 << 16].leak();
        let value: &mut [[u64; 3]; 100_000] = Memory::new(lines).take_zeroes().unwrap();
        assert!(value.iter().all(|words| *words == [0; 3]));
        let too_small = leak(64).take_zeroes::<[u64; 9]>();
        assert_eq!(too_small.unwrap_err(), OutOfMemory { asked: 128, left: 64 });
    }

    #[test]
    fn an_arena_gives_back_what_does_not_fit() {
        let mut arena = Arena::create(&mut leak(64), 2).unwrap();
        assert_eq!(arena.push(5_u64), Ok(0));
        assert_eq!(arena.push(6), Ok(1));
        assert_eq!(arena.push(7), Err(7));
        *arena.get_mut(1).unwrap() += 1;
        assert_eq!((arena.get(0), arena.get(1), arena.get(2)), (Some(&5), Some(&7), None));
    }
}
