//! Regions that follow one another in a file, so that either side may die and restart.
//!
//! A region is used by two processes from its beginning. Each keeps its own ends of the rings in
//! private memory, so no other process can take a dead one's place there. Instead, the supervisor
//! of both makes a new region, of the next generation, and announces it. The survivor handles
//! everything that the dead side had published, leaves the old region, and attaches to the new one.
//! So does the process that is started in place of the dead one.
//!
//! ```text
//! file   ├ odd generations ─────────┼ even generations ────────┤
//!        └ the current generation stands in the first header
//! ```
//!
//! Two places are enough: a region is made only when each living side has moved from its place to
//! the other one. In a file with one region nothing is ever announced, and the generation is zero.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::link::region::layout::at;

/// The generation that was announced last; zero if none was.
#[inline]
pub fn current(words: &[AtomicU64]) -> u64 {
    words.get(at::CURRENT).map_or(0, |word| word.load(Ordering::Acquire))
}

/// Whether a region of another generation was announced. While a region of an odd generation is
/// made, none is announced for a moment: the word is in its header.
#[inline]
pub fn is_followed(words: &[AtomicU64], generation: u64) -> bool {
    let current = current(words);
    current != 0 && current != generation
}

/// The place of this generation's region in a file; all of the file if it has one region.
pub fn place(words: &'static [AtomicU64], generation: u64) -> &'static [AtomicU64] {
    let (odd, even) = words.split_at(words.len() / 2);
    match generation {
        0 => words,
        _ if generation % 2 == 1 => odd,
        _ => even,
    }
}

/// Announces the region of this generation, which was made in its [`place`].
pub fn announce(words: &[AtomicU64], generation: u64) {
    if let Some(word) = words.get(at::CURRENT) {
        word.store(generation, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HashSeed, Identity, Region, RegionLayout};
    use super::*;

    #[test]
    fn each_generation_has_the_place_of_the_one_before_the_last() {
        let layout = RegionLayout::new([1 << 12; 4]).expect("sizes of rings");
        let words: Vec<AtomicU64> = (0..layout.bytes() / 4).map(|_| AtomicU64::new(0)).collect();
        let words: &'static [AtomicU64] = words.leak();
        assert_eq!(current(words), 0);
        for generation in 1..5 {
            let identity =
                Identity { plan: 9, generation, seed: HashSeed(1), resident: false, afresh: false };
            let made = Region::create(place(words, generation), &layout, identity);
            made.expect("a region");
            assert!(!is_followed(words, generation - 1), "none before it is announced");
            announce(words, generation);
            assert_eq!(current(words), generation);
            assert!(is_followed(words, generation - 1) && !is_followed(words, generation));
            for older in generation.saturating_sub(1).max(1)..=generation {
                let region = Region::attach(place(words, older), 9).expect("a region");
                assert_eq!(region.identity().generation, older);
            }
        }
    }

    #[test]
    fn a_file_with_one_region_is_that() {
        let words: &'static [AtomicU64] =
            (0..4096).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak();
        assert_eq!(place(words, current(words)).len(), words.len());
        assert_eq!(current(&words[..8]), 0, "no header at all");
    }
}
