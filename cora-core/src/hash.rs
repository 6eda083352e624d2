//! The keyed hash of flows. Tables, shares and slots use it, on both sides alike.
//!
//! It is rapidhash V3, which has a specified output that never changes, so machines of any kind
//! agree. Its input is the five words of a key as 40 little-endian bytes. A shorter key (an IPv4
//! flow, an address) fits two words: 16 bytes, for half of the work. The hash is keyed: both seed
//! and secrets derive from the run's seed, since an attacker can compute collisions for a known
//! seed. Its resistance to guessing is that of any hash of this speed.

use core::hash::Hasher as _;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_nano_inline};
use siphasher::sip::SipHasher24;

/// The hash of flows for one seed. Making it is expensive; hashing is cheap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHasher {
    secrets: RapidSecrets,
}

impl FlowHasher {
    /// Placeholder until the hash is keyed: all zeroes, not a valid hash.
    pub(crate) const UNKEYED: Self = Self { secrets: RapidSecrets { seed: 0, secrets: [0; 7] } };

    /// The hash keyed by `seed`. Costs several times as much as hashing a key.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self { secrets: RapidSecrets::seed(seed) }
    }

    /// The hash of a key from its canonical words.
    #[inline]
    pub const fn hash(&self, words: &[u64; 5]) -> u64 {
        self.hash_of(words)
    }

    /// The hash of a key that fits two words. Keys of one type may mix this with
    /// [`hash`](Self::hash).
    #[inline]
    pub const fn hash_pair(&self, words: [u64; 2]) -> u64 {
        self.hash_of(&words)
    }

    #[inline(always)]
    const fn hash_of<const WORDS: usize>(&self, words: &[u64; WORDS]) -> u64 {
        let mut bytes = [[0; 8]; WORDS];
        let mut at = 0;
        while at < WORDS {
            bytes[at] = words[at].to_le_bytes();
            at += 1;
        }
        // Up to 48 bytes, the `nano` form gives V3's own result, with less code.
        rapidhash_v3_nano_inline::<true, false>(bytes.as_flattened(), &self.secrets)
    }
}

/// The hash of one key with `seed`. To hash many, make a [`FlowHasher`].
#[inline]
pub const fn flow_hash(words: &[u64; 5], seed: u64) -> u64 {
    FlowHasher::new(seed).hash(words)
}

/// A number that cannot be computed without `secret`: SipHash-2-4 of these words as little-endian
/// bytes, the same on every machine. It protects values that a stranger must not forge, such as the
/// cookie of a SYN. It is too slow for tables.
#[inline(never)]
pub fn sip_hash(secret: [u64; 2], words: &[u64]) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(secret[0], secret[1]);
    for word in words {
        hasher.write(&word.to_le_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference implementation (`vectors_sip64`): key 00 … 0f, messages 00 01 … of 8, 16
    /// and 56 bytes.
    #[test]
    fn is_siphash_2_4() {
        let secret = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let message: [u64; 7] =
            core::array::from_fn(|word| secret[0] + 0x0808_0808_0808_0808 * word as u64);
        for (words, expected) in
            [(1, 0x93f5_f579_9a93_2462), (2, 0x3f2a_cc7f_57c2_9bdb), (7, 0xb78d_bfaf_3a8d_83bd)]
        {
            assert_eq!(sip_hash(secret, &message[..words]), expected, "{words} words");
        }
    }

    const WORDS: [[u64; 5]; 3] = [
        [0, 0, 0, 0, 0],
        [1, 2, 3, 4, 5],
        [0, 0x0100_000a_ffff_0000, 0, 0x0200_000a_ffff_0000, 0x0006_3039_0050],
    ];

    #[test]
    fn golden_values() {
        let all = WORDS.map(|words| [0, 1, u64::MAX].map(|seed| flow_hash(&words, seed)));
        // A change of these values is a change of the protocol between the two sides.
        assert_eq!(
            all,
            [
                [0x7b10_e55c_99ee_e55b, 0xd142_b92e_3445_e94f, 0xcc5e_8789_f2c0_76e2],
                [0x6b95_9860_9f47_8b92, 0x74b1_f91f_d996_7299, 0xae6f_0df3_c0f7_9f59],
                [0xa9e6_7bd5_3e9a_dd8d, 0x92ef_116d_e32f_173c, 0x0caf_c848_301f_53de],
            ]
        );
    }

    #[test]
    fn golden_values_of_pairs() {
        let all = WORDS.map(|[first, second, ..]| {
            [0, 1, u64::MAX].map(|seed| FlowHasher::new(seed).hash_pair([first, second]))
        });
        // As above.
        assert_eq!(
            all,
            [
                [0x0c4a_e3d5_ea9e_7255, 0xdee8_d2f1_ec2e_8dbc, 0x9ad3_9300_2b79_5085],
                [0x5d2c_eefb_fae0_4a72, 0x184e_74c6_2c5d_9fc7, 0x2cd9_e763_38d2_4072],
                [0x718f_6a5b_d047_7b99, 0x8f99_987d_2087_c352, 0xed74_39cf_9421_b087],
            ]
        );
    }

    #[test]
    fn is_rapidhash_v3() {
        let of = |words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            rapidhash::v3::rapidhash_v3_seeded(&bytes, &RapidSecrets::seed(7))
        };
        for words in WORDS {
            assert_eq!(flow_hash(&words, 7), of(&words));
            let [first, second, ..] = words;
            assert_eq!(FlowHasher::new(7).hash_pair([first, second]), of(&[first, second]));
        }
    }

    #[test]
    fn every_bit_of_key_and_seed_counts() {
        let base = flow_hash(&WORDS[1], 0x2a);
        for bit in 0..320 {
            let mut words = WORDS[1];
            words[bit / 64] ^= 1 << (bit % 64);
            let flipped = (flow_hash(&words, 0x2a) ^ base).count_ones();
            assert!((10..=54).contains(&flipped), "bit {bit} flips {flipped}");
        }
        for bit in 0..64 {
            assert_ne!(flow_hash(&WORDS[1], 0x2a ^ (1 << bit)), base, "seed bit {bit}");
        }
    }

    #[test]
    fn every_bit_of_a_pair_counts() {
        let hash = |words| FlowHasher::new(0x2a).hash_pair(words);
        let base = hash([1, 2]);
        for bit in 0..128 {
            let mut words = [1, 2];
            words[bit / 64] ^= 1 << (bit % 64);
            let flipped = (hash(words) ^ base).count_ones();
            assert!((10..=54).contains(&flipped), "bit {bit} flips {flipped}");
        }
    }
}
