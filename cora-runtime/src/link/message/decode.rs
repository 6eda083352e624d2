//! Bytes to messages: whatever a kind does not allow is refused.

use cora_core::packet::{HEAD, MAX_FRAME, Roomy};
use cora_core::verdict::Reason;

use super::{MAX_KEYS, Message, Report, Stamp};
use crate::link::message::Load;
use crate::link::region::{LOT_BYTES, Parked};

impl Message<'_> {
    /// Reads a message that is a frame with its stamp, so that handlers can change it where it is;
    /// `None` for every other.
    #[inline]
    pub fn decode_frame(kind: u16, bytes: &mut [u8]) -> Option<(Stamp, &mut [u8])> {
        let (head, frame) = bytes.split_at_mut_checked(Stamp::BYTES)?;
        Some((stamp_of(kind, head, frame.len())?, frame))
    }

    /// Likewise, with the room behind the frame.
    #[inline]
    pub fn decode_roomy(kind: u16, bytes: Roomy<'_>) -> Option<(Stamp, Roomy<'_>)> {
        let (head, frame) = bytes.split_head::<{ Stamp::BYTES }>()?;
        Some((stamp_of(kind, head, frame.len())?, frame))
    }
}

/// The stamp before a frame of this length, if a message of this kind is a frame.
#[inline]
fn stamp_of(kind: u16, head: &[u8], length: usize) -> Option<Stamp> {
    let is_frame = matches!(kind, 1 | 3 | 11) && length <= MAX_FRAME;
    let (stamp, _) = is_frame.then(|| Stamp::decode(head))??;
    // What comes from the wire is whole.
    let may_be_head = kind != Message::FRAME && length == HEAD && stamp.parked.bytes() <= LOT_BYTES;
    (may_be_head || !stamp.parked.is_some()).then_some(stamp)
}

impl<'a> Message<'a> {
    /// Reads a message; `None` when the bytes are none of this kind.
    #[must_use]
    pub fn decode(kind: u16, bytes: &'a [u8]) -> Option<Self> {
        match kind {
            Self::SEND => {
                Self::decode_sent(kind, bytes).map(|(stamp, frame)| Self::Send(stamp, frame))
            }
            2 | 5 | 8..=10 | 12 | 13 | 16 | 17 | 20 | 31 | 32 => {
                Self::decode_from_host(kind, bytes)
            }
            _ => Self::decode_from_nic(kind, bytes),
        }
    }

    /// Reads a packet that the host sends to leave, as nearly all that it sends are; `None` for
    /// every other message.
    #[must_use]
    #[inline(always)]
    pub fn decode_sent(kind: u16, bytes: &'a [u8]) -> Option<(Stamp, &'a [u8])> {
        if kind == Self::SEND { Stamp::decode(bytes) } else { None }
    }

    /// Those that the host sends [beside packets](Self::decode_sent), some of which the NIC sends,
    /// too. The NIC half reads no others, and has no code for them.
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
            12 => Self::Drained(word(bytes, 0)?),
            13 => Self::Piece(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            16 if bytes.is_empty() => Self::Begin,
            17 => Self::Recall(bytes),
            20 => Self::Watch(word(bytes, 0)?),
            31 => Self::MakeRoom(word(bytes, 0)?),
            32 => Self::Ended(Parked::from_bits(half(bytes, 0)?)),
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
            29 => Self::Expired(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            30 => Self::Removed(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            33 => Self::Evicted(u16::from_le_bytes(*bytes.first_chunk()?), bytes.get(2..)?),
            _ => return None,
        })
    }
}

/// The first so many words.
#[inline]
pub(super) fn words_of<const WORDS: usize>(bytes: &[u8]) -> Option<[u64; WORDS]> {
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
