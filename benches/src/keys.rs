//! Keys and their order of access.

use cora_core::hash::FlowHasher;
use cora_core::key::Key;
use cora_core::plain::{Describe, Plain};

/// A five-tuple of IPv4, packed: 13 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tuple4(pub(crate) [u8; 13]);

impl Tuple4 {
    /// Returns the key with this number; all keys differ.
    pub(crate) fn of_number(number: u64) -> Self {
        let mixed = mix(number).to_le_bytes();
        let mut bytes = [6; 13];
        bytes[..8].copy_from_slice(&mixed);
        bytes[8..12].copy_from_slice(&(number as u32).to_le_bytes());
        Self(bytes)
    }

    /// Returns all of it in two words.
    #[inline]
    fn pair(&self) -> [u64; 2] {
        let mut bytes = [0; 16];
        bytes[..13].copy_from_slice(&self.0);
        let whole = u128::from_le_bytes(bytes);
        [whole as u64, (whole >> 64) as u64]
    }
}

impl Plain for Tuple4 {
    const SIZE: usize = 13;
    fn put(&self, out: &mut [u8]) {
        out[..13].copy_from_slice(&self.0);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.text(&format_args!("{:02x?}", self.0));
    }
}

impl Key for Tuple4 {
    type Packed = Self;
    #[inline]
    fn pack(&self) -> Self {
        *self
    }
    #[inline]
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    fn reply(&self) -> Option<Self> {
        None
    }
    #[inline]
    fn words(&self) -> [u64; 5] {
        let [first, second] = self.pair();
        [first, second, 0, 0, 0]
    }
    #[inline]
    fn hash(&self, hasher: &FlowHasher, _: bool) -> u64 {
        hasher.hash_pair(self.pair())
    }
}

/// A value of 32 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Value(pub(crate) [u64; 4]);

impl Plain for Value {
    const SIZE: usize = 32;
    fn put(&self, out: &mut [u8]) {
        for (place, word) in out.chunks_mut(8).zip(self.0) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        Some(Self(std::array::from_fn(|at| words.get(at).copied().map_or(0, u64::from_le_bytes))))
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.number(u128::from(self.0[0]));
    }
}

/// The distribution of accesses over keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skew {
    Uniform,
    /// Zipf's law with the exponent 1.1.
    Zipf,
}

/// Returns a number of keys in short form.
pub(crate) fn size(keys: u64) -> String {
    match keys {
        millions @ 1_000_000.. => format!("{}M", millions / 1_000_000),
        thousands => format!("{}k", thousands / 1_000),
    }
}

impl Skew {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
        }
    }

    /// Draws `count` numbers below `keys`.
    pub(crate) fn draws(self, keys: u64, count: usize, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        };
        match self {
            Self::Uniform => (0..count).map(|_| next() % keys).collect(),
            Self::Zipf => {
                let mut sum = 0.0;
                let sums: Vec<f64> = (1..=keys)
                    .map(|rank| {
                        sum += (rank as f64).powf(-1.1);
                        sum
                    })
                    .collect();
                let draw = |_| {
                    let part = next() as f64 / u64::MAX as f64 * sum;
                    // Ranks are scattered over the numbers: popular keys were not inserted first.
                    mix(sums.partition_point(|sum| *sum < part) as u64) % keys
                };
                (0..count).map(draw).collect()
            }
        }
    }
}

/// SplitMix64's finaliser.
pub(crate) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
