//! The ends of a NIC core: its wire, the channel to the host, and its clock.

use cora_core::packet::Roomy;

use crate::channel::{PeerOutbox, ProtocolError};
use crate::exec::burst::BurstBuffer;
use crate::exec::{Burst, Wire};
use crate::link::message::{Frames, Hooks, Kind, Merges, Message};
use crate::link::ring::{Consumer, Popped, RingMemory};
use crate::node::NodeError;

/// Why a burst from the wire ends.
#[derive(Debug)]
pub enum Filled<'a> {
    /// It is full, or the wire has nothing more for now.
    Burst,
    /// A message of this kind follows: part of a change of read-mostly states.
    Change(u16, Roomy<'a>),
    /// A message of this kind follows, about buckets that move, or the question whether all is
    /// quiet.
    Deal(u16, Roomy<'a>),
    /// The wire is silent: nothing older than this time (ns) will come.
    Silence(u64),
    /// For a program with several shards: an epoch begins for all of them, which ends then (ns).
    Epoch(u64),
    /// Nothing more will come. The time of the last packet, which another NIC core may have had.
    End(u64),
}

/// The wire's end at this core.
pub trait Ingress {
    /// Whether nothing is there.
    ///
    /// # Errors
    /// If the ring is broken.
    fn is_empty(&mut self) -> Result<bool, NodeError>;

    /// Takes packets into the burst, and their frames into `frames`, until either is full.
    ///
    /// # Errors
    /// If the ring is broken, or a record on it makes no sense.
    fn fill<'a>(
        &mut self,
        frames: &mut BurstBuffer<'a>,
        burst: &mut Burst<'a>,
    ) -> Result<Filled<'a>, NodeError>;

    /// What was taken need not be kept: the frames are copies.
    fn release(&mut self) {}

    /// Bytes that wait.
    fn waiting(&self) -> u64 {
        0
    }
}

/// The ends at which messages and packets go out.
pub trait Egress: PeerOutbox + Wire {
    /// Publishes everything that was sent. Messages to the host come first, because output may
    /// depend on them.
    fn publish(&mut self);

    /// Counts of handlers of messages here so far, as words of
    /// [`Took`](crate::exec::Took): told before what they sent is published, for whoever sees
    /// this side end.
    fn took(&mut self, words: &[u64]) {
        let _ = words;
    }

    /// There is nothing to do for the moment.
    fn rest(&mut self) {}

    /// Whether something could not be sent, so that nothing more will be.
    fn is_broken(&self) -> bool {
        false
    }

    /// Whether the host ended, so that another one follows.
    fn host_ended(&self) -> bool {
        false
    }

    /// Whether the wire's ring has so many bytes free, or is empty. Asked before a burst that
    /// changes durable entries: a full ring would be published amid it, before the changes are
    /// sent.
    fn wire_has(&mut self, bytes: usize) -> bool {
        let _ = bytes;
        true
    }

    /// The number of a leaving flow's entries that go now, at most `most`. With too little room for
    /// them, this side would wait for the host with packets that have nothing to do with the flow.
    fn room_for_entries(&mut self, most: u32) -> u32 {
        most
    }

    /// Bytes that the host has not read yet.
    fn waiting(&self) -> u64 {
        0
    }

    /// Packets dropped because the host was away.
    fn host_away(&self) -> u64 {
        0
    }
}

/// All ends of a NIC core.
#[derive(Debug)]
pub struct Ends<'a, I, B, O> {
    /// Packets come in.
    pub wire: &'a mut I,
    /// The host's messages come in.
    pub back: &'a mut B,
    /// Messages and packets go out.
    pub out: &'a mut O,
}

/// Reads the time.
pub trait Clock {
    /// Nanoseconds since any moment.
    fn now_ns(&self) -> u64;
}

impl<M: RingMemory> Ingress for Consumer<M> {
    fn is_empty(&mut self) -> Result<bool, NodeError> {
        Ok(Self::is_empty(self)?)
    }

    #[inline(always)]
    fn fill<'a>(
        &mut self,
        frames: &mut BurstBuffer<'a>,
        burst: &mut Burst<'a>,
    ) -> Result<Filled<'a>, NodeError> {
        while !burst.is_full() {
            let Some(room) = frames.room() else { break };
            let Some(Popped { kind, len }) = Self::pop(self, room)? else { break };
            let bytes = frames.keep(len);
            if kind != Kind::Frame {
                return between_frames(kind, bytes);
            }
            let frame = Message::decode_roomy(kind, bytes);
            let (stamp, frame) = frame.ok_or(ProtocolError::undecodable(kind))?;
            // There is room: the loop's condition.
            burst.push_roomy(stamp, frame);
        }
        Ok(Filled::Burst)
    }

    fn release(&mut self) {
        Self::release(self);
    }

    fn waiting(&self) -> u64 {
        self.occupancy() as u64
    }
}

/// A record on the wire that is no frame: it ends the burst.
#[cold]
#[inline(never)]
fn between_frames(kind: u16, bytes: Roomy<'_>) -> Result<Filled<'_>, NodeError> {
    if Kind::is_of_change(kind) {
        return Ok(Filled::Change(kind, bytes));
    }
    if Kind::is_of_deal(kind) || kind == Kind::Quiet {
        return Ok(Filled::Deal(kind, bytes));
    }
    // Each kind is decoded where it is known: code for all of them is needed once, elsewhere.
    if kind == Kind::WireEnd
        && let Some(Message::Frames(Frames::WireEnd { now })) =
            Message::decode_at_nic(Kind::WireEnd.number(), bytes.frame())
    {
        return Ok(Filled::End(now));
    }
    if kind == Kind::Reached
        && let Some(Message::Hooks(Hooks::Reached { now })) =
            Message::decode_at_nic(Kind::Reached.number(), bytes.frame())
    {
        return Ok(Filled::Silence(now));
    }
    if kind == Kind::Turn
        && let Some(Message::Merges(Merges::Turn { ends, .. })) =
            Message::decode_at_nic(Kind::Turn.number(), bytes.frame())
    {
        return Ok(Filled::Epoch(ends));
    }
    Err(ProtocolError::undecodable(kind).into())
}
