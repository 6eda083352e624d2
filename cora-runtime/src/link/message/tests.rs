//! Every message comes back as it was, and other bytes are refused.

use cora_core::packet::{Meta, Port};
use proptest::prelude::*;

use super::*;

const STAMP: Stamp = Stamp {
    meta: Meta { time: 1, now: 2, port: Port(1) },
    number: 3,
    horizon: 4,
    egress: Port(0),
    parked: Parked::NONE,
    missing: 0x1234,
};
/// Of a rest of five bytes in lot 7.
const PARKED: Parked = Parked::from_bits(7 | 5 << 16);

fn round_trip(message: Message<'_>) {
    let (kind, bytes) = message.encode(|kind, parts| (kind, parts.concat()));
    assert!(bytes.len() <= MAX_MESSAGE);
    assert_eq!(Message::decode(kind, &bytes), Some(message));
}

#[test]
fn every_message_round_trips() {
    let report = Report { packets: 1, busy_ns: 9, ring_records: 10, ..Report::default() };
    for message in [
        Message::Frame(STAMP, b"frame"),
        Message::WireEnd(7),
        Message::Punt(STAMP, b""),
        Message::Release { punts: 7, entries: 2, group: b"group" },
        Message::Entry(3, b"entry"),
        Message::Fence(4),
        Message::Decline(5),
        Message::Offer { ticket: 6, punts: 1, group: b"group", keys: &[9; 80] },
        Message::Transfer { ticket: 7, entries: 8 },
        Message::Withdraw(1),
        Message::Send(STAMP, b"frame"),
        Message::Send(Stamp { parked: PARKED, ..STAMP }, b"head"),
        Message::Ended(PARKED),
        Message::Drained(12),
        Message::Piece(2, b"piece"),
        Message::Outcome(5, b"not-ip"),
        Message::Report(report),
        Message::Begin,
        Message::Recall(b"group"),
        Message::MakeRoom(4_000_000),
        Message::Watch(9),
        Message::Copy { state: 3, group: b"group", piece: b"entry" },
        Message::Erase(3, b"key"),
        Message::Same { state: 3, used: 11, key: b"key" },
        Message::Owned(b"group"),
        Message::AllOwned(12),
        Message::Expired(3, b"entry"),
        Message::Expired(3, b""),
        Message::Removed(4, b"entry"),
        Message::Evicted(4, b"entry"),
        Message::Load(Load { time: 5, talkers: 9, ..Load::default() }),
        Message::Talker { count: 7, error: 1, group: b"group" },
    ] {
        round_trip(message);
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(kind in 0_u16..34, bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Some(message) = Message::decode(kind, &bytes) {
            prop_assert_eq!(message.kind(), kind);
        }
    }
}
