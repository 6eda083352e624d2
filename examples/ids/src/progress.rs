//! The progress of the scan of one direction: a part of the connection's small entry.

use super::*;
use crate::automaton::Start;
use crate::head::DEPTH;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub(crate) enum Stage {
    /// The first sequence number is unknown.
    Unseen,
    Open,
    /// The whole beginning was scanned.
    Over,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Plain)]
pub(crate) struct Progress {
    stage: Stage,
    /// Whether there may be a buffer.
    has_head: bool,
    /// The version of the signatures for the scan so far.
    judged: Generation,
    /// The sequence number of the first byte.
    pub(crate) start: u32,
    /// Number of bytes that were scanned, all before the first gap.
    pub(crate) scanned: u16,
    /// Number of bytes among them that the receiver has acknowledged.
    acked: u16,
    /// The automaton's node after them.
    node: u16,
}

/// Bytes of a segment, and their offset in the stream.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) at: usize,
    pub(crate) bytes: &'a [u8],
}

impl Progress {
    /// A stream without a SYN so far.
    pub(crate) const UNSEEN: Self = Self {
        stage: Stage::Unseen,
        has_head: false,
        judged: Generation::new(0),
        start: 0,
        scanned: 0,
        acked: 0,
        node: 0,
    };

    /// A stream from this sequence number on.
    pub(crate) const fn at(start: u32) -> Self {
        Self { stage: Stage::Open, start, ..Self::UNSEEN }
    }

    pub(crate) fn hold(&mut self) {
        self.has_head = true;
    }

    /// Whether there may be a buffer to remove.
    pub(crate) fn release(&mut self, is_done: bool) -> bool {
        let is_done = is_done || self.stage == Stage::Over;
        is_done && core::mem::take(&mut self.has_head)
    }

    /// Whether the receiver has acknowledged all bytes of the buffer.
    pub(crate) fn has_arrived(&self) -> bool {
        !self.has_head || self.acked == self.scanned
    }

    /// Updates the sequence numbers for a segment of this direction, which acknowledges bytes of
    /// the other one.
    pub(crate) fn follow(&mut self, tcp: &TcpHeader, other: &mut Self) {
        let is_first = self.stage == Stage::Unseen;
        if tcp.flags.syn() && is_first {
            *self = Self::at(tcp.seq.wrapping_add(1));
        }
        if !tcp.flags.ack() || other.stage == Stage::Unseen {
            return;
        }
        let arrived = tcp.ack.wrapping_sub(other.start);
        let scanned = u32::from(other.scanned);
        // If there were SYNs with several numbers, the SYN-ACK tells the right one.
        if tcp.flags.syn() && is_first && arrived > scanned {
            *other = Self { has_head: other.has_head, ..Self::at(tcp.ack) };
        } else if arrived <= scanned + 1 {
            // A FIN takes a sequence number, too.
            other.acked = other.acked.max(arrived.min(scanned) as u16);
        }
    }

    /// The bytes of a packet that belong to the beginning and were not acknowledged.
    pub(crate) fn part<'a>(&self, packet: &'a Packet) -> Option<Part<'a>> {
        if self.stage != Stage::Open || packet.payload().is_empty() {
            return None;
        }
        let place = packet.tcp().map_or(0, |tcp| {
            let first = tcp.seq.wrapping_add(u32::from(tcp.flags.syn()));
            // Sequence numbers wrap: up to 2 GiB before the start, or after it.
            i64::from(first.wrapping_sub(self.start).cast_signed())
        });
        let known = (i64::from(self.acked) - place).max(0);
        let at = usize::try_from(place + known).ok().filter(|at| *at < DEPTH)?;
        let bytes = packet.payload().get(usize::try_from(known).ok()?..)?;
        let bytes = bytes.get(..DEPTH - at).unwrap_or(bytes);
        (!bytes.is_empty()).then_some(Part { at, bytes })
    }

    /// Scans the first datagram of the direction.
    pub(crate) fn datagram(
        &mut self,
        part: Part<'_>,
        signatures: &Signatures,
        of: Traffic,
    ) -> Found {
        let found = self.scan(signatures, Chunk { at: 0, bytes: part.bytes }, of);
        self.stage = Stage::Over;
        found
    }

    /// Scans a part without a buffer, if there is no gap before it.
    pub(crate) fn straight(
        &mut self,
        part: Part<'_>,
        signatures: &Signatures,
        of: Traffic,
    ) -> Option<Found> {
        let at = usize::from(self.scanned);
        let bytes = part.bytes.get(at.checked_sub(part.at)?..)?;
        (!bytes.is_empty()).then(|| self.scan(signatures, Chunk { at, bytes }, of))
    }

    /// Scans the bytes after those that were scanned; with another version of the signatures, the
    /// whole chunk.
    pub(crate) fn scan(&mut self, signatures: &Signatures, chunk: Chunk<'_>, of: Traffic) -> Found {
        let start = if self.judged == signatures.generation() {
            let known = usize::from(self.scanned).saturating_sub(chunk.at);
            Start { node: self.node, known }
        } else {
            Start { node: 0, known: 0 }
        };
        let (node, found) = signatures.scan(start, chunk, of);
        (self.node, self.judged) = (node, signatures.generation());
        self.scanned = (chunk.at + chunk.bytes.len()) as u16;
        if usize::from(self.scanned) >= DEPTH {
            self.stage = Stage::Over;
        }
        found
    }
}
