//! A stream with a window: a run of bytes in memory, and the count of those before them. Passed
//! bytes may be [held](Input::hold) for later use.

use std::fmt;
use std::io::{ErrorKind, Read};

use super::error::{CaptureError, Fault};

/// Bytes read at a time.
const WINDOW: usize = 256 * 1024;

/// Most bytes to search for the end of a capture behind a part that can't be read.
const FARTHEST_END: u64 = 64 * 1024 * 1024;

/// The value of `hold_from` when no bytes are kept.
const NOTHING: u64 = u64::MAX;

/// The byte order of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// Returns the number in the two bytes at `at`, which are there.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let number = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(number),
            Self::Big => u16::from_be_bytes(number),
        }
    }

    /// Returns the number in the four bytes at `at`, which are there.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let (first, second) = (self.u16(bytes, at), self.u16(bytes, at + 2));
        let (high, low) = match self {
            Self::Little => (second, first),
            Self::Big => (first, second),
        };
        u32::from(high) << 16 | u32::from(low)
    }

    /// Returns the number in the eight bytes at `at`, which are there.
    pub(super) fn i64(self, bytes: &[u8], at: usize) -> i64 {
        let (first, second) = (self.u32(bytes, at), self.u32(bytes, at + 4));
        let (high, low) = match self {
            Self::Little => (second, first),
            Self::Big => (first, second),
        };
        (u64::from(high) << 32 | u64::from(low)).cast_signed()
    }
}

/// A stream being read. Its memory grows with the requests, so callers bound their requests.
pub(super) struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    /// The stream offset from which on passed bytes are kept.
    hold_from: u64,
    /// The place: everything before it was passed.
    start: usize,
    end: usize,
    /// The number of bytes passed.
    offset: u64,
    /// Bytes that a damaged part claims, from its beginning on.
    claims: u64,
    /// The packed stream underneath ends too early.
    is_cut: bool,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; WINDOW],
            hold_from: NOTHING,
            start: 0,
            end: 0,
            offset: 0,
            claims: 0,
            is_cut: false,
        }
    }

    /// Brings `count` bytes from the place on into memory. Returns how many are there: fewer only
    /// at the stream's end.
    pub(super) fn ensure(&mut self, count: usize) -> Result<usize, CaptureError> {
        if self.end - self.start < count {
            self.fetch(count)?;
        }
        Ok(self.end - self.start)
    }

    fn fetch(&mut self, count: usize) -> Result<(), CaptureError> {
        let held = self.start - self.holds();
        self.buffer.copy_within(held..self.end, 0);
        (self.start, self.end) = (self.start - held, self.end - held);
        let wanted = self.start + count;
        // Whole windows are read, however many bytes are held.
        let room = self.start + count.max(WINDOW);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        while self.end < wanted {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.is_cut = true;
                    break;
                }
                Err(source) => {
                    let offset = self.offset + (self.end - self.start) as u64;
                    return Err(CaptureError::Read { offset, source });
                }
            }
        }
        Ok(())
    }

    /// Keeps the bytes from this stream offset on, even if passed, and forgets all before it.
    /// Forgotten bytes don't come back.
    pub(super) fn hold(&mut self, from: u64) {
        self.hold_from = from;
    }

    /// Keeps no bytes that are passed from here on.
    pub(super) fn hold_nothing(&mut self) {
        self.hold_from = NOTHING;
    }

    /// Returns the number of passed bytes that are kept.
    pub(super) fn holds(&self) -> usize {
        self.passed_since(self.hold_from)
    }

    /// Returns the number of bytes passed since this stream offset.
    fn passed_since(&self, byte: u64) -> usize {
        self.offset.saturating_sub(byte) as usize
    }

    /// Returns `len` held bytes from this stream offset on.
    pub(super) fn held(&self, from: u64, len: usize) -> &[u8] {
        let at = self.start - self.passed_since(from);
        &self.buffer[at..at + len]
    }

    /// Returns the bytes in memory from the place on.
    pub(super) fn peek(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes bytes that are in memory.
    pub(super) fn pass(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "only what was ensured is passed");
        self.start += count;
        self.offset += count as u64;
    }

    /// Passes bytes, and keeps only held ones. Returns how many were missing at the stream's end.
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

    /// Returns an error at the place.
    pub(super) fn fault(&self, fault: Fault) -> CaptureError {
        CaptureError::Corrupt { offset: self.offset, fault }
    }

    /// Returns the bytes passed so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes of memory in use.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    /// Brings all `count` bytes of a part into memory.
    pub(super) fn whole(&mut self, what: &'static str, count: usize) -> Result<(), CaptureError> {
        let has = self.ensure(count)?;
        if has < count {
            let fault = Fault::Truncated { what, has, needs: count };
            // Without a first header, there is no capture that could end.
            return Err(if self.offset == 0 {
                self.fault(fault)
            } else {
                CaptureError::AtEnd { offset: self.offset, fault }
            });
        }
        Ok(())
    }

    /// Returns an error at the place, for a wrong part that claims so many bytes.
    pub(super) fn damage(&mut self, fault: Fault, claims: u64) -> CaptureError {
        self.damage_at(self.offset, fault, claims)
    }

    /// Returns an error for a wrong part that began before the place.
    pub(super) fn damage_at(&mut self, offset: u64, fault: Fault, claims: u64) -> CaptureError {
        self.claims = claims;
        CaptureError::Corrupt { offset, fault }
    }

    /// Returns the error. It is of the capture's end if the wrong part claims so many bytes that
    /// nothing follows it. Nothing can be read any more.
    pub(super) fn judged(&mut self, error: CaptureError) -> CaptureError {
        let CaptureError::Corrupt { offset, fault } = error else { return error };
        if self.claims == 0 || offset == 0 {
            return CaptureError::Corrupt { offset, fault };
        }
        self.hold_nothing();
        let left = self.claims.saturating_sub(self.offset - offset).min(FARTHEST_END);
        let missing = self.skip(left);
        let ends = missing.and_then(|missing| Ok(missing > 0 || self.ensure(1)? == 0));
        match ends {
            Ok(true) => CaptureError::AtEnd { offset, fault },
            _ => CaptureError::Corrupt { offset, fault },
        }
    }

    /// Whether the stream ended because the packed stream is cut.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl<R> fmt::Debug for Input<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("offset", &self.offset).finish_non_exhaustive()
    }
}
