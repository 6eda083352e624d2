//! What travels on the rings.
//!
//! | ring | messages |
//! | --- | --- |
//! | wire in, host → NIC | `Frame`, `WireEnd` |
//! | wire out, NIC → host | `Frame` |
//! | punt, NIC → host | `Owned`… + `AllOwned` (to a new host), `Punt`, `Release` + `Entry` or `Same`…, `Copy`, `Erase`, `Fence`, `Decline`, `Load` + `Talker`…, `Drained`, then `Piece`…, `Outcome`…, `Report` |
//! | back, host → NIC | `Piece`… (configuration), `Begin`, `Send`, `Offer`, `Transfer` + `Entry`…, `Recall`, `Watch`, `Drained` |
//!
//! A message is decoded from a private copy; what does not decode is the peer's fault and ends the
//! run with an error.

use crate::monitor::Load;
use crate::packet::{Meta, Port};
use crate::verdict::Reason;

/// Longest frame that the rings carry, in bytes. Longer ones are dropped by name at the wire.
pub const MAX_FRAME: usize = 65_549;

/// Bytes that a message needs beside its frame or piece, at most.
pub const MAX_HEAD: usize = 512;

/// Bytes of buffer that hold every message.
pub const MAX_MESSAGE: usize = MAX_FRAME + MAX_HEAD;

/// Keys of a flow that an offer may announce.
pub const MAX_KEYS: usize = 8;

/// What accompanies a frame everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The packet's own time and port, and the run's time.
    pub meta: Meta,
    /// The packet's number in the order of arrival.
    pub number: u64,
    /// No later packet on this way is older (ns of run time): see [`Visit`](crate::state::Visit).
    pub horizon: u64,
    /// Where it leaves; meaningless before a verdict.
    pub egress: Port,
}

impl Stamp {
    /// Whole words, so that the frame behind it is moved by words, too.
    const BYTES: usize = 40;

    fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.meta.time.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.meta.now.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.horizon.to_le_bytes());
        bytes[32] = self.meta.port.0;
        bytes[33] = self.egress.0;
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<{ Self::BYTES }>()?;
        let meta = Meta { time: word(head, 0)?, now: word(head, 8)?, port: Port(head[32]) };
        let (number, horizon) = (word(head, 16)?, word(head, 24)?);
        Some((Self { meta, number, horizon, egress: Port(head[33]) }, rest))
    }
}

/// What one side counted, told at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets whose handlers ran to their end here.
    pub packets: u64,
    /// Packets taken back and sent to the host after a handler began here.
    pub punts: u64,
    /// Packets of flows that the host owns, passed on.
    pub passed_on: u64,
    /// Flows owned here at the end.
    pub flows: u64,
    /// Flows that came to be owned here.
    pub offloads: u64,
    /// Offers that did not become offloads: no room, or the flow changed meanwhile.
    pub declined: u64,
    /// Packets held while their flow moved.
    pub held: u64,
    /// Flows that went back to the host.
    pub released: u64,
    /// Bytes of entries sent to the other side.
    pub moved_bytes: u64,
    /// Nanoseconds spent with packets, not waiting.
    pub busy_ns: u64,
    /// Records on the rings between the sides, both ways.
    pub ring_records: u64,
}

impl Report {
    pub(crate) const WORDS: usize = 11;

    pub(crate) const fn words(&self) -> [u64; Self::WORDS] {
        [
            self.packets,
            self.punts,
            self.passed_on,
            self.flows,
            self.offloads,
            self.declined,
            self.held,
            self.released,
            self.moved_bytes,
            self.busy_ns,
            self.ring_records,
        ]
    }

    pub(crate) const fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [packets, punts, passed_on, flows, offloads, declined, held, ..] = words;
        let [.., released, moved_bytes, busy_ns, ring_records] = words;
        Self {
            packets,
            punts,
            passed_on,
            flows,
            offloads,
            declined,
            held,
            released,
            moved_bytes,
            busy_ns,
            ring_records,
        }
    }
}

/// A message, its variable part borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A frame on the wire.
    Frame(Stamp, &'a [u8]),
    /// The wire has no more frames; the time of its last one, which may have come to another NIC core.
    WireEnd(u64),
    /// A packet for the host to handle.
    Punt(Stamp, &'a [u8]),
    /// The NIC gives up a flow: this many entries follow.
    Release {
        /// How many punts the flow has had, this one included.
        punts: u32,
        /// Entries that follow.
        entries: u32,
        /// The flow's group key, encoded.
        group: &'a [u8],
    },
    /// An entry of the flow that the latest `Release` or `Transfer` is about; without bytes, if it expired meanwhile.
    Entry(u16, &'a [u8]),
    /// All packets of the offered flow that came before stand before this on the ring.
    Fence(u32),
    /// The NIC does not take the offered flow.
    Decline(u32),
    /// The host offers a flow to the NIC: its group key, encoded, and further keys that find it.
    Offer {
        /// What the answers refer to.
        ticket: u32,
        /// How many punts the flow has had.
        punts: u32,
        /// The group key, encoded.
        group: &'a [u8],
        /// Words of the keys that find the flow, eight bytes each, five to a key.
        keys: &'a [u8],
    },
    /// The host hands the offered flow over: this many entries follow.
    Transfer {
        /// The offer's ticket.
        ticket: u32,
        /// Entries that follow.
        entries: u32,
    },
    /// The host keeps the offered flow: it changed meanwhile.
    Withdraw(u32),
    /// A packet that the host handled, for the wire.
    Send(Stamp, &'a [u8]),
    /// Nothing of this side is on its way any more.
    Drained(u64),
    /// Part of a state: configuration at the start, contents at the end.
    Piece(u16, &'a [u8]),
    /// A count of outcomes of one name.
    Outcome(u64, &'a [u8]),
    /// What the NIC counted.
    Report(Report),
    /// The host is ready: the NIC may read the wire.
    Begin,
    /// The host wants a flow back: its group key, encoded. The NIC answers with `Release` if it owns the flow, and
    /// not at all otherwise.
    Recall(&'a [u8]),
    /// The NIC should tell its load every so many nanoseconds of its clock.
    Watch(u64),
    /// What the NIC has seen and done so far: so many `Talker` follow.
    Load(Load),
    /// One of the flows with most packets at the NIC.
    Talker {
        /// Its sampled packets, at most.
        count: u32,
        /// By how many that may be too high.
        error: u32,
        /// Its group key, encoded.
        group: &'a [u8],
    },
    /// An entry of a durable state that the NIC owns is this now.
    Copy {
        /// The state's number.
        state: u16,
        /// The group key of its flow, encoded.
        group: &'a [u8],
        /// The whole entry.
        piece: &'a [u8],
    },
    /// A durable entry that the NIC owned is no more: its state and key.
    Erase(u16, &'a [u8]),
    /// In place of `Entry`: the durable entry is as its copy says.
    Same {
        /// The state's number.
        state: u16,
        /// When a packet last found it.
        used: u64,
        /// Its key, encoded.
        key: &'a [u8],
    },
    /// To a host that was started anew: the NIC owns the flow with this group key.
    Owned(&'a [u8]),
    /// It owns none beside those, so many in all.
    AllOwned(u64),
}

impl Message<'_> {
    /// The kind of [`Self::Frame`].
    pub const FRAME: u16 = 1;
    /// The kind of [`Self::WireEnd`].
    pub const WIRE_END: u16 = 2;
    /// The kind of [`Self::Punt`].
    pub const PUNT: u16 = 3;
    /// The kind of [`Self::Send`].
    pub const SEND: u16 = 11;

    /// The kind in the record's header.
    #[must_use]
    pub const fn kind(&self) -> u16 {
        match self {
            Self::Frame(..) => 1,
            Self::WireEnd(_) => 2,
            Self::Punt(..) => 3,
            Self::Release { .. } => 4,
            Self::Entry(..) => 5,
            Self::Fence(_) => 6,
            Self::Decline(_) => 7,
            Self::Offer { .. } => 8,
            Self::Transfer { .. } => 9,
            Self::Withdraw(_) => 10,
            Self::Send(..) => 11,
            Self::Drained(_) => 12,
            Self::Piece(..) => 13,
            Self::Outcome(..) => 14,
            Self::Report(_) => 15,
            Self::Begin => 16,
            Self::Recall(_) => 17,
            Self::Load(_) => 18,
            Self::Talker { .. } => 19,
            Self::Watch(_) => 20,
            Self::Copy { .. } => 24,
            Self::Erase(..) => 25,
            Self::Same { .. } => 26,
            Self::Owned(_) => 27,
            Self::AllOwned(_) => 28,
        }
    }

    /// Reads a message that is a frame with its stamp, so that handlers can change it where it is;
    /// `None` for every other.
    #[inline]
    pub fn decode_frame(kind: u16, bytes: &mut [u8]) -> Option<(Stamp, &mut [u8])> {
        if !matches!(kind, 1 | 3 | 11) {
            return None;
        }
        let (head, frame) = bytes.split_at_mut_checked(Stamp::BYTES)?;
        let (stamp, _) = Stamp::decode(head)?;
        (frame.len() <= MAX_FRAME).then_some((stamp, frame))
    }

    /// Hands the encoding to `push`, in parts.
    pub fn encode<T>(&self, push: impl FnOnce(u16, &[&[u8]]) -> T) -> T {
        let kind = self.kind();
        match self {
            Self::Send(stamp, frame) => push(kind, &[&stamp.encode(), frame]),
            Self::Begin => push(kind, &[]),
            Self::Withdraw(ticket) => push(kind, &[&ticket.to_le_bytes()]),
            Self::Offer { ticket, punts, group, keys } => {
                let length = (group.len() as u32).to_le_bytes();
                push(kind, &[&ticket.to_le_bytes(), &punts.to_le_bytes(), &length, group, keys])
            }
            Self::Transfer { ticket, entries } => {
                push(kind, &[&ticket.to_le_bytes(), &entries.to_le_bytes()])
            }
            Self::WireEnd(now) | Self::Watch(now) => push(kind, &[&now.to_le_bytes()]),
            Self::Recall(group) => push(kind, &[group]),
            _ => self.encode_from_nic(push),
        }
    }

    /// The same of those that the NIC sends, some of which the host sends, too. The NIC half has no code for others;
    /// nothing stands in their place.
    pub fn encode_from_nic<T>(&self, push: impl FnOnce(u16, &[&[u8]]) -> T) -> T {
        let kind = self.kind();
        match self {
            Self::Frame(stamp, frame) | Self::Punt(stamp, frame) => {
                push(kind, &[&stamp.encode(), frame])
            }
            Self::Release { punts, entries, group } => {
                push(kind, &[&punts.to_le_bytes(), &entries.to_le_bytes(), group])
            }
            Self::Entry(state, piece) | Self::Piece(state, piece) | Self::Erase(state, piece) => {
                push(kind, &[&state.to_le_bytes(), piece])
            }
            Self::Fence(ticket) | Self::Decline(ticket) => push(kind, &[&ticket.to_le_bytes()]),
            Self::Drained(now) | Self::AllOwned(now) => push(kind, &[&now.to_le_bytes()]),
            Self::Outcome(count, name) => push(kind, &[&count.to_le_bytes(), name]),
            Self::Report(report) => push(kind, &[bytes_of(&report.words()).as_flattened()]),
            Self::Owned(group) => push(kind, &[group]),
            Self::Copy { state, group, piece } => {
                let length = (group.len() as u16).to_le_bytes();
                push(kind, &[&state.to_le_bytes(), &length, group, piece])
            }
            Self::Same { state, used, key } => {
                push(kind, &[&state.to_le_bytes(), &used.to_le_bytes(), key])
            }
            Self::Load(load) => push(kind, &[bytes_of(&load.words()).as_flattened()]),
            Self::Talker { count, error, group } => {
                push(kind, &[&count.to_le_bytes(), &error.to_le_bytes(), group])
            }
            _ => push(kind, &[]),
        }
    }
}

impl<'a> Message<'a> {
    /// Reads a message; `None` when the bytes are none of this kind.
    #[must_use]
    pub fn decode(kind: u16, bytes: &'a [u8]) -> Option<Self> {
        match kind {
            2 | 5 | 8..=13 | 16 | 17 | 20 => Self::decode_from_host(kind, bytes),
            _ => Self::decode_from_nic(kind, bytes),
        }
    }

    /// Those that the host sends, some of which the NIC sends, too. The NIC half reads no others, and has no code for
    /// them.
    #[must_use]
    pub fn decode_from_host(kind: u16, bytes: &'a [u8]) -> Option<Self> {
        Some(match kind {
            2 => Self::WireEnd(word(bytes, 0)?),
            5 => Self::Entry(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            8 => {
                let split = 12 + half(bytes, 8)? as usize;
                let (group, keys) = (bytes.get(12..split)?, bytes.get(split..)?);
                if keys.len() % 40 != 0 || keys.len() > 40 * MAX_KEYS {
                    return None;
                }
                Self::Offer { ticket: half(bytes, 0)?, punts: half(bytes, 4)?, group, keys }
            }
            9 => Self::Transfer { ticket: half(bytes, 0)?, entries: half(bytes, 4)? },
            10 => Self::Withdraw(half(bytes, 0)?),
            11 => Stamp::decode(bytes).map(|(stamp, frame)| Self::Send(stamp, frame))?,
            12 => Self::Drained(word(bytes, 0)?),
            13 => Self::Piece(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            16 if bytes.is_empty() => Self::Begin,
            17 => Self::Recall(bytes),
            20 => Self::Watch(word(bytes, 0)?),
            _ => return None,
        })
    }

    /// Those that only the NIC sends, and frames on the wire.
    fn decode_from_nic(kind: u16, bytes: &'a [u8]) -> Option<Self> {
        Some(match kind {
            1 => Stamp::decode(bytes).map(|(stamp, frame)| Self::Frame(stamp, frame))?,
            3 => Stamp::decode(bytes).map(|(stamp, frame)| Self::Punt(stamp, frame))?,
            4 => Self::Release {
                punts: half(bytes, 0)?,
                entries: half(bytes, 4)?,
                group: bytes.get(8..)?,
            },
            6 => Self::Fence(half(bytes, 0)?),
            7 => Self::Decline(half(bytes, 0)?),
            14 if bytes.len() <= 8 + Reason::MAX_NAME => {
                Self::Outcome(word(bytes, 0)?, bytes.get(8..)?)
            }
            15 => Self::Report(Report::from_words(words_of(bytes)?)),
            18 => Self::Load(Load::from_words(words_of(bytes)?)),
            19 => Self::Talker {
                count: half(bytes, 0)?,
                error: half(bytes, 4)?,
                group: bytes.get(8..)?,
            },
            24 => {
                let (state, rest) = bytes.split_first_chunk()?;
                let (length, rest) = rest.split_first_chunk()?;
                let length = usize::from(u16::from_le_bytes(*length));
                let (group, piece) = rest.split_at_checked(length)?;
                Self::Copy { state: u16::from_le_bytes(*state), group, piece }
            }
            25 => Self::Erase(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            26 => Self::Same {
                state: u16::from_le_bytes(*bytes.first_chunk()?),
                used: word(bytes, 2)?,
                key: bytes.get(10..)?,
            },
            27 => Self::Owned(bytes),
            28 => Self::AllOwned(word(bytes, 0)?),
            _ => return None,
        })
    }
}

fn bytes_of<const WORDS: usize>(words: &[u64; WORDS]) -> [[u8; 8]; WORDS] {
    words.map(u64::to_le_bytes)
}

/// The first so many words.
fn words_of<const WORDS: usize>(bytes: &[u8]) -> Option<[u64; WORDS]> {
    let (encoded, _) = bytes.as_chunks::<8>();
    Some(encoded.first_chunk()?.map(u64::from_le_bytes))
}

/// The words of each key in an offer.
pub fn offered_keys(keys: &[u8]) -> impl Iterator<Item = [u64; 5]> + '_ {
    keys.chunks_exact(40).map(|key| {
        let mut words = [0; 5];
        for (place, bytes) in words.iter_mut().zip(key.as_chunks::<8>().0) {
            *place = u64::from_le_bytes(*bytes);
        }
        words
    })
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Only messages without a frame have such: one copy of it will do.
#[inline(never)]
fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp {
        meta: Meta { time: 1, now: 2, port: Port(1) },
        number: 3,
        horizon: 4,
        egress: Port(0),
    };

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
            Message::Drained(12),
            Message::Piece(2, b"piece"),
            Message::Outcome(5, b"not-ip"),
            Message::Report(report),
            Message::Begin,
            Message::Recall(b"group"),
            Message::Watch(9),
            Message::Copy { state: 3, group: b"group", piece: b"entry" },
            Message::Erase(3, b"key"),
            Message::Same { state: 3, used: 11, key: b"key" },
            Message::Owned(b"group"),
            Message::AllOwned(12),
            Message::Load(Load { time: 5, talkers: 9, ..Load::default() }),
            Message::Talker { count: 7, error: 1, group: b"group" },
        ] {
            round_trip(message);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(kind in 0_u16..32, bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(message) = Message::decode(kind, &bytes) {
                prop_assert_eq!(message.kind(), kind);
            }
        }
    }
}
