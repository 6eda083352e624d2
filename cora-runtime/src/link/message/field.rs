//! Fields of messages, and how each lies in a record.

use cora_core::verdict::Reason;

use super::{Answer, Load, MAX_KEYS, Report, Stamp, Stay};
use crate::link::payload::Parked;

/// A field: a head of a fixed length, and maybe bytes behind it.
pub(super) trait Field<'a>: Sized {
    /// The head, encoded.
    type Head: AsRef<[u8]>;

    /// Encodes the head.
    fn head(&self) -> Self::Head;

    /// The bytes behind it.
    #[inline(always)]
    fn tail(&self) -> &'a [u8] {
        &[]
    }

    /// Takes the field off the front of `bytes`; `None` if those don't begin with one.
    fn read(bytes: &mut &'a [u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            impl Field<'_> for $number {
                type Head = [u8; size_of::<$number>()];

                #[inline(always)]
                fn head(&self) -> Self::Head {
                    self.to_le_bytes()
                }

                // Only messages without a frame have such: one copy of it will do.
                #[inline(never)]
                fn read(bytes: &mut &[u8]) -> Option<Self> {
                    let (number, rest) = bytes.split_first_chunk()?;
                    *bytes = rest;
                    Some(Self::from_le_bytes(*number))
                }
            }
        )*
    };
}

numbers!(u16 u32 u64);

/// The rest of the record.
impl<'a> Field<'a> for &'a [u8] {
    type Head = [u8; 0];

    #[inline(always)]
    fn head(&self) -> Self::Head {
        []
    }

    #[inline(always)]
    fn tail(&self) -> &'a [u8] {
        self
    }

    #[inline(always)]
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        Some(core::mem::take(bytes))
    }
}

/// Whole words.
#[derive(Debug)]
pub(super) struct Words<const WORDS: usize>([[u8; 8]; WORDS]);

impl<const WORDS: usize> AsRef<[u8]> for Words<WORDS> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self.0.as_flattened()
    }
}

macro_rules! words {
    ($($type:ty)*) => {
        $(
            impl Field<'_> for $type {
                type Head = Words<{ Self::WORDS }>;

                #[inline(always)]
                fn head(&self) -> Self::Head {
                    Words(self.words().map(u64::to_le_bytes))
                }

                #[inline]
                fn read(bytes: &mut &[u8]) -> Option<Self> {
                    let bytes = bytes.split_off(..8 * Self::WORDS)?;
                    words_of(bytes).map(Self::from_words)
                }
            }
        )*
    };
}

words!(Answer Load Report Stamp Stay);

impl Field<'_> for Parked {
    type Head = [u8; 4];

    #[inline(always)]
    fn head(&self) -> Self::Head {
        self.bits().to_le_bytes()
    }

    #[inline(always)]
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u32::read(bytes).map(Self::from_bits)
    }
}

macro_rules! sized {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name<'a>(pub &'a [u8]);

            impl<'a> Field<'a> for $name<'a> {
                type Head = [u8; 2];

                #[inline(always)]
                fn head(&self) -> Self::Head {
                    (self.0.len() as u16).to_le_bytes()
                }

                #[inline(always)]
                fn tail(&self) -> &'a [u8] {
                    self.0
                }

                #[inline]
                fn read(bytes: &mut &'a [u8]) -> Option<Self> {
                    let length = u16::read(bytes)?;
                    bytes.split_off(..usize::from(length)).map(Self)
                }
            }
        )*
    };
}

sized! {
    /// A group key, encoded, which is not the record's last field: its length stands before it.
    GroupKey
    /// A name that is not the record's last field: its length stands before it.
    Label
}

/// Keys that find a flow, [`MAX_KEYS`] at most: five words each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys<'a>(pub &'a [u8]);

impl Keys<'_> {
    /// Bytes of one.
    const EACH: usize = 40;

    /// The words of each.
    pub fn words(self) -> impl Iterator<Item = [u64; 5]> {
        self.0.chunks_exact(Self::EACH).map(|key| words_of(key).unwrap_or_default())
    }
}

/// The number of keys stands before them.
impl<'a> Field<'a> for Keys<'a> {
    type Head = [u8; 4];

    #[inline(always)]
    fn head(&self) -> Self::Head {
        ((self.0.len() / Self::EACH) as u32).to_le_bytes()
    }

    #[inline(always)]
    fn tail(&self) -> &'a [u8] {
        self.0
    }

    #[inline]
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let keys = u32::read(bytes)? as usize;
        if keys > MAX_KEYS {
            return None;
        }
        bytes.split_off(..keys * Self::EACH).map(Self)
    }
}

/// The name of an outcome, no longer than a [`Reason`]'s may be: the rest of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a>(pub &'a [u8]);

impl<'a> Field<'a> for Name<'a> {
    type Head = [u8; 0];

    #[inline(always)]
    fn head(&self) -> Self::Head {
        []
    }

    #[inline(always)]
    fn tail(&self) -> &'a [u8] {
        self.0
    }

    #[inline]
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let name = core::mem::take(bytes);
        (name.len() <= Reason::MAX_NAME).then_some(Self(name))
    }
}

/// The first words of `bytes`, if there are as many.
#[inline]
pub(super) fn words_of<const WORDS: usize>(bytes: &[u8]) -> Option<[u64; WORDS]> {
    let (encoded, _) = bytes.as_chunks::<8>();
    Some(encoded.first_chunk()?.map(u64::from_le_bytes))
}
