//! The NIC's side: its half of the program, with room for some flows only, on a core slower than
//! this machine's.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none negative"
)]

use std::iter::Peekable;

use cora_core::app::App;
use cora_core::packet::{Meta, Port};
use cora_host::RunError;
use cora_host::parts::{Back, RING_BYTES, Supply};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::burst::{BURST, BurstBuffer};
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::link::message::{Message, Stamp};
use cora_runtime::link::payload::{Parked, Parking, PayloadBuffers};
use cora_runtime::link::ring::{Consumer, SharedMemory};
use cora_runtime::node::{Clock, Egress, Filled, Ingress, NodeError};

use super::clock::{Elapsed, Stopwatch};
use super::trace::{Arrival, Arrivals};
use crate::in_memory::{Between, NicEnd};

/// Bytes of a short frame on a ring.
const RECORD: u64 = 112;

/// The NIC's half at work.
pub(super) struct Card<'a, A: App> {
    pub(super) end: NicEnd<A, Trace<'a>, Consumer<SharedMemory>, Out>,
    /// Limit on flows that is not in force yet.
    room: Option<u32>,
    slower: f64,
}

/// Source of packets.
pub(super) struct Trace<'a> {
    frames: &'a [Vec<u8>],
    arrivals: Peekable<Arrivals<'a>>,
    due: Vec<Arrival>,
    /// The wire waits: the host's ring is full.
    closed: bool,
    /// The card's time.
    now: u64,
    /// Packets that came in.
    packets: u64,
}

/// Sink of messages and packets: the latter are only counted.
pub(super) struct Out {
    punt: Back,
    payloads: PayloadBuffers,
    left: u64,
}

impl PeerOutbox for Out {
    fn send(&mut self, message: &Message<'_>) {
        self.punt.send(message);
    }
}

impl Wire for Out {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {
        self.left += 1;
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.payloads)
    }
}

impl Egress for Out {
    fn publish(&mut self) {
        self.punt.flush();
    }

    fn is_broken(&self) -> bool {
        self.punt.is_broken()
    }

    fn waiting(&self) -> u64 {
        self.punt.occupancy() as u64
    }
}

/// Copies frames into the burst's buffer; a wire does that by itself.
impl Ingress for Trace<'_> {
    fn is_empty(&mut self) -> Result<bool, NodeError> {
        Ok(self.closed || self.due.is_empty())
    }

    fn fill<'b>(
        &mut self,
        buffer: &mut BurstBuffer<'b>,
        burst: &mut Burst<'b>,
    ) -> Result<Filled<'b>, NodeError> {
        for Arrival { time, flow } in self.due.drain(..) {
            let frame = &self.frames[flow];
            // There is room for frames so short, in a burst of as many.
            let Some(room) = buffer.room() else { break };
            room[..frame.len()].copy_from_slice(frame);
            let meta = Meta { time, now: time, port: Port::INSIDE, ..Meta::default() };
            let stamp = Stamp {
                meta,
                number: 0,
                horizon: time,
                egress: Port::INSIDE,
                parked: Parked::NONE,
                missing: 0,
            };
            burst.push_roomy(stamp, buffer.keep(frame.len()));
            self.packets += 1;
        }
        Ok(Filled::Burst)
    }

    /// Estimates the waiting bytes by the mean rate.
    fn waiting(&self) -> u64 {
        let oldest = self.due.first().map_or(self.now, |oldest| oldest.time);
        let behind = self.now.saturating_sub(oldest);
        let packets = behind as f64 * self.packets as f64 / self.now.max(1) as f64;
        (packets as u64 * RECORD).min(RING_BYTES[0] as u64)
    }
}

impl Trace<'_> {
    /// Takes in the arrivals until `now`.
    fn receive(&mut self, now: u64) {
        self.now = now;
        while self.due.len() < BURST {
            let Some(arrival) = self.arrivals.next_if(|next| next.time <= now) else { break };
            self.due.push(arrival);
        }
    }
}

/// The card's clock: from its time on, it advances by this thread's time, slowed down.
struct CardClock {
    now: u64,
    elapsed: Elapsed,
    slower: f64,
}

impl Clock for CardClock {
    fn now_ns(&self) -> u64 {
        self.now + (self.elapsed.ns() as f64 * self.slower) as u64
    }
}

impl<'a, A: App> Card<'a, A> {
    pub(super) fn new(
        between: &Between,
        supply: Supply,
        frames: &'a [Vec<u8>],
        arrivals: Arrivals<'a>,
        (room, slower): (u32, f64),
    ) -> Result<Self, RunError> {
        let rings = between.region.rings();
        let due = Vec::with_capacity(BURST);
        let arrivals = arrivals.peekable();
        let wire = Trace { frames, arrivals, due, closed: false, now: 0, packets: 0 };
        let out = Out {
            punt: Back::new(rings.punt),
            payloads: PayloadBuffers::new(rings.payloads),
            left: 0,
        };
        let end = NicEnd::new((supply, between), (wire, Consumer::new(rings.back)), out)?;
        Ok(Self { end, room: Some(room), slower })
    }

    /// Runs a turn at this time. Returns its duration, and whether there is more to do at once.
    pub(super) fn turn(&mut self, now: u64, stopwatch: Stopwatch) -> Result<(u64, bool), RunError> {
        let NicEnd { half, wire, back, out, .. } = &mut self.end;
        wire.receive(now);
        out.punt.flush();
        wire.closed = !out.punt.is_clear();
        let full = !wire.closed && wire.due.len() == BURST && half.takes_packets();
        if back.is_empty()? && wire.is_empty()? {
            return Ok((0, false));
        }
        let before = self.end.half.report.busy_ns;
        let (elapsed, slower) = (stopwatch.start(), self.slower);
        self.end.step(&CardClock { now, elapsed, slower })?;
        let took = self.end.half.report.busy_ns - before;
        Ok((took.max(1), full || !self.end.back.is_empty()?))
    }

    /// Puts the limit on flows into force. Returns whether there was more room before.
    pub(super) fn tightens(&mut self) -> bool {
        let room = self.room.take();
        if let Some(room) = room {
            self.end.half.limit_flows(room);
        }
        room.is_some()
    }

    /// Returns the packets that came in.
    pub(super) const fn packets(&self) -> u64 {
        self.end.wire.packets
    }

    /// Returns the packets that left.
    pub(super) const fn left(&self) -> u64 {
        self.end.out.left
    }

    /// Returns the time that the oldest packet has waited at the wire.
    pub(super) fn behind(&mut self, now: u64) -> u64 {
        let wire = &mut self.end.wire;
        let oldest = wire.due.first().or_else(|| wire.arrivals.peek());
        oldest.map_or(0, |oldest| now.saturating_sub(oldest.time))
    }

    /// Returns whether no packet comes any more and none waits here.
    pub(super) fn is_drained(&mut self) -> bool {
        let NicEnd { half, wire, out, .. } = &mut self.end;
        let all_came = wire.due.is_empty() && wire.arrivals.peek().is_none();
        all_came && half.is_drained() && out.punt.is_clear()
    }
}
