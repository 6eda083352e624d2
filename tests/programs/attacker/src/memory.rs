//! Memory of regions, and the orders of the attacker's client to its other half there.
#![expect(unsafe_code, reason = "maps memory")]

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use cora_runtime::link::region::{HashSeed, Identity, Region, RegionLayout, generation};
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// The sizes of rings that every half at an agent of this version knows.
const RING_BYTES: [usize; 4] = [1 << 16, 1 << 16, 1 << 19, 1 << 19];
/// A word of the header that nobody else uses.
const WAY: usize = 300;
/// Addresses to forge from there on: four words.
const ADDRESSES: usize = 301;

pub(crate) fn layout() -> RegionLayout {
    RegionLayout::new(RING_BYTES).unwrap_or_else(|error| panic!("{error}"))
}

/// Maps a file.
pub(crate) fn map(file: impl AsFd, bytes: usize) -> &'static [AtomicU64] {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let mapped = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) };
    let address = mapped.unwrap_or_else(|errno| panic!("{errno}"));
    // SAFETY: `bytes` bytes at a page boundary, never unmapped; others write them too, so they are
    // atomics.
    unsafe { std::slice::from_raw_parts(address.cast(), bytes / 8) }
}

/// The file with this number, which the agent left open.
pub(crate) fn inherited(number: i32) -> BorrowedFd<'static> {
    // SAFETY: the agent passes the file of the regions under this number, and nobody closes it.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// The region of the first generation.
pub(crate) fn region(words: &'static [AtomicU64]) -> Region {
    let identity =
        Identity { plan: 1, generation: 1, seed: HashSeed(1), resident: false, afresh: false };
    Region::known(generation::place(words, 1), &layout(), identity)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// An order: the number of a deed, and addresses as words.
pub(crate) fn order(words: &[AtomicU64], way: u64, addresses: [u64; 4]) {
    words[WAY].store(way, Ordering::Relaxed);
    for (word, address) in words[ADDRESSES..].iter().zip(addresses) {
        word.store(address, Ordering::Relaxed);
    }
}

pub(crate) fn orders(words: &[AtomicU64]) -> (u64, [u64; 4]) {
    let read = |at: usize| words[at].load(Ordering::Relaxed);
    (read(WAY), [0, 1, 2, 3].map(|at| read(ADDRESSES + at)))
}

/// Sleeps, by a call that its filter allows.
pub(crate) fn nap(time: Duration) {
    use rustix::thread::futex::{Flags, Timespec, wait};

    let time =
        Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    let word = AtomicU32::new(0);
    let _over = wait(&word, Flags::PRIVATE, 0, Some(&time));
}

/// Wakes the sleeper by this word.
pub(crate) fn wake(word: &AtomicU64) {
    use rustix::thread::futex::{Flags, wake};

    // SAFETY: the first half of an aligned word is aligned for its size, and may change under a
    // shared reference in the same way; the kernel takes its address alone.
    let half = unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) };
    let _how_many = wake(half, Flags::empty(), 1);
}
