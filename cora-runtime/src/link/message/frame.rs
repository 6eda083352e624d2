//! Frames with their stamps. Nearly all messages are such, so their way has fewer instructions: a
//! frame is pushed as whole words, and read where it lies, so that handlers can change it there.

use cora_core::packet::{HEAD, MAX_FRAME, Roomy};

use super::field::Field;
use super::{Frames, Kind, Message, Stamp};
use crate::link::payload::BUFFER_BYTES;
use crate::link::ring::{Producer, PushError, StorePolicy};

impl<'a> Message<'a> {
    /// The frame that this carries, and its stamp: the payload is [`Stamp::words`] and the frame.
    #[inline(always)]
    pub const fn stamped(&self) -> Option<(&Stamp, &'a [u8])> {
        match self {
            Self::Frames(
                Frames::Frame { stamp, frame }
                | Frames::Punt { stamp, frame }
                | Frames::Send { stamp, frame },
            ) => Some((stamp, frame)),
            _ => None,
        }
    }

    /// Pushes it onto a ring.
    ///
    /// # Errors
    /// Those of [`Producer::push`].
    // The fields are at hand here. Put together in memory first, and read from there in pairs of
    // words, they would make the processor wait until all earlier stores have left, those of the
    // last message among them.
    #[inline(always)]
    pub fn push<M: StorePolicy>(&self, ring: &mut Producer<M>) -> Result<(), PushError> {
        match self.stamped() {
            Some((stamp, frame)) => ring.push_behind(self.kind().number(), &stamp.words(), frame),
            None => self.encode(|kind, parts| ring.push_apart(kind, parts)),
        }
    }

    /// Reads a packet that the host handled, as nearly all messages from the host are; `None` for
    /// every other message.
    #[must_use]
    #[inline(always)]
    pub fn decode_sent(kind: u16, bytes: &'a [u8]) -> Option<(Stamp, &'a [u8])> {
        let mut rest = bytes;
        if kind == Kind::Send { Some((Stamp::read(&mut rest)?, rest)) } else { None }
    }
}

impl<'a> Message<'a> {
    /// Reads a message that is a frame with its stamp; `None` for every other.
    #[must_use]
    #[cold]
    pub(crate) fn decode_stamped(kind: u16, bytes: &'a [u8]) -> Option<(Stamp, &'a [u8])> {
        let (head, frame) = bytes.split_at_checked(Stamp::BYTES)?;
        Some((stamp_of(kind, head, frame.len())?, frame))
    }
}

impl Message<'_> {
    /// Reads a message that is a frame with its stamp, so that handlers can change it where it is;
    /// `None` for every other.
    #[inline]
    pub fn decode_frame(kind: u16, bytes: &mut [u8]) -> Option<(Stamp, &mut [u8])> {
        let (head, frame) = bytes.split_at_mut_checked(Stamp::BYTES)?;
        Some((stamp_of(kind, head, frame.len())?, frame))
    }

    /// The same, with the room behind the frame.
    #[inline]
    pub fn decode_roomy(kind: u16, bytes: Roomy<'_>) -> Option<(Stamp, Roomy<'_>)> {
        let (head, frame) = bytes.split_head::<{ Stamp::BYTES }>()?;
        Some((stamp_of(kind, head, frame.len())?, frame))
    }
}

/// The stamp before a frame of this length, if a message of this kind is a frame.
#[inline]
fn stamp_of(kind: u16, mut head: &[u8], length: usize) -> Option<Stamp> {
    let is_frame = kind == Kind::Frame || kind == Kind::Punt || kind == Kind::Send;
    let stamp = (is_frame && length <= MAX_FRAME).then(|| Stamp::read(&mut head))??;
    // A frame from the wire is whole.
    let may_be_head = kind != Kind::Frame && length == HEAD && stamp.parked.bytes() <= BUFFER_BYTES;
    (may_be_head || !stamp.parked.is_some()).then_some(stamp)
}
