//! Reassembles frames from heads that the host returned and rests that a dead NIC left.

use crate::channel::ProtocolError;
use crate::link::message::{Frames, Message, Stamp};
use crate::link::payload::Parked;
use crate::link::ring::RingMemory;

/// Decodes a handled packet from `bytes`, a message of this kind, and makes its frame whole. The
/// rest of a head is read from `payloads`, the payload buffers of the dead NIC's region. The frame
/// is put together in `buffer`.
///
/// # Errors
/// If `bytes` are no handled packet, if its rest does not exist, or if the frame is longer than
/// `buffer`.
pub fn reassemble<'a, M: RingMemory>(
    kind: u16,
    bytes: &'a [u8],
    payloads: Option<&M>,
    buffer: &'a mut [u8],
) -> Result<Message<'a>, ProtocolError> {
    let Some(Message::Frames(Frames::Send { stamp, frame: head })) = Message::decode(kind, bytes)
    else {
        return Err(ProtocolError::undecodable(kind));
    };
    let parked = stamp.parked;
    if !parked.is_some() {
        return Ok(Message::Frames(Frames::Send { stamp, frame: head }));
    }
    let length = head.len() + parked.bytes();
    let frame = buffer.get_mut(..length).ok_or(ProtocolError::NothingParked)?;
    let (start, rest) = frame.split_at_mut(head.len());
    start.copy_from_slice(head);
    let is_there = payloads.is_some_and(|payloads| parked.read(payloads, rest));
    is_there.then_some(()).ok_or(ProtocolError::NothingParked)?;
    Ok(Message::Frames(Frames::Send { stamp: Stamp { parked: Parked::NONE, ..stamp }, frame }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use cora_core::packet::{Meta, Port};

    use super::*;
    use crate::link::message::Kind;
    use crate::link::payload::{BUFFER_BYTES, Parking as _, PayloadBuffers};
    use crate::link::ring::{CONTROL_WORDS, SharedMemory};

    /// The whole packet, encoded; the buffer has `room` bytes.
    fn whole(
        bytes: &[u8],
        payloads: Option<&SharedMemory>,
        room: usize,
    ) -> Result<Vec<u8>, ProtocolError> {
        let mut buffer = vec![0; room];
        let whole = reassemble(Kind::Send.number(), bytes, payloads, &mut buffer)?;
        Ok(whole.encode(|_, parts| parts.concat()))
    }

    fn done(parked: Parked, frame: &[u8]) -> Vec<u8> {
        let meta = Meta { time: 1, now: 2, port: Port::INSIDE, ..Meta::default() };
        let stamp =
            Stamp { meta, number: 3, horizon: 4, egress: Port::OUTSIDE, parked, missing: 9 };
        Message::Frames(Frames::Send { stamp, frame }).encode(|_, parts| parts.concat())
    }

    #[test]
    fn a_head_gets_the_rest_that_a_dead_nic_left() {
        let words = (0..CONTROL_WORDS + 2 * BUFFER_BYTES / 8).map(|_| AtomicU64::new(0));
        let memory = SharedMemory::new(words.collect::<Vec<_>>().leak()).expect("a power of two");
        let parked = PayloadBuffers::new(Some(memory)).park(b" and its rest");
        let head = done(parked, b"a head");
        let frame = done(Parked::NONE, b"a head and its rest");
        assert_eq!(whole(&head, Some(&memory), 100).as_ref(), Ok(&frame));
        assert_eq!(whole(&head, Some(&memory), 18), Err(ProtocolError::NothingParked));
        // A whole frame stays as it is.
        assert_eq!(whole(&frame, None, 0), Ok(frame));
    }

    #[test]
    fn a_head_without_its_rest_is_refused() {
        let words = (0..CONTROL_WORDS + 4 * BUFFER_BYTES / 8).map(|_| AtomicU64::new(0));
        let large = SharedMemory::new(words.collect::<Vec<_>>().leak());
        // The last payload buffer is taken first.
        let last = PayloadBuffers::new(large).park(b"rest");
        let words = (0..CONTROL_WORDS + BUFFER_BYTES / 8).map(|_| AtomicU64::new(0));
        let small = SharedMemory::new(words.collect::<Vec<_>>().leak());
        for payloads in [None, small] {
            let refused = whole(&done(last, b"head"), payloads.as_ref(), 100);
            assert_eq!(refused, Err(ProtocolError::NothingParked));
        }
        let refused =
            reassemble(Kind::Punt.number(), &done(last, b"head"), small.as_ref(), &mut []).err();
        assert_eq!(refused, Some(ProtocolError::Undecodable(Kind::Punt)));
    }
}
