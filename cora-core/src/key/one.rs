//! Keys that no packet carries: numbers, and that of the only one.

use super::Key;
use crate::plain::{Describe, Plain};

/// The key of what there is only one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct One;

impl Plain for One {
    const SIZE: usize = 1;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        0_u8.put(out);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        (*bytes.first()? == 0).then_some(Self)
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.text(&"one");
    }
}

macro_rules! encoded_keys {
    ($($key:ty),* $(,)?) => {$(
        impl Key for $key {
            type Packed = Self;
            const ENCODED: bool = true;

            #[inline]
            fn pack(&self) -> Self {
                *self
            }

            #[inline]
            fn unpack(packed: &Self) -> Self {
                *packed
            }

            #[inline]
            fn reply(&self) -> Option<Self> {
                None
            }
        }
    )*};
}

encoded_keys!(u8, u16, u32, u64, u128, One);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::FlowHasher;
    use crate::short::tests::comes_back;

    #[test]
    fn numbers_are_their_own_words() {
        assert_eq!(7_u8.words(), [7, 0, 0, 0, 0]);
        assert_eq!(0x0102_u16.words(), [0x0102, 0, 0, 0, 0]);
        assert_eq!(u32::MAX.words(), [u32::MAX.into(), 0, 0, 0, 0]);
        assert_eq!(u64::MAX.words(), [u64::MAX, 0, 0, 0, 0]);
        assert_eq!((3_u128 << 64 | 2).words(), [2, 3, 0, 0, 0]);
        assert_eq!((u32::unpack(&Key::pack(&5_u32)), Key::reply(&5_u32)), (5, None));
        let hasher = FlowHasher::new(1);
        assert_ne!(Key::hash(&1_u64, &hasher, false), Key::hash(&2_u64, &hasher, false));
    }

    #[test]
    fn the_only_one_is_a_zero() {
        comes_back(One);
        assert_eq!((1..=255).find_map(|byte| One::get(&[byte])), None);
        assert_eq!((One.words(), Key::reply(&One)), ([0; 5], None));
    }
}
