//! The wire's end of a region: frames are fed in at the NIC from a cable, and what leaves there goes out by it.

use std::collections::VecDeque;

use cora_core::message::{MAX_MESSAGE, Message, Stamp};
use cora_core::migration::ProtocolError;
use cora_core::region::Rings;
use cora_core::ring::{Consumer, Popped, Producer, PushError, RingError, SharedMemory};

use crate::RunError;
use crate::apart::{self, Bytes};
use crate::tally::Tally;
use crate::wire::{Cable, Next};

/// Frames moved over a wire ring between two looks at the others.
const BURST: usize = 64;

/// The ends of both wire rings, and the cable that they are plugged into.
pub(crate) struct WireEnd<C> {
    /// Where frames come from and go to.
    pub(crate) cable: C,
    /// Where the ends are.
    rings: Rings,
    wire_in: Producer<SharedMemory>,
    wire_out: Consumer<SharedMemory>,
    buffer: Bytes<MAX_MESSAGE>,
    /// What leaves; a frame that waits for room stays in the other one meanwhile.
    leaving: Bytes<MAX_MESSAGE>,
    /// A frame came by the cable and was not fed in yet.
    pending: Option<(Stamp, usize)>,
    fed_all: bool,
    /// Records that a NIC left behind on its ring: they come first.
    left_behind: VecDeque<(u16, Vec<u8>)>,
    /// How many there were so far.
    pub(crate) fed_again: u64,
    /// What was counted since the NIC began.
    pub(crate) tally: Tally,
}

impl<C: Cable> WireEnd<C> {
    pub(crate) fn new(cable: C, rings: &Rings) -> Self {
        Self {
            cable,
            rings: *rings,
            wire_in: Producer::new(rings.wire_in),
            wire_out: Consumer::new(rings.wire_out),
            buffer: apart::bytes(),
            leaving: apart::bytes(),
            pending: None,
            fed_all: false,
            left_behind: VecDeque::new(),
            fed_again: 0,
            tally: Tally::default(),
        }
    }

    /// Goes on with the rings of another region, the NIC being gone from this one: what it sent leaves, and what
    /// it did not take is fed in there.
    pub(crate) fn follow(&mut self, rings: &Rings) -> Result<(), RunError> {
        while self.drain()? {}
        let mut rest = Consumer::new(self.rings.wire_in);
        let mut buffer = vec![0; MAX_MESSAGE];
        let mut left_behind = VecDeque::new();
        while let Some(Popped { kind, len }) = rest.pop(&mut buffer)? {
            if kind != Message::WIRE_END {
                left_behind.push_back((kind, buffer[..len].to_vec()));
            }
        }
        self.fed_again += left_behind.len() as u64;
        self.tally.fed = self.tally.fed.saturating_sub(left_behind.len() as u64);
        left_behind.append(&mut self.left_behind);
        self.left_behind = left_behind;
        self.wire_in = Producer::new(rings.wire_in);
        self.wire_out = Consumer::new(rings.wire_out);
        self.rings = *rings;
        self.fed_all = false;
        Ok(())
    }

    /// Drops what comes by the cable, as far as there is no room for it; how many frames.
    pub(crate) fn shed(&mut self) -> Result<u64, RunError> {
        let mut dropped = u64::from(self.pending.take().is_some());
        for _ in 0..BURST {
            let Next::Frame(..) = self.cable.next(&mut self.buffer.0)? else { break };
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Whether a frame waits for room.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.is_some()
    }

    /// Feeds frames in at the NIC's wire; whether there was room.
    pub(crate) fn feed(&mut self) -> Result<bool, RunError> {
        let mut fed = self.feed_left_behind()?;
        if !self.left_behind.is_empty() {
            return Ok(fed);
        }
        for _ in 0..BURST {
            if self.fed_all {
                break;
            }
            let next = match self.pending {
                Some((stamp, length)) => Next::Frame(stamp, length),
                None => self.cable.next(&mut self.buffer.0)?,
            };
            let message = match next {
                Next::Frame(stamp, length) => Message::Frame(stamp, &self.buffer.0[..length]),
                Next::End(now) => Message::WireEnd(now),
                Next::NotYet => break,
            };
            match message.encode(|kind, parts| self.wire_in.push(kind, parts)) {
                Ok(()) => {
                    self.fed_all = matches!(next, Next::End(_));
                    self.tally.fed += u64::from(!self.fed_all);
                    self.pending = None;
                    fed = true;
                }
                Err(PushError::Full) => {
                    if let Next::Frame(stamp, length) = next {
                        self.pending = Some((stamp, length));
                    }
                    break;
                }
                Err(PushError::TooLong | PushError::Failed(_)) => return Err(RunError::RingToNic),
            }
        }
        self.wire_in.publish();
        Ok(fed)
    }

    fn feed_left_behind(&mut self) -> Result<bool, RunError> {
        let mut fed = false;
        while let Some((kind, bytes)) = self.left_behind.front() {
            match self.wire_in.push(*kind, &[bytes]) {
                Ok(()) => drop(self.left_behind.pop_front()),
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => return Err(RunError::RingToNic),
            }
            self.tally.fed += 1;
            fed = true;
        }
        self.wire_in.publish();
        Ok(fed)
    }

    /// Writes what left at the NIC's wire; whether anything did.
    pub(crate) fn drain(&mut self) -> Result<bool, RunError> {
        let mut any = false;
        let buffer = &mut self.leaving.0;
        for _ in 0..BURST {
            let Some(popped) = self.wire_out.pop(buffer)? else { break };
            let bytes = buffer.get_mut(..popped.len).unwrap_or_default();
            let frame = Message::decode_frame(popped.kind, bytes);
            let (stamp, frame) = frame.ok_or(ProtocolError::Undecodable(popped.kind))?;
            self.tally.left(&stamp);
            self.cable.write(&stamp, frame)?;
            any = true;
        }
        self.wire_out.release();
        if any {
            self.cable.flush()?;
        }
        Ok(any)
    }

    /// Whether nothing comes by the cable before somebody rings.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.pending.is_none()
            && self.left_behind.is_empty()
            && (self.fed_all || self.cable.is_quiet())
    }

    /// Whether nothing left at the NIC's wire, and its ring is sound.
    pub(crate) fn has_nothing(&mut self) -> Result<bool, RingError> {
        self.wire_out.is_empty_indeed()
    }
}
