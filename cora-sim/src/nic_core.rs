//! A NIC core: its half in its run loop, which an explorer advances step by step.

use cora_runtime::channel::PeerOutbox as _;
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::link::message::{Control, Frames, Kind, Message, Stamp};
use cora_runtime::link::ring::{Popped, RingError};
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::{Clock, Egress, Ends, Filled, Inbox, Ingress, NicLoop, NodeError};

use crate::apps::SimApp;
use crate::link::{Ring, Sabotage};
use crate::story;

/// A NIC half and its run loop.
pub(crate) struct NicCore<A: SimApp> {
    pub(crate) half: NicHalf<A>,
    rounds: NicLoop<A>,
    buffer: Box<[u8]>,
}

/// The next messages from the host, at most `left`.
struct Mail<'a, B> {
    back: &'a mut B,
    left: usize,
}

/// The next input from the wire: packets, and behind them part of a change of read-mostly states.
struct Packets<'a> {
    frames: std::slice::IterMut<'a, (Stamp, Vec<u8>)>,
    change: Option<&'a (u16, Vec<u8>)>,
}

impl<'a> Packets<'a> {
    fn new(frames: &'a mut [(Stamp, Vec<u8>)]) -> Self {
        Self { frames: frames.iter_mut(), change: None }
    }
}

/// Virtual time: a step takes none.
struct Virtual;

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl<B: Inbox> Inbox for Mail<'_, B> {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        Ok(self.left == 0 || self.back.is_empty()?)
    }

    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let popped = self.back.pop(buffer)?;
        if let Some(Popped { kind, len }) = popped
            && kind != Kind::Send
            && let Some(message) = Message::decode(kind, &buffer[..len])
        {
            story::takes("NIC", &message);
        }
        Ok(popped)
    }

    fn release(&mut self) {
        self.back.release();
    }
}

impl Ingress for Packets<'_> {
    fn is_empty(&mut self) -> Result<bool, NodeError> {
        Ok(self.frames.len() == 0 && self.change.is_none())
    }

    fn fill<'b>(
        &mut self,
        frames: &mut BurstBuffer<'b>,
        burst: &mut Burst<'b>,
    ) -> Result<Filled<'b>, NodeError> {
        while !burst.is_full()
            && let Some(room) = frames.room()
            && let Some((stamp, frame)) = self.frames.next()
        {
            story::takes("NIC", &Message::Frames(Frames::Frame { stamp: *stamp, frame }));
            room[..frame.len()].copy_from_slice(frame);
            burst.push_roomy(*stamp, frames.keep(frame.len()));
        }
        if self.frames.len() == 0
            && let Some(room) = frames.room()
            && let Some((kind, bytes)) = self.change.take()
        {
            room[..bytes.len()].copy_from_slice(bytes);
            return Ok(Filled::Change(*kind, frames.keep(bytes.len())));
        }
        Ok(Filled::Burst)
    }
}

impl<A: SimApp> NicCore<A> {
    /// Creates a core that waits for the host's `Begin`.
    pub(crate) fn new(half: NicHalf<A>) -> Self {
        Self { half, rounds: NicLoop::new(), buffer: vec![0; BURST_BYTES].into() }
    }

    /// Creates a core that has received `Begin`.
    pub(crate) fn begun(half: NicHalf<A>, out: &mut impl Egress) -> Self {
        let mut core = Self::new(half);
        let mut back = Ring::new(Sabotage::None);
        back.send(&Control::Begin {}.into());
        core.serve(1, &mut back, out).expect("it is the first message");
        core
    }

    /// Returns whether packets may come in.
    pub(crate) fn takes_packets(&self, out: &mut impl Egress) -> bool {
        self.rounds.wire_is_open(&self.half, out)
    }

    /// Feeds packets. Returns the number that came in.
    pub(crate) fn feed(
        &mut self,
        packets: &mut [(Stamp, Vec<u8>)],
        out: &mut impl Egress,
    ) -> Result<usize, String> {
        let all = packets.len();
        let mut wire = Packets::new(packets);
        let mut back = Ring::new(Sabotage::None);
        self.step(&mut wire, (0, &mut back), out)?;
        Ok(all - wire.frames.len())
    }

    /// Reads this wire once.
    pub(crate) fn read(
        &mut self,
        wire: &mut impl Ingress,
        out: &mut impl Egress,
    ) -> Result<(), String> {
        self.step(wire, (0, &mut Ring::new(Sabotage::None)), out)
    }

    /// Feeds part of a change of read-mostly states.
    pub(crate) fn change(
        &mut self,
        record: &(u16, Vec<u8>),
        out: &mut impl Egress,
    ) -> Result<(), String> {
        let mut wire = Packets { change: Some(record), ..Packets::new(&mut []) };
        self.step(&mut wire, (0, &mut Ring::new(Sabotage::None)), out)
    }

    /// Handles at most `most` messages, and sends entries of a leaving flow.
    pub(crate) fn serve(
        &mut self,
        most: usize,
        back: &mut impl Inbox,
        out: &mut impl Egress,
    ) -> Result<(), String> {
        self.step(&mut Packets::new(&mut []), (most, back), out)
    }

    fn step(
        &mut self,
        wire: &mut impl Ingress,
        (left, back): (usize, &mut impl Inbox),
        out: &mut impl Egress,
    ) -> Result<(), String> {
        let ends = Ends { wire, back: &mut Mail { back, left }, out };
        let stepped = self.rounds.step(&mut self.half, ends, &mut self.buffer, &Virtual);
        stepped.map(drop).map_err(in_words)
    }

    /// Takes all messages that the ended host published. The wire goes on.
    pub(crate) fn take_leave(
        &mut self,
        back: &mut impl Inbox,
        out: &mut impl Egress,
    ) -> Result<(), String> {
        let mut mail = Mail { back, left: usize::MAX };
        let left = self.rounds.take_leave(&mut self.half, &mut mail, out, &mut self.buffer);
        self.rounds = self.rounds.with_another_host();
        left.map_err(in_words)
    }

    /// Reports its flows to another host.
    pub(crate) fn greet(&mut self, out: &mut impl Egress, afresh: bool) {
        NicLoop::greet(&mut self.half, out, afresh);
    }
}

fn in_words(error: NodeError) -> String {
    match error {
        NodeError::Ring(error) => format!("NIC's ring: {error}"),
        NodeError::Protocol(error) => format!("the NIC refuses: {error}"),
        NodeError::Broken => "a ring from the NIC is broken".to_owned(),
    }
}
