//! A stream with a window: so many bytes in one piece, and the count of those before them.

use std::fmt;
use std::io::{ErrorKind, Read};

use super::error::{CaptureError, Fault};

/// Bytes read at a time.
const WINDOW: usize = 256 * 1024;

/// The byte order of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The number in the two bytes at `at`, which are there.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let number = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(number),
            Self::Big => u16::from_be_bytes(number),
        }
    }

    /// The number in the four bytes at `at`, which are there.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let (first, second) = (self.u16(bytes, at), self.u16(bytes, at + 2));
        let (high, low) = match self {
            Self::Little => (second, first),
            Self::Big => (first, second),
        };
        u32::from(high) << 16 | u32::from(low)
    }

    /// The number in the eight bytes at `at`, which are there.
    pub(super) fn i64(self, bytes: &[u8], at: usize) -> i64 {
        let (first, second) = (self.u32(bytes, at), self.u32(bytes, at + 4));
        let (high, low) = match self {
            Self::Little => (second, first),
            Self::Big => (first, second),
        };
        (u64::from(high) << 32 | u64::from(low)).cast_signed()
    }
}

/// A stream being read. What it keeps in memory grows with what is asked for, so callers ask for no
/// more than a bound of their own.
pub(super) struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    /// The place: everything before it was passed.
    start: usize,
    end: usize,
    /// How many bytes were passed.
    offset: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; WINDOW], start: 0, end: 0, offset: 0 }
    }

    /// Sees to it that `count` bytes from the place on are in memory; returns how many are, which
    /// is less only at the stream's end.
    pub(super) fn ensure(&mut self, count: usize) -> Result<usize, CaptureError> {
        if self.end - self.start < count {
            self.fetch(count)?;
        }
        Ok(self.end - self.start)
    }

    fn fetch(&mut self, count: usize) -> Result<(), CaptureError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        while self.end < count {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let offset = self.offset + self.end as u64;
                    return Err(CaptureError::Read { offset, source });
                }
            }
        }
        Ok(())
    }

    /// The bytes in memory from the place on.
    pub(super) fn peek(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes bytes that are in memory.
    pub(super) fn pass(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "only what was ensured is passed");
        self.start += count;
        self.offset += count as u64;
    }

    /// Bytes that were passed just now: `len` of them, beginning `back` before the place.
    pub(super) fn behind(&self, back: usize, len: usize) -> &[u8] {
        &self.buffer[self.start - back..self.start - back + len]
    }

    /// Passes bytes without keeping them; returns how many were missing at the stream's end.
    pub(super) fn skip(&mut self, count: u64) -> Result<u64, CaptureError> {
        let mut left = count;
        while left > 0 {
            let step = left.min(WINDOW as u64) as usize;
            let have = self.ensure(step)?.min(step);
            self.pass(have);
            left -= have as u64;
            if have < step {
                break;
            }
        }
        Ok(left)
    }

    /// An error at the place.
    pub(super) fn fault(&self, fault: Fault) -> CaptureError {
        CaptureError::Corrupt { offset: self.offset, fault }
    }

    /// Bytes passed so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of memory in use.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    /// Sees to it that all of `what`, `count` bytes, is in memory.
    pub(super) fn whole(&mut self, what: &'static str, count: usize) -> Result<(), CaptureError> {
        let has = self.ensure(count)?;
        if has < count {
            return Err(self.fault(Fault::Truncated { what, has, needs: count }));
        }
        Ok(())
    }
}

impl<R> fmt::Debug for Input<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("offset", &self.offset).finish_non_exhaustive()
    }
}
