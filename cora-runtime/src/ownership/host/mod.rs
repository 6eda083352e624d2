//! Ownership at the host: its flows, those offered to the NIC, and those that come back.
//!
//! | module | concept |
//! | --- | --- |
//! | [`admission`] | the flows that the host offers by itself |
//! | `offer` | flows on their way to the NIC |
//! | `arrival` | flows that come back |
//! | `failover` | the NIC's process or the host's ended |

pub(crate) mod admission;
mod arrival;
mod failover;
mod offer;
#[cfg(test)]
mod tests;

use cora_core::app::{App, Sides};
use cora_core::key::PacketKey as _;
use cora_core::packet::Packet;
use cora_core::state::{Memory, NO_FLOW, OutOfMemory};

use crate::channel::TICKETS;
use crate::exec::burst::ALONE;
use crate::link::message::Report;
use crate::ownership::entries;
use crate::ownership::leaving::Leaving;
use crate::ownership::records::{FlowRecord, Flows};
use crate::state_hash::{Say, say_words};

use admission::{ASKED_AGAIN, Admission};
use arrival::Incoming;
use offer::Offer;
pub use offer::share_of;

/// The stage of a flow that the host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The host owns it.
    Owned,
    /// The host owns it, and offered it under this ticket: the NIC may hold its packets.
    Offered(u32),
    /// It goes to the NIC, and some entries are still here.
    Leaving,
}

/// The host's record of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRecord {
    stage: Stage,
    /// Some of its entries may be linked to no flow, since there was no room for a record when they
    /// were made.
    scattered: bool,
    /// Number of its punts.
    punts: u32,
    /// Its packets since it came, after decay ([`Admission::pace`]).
    packets: u32,
    /// When it came back from the NIC (ns of packet time); 0 if it never did.
    came: u64,
    /// Under decay: the time of its last packet (ns of packet time).
    last: u64,
}

impl HostRecord {
    /// A flow that the host owns.
    const OWNED: Self =
        Self { stage: Stage::Owned, scattered: false, punts: 0, packets: 0, came: 0, last: 0 };
}

impl FlowRecord for HostRecord {
    fn is_held(&self, _: u64) -> bool {
        false
    }

    fn words(&self, _: u64) -> [u64; 6] {
        let Self { stage, scattered, punts, packets, came, last } = *self;
        let stage = match stage {
            Stage::Owned => u64::MAX,
            Stage::Leaving => u64::MAX - 1,
            Stage::Offered(ticket) => ticket.into(),
        };
        [stage, scattered.into(), punts.into(), packets.into(), came, last]
    }
}

/// The host's clock, by its packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The time of the latest packet.
    pub(crate) now: u64,
    /// Low watermark: no later packet is older.
    pub(crate) horizon: u64,
}

/// The other parts of the host's half that a change of owner touches.
pub(crate) struct HostSide<'a, A> {
    pub(crate) app: &'a mut A,
    pub(crate) report: &'a mut Report,
    pub(crate) clock: Clock,
}

/// The flow of a packet that is about to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<K> {
    group: Option<K>,
    /// The flow was known before the run.
    is_known: bool,
    /// Its number; of an unknown flow the number that it gets.
    number: Option<u32>,
}

impl<K> Found<K> {
    /// The number for the entries that the run makes.
    #[inline(always)]
    pub(crate) fn for_entries(&self) -> u32 {
        self.number.unwrap_or(NO_FLOW)
    }
}

/// The flows of the host.
#[derive(Debug)]
pub(crate) struct HostOwnership<A: App> {
    flows: Flows<A, HostRecord>,
    tickets: [Option<Offer>; TICKETS],
    /// Free tickets, a bit each.
    free: u64,
    /// The flow that comes back.
    incoming: Option<Incoming<A::Group>>,
    /// The flow that is being handed over to the NIC.
    leaving: Option<Leaving>,
    /// Tickets that the NIC fenced meanwhile, a bit each: their flows go after that one.
    fenced: u64,
    /// Whether there is a NIC half with flows of its own.
    nic: bool,
    /// Whether flows may move: there is such a half, and this one is not closed.
    moving: bool,
    /// Whether the NIC half takes flows: one that stands in for another takes none.
    nic_takes: bool,
    admission: Admission,
    /// Flows handed to the NIC that did not come back, including those that ended there.
    at_nic: u32,
    /// When the NIC was last asked for room, and the back-off until the next time (ns of packet
    /// time).
    asked: u64,
    asked_for: u64,
}

impl<A: App> HostOwnership<A> {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) fn bytes(app: &mut A) -> usize {
        Flows::<A, HostRecord>::bytes(app)
    }

    /// Owns every flow; with a NIC, flows may move.
    pub(crate) fn create(memory: &mut Memory, app: &mut A, nic: bool) -> Result<Self, OutOfMemory> {
        Ok(Self {
            flows: Flows::create(memory, app)?,
            tickets: [None; TICKETS],
            free: const {
                assert!(TICKETS == u64::BITS as usize);
                u64::MAX
            },
            incoming: None,
            leaving: None,
            fenced: 0,
            nic: nic && A::PLAN.sides == Sides::Split,
            moving: nic && A::PLAN.sides == Sides::Split,
            nic_takes: true,
            admission: Admission::of_plan(&A::PLAN),
            at_nic: 0,
            asked: 0,
            asked_for: ASKED_AGAIN[0],
        })
    }

    /// The flows known here.
    #[inline(always)]
    pub(crate) const fn flows(&self) -> &Flows<A, HostRecord> {
        &self.flows
    }

    /// The flows known here, for the prefetch stages.
    #[inline(always)]
    pub(crate) const fn flows_mut(&mut self) -> &mut Flows<A, HostRecord> {
        &mut self.flows
    }

    /// Whether packets are looked up in flows. While this is `false`, only messages can make a flow
    /// known. A message that a handler sends may be for a flow that is at the NIC to the end.
    #[inline(always)]
    pub(crate) const fn knows_flows(&self) -> bool {
        self.moving || !self.flows.is_empty() || (A::MESSAGES && self.nic)
    }

    /// Whether no offer is pending and no flow is in transit.
    pub(crate) const fn is_settled(&self) -> bool {
        self.free == u64::MAX && self.incoming.is_none() && self.leaving.is_none()
    }

    /// Whether a flow is being handed over.
    pub(crate) const fn is_handing_over(&self) -> bool {
        self.leaving.is_some()
    }

    /// Flows handed to the NIC that did not come back, including those that ended there.
    pub(crate) const fn at_nic(&self) -> u32 {
        self.at_nic
    }

    /// Sets the number of the NIC's flows.
    pub(crate) const fn count_at_nic(&mut self, flows: u32) {
        self.at_nic = flows;
    }

    /// Whether the NIC half takes flows.
    pub(crate) const fn nic_takes(&mut self, whether: bool) {
        self.nic_takes = whether;
    }

    /// Stops offering flows.
    pub(crate) const fn close(&mut self) {
        self.moving = false;
    }

    /// Whether there is a NIC that may own flows.
    #[inline(always)]
    pub(crate) const fn has_nic(&self) -> bool {
        self.nic
    }

    /// Whether the flow of a packet may be at the NIC, or on its way there: the host has no record
    /// of it, or its entries are leaving.
    pub(crate) fn may_be_at_nic(
        &mut self,
        app: &mut A,
        packet: &Packet<'_>,
        now: u64,
        horizon: u64,
    ) -> bool {
        let Ok(group) = A::Group::of_packet(packet) else { return false };
        self.flows.begin(now, horizon, ALONE);
        let found = self.flows.find(app, &group, now, 0, || None);
        let record = found.and_then(|found| self.flows.record(found.flow));
        record.is_none_or(|record| record.stage == Stage::Leaving)
    }

    /// The flow of a packet: a known one, or the number for a new one.
    #[inline(always)]
    pub(crate) fn find(
        &mut self,
        app: &mut A,
        packet: &Packet<'_>,
        Clock { now, horizon }: Clock,
        ahead: u8,
    ) -> Found<A::Group> {
        let group = A::Group::of_packet(packet).ok();
        let known = group.and_then(|group| {
            self.flows.begin(now, horizon, ahead);
            Some(self.flows.find(app, &group, now, 0, || None)?.flow)
        });
        let number = known.or_else(|| self.flows.reserve(app, &group?, 0));
        Found { group, is_known: known.is_some(), number }
    }

    /// After a run for an unknown flow: makes it known if it has entries. Returns its number then.
    #[inline(always)]
    pub(crate) fn settle_new(&mut self, app: &mut A, found: &Found<A::Group>) -> Option<u32> {
        let (false, Some(group), Some(flow)) = (found.is_known, found.group, found.number) else {
            return None;
        };
        self.make_known(app, flow, &group).then_some(flow)
    }

    #[inline(never)]
    fn make_known(&mut self, app: &mut A, flow: u32, group: &A::Group) -> bool {
        let (kept, _) = entries::look_back(app, flow);
        let added = kept && self.add(app, *group, HostRecord::OWNED).is_some();
        if added {
            self.flows.note_keys(app, flow);
        }
        added
    }

    /// After a run for a known flow: forgets it if it has no entries (unless no state travels at
    /// all). Returns its number if it is still known.
    #[inline(always)]
    pub(crate) fn settle(&mut self, app: &mut A, found: &Found<A::Group>) -> Option<u32> {
        let flow = found.number.filter(|_| found.is_known)?;
        let (kept, joined) = entries::look_back(app, flow);
        if !kept {
            self.flows.remove(app, flow);
        } else if joined {
            self.flows.note_keys(app, flow);
        }
        kept.then_some(flow)
    }

    /// An entry of the flow was removed: forgets the flow if it was the last one.
    pub(crate) fn lost_entry(&mut self, app: &mut A, flow: u32) {
        if self.flows.record(flow).is_some() && !entries::look_back(app, flow).0 {
            self.flows.remove(app, flow);
        }
    }

    /// Whether entries move to the NIC or from there now.
    pub(crate) const fn is_in_transit(&self) -> bool {
        self.leaving.is_some() || self.incoming.is_some()
    }

    /// Number of entries that belong to no flow; under a plan that moves none, they don't matter.
    pub(crate) fn strays(&self, app: &mut A) -> u32 {
        if self.moving { entries::strays(app) } else { 0 }
    }

    /// Makes a record; it gets the number that was reserved for it.
    fn add(&mut self, app: &mut A, group: A::Group, record: HostRecord) -> Option<u32> {
        let scattered = entries::strays(app) > 0;
        self.flows.add(group, HostRecord { scattered, ..record })
    }

    /// Gives everything that decides later packets and messages to `say`.
    pub(crate) fn hash(&mut self, app: &mut A, say: &mut Say<'_>) {
        self.flows.hash(app, 0, say);
        for offer in &self.tickets {
            let words = offer.map_or([u64::MAX, 0], |Offer { flow, digest }| [flow.into(), digest]);
            say_words(say, &words);
        }
        if let Some(Incoming { flow, left, .. }) = self.incoming {
            say_words(say, &[flow.into(), left.into()]);
        }
        Leaving::hash(self.leaving, say);
        say_words(say, &[self.fenced, self.at_nic.into()]);
    }
}
