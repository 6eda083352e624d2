//! Which flows the host offers to the NIC by itself: what the plan says at first, and a controller
//! later.

use cora_core::app::{App, PlanFacts};

use crate::channel::Outbox;
use crate::host_half::{HostHalf, share_of};
use crate::link::message::Message;

/// A flow that punts again and again is offered only after so many packets at most, as a power of
/// 2.
const MAX_BACK_OFF: u32 = 16;

/// A flow's packets count up to so many times what it takes to be offered: with more of them, it
/// takes the place of a flow that was used more recently.
const EAGER: u32 = 4;

/// How long a NIC that has no room for a flow, and gave none back, is not asked for any (ns of
/// packet time): at first, and at most; it doubles each time.
pub(crate) const ASKED_AGAIN: [u64; 2] = [8_000, 512_000];

/// What a flow must be like to be offered after one of its packets. Whatever it says, flows that
/// punt again and again are offered ever later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Of 1024 flows, how many the NIC may own: those whose [share](crate::host_half::share_of) is below.
    pub share: u16,
    /// Packets of a flow that the host handles before.
    pub after: u32,
    /// How long a flow stays after it came back (ns of packet time), so that none moves to and fro:
    /// with it no flow moves more than twice in that time.
    pub rest: u64,
    /// Flows that may be at the NIC, those on their way there included, by the host's count; no
    /// more are offered.
    pub most: u32,
    /// In so much time without a packet of the flow (ns of packet time), one that was counted is
    /// forgotten: only flows with more packets than one in some two thirds of that are offered. 0:
    /// all count.
    pub pace: u64,
    /// Where as many as may be are at the NIC, one that nobody used for so long (ns of packet time)
    /// gives its place to one that would be offered; a quarter of that will do for one with four
    /// times the packets. 0: none does.
    pub idle: u64,
}

impl Admission {
    /// What the plan says.
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

    /// Nothing is offered.
    pub const NONE: Self = Self { share: 0, after: u32::MAX, rest: 0, most: 0, pace: 0, idle: 0 };
}

/// What is done with flows beside that. An order that can't be followed, because the flow is not
/// where it is thought to be, is left: orders are wishes, and the protocol decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order<K> {
    /// From now on, other flows are offered.
    Admit(Admission),
    /// The flow with this group key goes to the NIC.
    Offer(K),
    /// The flow with this group key comes back.
    Recall(K),
}

impl<A: App> HostHalf<A> {
    /// Offers the flow to the NIC, if it is admitted there and did not just come back.
    pub(crate) fn consider_offer(&mut self, flow: u32, out: &mut impl Outbox) {
        let Some(group) = self.flows.group(flow).filter(|_| self.moving) else { return };
        let Admission { share, after, rest, most, pace, idle } = self.admission;
        let now = self.now;
        let Some(record) = self.flows.record(flow) else { return };
        let patience = after.max(1 << record.punts.min(MAX_BACK_OFF));
        if let Some(gone) = now.saturating_sub(record.passed).checked_div(pace) {
            let gone = u32::try_from(gone).unwrap_or(u32::MAX);
            // However many it had, they are forgotten soon.
            record.packets =
                record.packets.min(EAGER.saturating_mul(patience)).saturating_sub(gone);
            record.passed = now;
        }
        record.packets = record.packets.saturating_add(1);
        let packets = record.packets;
        let rests = record.came != 0 && now.saturating_sub(record.came) < rest;
        if packets < patience || rests {
            return;
        }
        if share_of(&group) >= share || !self.may_move(flow) {
            return;
        }
        if self.at_nic.saturating_add(self.free.count_zeros()) < most {
            self.offer(flow, out);
        } else if idle > 0 {
            self.ask_for_room(idle, packets / patience, out);
        }
    }

    /// The NIC should give back a flow that nobody used for so long, or for that part of it; what
    /// waits for its place is offered by a later packet.
    fn ask_for_room(&mut self, idle: u64, part: u32, out: &mut impl Outbox) {
        // Nothing that the NIC may answer by a release stands between the entries of a flow.
        let waits = self.now.saturating_sub(self.asked) < self.asked_for;
        if waits || self.leaving.is_some() {
            return;
        }
        self.asked = self.now;
        self.asked_for = (2 * self.asked_for).min(ASKED_AGAIN[1]);
        out.send(&Message::MakeRoom(idle / u64::from(part.clamp(1, EAGER))));
    }
}
