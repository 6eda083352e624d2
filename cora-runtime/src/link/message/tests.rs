//! Every message comes back as it was, and other bytes are refused.

use cora_core::bucket::{Bucket, End, Mark};
use cora_core::packet::{Meta, Port};
use proptest::prelude::*;

use super::*;
use crate::link::payload::Parked;

const MARK: Mark = Mark { bucket: Bucket::new(0xa5), end: End::Destination };

const STAMP: Stamp = Stamp {
    meta: Meta { time: 1, now: 2, port: Port(1), mark: MARK },
    number: 3,
    horizon: 4,
    egress: Port(0),
    parked: Parked::NONE,
    missing: 0x1234,
};
/// Of a rest of five bytes in payload buffer 7.
const PARKED: Parked = Parked::from_bits(7 | 5 << 16);

/// At least one message of each kind.
fn messages() -> Vec<Message<'static>> {
    let report = Report { packets: 1, busy_ns: 9, ring_records: 10, ..Report::default() };
    let load = Load { time: 5, talkers: 9, ..Load::default() };
    let frames = [
        Frames::Frame { stamp: STAMP, frame: b"frame" },
        Frames::WireEnd { now: 7 },
        Frames::Punt { stamp: STAMP, frame: b"" },
        Frames::Send { stamp: STAMP, frame: b"frame" },
        Frames::Send { stamp: Stamp { parked: PARKED, ..STAMP }, frame: b"head" },
        Frames::Ended { parked: PARKED },
        Frames::Handled { messages: 12 },
        Frames::Holds { messages: 1 },
    ];
    let ownership = [
        Ownership::Release { punts: 7, entries: 2, group: b"group" },
        Ownership::Entry { state: 3, piece: b"entry" },
        Ownership::Vanished {},
        Ownership::Fence { ticket: 4 },
        Ownership::Decline { ticket: 5 },
        Ownership::Offer { ticket: 6, punts: 1, keys: Keys(&[9; 80]), group: b"group" },
        Ownership::Offer { ticket: 6, punts: 1, keys: Keys(&[]), group: b"" },
        Ownership::Transfer { ticket: 7, entries: 8 },
        Ownership::Withdraw { ticket: 1 },
        Ownership::Recall { group: b"group" },
        Ownership::MakeRoom { idle: 4_000_000 },
        Ownership::Owned { group: b"group" },
        Ownership::AllOwned { flows: 12 },
    ];
    let durability = [
        Durability::Copy { state: 3, group: GroupKey(b"group"), piece: b"entry" },
        Durability::Erase { state: 3, key: b"key" },
        Durability::Same { state: 3, used: 11, key: b"key" },
    ];
    let records = [
        Records::Expired { state: 3, piece: b"entry" },
        Records::Removed { state: 4, piece: b"entry" },
        Records::Evicted { state: 4, piece: b"entry" },
        Records::Unkept { state: 4 },
    ];
    let hooks = [
        Hooks::Over { state: 3, piece: b"entry" },
        Hooks::Reached { now: 13 },
        Hooks::WakeAt { until: 14 },
    ];
    let merges = [
        Merges::Turn { ends: 5, follows: 1 },
        Merges::Part { state: 2, piece: b"piece" },
        Merges::Whole {},
    ];
    let deals = [
        Deals::Owns { buckets: &[7; 32] },
        Deals::Leaving { epoch: 1 << 40, now: 9, buckets: &[1; 32] },
        Deals::Coming { epoch: 1 << 40, now: 9, buckets: &[1; 32] },
        Deals::Stays { epoch: 1 << 40, buckets: &[1; 32] },
        Deals::Going { epoch: 2 },
        Deals::Moved { epoch: 2, bucket: 255, state: 3, piece: b"entry" },
        Deals::Waits { epoch: 2, end: 9, bucket: 255, state: 3, piece: b"entry" },
        Deals::Value { epoch: 2, state: 4, piece: b"piece" },
        Deals::Gone { epoch: 2 },
        Deals::Void { epoch: 2 },
        Deals::Arrived { epoch: 2 },
        Deals::Stray { stamp: STAMP, frame: b"frame" },
    ];
    let control = [
        Control::Begin {},
        Control::Drained { now: 12 },
        Control::Piece { state: 2, piece: b"piece" },
        Control::Change { version: 8 },
        Control::Changed { version: 8, pieces: 2 },
        Control::Shard { number: 1, of: 3, seed: 1 << 60 },
        Control::Quiet { wave: 1 << 40 },
    ];
    let telemetry = [
        Telemetry::Outcome { count: 5, name: Name(b"not-ip") },
        Telemetry::Report { report },
        Telemetry::Watch { every: 9 },
        Telemetry::Limit { tail: 50_000, round: 10_000, mean: u64::MAX },
        Telemetry::Pushed { classes: 1 << 40 | 3 },
        Telemetry::Load { load },
        Telemetry::Talker { count: 7, error: 1, group: b"group" },
    ];
    let questions = [
        Questions::List { at_nic: 1, state: 2, from: 3, places: 64 },
        Questions::Listed {
            state: 2,
            place: 3,
            flow: 4,
            stay: Stay::Packets { packets: 1, of: 2, punts: 3 },
            group: GroupKey(b"group"),
            piece: b"entry",
        },
        Questions::ListEnd { next: 67 },
        Questions::Remove { at_nic: 0, state: 2, name: b"name" },
        Questions::Answered { answer: Answer::InTransit },
        Questions::Move { to_nic: 1, group: b"group" },
        Questions::Tap { tap: 1, points: 15, every: 2, snap: 96, left: 100, filter: &[0; 21] },
        Questions::Tapped {
            tap: 1,
            stamp: STAMP,
            length: 60,
            missed: 3,
            passed: 4,
            at_nic: 1,
            point: 8,
            port: 1,
            outcome: Label(b"not-ip"),
            frame: b"frame",
        },
        Questions::TapEntry {
            tap: 1,
            number: 2,
            at_nic: 0,
            is_after: 1,
            state: 3,
            piece: b"entry",
        },
        Questions::Find { at_nic: 1, stamp: STAMP, frame: b"frame" },
        Questions::Export { at_nic: 0, state: 4 },
        Questions::Exported { state: 4, piece: b"piece" },
        Questions::Missed { packets: 7 },
    ];
    frames
        .into_iter()
        .map(Message::from)
        .chain(ownership.into_iter().map(Message::from))
        .chain(durability.into_iter().map(Message::from))
        .chain(records.into_iter().map(Message::from))
        .chain(hooks.into_iter().map(Message::from))
        .chain(merges.into_iter().map(Message::from))
        .chain(deals.into_iter().map(Message::from))
        .chain(control.into_iter().map(Message::from))
        .chain(telemetry.into_iter().map(Message::from))
        .chain(questions.into_iter().map(Message::from))
        .collect()
}

fn encoded(message: &Message<'_>) -> (u16, Vec<u8>) {
    message.encode(|kind, parts| (kind, parts.concat()))
}

#[test]
fn every_message_round_trips() {
    for message in messages() {
        let (kind, bytes) = encoded(&message);
        assert!(bytes.len() <= MAX_MESSAGE);
        assert_eq!(Kind::of(kind), Some(message.kind()));
        assert_eq!(Message::decode(kind, &bytes), Some(message));
        assert_eq!(Kind::is_of_deal(kind), matches!(message, Message::Deals(_)), "{message:?}");
    }
}

#[test]
fn every_kind_has_a_message_here_and_a_name_of_its_own() {
    for kind in Kind::ALL {
        let here = messages().iter().any(|message| message.kind() == *kind);
        assert!(here, "there is no `{}` here", kind.name());
        assert_eq!(Kind::of(kind.number()), Some(*kind));
        let same = |other: &&Kind| other.name() == kind.name() || other.number() == kind.number();
        assert_eq!(Kind::ALL.iter().filter(same).count(), 1, "{kind:?}");
        assert_eq!(kind.name(), format!("{kind:?}"));
    }
    assert_eq!(Kind::of(0), None, "a message that the NIC half has no code for is of no kind");
}

#[test]
fn each_half_has_code_for_its_own_messages() {
    let is_told = |message: &Message<'_>| {
        matches!(message, Message::Durability(_) | Message::Records(_))
            || matches!(message.kind(), Kind::Punt | Kind::Release | Kind::Fence | Kind::Report)
            || message.kind() == Kind::Over
    };
    for message in messages() {
        let (kind, bytes) = encoded(&message);
        let of_messages = Message::decode_of_messages(kind, &bytes);
        let at_nic = Message::decode_at_nic(kind, &bytes).or(of_messages);
        let for_host = message.encode_for_host(|kind, parts| (kind, parts.concat()));
        if matches!(message, Message::Deals(_)) {
            assert_eq!((at_nic, for_host.0), (None, 0), "{message:?} is for dealt programs alone");
        } else if is_told(&message) {
            assert_eq!(at_nic, None, "{message:?} is for the host");
            assert_eq!(for_host, (kind, bytes));
        } else {
            assert!(at_nic == Some(message) || for_host == (kind, bytes), "{message:?}");
        }
    }
}

#[test]
fn nothing_stands_behind_a_message_of_fixed_length() {
    for message in messages() {
        let (kind, mut bytes) = encoded(&message);
        bytes.push(0);
        assert_ne!(Message::decode(kind, &bytes), Some(message));
        if let Message::Control(Control::Begin {}) | Message::Telemetry(Telemetry::Load { .. }) =
            message
        {
            assert_eq!(Message::decode(kind, &bytes), None);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(
        kind in 0_u16..60, bytes in prop::collection::vec(any::<u8>(), 0..200)
    ) {
        if let Some(message) = Message::decode(kind, &bytes) {
            prop_assert_eq!(message.kind().number(), kind);
            prop_assert_eq!(encoded(&message), (kind, bytes));
        }
    }
}
