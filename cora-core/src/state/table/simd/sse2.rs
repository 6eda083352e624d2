//! With SSE2, which every x86-64 has: one instruction compares eight lanes.
#![expect(unsafe_code, reason = "comparing many lanes is an instruction that must be asked for")]

use core::arch::x86_64::{
    _mm_cmpeq_epi16, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
    _mm_set1_epi16,
};

/// One bit for each slot. The lanes above are unused.
const SLOTS: u32 = 0x3ff;

/// The slots with this mark.
#[inline(always)]
pub(in super::super) fn matches(words: &[u64; 8], mark: u16) -> u32 {
    // SAFETY: every x86-64 has SSE2, which these instructions require.
    let lanes = unsafe { compare(words, mark) };
    lanes & SLOTS
}

#[inline]
#[target_feature(enable = "sse2")]
fn compare(words: &[u64; 8], mark: u16) -> u32 {
    let marks = _mm_set1_epi16(mark.cast_signed());
    // SAFETY: the first two of eight words are readable; the instruction requires no alignment.
    let first = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
    // Loads the last two alone, so that the compiler folds the load into an instruction.
    let last = _mm_cvtsi32_si128((words[2] as u32).cast_signed());
    let equal = _mm_packs_epi16(_mm_cmpeq_epi16(first, marks), _mm_cmpeq_epi16(last, marks));
    _mm_movemask_epi8(equal).cast_unsigned()
}

/// The first slot of a set.
#[inline(always)]
pub(in super::super) const fn slot(matches: u32) -> usize {
    matches.trailing_zeros() as usize
}
