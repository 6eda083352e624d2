//! Access to the headers of a plain frame without bounds checks: the parse has checked its memory.
#![expect(unsafe_code, reason = "each look at a header would ask for the memory's length again")]

use core::hint::assert_unchecked;

use super::Headers;
use super::parsed::Parsed;
use super::plain::{PLAIN, PlainFrame};

impl Headers<'_> {
    /// The headers of a plain frame and its parsed fields; `None` for other frames.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<(&[u8; PLAIN], &PlainFrame)> {
        let Parsed::Plain(plain) = &self.parsed else { return None };
        // SAFETY: only `Headers::parse` sets `Parsed::Plain`, and `PlainFrame::parse` returns a
        // frame only for memory of at least `PLAIN` bytes. Nothing replaces `frame` by other
        // memory.
        unsafe { assert_unchecked(self.frame.len() >= PLAIN) };
        Some((self.frame.first_chunk()?, plain))
    }

    /// The same, mutable.
    #[inline(always)]
    pub(super) fn plain_mut(&mut self) -> Option<(&mut [u8; PLAIN], &mut PlainFrame)> {
        let Parsed::Plain(plain) = &mut self.parsed else { return None };
        // SAFETY: as in `Self::plain`.
        unsafe { assert_unchecked(self.frame.len() >= PLAIN) };
        Some((self.frame.first_chunk_mut()?, plain))
    }
}
