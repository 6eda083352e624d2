//! Moves of 16 bytes between shared words and private bytes.
//!
//! The compiler never joins two atomic accesses into one. The producer is limited by its stores
//! (see `writer`). The consumer's buffer is read as vectors soon after, by parsers, and such a load
//! stalls if the buffer was written as single words. So these moves are written by hand.
//!
//! To the memory model, such a move is two relaxed accesses of one word each, in no order. An asm
//! block may do anything that Rust code with the same effect may, and processors never split an
//! aligned word of a vector move. Even a split would do no harm: a payload's words have a meaning
//! only after an acquire load of a word written behind them. Words that a broken peer writes
//! meanwhile make garbage, as ever. Miri runs no asm and takes the words one by one.
//!
//! Long payloads are moved by x86's string instruction. Its stores may become visible in any order
//! among themselves, but not after a later store, such as the header's (Intel SDM, volume 3,
//! "Fast-String Operation and Out-of-Order Stores").
#![expect(unsafe_code, reason = "vector moves between shared and private memory")]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use core::arch::x86_64::__m128i;
use core::sync::atomic::{AtomicU64, Ordering};

/// Two words of payload.
type Pair = [[u8; 8]; 2];

/// Pairs of words from which on the string instruction is faster: it moves whole lines, in as many
/// instructions for any length.
pub(super) const MANY_PAIRS: usize = 32;

/// Copies words out; both slices have the same length.
#[inline(always)]
pub(super) fn copy_out(from: &[AtomicU64], to: &mut [[u8; 8]]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if to.len() >= 2 * MANY_PAIRS && from.len() == to.len() {
        // SAFETY: `size_of_val(to)` bytes are readable at the words and writable at `to`, since
        // both slices have that length; nothing else is touched.
        unsafe { move_bytes(from.as_ptr().cast(), to.as_mut_ptr().cast(), size_of_val(to)) }
        return;
    }
    let (pairs, last) = from.as_chunks();
    let (places, last_place) = to.as_chunks_mut();
    for (pair, place) in pairs.iter().zip(places) {
        *place = load(pair);
    }
    for (word, place) in last.iter().zip(last_place) {
        *place = word.load(Ordering::Relaxed).to_le_bytes();
    }
}

/// Copies many pairs of words in; `to` has two words for each pair. Not inlined, since short
/// payloads need the registers.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(never)]
pub(super) fn copy_in(from: &[[u8; 16]], to: &[AtomicU64]) {
    let count = size_of_val(from).min(size_of_val(to));
    // SAFETY: `count` bytes are readable at `from` and writable at `to`, since neither slice is
    // shorter, and atomic words are writable through a shared reference; nothing else is touched.
    unsafe { move_bytes(from.as_ptr().cast(), to.as_ptr().cast_mut().cast(), count) }
}

/// Sixteen bytes as two words.
#[inline(always)]
pub(super) const fn words_of(pair: [u8; 16]) -> [u64; 2] {
    let pair = u128::from_le_bytes(pair);
    [pair as u64, (pair >> 64) as u64]
}

/// Copies bytes with the string instruction.
///
/// # Safety
///
/// `count` bytes are readable at `from` and writable at `to`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn move_bytes(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller guarantees the ranges. The direction flag is clear, as everywhere.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") count => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn load(pair: &[AtomicU64; 2]) -> Pair {
    let value: __m128i;
    // SAFETY: sixteen bytes at `pair` are readable, being two words; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "movdqu {value}, [{pair}]",
            pair = in(reg) pair,
            value = lateout(xmm_reg) value,
            options(readonly, nostack, preserves_flags)
        );
    }
    // SAFETY: both are sixteen bytes, and all bit patterns are valid for each.
    unsafe { core::mem::transmute(value) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn store_pair(place: &[AtomicU64; 2], words: [u64; 2]) {
    // SAFETY: both are sixteen bytes, and all bit patterns are valid for each.
    let value: __m128i = unsafe { core::mem::transmute(words) };
    // SAFETY: sixteen bytes at `place` are writable through a shared reference, being two atomic
    // words; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "movdqu [{place}], {value}",
            place = in(reg) place,
            value = in(xmm_reg) value,
            options(nostack, preserves_flags)
        );
    }
}

/// Reads the words behind a header in its line. It is one block, so that the address is computed
/// once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn load_behind(words: &[AtomicU64; 7]) -> [[u8; 8]; 7] {
    let (first, second, third): (__m128i, __m128i, __m128i);
    let last: u64;
    // SAFETY: the 56 bytes at `words` are readable; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "movdqu {first}, [{words}]",
            "movdqu {second}, [{words} + 16]",
            "movdqu {third}, [{words} + 32]",
            "mov {last}, [{words} + 48]",
            words = in(reg) words,
            first = out(xmm_reg) first,
            second = out(xmm_reg) second,
            third = lateout(xmm_reg) third,
            last = lateout(reg) last,
            options(readonly, nostack, preserves_flags)
        );
    }
    let mut behind = [last.to_le_bytes(); 7];
    for (place, pair) in behind.as_chunks_mut().0.iter_mut().zip([first, second, third]) {
        // SAFETY: both are sixteen bytes, and all bit patterns are valid for each.
        *place = unsafe { core::mem::transmute::<__m128i, Pair>(pair) };
    }
    behind
}

/// Writes a whole line. It is one block, so that the address is computed once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn store_line(line: &[AtomicU64; 8], pairs: [[u64; 2]; 4]) {
    // SAFETY: each pair is sixteen bytes, and all bit patterns are valid for both.
    let [first, second, third, last]: [__m128i; 4] = unsafe { core::mem::transmute(pairs) };
    // SAFETY: the 64 bytes at `line` are writable through a shared reference, being atomic words;
    // nothing else is touched.
    unsafe {
        core::arch::asm!(
            "movdqu [{line}], {first}",
            "movdqu [{line} + 16], {second}",
            "movdqu [{line} + 32], {third}",
            "movdqu [{line} + 48], {last}",
            line = in(reg) line,
            first = in(xmm_reg) first,
            second = in(xmm_reg) second,
            third = in(xmm_reg) third,
            last = in(xmm_reg) last,
            options(nostack, preserves_flags)
        );
    }
}

/// On other targets a pair's address costs nothing: it is part of the instruction.
#[cfg(any(miri, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn load_behind(words: &[AtomicU64; 7]) -> [[u8; 8]; 7] {
    let mut behind = [[0; 8]; 7];
    copy_out(words, &mut behind);
    behind
}

#[cfg(any(miri, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn store_line(line: &[AtomicU64; 8], pairs: [[u64; 2]; 4]) {
    for (place, pair) in line.as_chunks().0.iter().zip(pairs) {
        store_pair(place, pair);
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn load(pair: &[AtomicU64; 2]) -> Pair {
    let (first, second): (u64, u64);
    // SAFETY: sixteen bytes at `pair` are readable, being two words; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "ldp {first}, {second}, [{pair}]",
            pair = in(reg) pair,
            first = lateout(reg) first,
            second = lateout(reg) second,
            options(readonly, nostack, preserves_flags)
        );
    }
    [first.to_le_bytes(), second.to_le_bytes()]
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
pub(super) fn store_pair(place: &[AtomicU64; 2], words: [u64; 2]) {
    let [first, second] = words;
    // SAFETY: sixteen bytes at `place` are writable through a shared reference, being two atomic
    // words; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "stp {first}, {second}, [{place}]",
            place = in(reg) place,
            first = in(reg) first,
            second = in(reg) second,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn load(pair: &[AtomicU64; 2]) -> Pair {
    [0, 1].map(|at| pair[at].load(Ordering::Relaxed).to_le_bytes())
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn store_pair(place: &[AtomicU64; 2], words: [u64; 2]) {
    for (place, word) in place.iter().zip(words) {
        place.store(word, Ordering::Relaxed);
    }
}
