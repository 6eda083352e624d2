//! Headers that come, go or change their length: tunnels, tags, translation between IP versions.
//!
//! What is behind the place moves, and the frame is parsed anew: offsets of before mean nothing any
//! more. A frame grows into the room behind it ([`ROOM`](super::ROOM)), which is the same under
//! every plan. A packet that is taken back is put back at its old length.

use super::Packet;
use crate::packet::MAX_FRAME;
use crate::verdict::Reason;
use crate::verdict::reasons::{TooLong, Truncated};

/// The frame may grow no further: by all that was put into it, it is [`ROOM`](super::ROOM) bytes
/// longer than it came.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NoRoom)`")]
pub const NoRoom: Reason = Reason::new("no-room");

impl Packet<'_> {
    /// Puts `new` in the place of the `old` bytes at `at`, counted from the start of the frame, and
    /// parses what the frame is now. No checksum and no length field follows: the new bytes have to
    /// be right.
    ///
    /// Refused with the reason `truncated` when these bytes are not all within the frame,
    /// [`NoRoom`] when it would outgrow its room, `too-long` when it would be longer than any frame
    /// may be; then nothing has changed.
    ///
    /// ```
    /// # use cora_core::packet::{Meta, Packet, Roomy};
    /// let mut memory = [0; 128];
    /// memory[..14].copy_from_slice(b"to....from..\x88\xb5");
    /// let mut packet = Packet::in_room(Roomy::new(&mut memory, 64), Meta::default());
    /// // A VLAN tag, in front of the type.
    /// packet.splice(12, 0, &[0x81, 0x00, 0, 7])?;
    /// assert_eq!(packet.frame()[12..18], [0x81, 0x00, 0, 7, 0x88, 0xb5]);
    /// assert_eq!(packet.len(), 68);
    /// # Ok::<(), cora_core::verdict::Reason>(())
    /// ```
    #[inline(never)]
    pub fn splice(&mut self, at: usize, old: usize, new: &[u8]) -> Result<(), Reason> {
        let behind =
            at.checked_add(old).filter(|behind| *behind <= self.length).ok_or(Truncated)?;
        let length = self.length - old + new.len();
        if length > MAX_FRAME {
            return Err(TooLong);
        }
        if length > self.frame.len() {
            return Err(NoRoom);
        }
        self.put_in_place(at, behind, new);
        self.parse_again();
        Ok(())
    }

    /// Puts `new` in the place of what stands from `at` to `behind`. The caller saw to it that
    /// these are within the frame, in this order, and that there is room; nothing happens
    /// otherwise.
    #[inline(never)]
    pub(super) fn put_in_place(&mut self, at: usize, behind: usize, new: &[u8]) {
        let (end, to, all) = (self.length, at + new.len(), self.frame.len());
        // In the words of `copy_within`, so that the compiler has no panic to place.
        if at > behind || behind > end || end > all || to > all - (end - behind) {
            return;
        }
        self.frame.copy_within(behind..end, to);
        if let Some(place) = self.frame.get_mut(at..to) {
            place.copy_from_slice(new);
        }
        self.length = to + (end - behind);
    }

    /// Takes what follows the first `length` bytes off, if there is anything, and parses what the
    /// frame is now. Length fields of headers stay as they are, so they may then exceed the frame.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.parse_again();
    }
}
