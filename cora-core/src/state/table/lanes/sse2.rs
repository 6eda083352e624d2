//! With SSE2, which every x86-64 has: eight lanes are one instruction.
#![expect(unsafe_code, reason = "comparing many lanes is an instruction that must be asked for")]

use core::arch::x86_64::{
    _mm_cmpeq_epi16, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
    _mm_set1_epi16,
};

/// A bit per slot. Behind them come lanes of none.
const SLOTS: u32 = 0x3ff;

/// The slots with this mark.
#[inline(always)]
pub(in super::super) fn matches(words: &[u64; 8], mark: u16) -> u32 {
    // SAFETY: every x86-64 has SSE2, which is all that these instructions ask for.
    let lanes = unsafe { compare(words, mark) };
    lanes & SLOTS
}

#[inline]
#[target_feature(enable = "sse2")]
fn compare(words: &[u64; 8], mark: u16) -> u32 {
    let marks = _mm_set1_epi16(mark.cast_signed());
    // SAFETY: the first two of eight words are there to be read; the instruction asks for no
    // alignment.
    let first = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
    // The last two alone: a load that nothing but this needs is part of the instruction.
    let last = _mm_cvtsi32_si128((words[2] as u32).cast_signed());
    let equal = _mm_packs_epi16(_mm_cmpeq_epi16(first, marks), _mm_cmpeq_epi16(last, marks));
    _mm_movemask_epi8(equal).cast_unsigned()
}

/// The first slot of a set.
#[inline(always)]
pub(in super::super) const fn slot(matches: u32) -> usize {
    matches.trailing_zeros() as usize
}
