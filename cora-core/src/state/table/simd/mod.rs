//! Compares ten marks of 16 bits at once: the first 160 bits of a line of the index.
//!
//! `matches` returns a set of slots; `slot` reads its first one, and `set & (set - 1)` removes
//! that. The layout of the set depends on the machine.

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
#[cfg(target_arch = "x86_64")]
mod sse2;
#[cfg(any(
    test,
    not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    ))
))]
mod words;

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
pub(super) use neon::{matches, slot};
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::{matches, slot};
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
)))]
pub(super) use words::{matches, slot};

#[cfg(test)]
mod tests {
    use super::words;
    use proptest::prelude::*;

    proptest! {
        /// Machine instructions and plain words give the same result. Few marks, so that many slots
        /// have the same one.
        #[test]
        fn all_machines_find_the_same_slots(words in prop::array::uniform8(prop_oneof![any::<u64>(), Just(0)]), marks in prop::array::uniform10(0_u16..4), mark in 0_u16..4) {
            let mut words = words;
            for (slot, mark) in marks.into_iter().enumerate() {
                let shift = 16 * (slot % 4);
                words[slot / 4] = words[slot / 4] & !(0xffff << shift) | u64::from(mark) << shift;
            }
            let (mut here, mut there) = (super::matches(&words, mark), words::matches(&words, mark));
            let mut found = [const { heapless::Vec::<usize, 10>::new() }; 2];
            while here != 0 {
                found[0].push(super::slot(here)).unwrap();
                here &= here - 1;
            }
            while there != 0 {
                found[1].push(words::slot(there)).unwrap();
                there &= there - 1;
            }
            for found in &mut found {
                found.sort_unstable();
            }
            let expected = (0..10).filter(|slot| marks[*slot] == mark);
            prop_assert!(expected.eq(found[0].iter().copied()));
            prop_assert_eq!(&found[0], &found[1]);
        }
    }
}
