//! Frames whose heads came back from the host, and whose rests were at a NIC that ended.

use crate::channel::ProtocolError;
use crate::link::message::{Message, Stamp};
use crate::link::region::Parked;
use crate::link::ring::RingMemory;

/// A packet that is done, whole: if it is a head, the rest of its frame is in the lots of that
/// NIC's region, and the frame is put together in `buffer`. `bytes` are those of the message, of
/// this kind.
///
/// # Errors
/// When they are no packet that is done, or its rest is nowhere, or the frame is longer than
/// `buffer`.
pub fn reassemble<'a, M: RingMemory>(
    kind: u16,
    bytes: &'a [u8],
    lots: Option<&M>,
    buffer: &'a mut [u8],
) -> Result<Message<'a>, ProtocolError> {
    let Some(Message::Send(stamp, head)) = Message::decode(kind, bytes) else {
        return Err(ProtocolError::Undecodable(kind));
    };
    let parked = stamp.parked;
    if !parked.is_some() {
        return Ok(Message::Send(stamp, head));
    }
    let length = head.len() + parked.bytes();
    let frame = buffer.get_mut(..length).ok_or(ProtocolError::NothingParked)?;
    let (start, rest) = frame.split_at_mut(head.len());
    start.copy_from_slice(head);
    let is_there = lots.is_some_and(|lots| parked.read(lots, rest));
    is_there.then_some(()).ok_or(ProtocolError::NothingParked)?;
    Ok(Message::Send(Stamp { parked: Parked::NONE, ..stamp }, frame))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use cora_core::packet::{Meta, Port};

    use super::*;
    use crate::link::region::{LOT_BYTES, Lots, Parking as _};
    use crate::link::ring::{CONTROL_WORDS, SharedMemory};

    /// The whole packet, encoded, in a buffer of so many bytes.
    fn whole(
        bytes: &[u8],
        lots: Option<&SharedMemory>,
        room: usize,
    ) -> Result<Vec<u8>, ProtocolError> {
        let mut buffer = vec![0; room];
        let whole = reassemble(Message::SEND, bytes, lots, &mut buffer)?;
        Ok(whole.encode(|_, parts| parts.concat()))
    }

    fn done(parked: Parked, frame: &[u8]) -> Vec<u8> {
        let meta = Meta { time: 1, now: 2, port: Port::INSIDE };
        let stamp =
            Stamp { meta, number: 3, horizon: 4, egress: Port::OUTSIDE, parked, missing: 9 };
        Message::Send(stamp, frame).encode(|_, parts| parts.concat())
    }

    #[test]
    fn a_head_gets_the_rest_that_a_dead_nic_left() {
        let words = (0..CONTROL_WORDS + 2 * LOT_BYTES / 8).map(|_| AtomicU64::new(0));
        let memory = SharedMemory::new(words.collect::<Vec<_>>().leak()).expect("a power of two");
        let parked = Lots::new(Some(memory)).park(b" and its rest");
        let head = done(parked, b"a head");
        let frame = done(Parked::NONE, b"a head and its rest");
        assert_eq!(whole(&head, Some(&memory), 100).as_ref(), Ok(&frame));
        assert_eq!(whole(&head, Some(&memory), 18), Err(ProtocolError::NothingParked));
        // What is whole stays as it is.
        assert_eq!(whole(&frame, None, 0), Ok(frame));
    }

    #[test]
    fn a_head_without_its_rest_is_refused() {
        let words = (0..CONTROL_WORDS + 4 * LOT_BYTES / 8).map(|_| AtomicU64::new(0));
        let large = SharedMemory::new(words.collect::<Vec<_>>().leak());
        // The last lot is taken first.
        let last = Lots::new(large).park(b"rest");
        let words = (0..CONTROL_WORDS + LOT_BYTES / 8).map(|_| AtomicU64::new(0));
        let small = SharedMemory::new(words.collect::<Vec<_>>().leak());
        for lots in [None, small] {
            let refused = whole(&done(last, b"head"), lots.as_ref(), 100);
            assert_eq!(refused, Err(ProtocolError::NothingParked));
        }
        let refused =
            reassemble(Message::PUNT, &done(last, b"head"), small.as_ref(), &mut []).err();
        assert_eq!(refused, Some(ProtocolError::Undecodable(Message::PUNT)));
    }
}
