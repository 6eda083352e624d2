//! Access to the headers of a fast-path frame without bounds checks: the parse has checked its
//! memory.
#![expect(unsafe_code, reason = "each look at a header would ask for the memory's length again")]

use core::hint::assert_unchecked;

use super::Headers;
use super::fast_path::{FAST_HEAD, FastFrame};
use super::parsed::Parsed;

impl Headers<'_> {
    /// The headers of a fast-path frame and its parsed fields; `None` for other frames.
    #[inline(always)]
    pub(super) fn fast(&self) -> Option<(&[u8; FAST_HEAD], &FastFrame)> {
        let Parsed::Fast(fast) = &self.parsed else { return None };
        // SAFETY: only `Headers::parse` sets `Parsed::Fast`, and `FastFrame::parse` returns a
        // frame only for memory of at least `FAST_HEAD` bytes. Nothing replaces `frame` by other
        // memory.
        unsafe { assert_unchecked(self.frame.len() >= FAST_HEAD) };
        Some((self.frame.first_chunk()?, fast))
    }

    /// The same, mutable.
    #[inline(always)]
    pub(super) fn fast_mut(&mut self) -> Option<(&mut [u8; FAST_HEAD], &mut FastFrame)> {
        let Parsed::Fast(fast) = &mut self.parsed else { return None };
        // SAFETY: as in `Self::fast`.
        unsafe { assert_unchecked(self.frame.len() >= FAST_HEAD) };
        Some((self.frame.first_chunk_mut()?, fast))
    }
}
