//! Admission: the flows that the host offers to the NIC by itself. At first the plan decides, later
//! a controller.

use cora_core::app::{App, PlanFacts};

use super::offer::share_of;
use super::{HostOwnership, HostRecord, HostSide, Stage};
use crate::channel::PeerOutbox;
use crate::link::message::group::{encoded, room};
use crate::link::message::{Answer, Ownership, Stay};
use crate::ownership::entries;
use crate::ownership::lookup::Match;

/// Limit of the back-off: a flow that keeps punting is offered after at most 2 to this power
/// packets.
const MAX_BACK_OFF: u32 = 16;

/// A flow's packet count is capped at this multiple of the count for an offer. With a higher count
/// it replaces a flow that was used more recently.
const EAGER: u32 = 4;

/// Back-off between requests for room, while the NIC gives no flow back (ns of packet time):
/// initial and maximum. It doubles each time.
pub(crate) const ASKED_AGAIN: [u64; 2] = [8_000, 512_000];

/// The conditions for offering a flow after one of its packets. In any case, a flow that keeps
/// punting is offered later each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Flows of 1024 that the NIC may own: those with a [share](super::super::share_of) below
    /// this.
    pub share: u16,
    /// Packets of a flow that the host handles before the offer.
    pub after: u32,
    /// Cool-down of a flow that came back (ns of packet time), against moves to and fro: no flow
    /// moves more than twice in that time.
    pub rest: u64,
    /// Most flows at the NIC, including those on their way there, by the host's count; no more are
    /// offered.
    pub most: u32,
    /// Decay (ns of packet time): for each such interval without a packet of the flow, its count
    /// drops by one. So only flows with more than one packet in some two thirds of it are offered.
    /// 0: no decay.
    pub pace: u64,
    /// When the NIC has its most flows, one idle for this long (ns of packet time) is evicted for
    /// one that would be offered. A quarter of it is enough for a flow with four times the packets.
    /// 0: no eviction.
    pub idle: u64,
}

impl Admission {
    /// The plan's admission.
    pub const fn of_plan(plan: &PlanFacts) -> Self {
        Self {
            share: plan.nic_share,
            after: plan.offer_after,
            rest: 0,
            most: u32::MAX,
            pace: 0,
            idle: 0,
        }
    }

    /// Offers nothing.
    pub const NONE: Self = Self { share: 0, after: u32::MAX, rest: 0, most: 0, pace: 0, idle: 0 };
}

impl HostRecord {
    /// Packets of the flow before an offer; without punts, as many as these.
    #[inline(always)]
    fn patience(&self, after: u32) -> u32 {
        after.max(1 << self.punts.min(MAX_BACK_OFF))
    }
}

/// An order about flows, in addition to admission. An order is ignored if the flow is not where the
/// controller thinks: orders are wishes, and the protocol decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order<K> {
    /// Replaces the admission.
    Admit(Admission),
    /// Offers the flow with this group key to the NIC.
    Offer(K),
    /// Recalls the flow with this group key.
    Recall(K),
}

impl<A: App> HostOwnership<A> {
    /// Follows an order, as far as possible now.
    pub(crate) fn follow(
        &mut self,
        order: &Order<A::Group>,
        side: &mut HostSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> Answer {
        match order {
            Order::Admit(admission) => self.admission = *admission,
            Order::Offer(_) | Order::Recall(_) if !self.moving => return Answer::MovesNone,
            Order::Offer(group) => {
                // At the time of the last packet, since only packets advance time.
                let found = self.flows.find(side.app, group, side.clock.now, 0, || None);
                let Some(Match { flow, .. }) = found else { return Answer::NotHere };
                let may_move = self.may_move(flow, || entries::strays(side.app));
                if !may_move || !self.offer(side.app, flow, out) {
                    return Answer::InTransit;
                }
            }
            // No message that the NIC may answer by a release may stand between the entries of a
            // flow.
            Order::Recall(_) if self.leaving.is_some() => return Answer::InTransit,
            Order::Recall(group) => {
                out.send(&Ownership::Recall { group: encoded(group, &mut room()) }.into());
            }
        }
        Answer::Done
    }

    /// After a packet of the flow: offers it to the NIC, if it is admitted and did not just come
    /// back.
    pub(crate) fn consider_offer(
        &mut self,
        app: &mut A,
        flow: u32,
        now: u64,
        out: &mut impl PeerOutbox,
    ) {
        let Some(group) = self.flows.group(flow).filter(|_| self.moving) else { return };
        let Admission { after, pace, idle, .. } = self.admission;
        let Some(record) = self.flows.record(flow) else { return };
        let patience = record.patience(after);
        if let Some(gone) = now.saturating_sub(record.last).checked_div(pace) {
            let gone = u32::try_from(gone).unwrap_or(u32::MAX);
            // The cap makes a large count decay soon.
            record.packets =
                record.packets.min(EAGER.saturating_mul(patience)).saturating_sub(gone);
            record.last = now;
        }
        record.packets = record.packets.saturating_add(1);
        let packets = record.packets;
        match self.stays(flow, &group, now, || entries::strays(app)) {
            Stay::Next => {
                self.offer(app, flow, out);
            }
            Stay::Full { .. } if idle > 0 => self.ask_for_room(idle, packets / patience, now, out),
            _ => {}
        }
    }

    /// Why the flow stays at the host, as admission has it; [`Stay::Next`] if it does not.
    #[inline(always)]
    fn stays(
        &mut self,
        flow: u32,
        group: &A::Group,
        now: u64,
        strays: impl FnOnce() -> u32,
    ) -> Stay {
        let Admission { share, after, rest, most, .. } = self.admission;
        let Some(&mut record) = self.flows.record(flow) else { return Stay::Unknown };
        let HostRecord { packets, punts, came, .. } = record;
        let of = record.patience(after);
        if packets < of {
            return Stay::Packets { packets, of, punts };
        }
        let since = now.saturating_sub(came);
        if came != 0 && since < rest {
            return Stay::Rests { left: rest - since };
        }
        if share_of(group) >= share {
            return Stay::Share { share };
        }
        if !self.may_move(flow, strays) {
            return Stay::Moves;
        }
        if self.at_nic.saturating_add(self.offered()) >= most {
            return Stay::Full { most };
        }
        Stay::Next
    }

    /// Why a flow is at the host. `strays` entries here belong to no flow.
    pub(crate) fn stay(&mut self, flow: u32, now: u64, strays: u32) -> Stay {
        if !self.moving {
            return Stay::Planned;
        }
        let (group, record) = (self.flows.group(flow), self.flows.record(flow));
        let (Some(group), Some(record)) = (group, record) else { return Stay::Unknown };
        match record.stage {
            Stage::Offered(_) => Stay::Offered,
            Stage::Leaving => Stay::Moves,
            Stage::Owned if record.scattered && strays > 0 => Stay::Scattered,
            Stage::Owned if !self.nic_takes => Stay::NicTakesNone,
            Stage::Owned => self.stays(flow, &group, now, || strays),
        }
    }

    /// Asks the NIC to give back a flow idle for `idle / part`, with `part` at most [`EAGER`]. The
    /// flow that waits for its place is offered by a later packet.
    fn ask_for_room(&mut self, idle: u64, part: u32, now: u64, out: &mut impl PeerOutbox) {
        // No message that the NIC may answer by a release may stand between the entries of a flow.
        let waits = now.saturating_sub(self.asked) < self.asked_for;
        if waits || self.leaving.is_some() {
            return;
        }
        self.asked = now;
        self.asked_for = (2 * self.asked_for).min(ASKED_AGAIN[1]);
        out.send(&Ownership::MakeRoom { idle: idle / u64::from(part.clamp(1, EAGER)) }.into());
    }
}
