//! The host's half of the protocol, on its ends of the rings.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use cora_core::app::App;
use cora_core::message::{Message, Report, Stamp};
use cora_core::migration::burst::{BURST, BURST_BYTES, Frames};
use cora_core::migration::nic::Wire;
use cora_core::migration::{Burst, HostHalf, Outbox, ProtocolError};
use cora_core::packet::Port;
use cora_core::region::Rings;
use cora_core::ring::{Consumer, Producer, PushError, SharedMemory};

use crate::RunError;
use crate::apart::{self, Bytes};
use crate::state_out::Contents;

/// The way back to the NIC: what its ring has no room for now waits in memory, so that the host never
/// waits for the NIC (which may be waiting for the host).
pub(crate) struct Back {
    ring: Producer<SharedMemory>,
    waiting: VecDeque<(u16, Vec<u8>)>,
    broken: bool,
}

impl Back {
    /// Sends what waits, as far as there is room, and makes all visible.
    fn flush(&mut self) {
        while let Some((kind, bytes)) = self.waiting.front() {
            match self.ring.push(*kind, &[bytes]) {
                Ok(()) => drop(self.waiting.pop_front()),
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => {
                    self.broken = true;
                    break;
                }
            }
        }
        self.ring.publish();
    }
}

impl Outbox for Back {
    fn send(&mut self, message: &Message<'_>) {
        message.encode(|kind, parts| {
            if self.waiting.is_empty() {
                match self.ring.push(kind, parts) {
                    Ok(()) => return,
                    Err(PushError::Full) => {}
                    Err(PushError::TooLong | PushError::Failed(_)) => self.broken = true,
                }
            }
            self.waiting.push_back((kind, parts.concat()));
        });
    }
}

/// What the NIC told at the end of the run.
#[derive(Debug, Default)]
pub(crate) struct NicAccount {
    pub(crate) report: Report,
    pub(crate) outcomes: BTreeMap<String, u64>,
}

/// The host's half at work.
pub(crate) struct Worker<A: App> {
    pub(crate) half: HostHalf<A>,
    punt: Consumer<SharedMemory>,
    back: Back,
    buffer: Option<Bytes<BURST_BYTES>>,
    /// The NIC has no packet left: its time at the end.
    nic_drained: Option<u64>,
    /// So was it told of this side.
    said_drained: bool,
    /// Entries that stayed at the NIC.
    pub(crate) contents: Contents,
    /// Set when the NIC's last message came.
    pub(crate) account: Option<NicAccount>,
    outcomes: BTreeMap<String, u64>,
}

impl<A: App> Worker<A> {
    pub(crate) fn new(half: HostHalf<A>, rings: &Rings) -> Self {
        Self {
            half,
            punt: Consumer::new(rings.punt),
            back: Back { ring: Producer::new(rings.back), waiting: VecDeque::new(), broken: false },
            buffer: Some(apart::bytes()),
            nic_drained: None,
            said_drained: false,
            contents: Contents::default(),
            account: None,
            outcomes: BTreeMap::new(),
        }
    }

    /// Tells the NIC the versions of read-mostly states, and that it may begin.
    pub(crate) fn begin(&mut self, configured: &[usize]) {
        for number in configured {
            let back = &mut self.back;
            let home = self.half.engine().app().state(*number);
            home.export(0, &mut |piece| back.send(&Message::Piece(*number as u16, piece)));
        }
        self.back.send(&Message::Begin);
        self.back.flush();
    }

    /// Handles what the NIC sent; whether there was anything.
    pub(crate) fn poll(&mut self) -> Result<bool, RunError> {
        self.back.flush();
        if self.back.broken {
            return Err(RunError::RingToNic);
        }
        if self.punt.is_empty()? {
            return Ok(self.finish());
        }
        let start = Instant::now();
        let mut buffer = self.buffer.take().unwrap_or_else(apart::bytes);
        let handled = self.burst(&mut buffer.0);
        self.buffer = Some(buffer);
        handled?;
        self.back.flush();
        self.half.report.busy_ns += start.elapsed().as_nanos() as u64;
        Ok(true)
    }

    fn burst(&mut self, buffer: &mut [u8]) -> Result<(), RunError> {
        let mut frames = Frames::new(buffer);
        let mut burst = Burst::new();
        for _ in 0..BURST {
            let Some(room) = frames.room() else { break };
            let Some(popped) = self.punt.pop(room)? else { break };
            let bytes = frames.keep(popped.len);
            let undecodable = ProtocolError::Undecodable(popped.kind);
            if popped.kind == Message::PUNT {
                let frame = Message::decode_frame(popped.kind, bytes);
                let (stamp, frame) = frame.ok_or(undecodable)?;
                // There is room: no more is popped than a burst takes.
                burst.push(stamp, frame);
                continue;
            }
            // It stands between packets, and means something to those behind it.
            self.half.burst(&mut burst, &mut self.back)?;
            burst.clear();
            self.message(&Message::decode(popped.kind, bytes).ok_or(undecodable)?)?;
        }
        self.half.burst(&mut burst, &mut self.back)?;
        self.punt.release();
        Ok(())
    }

    fn message(&mut self, message: &Message<'_>) -> Result<(), RunError> {
        match *message {
            Message::Drained(now) => self.nic_drained = Some(now),
            Message::Piece(state, piece) if self.said_drained => {
                let now = self.half.now().max(self.nic_drained.unwrap_or(0));
                self.contents.take_in(self.half.engine().app(), state, piece, now)?;
            }
            Message::Outcome(count, name) if self.said_drained => {
                let name = String::from_utf8_lossy(name).into_owned();
                *self.outcomes.entry(name).or_default() += count;
            }
            Message::Report(report) if self.said_drained => {
                let outcomes = std::mem::take(&mut self.outcomes);
                self.account = Some(NicAccount { report, outcomes });
            }
            _ => self.half.message(message, &mut self.back)?,
        }
        Ok(())
    }

    /// When the NIC has no packet left and no offer is under way, it is told so.
    fn finish(&mut self) -> bool {
        if self.nic_drained.is_none() || self.said_drained {
            return false;
        }
        self.half.close();
        if !self.half.is_drained() {
            return false;
        }
        self.said_drained = true;
        self.back.send(&Message::Drained(self.half.now()));
        self.back.flush();
        true
    }

    /// Whether something waits for room on the ring to the NIC.
    pub(crate) fn waits_for_room(&self) -> bool {
        !self.back.waiting.is_empty()
    }

    /// Whether the NIC has sent nothing, and its ring is sound.
    pub(crate) fn has_nothing(&mut self) -> Result<bool, RunError> {
        Ok(self.punt.is_empty_indeed()?)
    }

    /// Records on the rings between the sides, as seen from here.
    pub(crate) fn ring_records(&self) -> u64 {
        self.punt.records() + self.back.ring.records()
    }

    /// The end of the run's time.
    pub(crate) fn now(&self) -> u64 {
        self.half.now().max(self.nic_drained.unwrap_or(0))
    }
}

/// Takes a handled packet to the sink, where there is no NIC between.
pub(crate) struct Direct<F> {
    /// Called with each packet that leaves, and the port where.
    pub(crate) leave: F,
}

impl<F: FnMut(&Stamp, Port, &[u8])> Wire for Direct<F> {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        (self.leave)(stamp, stamp.egress, frame);
    }
}

impl<F: FnMut(&Stamp, Port, &[u8])> Outbox for Direct<F> {
    fn send(&mut self, message: &Message<'_>) {
        if let Message::Send(stamp, frame) = message {
            (self.leave)(stamp, stamp.egress, frame);
        }
    }

    #[inline]
    fn leave(&mut self, stamp: &Stamp, egress: Port, frame: &[u8]) {
        (self.leave)(stamp, egress, frame);
    }
}
