//! Heads of frames whose rests were at a NIC that ended.

use cora_core::message::{Message, Stamp};
use cora_core::migration::ProtocolError;
use cora_core::region::Parked;
use cora_core::ring::RingMemory;

/// Makes a packet that is done whole, if it is a head: the rest of its frame is in the lots of that NIC's region. `bytes` are
/// those of the message, of this kind.
///
/// # Errors
/// When they are no packet that is done, or its rest is nowhere.
pub fn complete<M: RingMemory>(
    kind: u16,
    bytes: &mut Vec<u8>,
    lots: Option<&M>,
) -> Result<(), ProtocolError> {
    let Some(Message::Send(stamp, head)) = Message::decode(kind, bytes) else {
        return Err(ProtocolError::Undecodable(kind));
    };
    if !stamp.parked.is_some() {
        return Ok(());
    }
    let mut frame = head.to_vec();
    frame.resize(head.len() + stamp.parked.bytes(), 0);
    let is_there = lots.is_some_and(|lots| stamp.parked.read(lots, &mut frame[head.len()..]));
    is_there.then_some(()).ok_or(ProtocolError::NothingParked)?;
    let whole = Message::Send(Stamp { parked: Parked::NONE, ..stamp }, &frame);
    *bytes = whole.encode(|_, parts| parts.concat());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use cora_core::packet::{Meta, Port};
    use cora_core::region::{LOT_BYTES, Lots, Parking as _};
    use cora_core::ring::{CONTROL_WORDS, SharedMemory};

    use super::*;

    fn done(parked: Parked, frame: &[u8]) -> Vec<u8> {
        let meta = Meta { time: 1, now: 2, port: Port::INSIDE };
        let stamp = Stamp { meta, number: 3, horizon: 4, egress: Port::OUTSIDE, parked };
        Message::Send(stamp, frame).encode(|_, parts| parts.concat())
    }

    #[test]
    fn a_head_gets_the_rest_that_a_dead_nic_left() {
        let words = (0..CONTROL_WORDS + 2 * LOT_BYTES / 8).map(|_| AtomicU64::new(0));
        let memory = SharedMemory::new(words.collect::<Vec<_>>().leak()).expect("a power of two");
        let parked = Lots::new(Some(memory)).park(b" and its rest");
        let mut bytes = done(parked, b"a head");
        complete(Message::SEND, &mut bytes, Some(&memory)).expect("the rest is there");
        assert_eq!(bytes, done(Parked::NONE, b"a head and its rest"));
        // What is whole stays as it is.
        let whole = bytes.clone();
        complete(Message::SEND, &mut bytes, None::<&SharedMemory>).expect("nothing is lacking");
        assert_eq!(bytes, whole);
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
            let refused = complete(Message::SEND, &mut done(last, b"head"), lots.as_ref());
            assert_eq!(refused, Err(ProtocolError::NothingParked));
        }
        let refused = complete(Message::PUNT, &mut done(last, b"head"), small.as_ref());
        assert_eq!(refused, Err(ProtocolError::Undecodable(Message::PUNT)));
    }
}
