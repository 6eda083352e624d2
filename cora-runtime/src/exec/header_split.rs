//! Header split at the NIC: only the head of a long frame goes to the host.
//!
//! If no handler reads beyond the headers, the rest of a long frame stays in a payload buffer at
//! the NIC. It stays until the head comes back, or the host reports that the packet ended.

use cora_core::app::App;
use cora_core::packet::{HEAD, is_told_by_head};

use crate::channel::ProtocolError;
use crate::exec::Wire;
use crate::link::message::{Frames, Message, Stamp};
use crate::link::payload::{BUFFER_BYTES, Parked, Parking};

/// Shortest frame that is split, in bytes. A shorter frame is copied faster than its rest is
/// stored.
pub const LONG: usize = 512;

/// Bytes of a frame that stay at the NIC under header split, if a payload buffer is free; 0 for a
/// frame that goes whole.
pub fn rest_of(frame: &[u8]) -> usize {
    let fits = (LONG..=HEAD + BUFFER_BYTES).contains(&frame.len());
    if fits && is_told_by_head(frame) { frame.len() - HEAD } else { 0 }
}

/// The message that passes a packet to the host; under header split it has only the head of a long
/// frame.
#[inline(always)]
pub(crate) fn punt<'f, A: App>(
    stamp: &Stamp,
    frame: &'f [u8],
    wire: &mut impl Wire,
) -> Message<'f> {
    if const { A::HEADS }
        && frame.len() >= LONG
        && let Some((parked, head)) = behead(frame, wire.payloads())
    {
        return Message::Frames(Frames::Punt { stamp: Stamp { parked, ..*stamp }, frame: head });
    }
    Message::Frames(Frames::Punt { stamp: *stamp, frame })
}

/// Transmits the whole frame of a packet, joined in `buffer` from the head that the host returned
/// and the rest.
#[inline(never)]
pub(crate) fn complete(
    stamp: &Stamp,
    head: &[u8],
    buffer: &mut [u8],
    wire: &mut impl Wire,
) -> Result<(), ProtocolError> {
    let length = head.len() + stamp.parked.bytes();
    let (Some(frame), Some(payloads)) = (buffer.get_mut(..length), wire.payloads()) else {
        return Err(ProtocolError::NothingParked);
    };
    let (front, rest) = frame.split_at_mut_checked(head.len()).unwrap_or_default();
    if !payloads.take(stamp.parked, rest) {
        return Err(ProtocolError::NothingParked);
    }
    front.copy_from_slice(head);
    wire.relay(&Stamp { parked: Parked::NONE, ..*stamp }, frame);
    Ok(())
}

/// Splits a frame into its head and the handle of its rest. `None`: the frame has to go whole.
#[inline(never)]
fn behead<'f>(frame: &'f [u8], payloads: Option<&mut dyn Parking>) -> Option<(Parked, &'f [u8])> {
    let (head, rest) = frame.split_at_checked(HEAD)?;
    let parked = payloads.filter(|_| is_told_by_head(frame))?.park(rest);
    parked.is_some().then_some((parked, head))
}

/// Frees the rest of a frame that ended at the host.
pub(crate) fn forget(parked: Parked, wire: &mut impl Wire) -> Result<(), ProtocolError> {
    let was_there = wire.payloads().is_some_and(|payloads| payloads.free(parked));
    was_there.then_some(()).ok_or(ProtocolError::NothingParked)
}
