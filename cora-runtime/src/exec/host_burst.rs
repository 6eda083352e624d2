//! Runs packets at the host, burst by burst.

use cora_core::app::App;
use cora_core::key::Key as _;
use cora_core::state::{EveryState, NO_FLOW, Visit};

use crate::channel::{Outbox, ProtocolError};
use crate::exec::burst::{Arrival, Burst, announce};
use crate::host_half::HostHalf;
use crate::link::message::{Frames, Stamp};
use crate::link::region::IDLE;

impl<A: App> HostHalf<A> {
    /// Whether packets are looked up in flows. While this is `false`, only messages can make a flow
    /// known.
    #[inline(always)]
    fn knows_flows(&self) -> bool {
        self.moving || !self.flows.is_empty()
    }

    /// Runs packets in order. Packets of an incoming flow come behind its last entry.
    // Not inlined, and neither is the loop that fills the burst: each then has the registers it
    // needs.
    #[inline(never)]
    pub fn burst(
        &mut self,
        burst: &mut Burst<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        let knows_flows = self.knows_flows();
        let parsed = burst.parse_at_host::<A>(knows_flows);
        self.watch.burst(burst.len(), |at| burst.group(at, parsed));
        if knows_flows {
            announce(burst, &mut self.engine, Some(&mut self.flows));
            self.run_all::<true>(burst, out);
        } else {
            announce(burst, &mut self.engine, None);
            self.run_all::<false>(burst, out);
        }
        out.runs(IDLE);
        self.tell_changes(out);
        Ok(())
    }

    /// Runs the packets; `FLOWS` says whether they are looked up in flows.
    // Not inlined: the compiler then knows that the handlers' writes do not alias the packets.
    #[inline(never)]
    fn run_all<const FLOWS: bool>(&mut self, burst: &mut Burst<'_>, out: &mut impl Outbox) {
        // A packet that comes alone is shown at once, since somebody waits for it. Durable programs
        // don't do so: they replicate its changes behind it.
        let alone = FLOWS && !A::DURABLE && A::KEPT.is_empty() && burst.len() == 1;
        let parsed = A::READS_PACKETS || FLOWS;
        for (number, arrival) in burst.numbered_mut() {
            // Tested once here, so that field accesses in the handlers need no test.
            if !parsed || arrival.packet.is_plain() {
                self.run::<FLOWS>(arrival, number, alone, out);
            } else {
                self.run_other::<FLOWS>(arrival, number, alone, out);
            }
        }
        if !FLOWS && let Some(last) = burst.arrivals().last() {
            self.reach(&last.stamp());
        }
        self.report.packets += burst.len() as u64;
    }

    /// Runs a packet that is off the fast path.
    #[cold]
    #[inline(never)]
    fn run_other<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        number: u8,
        alone: bool,
        out: &mut impl Outbox,
    ) {
        self.run::<FLOWS>(arrival, number, alone, out);
    }

    /// Advances the time and the low watermark to this packet's.
    #[inline(always)]
    fn reach(&mut self, stamp: &Stamp) {
        self.now = self.now.max(stamp.meta.now);
        self.horizon = self.horizon.max(stamp.horizon);
    }

    #[inline(always)]
    fn run<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        ahead: u8,
        alone: bool,
        out: &mut impl Outbox,
    ) {
        let stamp = &arrival.stamp();
        let packet = &mut arrival.packet;
        // Without flows nothing reads the time amid a burst: `run_all` advances it to the last
        // packet's.
        if FLOWS {
            self.reach(stamp);
        }
        let group = if FLOWS { A::Group::of(packet).ok() } else { None };
        let known = group.and_then(|group| {
            self.flows.begin(stamp.meta.now, stamp.horizon, ahead);
            self.flows.find(self.engine.app(), &group, stamp.meta.now, 0)
        });
        let flow = known.or_else(|| self.flows.reserve(self.engine.app(), &group?));
        let visit = Visit {
            now: stamp.meta.now,
            horizon: stamp.horizon,
            undo: false,
            flow: flow.unwrap_or(NO_FLOW),
            ahead,
        };
        out.runs(stamp.number);
        let ran = self.engine.run::<EveryState>(packet, visit);
        // The flow is recorded before its packet leaves: afterwards, copying its key would wait
        // until the ring has the packet.
        let added = match (known, group, flow) {
            (None, Some(group), Some(flow)) => {
                self.flows.settle_new(self.engine.app(), flow, &group).then_some(flow)
            }
            _ => None,
        };
        if let Some(egress) = ran.egress(stamp.meta.port) {
            out.leave(stamp, egress, packet.frame());
            if alone {
                out.show();
            }
        } else if const { A::HEADS } && stamp.parked.is_some() {
            out.send(&Frames::Ended { parked: stamp.parked }.into());
        }
        let settled = known.filter(|flow| self.flows.settle(self.engine.app(), *flow)).or(added);
        if let Some(flow) = settled {
            self.consider_offer(flow, out);
        }
    }
}
