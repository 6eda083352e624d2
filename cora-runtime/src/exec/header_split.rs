//! Long frames go to the host as their heads: the NIC's part.
//!
//! Where no handler reads more of a packet than its headers, the rest of a long frame stays at the
//! NIC until its head comes back, or the host says that the packet ended.

use cora_core::app::App;
use cora_core::packet::{HEAD, is_told_by_head};

use crate::channel::ProtocolError;
use crate::exec::Wire;
use crate::link::message::{Message, Stamp};
use crate::link::region::{LOT_BYTES, Parked, Parking};
use crate::nic_half::NicHalf;

/// Bytes of a frame from which on its head goes alone: a shorter one is copied sooner than its rest
/// is parked.
pub const LONG: usize = 512;

/// Bytes of a frame that wait at the NIC while its head is with the host, where no handler reads
/// more than headers and a lot is free: none of a frame that goes whole.
pub fn rest_of(frame: &[u8]) -> usize {
    let fits = (LONG..=HEAD + LOT_BYTES).contains(&frame.len());
    if fits && is_told_by_head(frame) { frame.len() - HEAD } else { 0 }
}

impl<A: App> NicHalf<A> {
    /// A packet for the host: where its handlers read no more than headers, of a long frame the
    /// head.
    #[inline(always)]
    pub(crate) fn punt<'f>(stamp: &Stamp, frame: &'f [u8], io: &mut impl Wire) -> Message<'f> {
        if const { A::HEADS }
            && frame.len() >= LONG
            && let Some((parked, head)) = behead(frame, io.lots())
        {
            return Message::Punt(Stamp { parked, ..*stamp }, head);
        }
        Message::Punt(*stamp, frame)
    }

    /// A packet whose head was with the host leaves, whole.
    #[inline(never)]
    pub(crate) fn complete(
        &mut self,
        stamp: &Stamp,
        head: &[u8],
        io: &mut impl Wire,
    ) -> Result<(), ProtocolError> {
        // No packet is under way here: there is nothing to be put back.
        let whole = zerocopy::IntoBytes::as_mut_bytes(&mut *self.original);
        let length = head.len() + stamp.parked.bytes();
        let (Some(frame), Some(lots)) = (whole.get_mut(..length), io.lots()) else {
            return Err(ProtocolError::NothingParked);
        };
        let (front, rest) = frame.split_at_mut_checked(head.len()).unwrap_or_default();
        if !lots.take(stamp.parked, rest) {
            return Err(ProtocolError::NothingParked);
        }
        front.copy_from_slice(head);
        io.transmit(&Stamp { parked: Parked::NONE, ..*stamp }, frame);
        Ok(())
    }
}

/// The head of a frame, and where the rest was put; not of one that has to go whole.
#[inline(never)]
fn behead<'f>(frame: &'f [u8], lots: Option<&mut dyn Parking>) -> Option<(Parked, &'f [u8])> {
    let (head, rest) = frame.split_at_checked(HEAD)?;
    let parked = lots.filter(|_| is_told_by_head(frame))?.park(rest);
    parked.is_some().then_some((parked, head))
}

/// Nobody wants the rest of a frame any more.
pub(crate) fn forget(parked: Parked, io: &mut impl Wire) -> Result<(), ProtocolError> {
    let was_there = io.lots().is_some_and(|lots| lots.free(parked));
    was_there.then_some(()).ok_or(ProtocolError::NothingParked)
}
