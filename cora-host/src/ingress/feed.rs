//! The wire's end of a region: feeds frames from a cable to the NIC, and sends the NIC's output to
//! it.

use std::collections::VecDeque;

use cora_core::packet::Meta;
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::message::{Frames, Kind, MAX_MESSAGE, Message, Stamp};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::{Consumer, Popped, Producer, PushError, RingError, SharedMemory};

use crate::RunError;
use crate::ingress::capture::{Cable, Next};
use crate::ingress::tally::Tally;
use crate::ingress::versions::{Change, Changes};
use crate::memory::cache_padded as apart;
use crate::memory::cache_padded::Bytes;

/// Frames moved over a wire ring before the others are polled.
const BURST: usize = 64;

/// The ends of both wire rings, and their cable.
pub(crate) struct WireEnd<C> {
    /// The frame I/O.
    pub(crate) cable: C,
    /// The memory of the rings.
    rings: Rings,
    wire_in: Producer<SharedMemory>,
    wire_out: Consumer<SharedMemory>,
    buffer: Bytes<MAX_MESSAGE>,
    /// A buffer for output, since a frame that waits for space stays in the other one.
    leaving: Bytes<MAX_MESSAGE>,
    /// A frame that came by the cable and was not fed in yet.
    pending: Option<(Stamp, usize)>,
    fed_all: bool,
    /// Records to be fed in first: those that a NIC left unread on its ring, and changes of
    /// read-mostly states.
    first: VecDeque<(u16, Vec<u8>)>,
    /// Changes to be placed before later packets.
    pub(crate) changes: Changes,
    /// Changes that were fed in, and may not be in force at both sides yet.
    on_their_way: VecDeque<Change>,
    /// The latest time of a frame that was fed in.
    latest: u64,
    /// The NIC broke the protocol, and nothing more is read from it.
    distrusted: bool,
    /// How many frames NICs left unread so far.
    pub(crate) fed_again: u64,
    /// Counters since the NIC started.
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
            first: VecDeque::new(),
            changes: Changes::new(),
            on_their_way: VecDeque::new(),
            latest: 0,
            distrusted: false,
            fed_again: 0,
            tally: Tally::default(),
        }
    }

    /// Continues with the rings of another region, once the NIC has left this one. Its output is
    /// sent, and its unread input is fed in there. From a NIC that broke the protocol nothing more
    /// is read.
    pub(crate) fn follow(&mut self, rings: &Rings) -> Result<(), RunError> {
        let drained = loop {
            match self.drain() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let mut left_behind = Vec::new();
        match drained {
            Ok(()) if !self.distrusted => left_behind = self.left_behind(),
            Err(error) if !error.is_nics_fault() => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let frames =
            left_behind.iter().filter(|(kind, _)| !Kind::is_of_change(*kind)).count() as u64;
        self.fed_again += frames;
        self.tally.fed = self.tally.fed.saturating_sub(frames);
        left_behind.extend(std::mem::take(&mut self.first));
        self.first = self.with_whole_changes(left_behind);
        self.wire_in = Producer::new(rings.wire_in);
        self.wire_out = Consumer::new(rings.wire_out);
        self.rings = *rings;
        self.fed_all = false;
        self.distrusted = false;
        Ok(())
    }

    /// Marks that the NIC broke the protocol: the contents of its rings are ignored from now on.
    pub(crate) const fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// Whether the NIC broke the protocol.
    pub(crate) const fn is_distrusted(&self) -> bool {
        self.distrusted
    }

    /// The unread input of a NIC that is gone. It could write there until it ended: invalid frames
    /// are not fed in again, and times of frames are limited to past ones.
    fn left_behind(&self) -> Vec<(u16, Vec<u8>)> {
        let mut rest = Consumer::new(self.rings.wire_in);
        let mut buffer = vec![0; MAX_MESSAGE];
        let mut left = Vec::new();
        while let Ok(Some(Popped { kind, len })) = rest.pop(&mut buffer) {
            let bytes = buffer.get_mut(..len).unwrap_or_default();
            if Kind::is_of_change(kind) {
                left.push((kind, bytes.to_vec()));
            } else if let Some((stamp, frame)) = Message::decode_frame(kind, bytes) {
                let Stamp { mut meta, horizon, .. } = stamp;
                (meta.time, meta.now) = (meta.time.min(self.latest), meta.now.min(self.latest));
                let stamp = Stamp { meta, horizon: horizon.min(self.latest), ..stamp };
                left.push(
                    Message::Frames(Frames::Frame { stamp, frame })
                        .encode(|kind, parts| (kind, parts.concat())),
                );
            }
        }
        left
    }

    /// The records, with all changes complete that may not be in force: each at its beginning, or
    /// in front if the previous NIC had read its beginning.
    fn with_whole_changes(&self, records: Vec<(u16, Vec<u8>)>) -> VecDeque<(u16, Vec<u8>)> {
        let mut begun: Vec<&Change> = self.on_their_way.iter().collect();
        let mut rest = VecDeque::new();
        for record in records {
            if !Kind::is_of_change(record.0) {
                rest.push_back(record);
            } else if let Some(number) = Change::begins(record.0, &record.1)
                && let Some(at) = begun.iter().position(|change| change.number == number)
            {
                rest.extend(begun.remove(at).records());
            }
        }
        let mut all: VecDeque<_> = begun.into_iter().flat_map(Change::records).collect();
        all.append(&mut rest);
        all
    }

    /// Places a change of the version on the wire.
    pub(crate) fn change(&mut self, change: Change) {
        self.first.extend(change.records());
        self.on_their_way.push_back(change);
    }

    /// Removes changes up to this version, which is in force at both sides.
    pub(crate) fn in_force(&mut self, number: u32) {
        while self.on_their_way.front().is_some_and(|change| change.number <= number) {
            self.on_their_way.pop_front();
        }
    }

    /// Sends all changes in transfer again, completely: parts of them may have been lost with the
    /// host.
    pub(crate) fn change_again(&mut self) {
        self.first.retain(|(kind, _)| !Kind::is_of_change(*kind));
        self.first.extend(self.on_their_way.iter().flat_map(Change::records));
    }

    /// Whether a change is due before the next input; if so, it is fed in first.
    fn change_is_due(&mut self, next: Next) -> bool {
        let before = match next {
            Next::Frame(stamp, _) => stamp.number,
            Next::End(_) => u64::MAX,
            Next::NotYet => return false,
        };
        let Some((_, change)) = self.changes.pop_front_if(|(number, _)| *number <= before) else {
            return false;
        };
        self.change(change);
        true
    }

    /// Drops input frames for lack of space; returns how many.
    pub(crate) fn shed(&mut self) -> Result<u64, RunError> {
        let mut dropped = u64::from(self.pending.take().is_some());
        for _ in 0..BURST {
            let Next::Frame(..) = self.cable.next(&mut self.buffer.0)? else { break };
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Whether a frame waits for space.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.is_some()
    }

    /// Feeds frames to the NIC; returns whether there was space.
    pub(crate) fn feed(&mut self) -> Result<bool, RunError> {
        if self.distrusted {
            return Ok(false);
        }
        let mut fed = self.feed_first()?;
        if !self.first.is_empty() {
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
            if self.change_is_due(next) {
                if let Next::Frame(stamp, length) = next {
                    self.pending = Some((stamp, length));
                }
                fed = true;
                break;
            }
            let message = match next {
                Next::Frame(stamp, length) => {
                    Message::Frames(Frames::Frame { stamp, frame: &self.buffer.0[..length] })
                }
                Next::End(now) => Message::Frames(Frames::WireEnd { now }),
                Next::NotYet => break,
            };
            match message.push(&mut self.wire_in) {
                Ok(()) => {
                    if let Next::Frame(stamp, _) = next {
                        let Meta { time, now, .. } = stamp.meta;
                        self.latest = self.latest.max(time).max(now).max(stamp.horizon);
                    }
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

    fn feed_first(&mut self) -> Result<bool, RunError> {
        let mut fed = false;
        while let Some((kind, bytes)) = self.first.front() {
            match self.wire_in.push(*kind, &[bytes]) {
                Ok(()) => self.tally.fed += u64::from(!Kind::is_of_change(*kind)),
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => return Err(RunError::RingToNic),
            }
            self.first.pop_front();
            fed = true;
        }
        self.wire_in.publish();
        Ok(fed)
    }

    /// Sends the NIC's output; returns whether there was any.
    pub(crate) fn drain(&mut self) -> Result<bool, RunError> {
        if self.distrusted {
            return Ok(false);
        }
        let mut any = false;
        let buffer = &mut self.leaving.0;
        for _ in 0..BURST {
            let Some(popped) = self.wire_out.pop(buffer)? else { break };
            let bytes = buffer.get_mut(..popped.len).unwrap_or_default();
            let frame = Message::decode_frame(popped.kind, bytes);
            let (stamp, frame) = frame.ok_or(ProtocolError::undecodable(popped.kind))?;
            self.tally.left(popped.kind, &stamp);
            self.cable.write(&stamp, frame)?;
            any = true;
        }
        self.wire_out.release();
        if any {
            self.cable.flush()?;
        }
        Ok(any)
    }

    /// Whether nothing comes by the cable before a bell rings.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.pending.is_none() && self.first.is_empty() && (self.fed_all || self.cable.is_quiet())
    }

    /// Whether the NIC has no output, and its ring is sound.
    pub(crate) fn has_nothing(&mut self) -> Result<bool, RingError> {
        self.wire_out.is_empty_indeed()
    }
}
