//! Text or bytes of varying length, as plain data: a name, a cookie, a piece of a message.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use crate::key::Key;
use crate::plain::{Describe, Plain};
use crate::short::{ShortReader, ShortWriter};
use crate::state::Changed;
use crate::verdict::Reason;
use crate::verdict::reasons::TooLong;

/// At most `N` bytes, text or not. It reads as a slice, and is shown as text with escapes.
///
/// ```
/// use cora_core::bytes::Bytes;
/// use cora_core::verdict::reasons::TooLong;
///
/// let name = Bytes::<16>::of(b"example.com").unwrap();
/// assert!(name.ends_with(b".com"));
/// assert_eq!(name.to_string(), "example.com");
/// assert_eq!(Bytes::<4>::of(b"example.com"), Err(TooLong));
/// ```
///
/// Its encoding is the length as two bytes, then `N` bytes, with zeros behind those that are there.
/// As a key it has at most 38 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bytes<const N: usize> {
    length: u16,
    /// Zeros behind the length: equal values are equal in memory, too.
    bytes: [u8; N],
}

/// Bytes of the length in the encoding.
const LENGTH: usize = size_of::<u16>();

/// Most bytes of a key: the length is in its last word, too, and that word's last byte stays zero.
const MOST_OF_KEY: usize = 38;

impl<const N: usize> Bytes<N> {
    /// No bytes.
    pub const EMPTY: Self = {
        assert!(N <= u16::MAX as usize, "`Bytes<N>` holds at most 65,535 bytes");
        Self { length: 0, bytes: [0; N] }
    };

    /// Whether it can be a key; evaluated wherever it is used as one.
    const IS_KEY: () = assert!(
        N <= MOST_OF_KEY,
        "CORA0135: `Bytes<N>` has more than 38 bytes as a key; `cargo cora explain 135` says more"
    );

    /// These bytes; `too-long` if they are more than `N`.
    #[inline]
    pub fn of(bytes: &[u8]) -> Result<Self, Reason> {
        let mut made = Self::EMPTY;
        made.bytes.get_mut(..bytes.len()).ok_or(TooLong)?.copy_from_slice(bytes);
        made.length = bytes.len() as u16;
        Ok(made)
    }
}

impl<const N: usize> Deref for Bytes<N> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }
}

impl<const N: usize> AsRef<[u8]> for Bytes<N> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> Default for Bytes<N> {
    #[inline]
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> PartialOrd for Bytes<N> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for Bytes<N> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<const N: usize> Hash for Bytes<N> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        Hash::hash(&**self, state);
    }
}

impl<const N: usize> fmt::Display for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.escape_ascii(), f)
    }
}

impl<const N: usize> fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl<const N: usize> Plain for Bytes<N> {
    const SIZE: usize = LENGTH + Self::EMPTY.bytes.len();
    const SHORTENS: bool = true;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.length.put(out);
        if let Some(place) = out.get_mut(LENGTH..Self::SIZE) {
            place.copy_from_slice(&self.bytes);
        }
    }

    /// Long text is compared where it is, not encoded first.
    fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
        let Some(kept) = kept.get_mut(..Self::SIZE) else { return };
        let Some((length, bytes)) = kept.split_at_mut_checked(LENGTH) else { return };
        changed.update(&self.length.to_le_bytes(), length, at);
        changed.update(&self.bytes, bytes, at + LENGTH);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        let mut made = Self::EMPTY;
        made.read(bytes).then_some(made)
    }

    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let (Some(length), Some(kept)) = (u16::get(bytes), bytes.get(LENGTH..Self::SIZE)) else {
            return false;
        };
        // One encoding per value: what is compared or hashed by its encoding depends on it.
        let behind = kept.get(length.into()..);
        if !behind.is_some_and(|behind| behind.iter().all(|byte| *byte == 0)) {
            return false;
        }
        self.length = length;
        self.bytes.copy_from_slice(kept);
        true
    }

    #[inline]
    fn put_short(&self, to: &mut ShortWriter<'_>) {
        to.put(&self.length.to_le_bytes());
        to.put(self);
    }

    #[inline]
    fn get_short(from: &mut ShortReader<'_>) -> Option<Self> {
        let length = u16::get_short(from)?;
        Self::of(from.take(length.into())?).ok()
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

impl<const N: usize> Key for Bytes<N> {
    type Packed = Self;

    #[inline]
    fn pack(&self) -> Self {
        let () = Self::IS_KEY;
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

    /// The bytes, then the length. Zeros at the end of a text are not those behind a shorter one.
    #[inline]
    fn words(&self) -> [u64; 5] {
        let () = Self::IS_KEY;
        let mut all = [0; 40];
        for (place, byte) in all.iter_mut().zip(self.bytes) {
            *place = byte;
        }
        if let Some(place) = all.get_mut(MOST_OF_KEY) {
            *place = self.length as u8;
        }
        let (words, _) = all.as_chunks();
        core::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_le_bytes(*word)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::string::ToString as _;
    use std::vec::Vec;

    use super::*;
    use crate::hash::FlowHasher;
    use crate::short::tests::{comes_back, encoding, of_short, short};

    #[test]
    fn holds_what_fits() {
        let name = Bytes::<11>::of(b"example.com").unwrap();
        assert_eq!((&*name, name.as_ref()), (&b"example.com"[..], &b"example.com"[..]));
        assert_eq!(Bytes::<10>::of(b"example.com"), Err(TooLong));
        assert_eq!(Bytes::<0>::of(b""), Ok(Bytes::EMPTY));
        assert_eq!(Bytes::<0>::of(b"a"), Err(TooLong));
        assert_eq!(Bytes::<3>::default(), Bytes::EMPTY);
        let most = std::vec![7; 65_535];
        assert_eq!(&*Bytes::<65_535>::of(&most).unwrap(), most);
    }

    #[test]
    fn is_shown_as_text() {
        let bytes = Bytes::<16>::of(b"a\"b\\\n\0\xc3\xbc").unwrap();
        assert_eq!(bytes.to_string(), r#"a\"b\\\n\x00\xc3\xbc"#);
        assert_eq!(std::format!("{:?}", Bytes::<4>::of(b"abc").unwrap()), "\"abc\"");
        assert_eq!(std::format!("{:?}", Bytes::<4>::EMPTY), "\"\"");
    }

    #[test]
    fn is_ordered_as_its_bytes() {
        let texts = [&b""[..], b"\0", b"\0\0", b"a", b"a\0", b"ab", b"b", b"\xff"];
        let all: Vec<Bytes<2>> = texts.iter().map(|text| Bytes::of(text).unwrap()).collect();
        assert!(all.is_sorted() && texts.is_sorted());
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), texts.len());
    }

    #[test]
    fn round_trips_at_every_length() {
        let text = b"0123456\0\xff";
        for length in 0..=text.len() {
            let bytes = Bytes::<9>::of(&text[..length]).unwrap();
            comes_back(bytes);
            comes_back([bytes, Bytes::EMPTY, bytes]);
            assert_eq!(short(&bytes).len(), 2 + length);
            assert_eq!(short(&[bytes; 3]).len(), 3 * (2 + length));
        }
        comes_back(Bytes::<0>::EMPTY);
    }

    #[test]
    fn has_one_encoding() {
        let bytes = Bytes::<4>::of(b"ab").unwrap();
        assert_eq!(encoding(&bytes), [2, 0, b'a', b'b', 0, 0]);
        assert_eq!(Bytes::<4>::get(&[2, 0, b'a', b'b', 0, 0, 9]), Some(bytes), "the first SIZE");
        for behind in [[0, 1], [1, 0]] {
            let [first, second] = behind;
            assert_eq!(Bytes::<4>::get(&[2, 0, b'a', b'b', first, second]), None);
        }
        for length in [[5, 0], [4, 1], [0xff, 0xff]] {
            let [low, high] = length;
            assert_eq!(Bytes::<4>::get(&[low, high, 1, 2, 3, 4]), None, "too long");
            assert_eq!(of_short::<Bytes<4>>(&[low, high, 1, 2, 3, 4, 5]), None, "too long");
        }
        assert_eq!(short(&bytes), [2, 0, b'a', b'b']);
        let mut place = Bytes::<4>::of(b"long").unwrap();
        assert!(place.read(&encoding(&bytes)));
        assert_eq!(place, bytes, "nothing is left of what was there");
    }

    #[test]
    fn of_any_bytes_it_reads_one_value_or_none() {
        let (mut seed, mut values) = (1_u64, 0);
        for _ in 0..20_000 {
            let bytes: [u8; 6] = core::array::from_fn(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Mostly zeros, and few others.
                [0, 0, 0, 1, 2, 3, 4, 5][(seed >> 61) as usize]
            });
            if let Some(value) = Bytes::<4>::get(&bytes) {
                values += 1;
                assert_eq!(encoding(&value), bytes);
            }
            if let Some(value) = of_short::<Bytes<4>>(&bytes) {
                assert_eq!(short(&value), bytes);
            }
        }
        assert!((1_000..10_000).contains(&values), "{values}");
    }

    #[test]
    fn tells_what_changed() {
        let mut blocks = [0; 1];
        let [old, mut new] = [80, 81].map(|length| Bytes::<90>::of(&[1; 90][..length]).unwrap());
        let mut kept = encoding(&old);
        new.put_changed(&mut kept, 0, &mut Changed::new(&mut blocks, 0));
        assert_eq!(kept, encoding(&new));
        assert_ne!(blocks, [0]);
        blocks = [0; 1];
        new.put_changed(&mut kept, 0, &mut Changed::new(&mut blocks, 0));
        assert_eq!(blocks, [0], "nothing");
    }

    #[test]
    fn words_tell_keys_apart() {
        let texts = [&b""[..], b"\0", b"\0\0", b"a", b"a\0", b"ab", &[7; 37], &[7; 38], &[0; 38]];
        let keys = texts.map(|text| Bytes::<38>::of(text).unwrap());
        assert_eq!(keys.map(|key| key.words()).into_iter().collect::<BTreeSet<_>>().len(), 9);
        for key in keys {
            let [.., last] = key.words();
            assert_eq!(last >> 48, key.len() as u64, "the length at byte 38, zero at byte 39");
            assert_eq!((Bytes::unpack(&key.pack()), key.reply()), (key, None));
            let hasher = FlowHasher::new(1);
            assert_eq!(Key::hash(&key, &hasher, false), Key::hash(&key, &hasher, true));
        }
        let [first, ..] = Bytes::<5>::of(b"abc").unwrap().words();
        assert_eq!(first, u64::from_le_bytes(*b"abc\0\0\0\0\0"));
    }
}
