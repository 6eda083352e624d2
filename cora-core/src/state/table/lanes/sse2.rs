//! With SSE2, which every x86-64 has: eight lanes are one instruction.
#![expect(unsafe_code, reason = "comparing many lanes is an instruction that must be asked for")]

use core::arch::x86_64::{
    _mm_cmpeq_epi16, _mm_cvtsi64_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi16,
};

/// One of the two bits that the comparison gives per slot.
const ONE_PER_SLOT: u32 = 0x5_5555;

/// The slots with this mark.
#[inline(always)]
pub(in super::super) fn matches(words: &[u64; 8], mark: u16) -> u32 {
    // SAFETY: every x86-64 has SSE2, which is all that these instructions ask for.
    let (first, last) = unsafe { compare(words, mark) };
    (first | last << 16) & ONE_PER_SLOT
}

#[inline]
#[target_feature(enable = "sse2")]
fn compare(words: &[u64; 8], mark: u16) -> (u32, u32) {
    let marks = _mm_set1_epi16(mark.cast_signed());
    // SAFETY: the first two of eight words are there to be read; the instruction asks for no alignment.
    let first = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
    let last = _mm_cvtsi64_si128(words[2].cast_signed());
    let bits = |lanes| _mm_movemask_epi8(_mm_cmpeq_epi16(lanes, marks)).cast_unsigned();
    (bits(first), bits(last))
}

/// The first slot of a set.
#[inline(always)]
pub(in super::super) const fn slot(matches: u32) -> usize {
    matches.trailing_zeros() as usize / 2
}
