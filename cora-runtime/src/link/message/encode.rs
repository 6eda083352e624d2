//! Messages to bytes.

use super::Message;
use crate::link::ring::{Producer, PushError, RingMemory};

impl Message<'_> {
    /// Pushes it onto a ring.
    ///
    /// # Errors
    /// Those of [`Producer::push`].
    // Whoever pushes a message has its fields at hand: were it put together in memory first, to be
    // read in pairs of words, the processor would wait until all that was written before has left,
    // the last message's lines among it.
    #[inline(always)]
    pub fn push<M: RingMemory>(&self, ring: &mut Producer<M>) -> Result<(), PushError> {
        match self.stamped() {
            Some((stamp, frame)) => ring.push_behind(self.kind(), &stamp.words(), frame),
            None => self.encode(|kind, parts| ring.push_apart(kind, parts)),
        }
    }

    /// Hands the encoding to `push`, in parts.
    #[inline(always)]
    pub fn encode<T>(&self, push: impl FnOnce(u16, &[&[u8]]) -> T) -> T {
        let kind = self.kind();
        match self {
            Self::Frame(stamp, frame) | Self::Punt(stamp, frame) | Self::Send(stamp, frame) => {
                push(kind, &[bytes_of(&stamp.words()).as_flattened(), frame])
            }
            Self::Begin => push(kind, &[]),
            Self::Withdraw(ticket) => push(kind, &[&ticket.to_le_bytes()]),
            Self::Offer { ticket, punts, group, keys } => {
                let length = (group.len() as u32).to_le_bytes();
                push(kind, &[&ticket.to_le_bytes(), &punts.to_le_bytes(), &length, group, keys])
            }
            Self::Transfer { ticket, entries } => {
                push(kind, &[&ticket.to_le_bytes(), &entries.to_le_bytes()])
            }
            Self::WireEnd(ns) | Self::Watch(ns) | Self::MakeRoom(ns) => {
                push(kind, &[&ns.to_le_bytes()])
            }
            Self::Recall(group) => push(kind, &[group]),
            Self::Ended(parked) => push(kind, &[&parked.bits().to_le_bytes()]),
            _ => self.encode_from_nic(push),
        }
    }

    /// The same of those that the NIC sends, some of which the host sends, too, but for those with
    /// [frames](Self::stamped). The NIC half has no code for others: what stands in their place is
    /// of no kind.
    #[inline(always)]
    pub fn encode_from_nic<T>(&self, push: impl FnOnce(u16, &[&[u8]]) -> T) -> T {
        let kind = self.kind();
        match self {
            Self::Release { punts, entries, group } => {
                push(kind, &[&punts.to_le_bytes(), &entries.to_le_bytes(), group])
            }
            Self::Entry(state, piece)
            | Self::Piece(state, piece)
            | Self::Erase(state, piece)
            | Self::Expired(state, piece)
            | Self::Removed(state, piece)
            | Self::Evicted(state, piece) => push(kind, &[&state.to_le_bytes(), piece]),
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
            _ => push(0, &[]),
        }
    }
}

fn bytes_of<const WORDS: usize>(words: &[u64; WORDS]) -> [[u8; 8]; WORDS] {
    words.map(u64::to_le_bytes)
}
