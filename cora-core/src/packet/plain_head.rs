//! The headers of a plain frame: its memory is known to hold them, since it was found to be plain.
#![expect(unsafe_code, reason = "each look at a header would ask for the memory's length again")]

use core::hint::assert_unchecked;

use super::Headers;
use super::parsed::Parsed;
use super::plain::{PLAIN, PlainFrame};

impl Headers<'_> {
    /// The headers of a plain frame, and the facts kept of it; `None` of other frames.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<(&[u8; PLAIN], &PlainFrame)> {
        let Parsed::Plain(plain) = &self.parsed else { return None };
        // SAFETY: only `Headers::parse` makes it plain, and `PlainFrame::parse` gives one only of
        // memory that is as long. Nothing puts other memory in the place of `frame`.
        unsafe { assert_unchecked(self.frame.len() >= PLAIN) };
        Some((self.frame.first_chunk()?, plain))
    }

    /// The same, to be written to.
    #[inline(always)]
    pub(super) fn plain_mut(&mut self) -> Option<(&mut [u8; PLAIN], &mut PlainFrame)> {
        let Parsed::Plain(plain) = &mut self.parsed else { return None };
        // SAFETY: as in `Self::plain`.
        unsafe { assert_unchecked(self.frame.len() >= PLAIN) };
        Some((self.frame.first_chunk_mut()?, plain))
    }
}
