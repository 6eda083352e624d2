//! The memory of a frame: the frame itself, and tailroom to grow into.
//!
//! Tailroom is only at the end, and has one size everywhere. So whether a frame may grow depends on
//! the frame alone, not on the side that handles it or on whether it waited. A frame that never
//! grows never touches the tailroom.

/// Bytes of tailroom behind every frame that a run passes to handlers. Enough for a tunnel over
/// IPv6 (70) within another one over IPv4 (50), and for the longer headers of IPv6 in an ICMP error
/// (40).
pub const ROOM: usize = 128;

/// Maximum frame length of a run, in bytes. The wire drops longer frames with a named reason.
pub const MAX_FRAME: usize = 65_549;

/// A frame with its tailroom.
#[derive(Debug)]
pub struct Roomy<'a> {
    // Invariant: `length` is at most `bytes.len()`.
    bytes: &'a mut [u8],
    length: usize,
}

/// The first `length` bytes, or all if there are fewer. The minimum avoids a panic path, and is
/// cheaper than a branch.
#[inline(always)]
pub(super) fn first(bytes: &[u8], length: usize) -> &[u8] {
    &bytes[..length.min(bytes.len())]
}

/// The same, mutable.
#[inline(always)]
pub(super) fn first_mut(bytes: &mut [u8], length: usize) -> &mut [u8] {
    let length = length.min(bytes.len());
    &mut bytes[..length]
}

impl<'a> Roomy<'a> {
    /// The first `length` of these bytes are the frame, or all if there are fewer. The others are
    /// tailroom.
    #[inline(always)]
    pub const fn new(bytes: &'a mut [u8], length: usize) -> Self {
        let length = if length < bytes.len() { length } else { bytes.len() };
        Self { bytes, length }
    }

    /// The same if there are at least `length` bytes.
    #[inline(always)]
    pub fn fitting(bytes: &'a mut [u8], length: usize) -> Self {
        debug_assert!(length <= bytes.len(), "a frame of {length} bytes does not fit its memory");
        Self { bytes, length }
    }

    /// The frame.
    #[inline(always)]
    pub fn frame(&self) -> &[u8] {
        first(self.bytes, self.length)
    }

    /// The frame, mutable.
    #[inline(always)]
    pub fn frame_mut(&mut self) -> &mut [u8] {
        first_mut(self.bytes, self.length)
    }

    /// Splits off the first `head` bytes, already read; `None` if the frame is shorter. Returns
    /// these bytes and the rest.
    #[inline(always)]
    pub fn split_head<const HEAD: usize>(self) -> Option<(&'a mut [u8; HEAD], Self)> {
        let length = self.length.checked_sub(HEAD)?;
        let (head, bytes) = self.bytes.split_first_chunk_mut()?;
        Some((head, Self { bytes, length }))
    }

    /// The whole memory, and the length of the frame in it.
    #[inline(always)]
    pub(crate) const fn into_parts(self) -> (&'a mut [u8], usize) {
        (self.bytes, self.length)
    }

    /// The frame, without its tailroom.
    #[inline(always)]
    pub fn into_frame(self) -> &'a mut [u8] {
        first_mut(self.bytes, self.length)
    }

    /// Bytes of the frame.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a frame's length; no collection")]
    pub const fn len(&self) -> usize {
        self.length
    }
}

/// A frame without tailroom: it can shrink, but not grow.
impl<'a> From<&'a mut [u8]> for Roomy<'a> {
    #[inline(always)]
    fn from(bytes: &'a mut [u8]) -> Self {
        let length = bytes.len();
        Self { bytes, length }
    }
}
