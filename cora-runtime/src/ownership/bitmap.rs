//! An occupancy bitmap: it finds flows fast where few places have one.

use cora_core::state::{Memory, OutOfMemory, bytes_for};

const BITS: u32 = u32::BITS;

/// A bit for each place that is occupied, or was.
#[derive(Debug)]
pub(crate) struct Taken(&'static mut [u32]);

const fn words(places: u32) -> usize {
    places.div_ceil(BITS) as usize
}

impl Taken {
    /// Bytes of [`Memory`] for `places` places.
    pub(crate) const fn bytes(places: u32) -> usize {
        bytes_for::<u32>(words(places))
    }

    /// A bitmap of `places` places, all empty.
    pub(crate) fn create(memory: &mut Memory, places: u32) -> Result<Self, OutOfMemory> {
        memory.take_u32(words(places)).map(Self)
    }

    /// Marks the place as occupied.
    #[inline]
    pub(crate) fn mark(&mut self, place: u32) {
        if let Some(word) = self.0.get_mut((place / BITS) as usize) {
            *word |= 1 << (place % BITS);
        }
    }

    /// Visits the marked places of word `word`, and clears the marks that `is_taken` denies.
    #[inline(always)]
    pub(crate) fn look(&mut self, word: u32, mut is_taken: impl FnMut(u32) -> bool) {
        let Some(bits) = self.0.get_mut(word as usize) else { return };
        let mut left = *bits;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            if !is_taken(word * BITS + bit) {
                *bits ^= 1 << bit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cora_core::state::Line;

    use super::*;

    #[test]
    fn places_are_found_word_by_word_and_forgotten_when_empty() {
        let mut memory =
            Memory::new(vec![Line::ZERO; Taken::bytes(100).div_ceil(Line::BYTES)].leak());
        let mut taken = Taken::create(&mut memory, 100).unwrap();
        for place in [0, 31, 32, 99, 1_000_000] {
            taken.mark(place);
        }
        let mut seen = Vec::new();
        for word in 0..4 {
            taken.look(word, |place| {
                seen.push(place);
                place != 31
            });
        }
        assert_eq!(seen, [0, 31, 32, 99]);
        let mut again = Vec::new();
        taken.look(0, |place| {
            again.push(place);
            true
        });
        assert_eq!(again, [0], "31 is forgotten");
        taken.look(1_000, |_| unreachable!("behind the last place"));
    }
}
