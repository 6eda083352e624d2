//! Which flows the host offers to the NIC by itself: what the plan says at first, and a controller later.

use crate::app::PlanFacts;

/// What a flow must be like to be offered after one of its packets. Whatever it says, flows that punt again and
/// again are offered ever later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Of 1024 flows, how many the NIC may own: those whose [share](super::share_of) is below.
    pub share: u16,
    /// Packets of a flow that the host handles before.
    pub after: u32,
    /// How long a flow stays after it came back (ns of packet time), so that none moves to and fro: with it no flow
    /// moves more than twice in that time.
    pub rest: u64,
    /// Flows that may be at the NIC, by the host's count; no more are offered.
    pub most: u32,
}

impl Admission {
    /// What the plan says.
    pub const fn of_plan(plan: &PlanFacts) -> Self {
        Self { share: plan.nic_share, after: plan.offer_after, rest: 0, most: u32::MAX }
    }

    /// Nothing is offered.
    pub const NONE: Self = Self { share: 0, after: u32::MAX, rest: 0, most: 0 };
}

/// What is done with flows beside that. An order that can't be followed, because the flow is not where it is
/// thought to be, is left: orders are wishes, and the protocol decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order<K> {
    /// From now on, other flows are offered.
    Admit(Admission),
    /// The flow with this group key goes to the NIC.
    Offer(K),
    /// The flow with this group key comes back.
    Recall(K),
}
