//! With plain words: four lanes at a time.

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
