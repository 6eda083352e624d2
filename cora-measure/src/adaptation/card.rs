//! The NIC's side: its half of the program, with room for some flows only, on a core that is slower
//! than this machine's.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none negative"
)]

use cora_core::app::App;
use cora_core::packet::{Meta, Port};
use cora_host::RunError;
use cora_host::parts::{Back, RING_BYTES, Supply};
use cora_runtime::channel::Outbox;
use cora_runtime::exec::burst::{BURST, BURST_BYTES, BurstBuffer};
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::link::message::{Load, Message, Ownership, Stamp, Telemetry};
use cora_runtime::link::payload::{Lots, Parked, Parking};
use cora_runtime::link::region::{Region, Rings};
use cora_runtime::nic_half::Event;
use cora_runtime::ownership::AT_ONCE;

use super::clock::Stopwatch;
use super::trace::{Arrival, Arrivals};
use crate::in_memory::{BACK_BURST, NicEnd};

/// Bytes of a short frame on a ring.
const RECORD: u64 = 112;

/// The NIC's half at work.
pub(super) struct Card<'a, A: App> {
    pub(super) end: NicEnd<A, Out>,
    buffer: Vec<u8>,
    frames: &'a [Vec<u8>],
    arrivals: std::iter::Peekable<Arrivals<'a>>,
    due: Vec<Arrival>,
    /// Flows that there will be room for.
    room: u32,
    slower: f64,
    /// How often the load is told, and when next.
    watch: (u64, u64),
    /// Packets that came in.
    pub(super) packets: u64,
}

/// Where messages and packets go: the latter are counted.
pub(super) struct Out {
    punt: Back,
    lots: Lots,
    left: u64,
    /// Flows that there is room for.
    room: u32,
}

impl Outbox for Out {
    fn send(&mut self, message: &Message<'_>) {
        match message {
            Message::Telemetry(Telemetry::Load { load }) => {
                let room = u64::from(self.room).saturating_sub(load.counts.flows);
                self.punt.send(&Telemetry::Load { load: Load { room, ..*load } }.into());
            }
            other => self.punt.send(other),
        }
    }
}

impl Wire for Out {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {
        self.left += 1;
    }

    fn lots(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.lots)
    }
}

impl<'a, A: App> Card<'a, A> {
    pub(super) fn new(
        region: &Region,
        supply: Supply,
        frames: &'a [Vec<u8>],
        arrivals: Arrivals<'a>,
        (room, slower): (u32, f64),
    ) -> Result<Self, RunError> {
        let out = |rings: &Rings| {
            let (punt, lots) = (Back::new(rings.punt), Lots::new(rings.lots));
            Out { punt, lots, left: 0, room: u32::MAX }
        };
        Ok(Self {
            end: NicEnd::new(region, supply, out)?,
            room,
            buffer: vec![0; BURST_BYTES],
            frames,
            arrivals: arrivals.peekable(),
            due: Vec::with_capacity(BURST),
            slower,
            watch: (u64::MAX, u64::MAX),
            packets: 0,
        })
    }

    /// A turn at this time; how long it took, and whether there is more to do at once.
    pub(super) fn turn(&mut self, now: u64, stopwatch: Stopwatch) -> Result<(u64, bool), RunError> {
        let mut took = 0;
        let tells = now >= self.watch.1;
        if tells || !self.end.is_empty()? || !self.end.out.punt.is_clear() {
            let (done, time) = stopwatch.time(|| self.messages(now, tells));
            done?;
            took += time;
        }
        // A wire does this by itself.
        while self.due.len() < BURST {
            let Some(arrival) = self.arrivals.next_if(|next| next.time <= now) else { break };
            self.due.push(arrival);
        }
        let open = self.end.half.takes_packets() && self.end.out.punt.is_clear();
        let full = open && self.due.len() == BURST;
        if open && !self.due.is_empty() {
            took += self.packets(stopwatch);
        }
        let took = (took as f64 * self.slower) as u64;
        self.end.half.report.busy_ns += took;
        if self.end.out.punt.is_broken() {
            return Err(RunError::RingToNic);
        }
        Ok((took, full || !self.end.is_empty()?))
    }

    fn messages(&mut self, now: u64, tells: bool) -> Result<(), RunError> {
        self.end.out.punt.flush();
        self.read_back()?;
        if tells {
            self.watch.1 = now + self.watch.0;
            let wire_ring = self.waiting(now);
            let peer_ring = self.end.out.punt.occupancy() as u64;
            let load = Load { time: now, wire_ring, peer_ring, ..Load::default() };
            self.end.half.tell(&load, &mut self.end.out);
        }
        self.end.out.punt.flush();
        Ok(())
    }

    /// Handles what is due; how long that took. Frames are in the burst's buffer before the watch
    /// runs: a wire puts them there by itself.
    fn packets(&mut self, stopwatch: Stopwatch) -> u64 {
        let mut frames = BurstBuffer::new(&mut self.buffer);
        let mut burst = Burst::new();
        for Arrival { time, flow } in self.due.drain(..) {
            let frame = &self.frames[flow];
            // There is room: of frames so short, and in a burst of as many.
            let Some(room) = frames.room() else { break };
            room[..frame.len()].copy_from_slice(frame);
            let meta = Meta { time, now: time, port: Port::INSIDE };
            let stamp = Stamp {
                meta,
                number: 0,
                horizon: time,
                egress: Port::INSIDE,
                parked: Parked::NONE,
                missing: 0,
            };
            burst.push_roomy(stamp, frames.keep(frame.len()));
            self.packets += 1;
        }
        let (half, out) = (&mut self.end.half, &mut self.end.out);
        let handle = || {
            half.burst(&mut burst, out);
            out.punt.flush();
        };
        stopwatch.time(handle).1
    }

    fn read_back(&mut self) -> Result<(), RunError> {
        let watch = &mut self.watch;
        self.end.read_back(BACK_BURST, AT_ONCE, |half, out, message| {
            if let Message::Ownership(Ownership::Offer { ticket, .. }) = *message
                && half.flows() >= out.room
            {
                half.report.declined += 1;
                out.send(&Ownership::Decline { ticket }.into());
            } else if let Event::Watch(every) = half.message(message, out)? {
                *watch = (every, 0);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// From now on there is little room; whether there was more.
    pub(super) const fn tightens(&mut self) -> bool {
        let before = std::mem::replace(&mut self.end.out.room, self.room);
        before != self.room
    }

    /// Packets that left.
    pub(super) const fn left(&self) -> u64 {
        self.end.out.left
    }

    /// How long the oldest packet has waited at the wire.
    pub(super) fn behind(&mut self, now: u64) -> u64 {
        let oldest = self.due.first().or_else(|| self.arrivals.peek());
        oldest.map_or(0, |oldest| now.saturating_sub(oldest.time))
    }

    /// Bytes that wait on the wire's ring, by the mean rate.
    fn waiting(&mut self, now: u64) -> u64 {
        let packets = self.behind(now) as f64 * self.packets as f64 / now.max(1) as f64;
        (packets as u64 * RECORD).min(RING_BYTES[0] as u64)
    }

    /// Nothing comes any more, and nothing waits here.
    pub(super) fn is_drained(&mut self) -> bool {
        let all_came = self.due.is_empty() && self.arrivals.peek().is_none();
        all_came && self.end.half.is_drained() && self.end.out.punt.is_clear()
    }
}
