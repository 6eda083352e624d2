//! Compares ten marks of 16 bits at once: the first 160 bits of a line of the index.
//!
//! [`matches()`] gives a set of slots; [`slot`] reads its first one, and `set & (set - 1)` drops that. How the
//! set is laid out depends on the machine.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "comparing many lanes is an instruction that must be asked for")
)]

pub(super) use machine::{matches, slot};

/// With SSE2, which every x86-64 has: eight lanes are one instruction.
#[cfg(target_arch = "x86_64")]
mod machine {
    use core::arch::x86_64::{
        _mm_cmpeq_epi16, _mm_cvtsi64_si128, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi16,
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
        let first = _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed());
        let last = _mm_cvtsi64_si128(words[2].cast_signed());
        let bits = |lanes| _mm_movemask_epi8(_mm_cmpeq_epi16(lanes, marks)).cast_unsigned();
        (bits(first), bits(last))
    }

    /// The first slot of a set.
    #[inline(always)]
    pub(in super::super) const fn slot(matches: u32) -> usize {
        matches.trailing_zeros() as usize / 2
    }
}

/// With words alone: four lanes at a time.
#[cfg(not(target_arch = "x86_64"))]
mod machine {
    /// A mark in each lane of a word.
    const LANES: u64 = 0x0001_0001_0001_0001;
    /// All bits of each lane but the highest.
    const LOW: u64 = 0x7fff_7fff_7fff_7fff;
    /// The third word has marks in its lower half only.
    const LAST_MARKS: u64 = 0x0000_0000_ffff_ffff;

    /// The slots with this mark.
    #[inline(always)]
    pub(in super::super) const fn matches(words: &[u64; 8], mark: u16) -> u64 {
        let marks = mark as u64 * LANES;
        (zero_lanes(words[0] ^ marks) >> 15)
            | (zero_lanes(words[1] ^ marks) >> 14)
            | ((zero_lanes(words[2] ^ marks) & LAST_MARKS) >> 13)
    }

    /// The highest bit of each lane that is zero.
    #[inline(always)]
    const fn zero_lanes(word: u64) -> u64 {
        // No lane's sum carries into the next one.
        !(((word & LOW) + LOW) | word | LOW)
    }

    /// The first slot of a set.
    #[inline(always)]
    pub(in super::super) const fn slot(matches: u64) -> usize {
        let bit = matches.trailing_zeros() as usize;
        (bit & 3) * 4 + (bit >> 4)
    }
}
