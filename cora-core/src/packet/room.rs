//! The memory that a frame stands in: the frame, and room behind it to grow into.
//!
//! Room is at the end alone, and of one size everywhere, so whether a frame may grow depends on the
//! frame and on nothing else: not on which side handles it, nor on whether it waited. A frame that
//! never grows never touches it.

/// Bytes of room behind every frame that a run hands to handlers: enough for a tunnel over IPv4
/// (50), and for the longer headers of IPv6 in an ICMP error (40).
pub const ROOM: usize = 64;

/// Longest frame that a run carries, in bytes. Longer ones are dropped by name at the wire.
pub const MAX_FRAME: usize = 65_549;

/// A frame, with the room behind it.
#[derive(Debug)]
pub struct Roomy<'a> {
    // Invariant: `length` is no more than there are bytes.
    bytes: &'a mut [u8],
    length: usize,
}

/// The first so many bytes, or all: so the compiler has no panic to place, and less to do than for
/// a choice.
#[inline(always)]
pub(super) fn first(bytes: &[u8], length: usize) -> &[u8] {
    &bytes[..length.min(bytes.len())]
}

/// Likewise, to be written to.
#[inline(always)]
pub(super) fn first_mut(bytes: &mut [u8], length: usize) -> &mut [u8] {
    let length = length.min(bytes.len());
    &mut bytes[..length]
}

impl<'a> Roomy<'a> {
    /// The first `length` of these bytes are the frame, or all if there are fewer; the others are
    /// room.
    #[inline(always)]
    pub const fn new(bytes: &'a mut [u8], length: usize) -> Self {
        let length = if length < bytes.len() { length } else { bytes.len() };
        Self { bytes, length }
    }

    /// Likewise, where there are as many.
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

    /// The frame, to be written to.
    #[inline(always)]
    pub fn frame_mut(&mut self) -> &mut [u8] {
        first_mut(self.bytes, self.length)
    }

    /// Without its first `head` bytes, which were read; `None` if it is shorter. Beside it, what
    /// they were.
    #[inline(always)]
    pub fn split_head<const HEAD: usize>(self) -> Option<(&'a mut [u8; HEAD], Self)> {
        let length = self.length.checked_sub(HEAD)?;
        let (head, bytes) = self.bytes.split_first_chunk_mut()?;
        Some((head, Self { bytes, length }))
    }

    /// The whole memory, and how much of it is the frame.
    #[inline(always)]
    pub(crate) const fn into_parts(self) -> (&'a mut [u8], usize) {
        (self.bytes, self.length)
    }

    /// The frame, without its room.
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

/// A frame without room: it can shrink, and not grow.
impl<'a> From<&'a mut [u8]> for Roomy<'a> {
    #[inline(always)]
    fn from(bytes: &'a mut [u8]) -> Self {
        let length = bytes.len();
        Self { bytes, length }
    }
}
