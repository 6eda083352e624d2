//! Inserts, removes and resizes headers: tunnels, tags, translation between IP versions.
//!
//! The bytes behind the change move, and the frame is parsed again: old offsets are invalid. A
//! frame grows into its tailroom ([`ROOM`](super::ROOM)), which is the same under every plan. A
//! rollback restores the old length.

use super::Packet;
use crate::packet::MAX_FRAME;
use crate::verdict::Reason;
use crate::verdict::reasons::{TooLong, Truncated};

/// The frame may grow no further: it would exceed its original length by more than
/// [`ROOM`](super::ROOM) bytes.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NoRoom)`")]
pub const NoRoom: Reason = Reason::new("no-room");

impl Packet<'_> {
    /// Replaces the `old` bytes at `at`, counted from the start of the frame, by `new`, and parses
    /// the result. It updates no checksum and no length field: the new bytes must be correct.
    ///
    /// Refused with the reason `truncated` if these bytes are not all within the frame, [`NoRoom`]
    /// if the frame would exceed its tailroom, `too-long` if it would exceed the maximum frame
    /// length. The packet is then unchanged.
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

    /// Replaces the bytes from `at` to `behind` by `new`. The caller has checked that these are
    /// within the frame, in this order, and that there is enough tailroom; otherwise nothing
    /// happens.
    #[inline(never)]
    pub(super) fn put_in_place(&mut self, at: usize, behind: usize, new: &[u8]) {
        let (end, to, all) = (self.length, at + new.len(), self.frame.len());
        // The conditions of `copy_within`, so that the compiler emits no panic.
        if at > behind || behind > end || end > all || to > all - (end - behind) {
            return;
        }
        self.frame.copy_within(behind..end, to);
        if let Some(place) = self.frame.get_mut(at..to) {
            place.copy_from_slice(new);
        }
        self.length = to + (end - behind);
    }

    /// Removes all bytes after the first `length`, and parses the result. Length fields of headers
    /// stay as they are, so they may then exceed the frame.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.parse_again();
    }
}
