//! The short form of [`Plain`](crate::plain::Plain) data, for the wire: what a value does not use
//! is left out.
//!
//! An entry's encoding has one width, so that it has a place. A message needs none: of text it
//! carries the bytes that are there, of an enum the fields of its variant. A value says its own
//! length, so several are read one behind the other, and whoever reads the last one asks whether
//! anything is left.
//!
//! ```
//! use cora_core::bytes::Bytes;
//! use cora_core::plain::Plain;
//! use cora_core::short::{ShortReader, ShortWriter};
//!
//! let name = Bytes::<200>::of(b"example.com").unwrap();
//! let mut frame = [0; 64];
//! let mut writer = ShortWriter::new(&mut frame);
//! name.put_short(&mut writer);
//! let length = writer.finish().unwrap();
//! assert_eq!(length, 2 + 11);
//!
//! let mut reader = ShortReader::new(&frame[..length]);
//! assert_eq!(Bytes::get_short(&mut reader), Some(name));
//! assert!(reader.is_at_end());
//! ```

/// Writes short forms one behind the other.
///
/// What doesn't fit is not written, nor is anything after it, and [`finish`](Self::finish) says so.
#[derive(Debug)]
pub struct ShortWriter<'a> {
    /// What is still free; `None` after something didn't fit.
    rest: Option<&'a mut [u8]>,
    length: usize,
}

impl<'a> ShortWriter<'a> {
    /// A writer to these bytes, from the first on.
    #[inline]
    pub const fn new(out: &'a mut [u8]) -> Self {
        Self { rest: Some(out), length: 0 }
    }

    /// The place of the next bytes, as many as asked for, which the caller fills; `None` if they
    /// don't fit.
    #[inline]
    #[must_use = "the place holds whatever was there before"]
    pub fn place(&mut self, length: usize) -> Option<&'a mut [u8]> {
        let (place, behind) = self.rest.take()?.split_at_mut_checked(length)?;
        self.rest = Some(behind);
        self.length += length;
        Some(place)
    }

    /// Writes these bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if let Some(place) = self.place(bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// How many bytes were written; `None` if not everything fit.
    #[inline]
    #[must_use = "what didn't fit is not there"]
    pub fn finish(self) -> Option<usize> {
        self.rest.is_some().then_some(self.length)
    }
}

/// Reads short forms one behind the other.
#[derive(Clone, Debug)]
pub struct ShortReader<'a> {
    rest: &'a [u8],
}

impl<'a> ShortReader<'a> {
    /// A reader of these bytes, from the first on.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next bytes, as many as asked for; `None` if there are fewer, and then none is taken.
    #[inline]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, behind) = self.rest.split_at_checked(length)?;
        self.rest = behind;
        Some(bytes)
    }

    /// Whether everything was read.
    #[inline]
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fmt::Debug;
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::plain::Plain;

    /// The short form of a value.
    pub(crate) fn short(value: &impl Plain) -> Vec<u8> {
        let mut bytes = vec![0xee; 4096];
        let mut writer = ShortWriter::new(&mut bytes);
        value.put_short(&mut writer);
        let length = writer.finish().expect("there is room");
        bytes.truncate(length);
        bytes
    }

    /// The value of which these bytes are the short form, and nothing else.
    pub(crate) fn of_short<T: Plain>(bytes: &[u8]) -> Option<T> {
        let mut reader = ShortReader::new(bytes);
        let value = T::get_short(&mut reader)?;
        reader.is_at_end().then_some(value)
    }

    /// The encoding of a value.
    pub(crate) fn encoding<T: Plain>(value: &T) -> Vec<u8> {
        // Every byte is written.
        let mut bytes = vec![0xee; T::SIZE];
        value.put(&mut bytes);
        bytes
    }

    /// Checks that a value comes back from both its forms, and from no part of either.
    pub(crate) fn comes_back<T: Plain + PartialEq + Debug>(value: T) {
        let fixed = encoding(&value);
        assert_eq!(T::get(&fixed), Some(value));
        for length in 0..fixed.len() {
            assert_eq!(T::get(&fixed[..length]), None, "{value:?}: {length} bytes");
            // A place that is too short is no panic.
            value.put(&mut vec![0; length]);
        }
        let bytes = short(&value);
        assert!(bytes.len() <= T::SIZE, "{value:?}");
        assert_eq!(of_short(&bytes), Some(value));
        for length in 0..bytes.len() {
            assert_eq!(of_short::<T>(&bytes[..length]), None, "{value:?}: {length} bytes");
            let mut place = vec![0; length];
            let mut writer = ShortWriter::new(&mut place);
            value.put_short(&mut writer);
            assert_eq!(writer.finish(), None, "{value:?} in {length} bytes");
        }
        let garbage = [&bytes[..], &[0]].concat();
        assert_eq!(of_short::<T>(&garbage), None, "{value:?}: a byte behind it");
    }

    #[test]
    fn a_writer_remembers_what_did_not_fit() {
        let mut out = [0xee; 4];
        let mut writer = ShortWriter::new(&mut out);
        writer.put(&[1, 2]);
        writer.put(&[3, 4, 5]);
        writer.put(&[6]);
        writer.put(&[]);
        assert!(writer.place(0).is_none());
        assert_eq!(writer.finish(), None);
        assert_eq!(out, [1, 2, 0xee, 0xee], "nothing after it either");

        let mut writer = ShortWriter::new(&mut out);
        writer.put(&[1, 2, 3]);
        writer.put(&[4]);
        writer.put(&[]);
        assert_eq!(writer.finish(), Some(4));
        assert_eq!(out, [1, 2, 3, 4]);
        assert_eq!(ShortWriter::new(&mut []).finish(), Some(0));
    }

    #[test]
    fn a_reader_takes_no_more_than_there_is() {
        let mut reader = ShortReader::new(&[1, 2, 3]);
        assert_eq!(reader.take(2), Some(&[1, 2][..]));
        assert_eq!(reader.take(2), None);
        assert!(!reader.is_at_end());
        assert_eq!(reader.take(1), Some(&[3][..]));
        assert!(reader.is_at_end());
        assert_eq!((reader.take(0), reader.take(usize::MAX)), (Some(&[][..]), None));
    }

    #[test]
    fn fixed_data_is_as_long_as_its_encoding() {
        comes_back(7_u8);
        comes_back(-5_i64);
        comes_back(u128::MAX);
        comes_back(true);
        comes_back([[1_u16, 2], [3, 4]]);
        assert_eq!(short(&[1_u16, 0x0203]), [1, 0, 3, 2]);
        assert_eq!(of_short::<bool>(&[2]), None);
    }

    #[test]
    fn an_empty_array_is_nothing() {
        assert_eq!(<[u32; 0]>::get(&[]), Some([]));
        assert_eq!((short(&[0_u32; 0]), of_short::<[u32; 0]>(&[])), (Vec::new(), Some([])));
    }
}
