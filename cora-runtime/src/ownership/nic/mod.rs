//! Ownership at the NIC: the flows that it owns, those that it expects, and the one that leaves.
//!
//! | module | concept |
//! | --- | --- |
//! | `dispatch` | classifies packets by their flow's owner |
//! | `offload` | flows on their way here |
//! | `handover` | flows on their way to the host |
//! | `eviction` | idle flows that make room |
//! | `failover` | another host starts |
//! | `pending_keys` | keys of flows in transit |
//! | `transit` | since when entries in transit are known to be alive |

mod dispatch;
mod eviction;
mod failover;
mod handover;
mod offload;
mod pending_keys;
#[cfg(test)]
mod tests;
mod transit;

use cora_core::app::{App, Sides};
use cora_core::plain::Plain as _;
use cora_core::state::table::hooked::DELAY;
use cora_core::state::{Memory, OutOfMemory};

use crate::channel::{PeerOutbox, ProtocolError, TICKETS};
use crate::link::message::{Ownership, Report};
use crate::ownership::entries;
use crate::ownership::hold::HoldQueue;
use crate::ownership::leaving::Leaving;
use crate::ownership::records::{FlowRecord, Flows};
use crate::state_hash::{Say, say_number, say_words};

pub(crate) use dispatch::Dispatch;
use pending_keys::PendingKeys;
pub(crate) use transit::Transit;

/// The stage of a flow that the NIC knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The NIC owns it.
    Owned,
    /// It is offered: the host still owns it, and its packets are held here.
    Offered,
    /// It goes to the host, and some entries are still here: its packets are held.
    Leaving,
}

/// The NIC's record of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NicRecord {
    stage: Stage,
    /// Number of its punts.
    punts: u32,
    /// The latest use of the entries that came with it (ns of packet time).
    newest: u64,
    /// One more than the number of the last held packet that is, or may be, the flow's.
    queued_until: u64,
    /// The end of the hold queue when a packet of the flow last overtook it. Packets held then were
    /// not the flow's.
    passed: u64,
}

impl NicRecord {
    /// Whether messages of the flow wait in a mailbox.
    const fn is_in_mailbox(&mut self) -> bool {
        self.queued_until == IN_MAILBOX
    }
}

impl FlowRecord for NicRecord {
    fn is_held(&self, left: u64) -> bool {
        self.queued_until > left
    }

    fn words(&self, left: u64) -> [u64; 6] {
        let Self { stage, punts, newest, queued_until, passed } = *self;
        let waits = [queued_until, passed].map(|place| place.saturating_sub(left));
        [stage as u64, punts.into(), newest, waits[0], waits[1], 0]
    }
}

/// In the place of the end of the hold queue: packets of the flow wait in a mailbox.
const IN_MAILBOX: u64 = u64::MAX;

/// A transfer with entries still to come.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    flow: u32,
    left: u32,
    /// It could not be installed and goes back; entries still to come go straight back.
    returned: bool,
}

/// The other parts of the NIC's half that a change of owner touches.
pub(crate) struct NicSide<'a, A> {
    pub(crate) app: &'a mut A,
    pub(crate) hold: &'a mut HoldQueue,
    pub(crate) report: &'a mut Report,
    /// The time of the latest packet.
    pub(crate) now: u64,
    /// Hooks that are due later may not run yet.
    pub(crate) hooks_until: u64,
}

/// The flows of the NIC.
#[derive(Debug)]
pub(crate) struct NicOwnership<A: App> {
    flows: Flows<A, NicRecord>,
    /// The flow offered under each ticket.
    tickets: [Option<u32>; TICKETS],
    /// Keys of flows in transit, while their entries are not here.
    pending: PendingKeys,
    /// For a program with hooks.
    transit: Transit,
    incoming: Option<Incoming>,
    /// The flow that is being handed over to the host.
    leaving: Option<Leaving>,
    /// Clock hand: where the next search for an idle flow begins.
    hand: u32,
    /// Most flows; offers beyond are declined.
    most: u32,
}

impl<A: App> NicOwnership<A> {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) fn bytes(app: &mut A) -> usize {
        Flows::<A, NicRecord>::bytes(app)
    }

    /// The end of flows' numbers, where flows are told apart by them.
    pub(crate) fn places(app: &mut A) -> usize {
        let has_numbers = A::MESSAGES && A::PLAN.sides == Sides::Split;
        if has_numbers { Flows::<A, NicRecord>::capacity(app) as usize } else { 0 }
    }

    /// Owns no flow.
    #[inline]
    pub(crate) fn create(memory: &mut Memory, app: &mut A) -> Result<Self, OutOfMemory> {
        Ok(Self {
            flows: Flows::create(memory, app)?,
            tickets: [None; TICKETS],
            pending: PendingKeys::new(),
            transit: Transit::new(),
            incoming: None,
            leaving: None,
            hand: 0,
            most: u32::MAX,
        })
    }

    /// The flows known here.
    #[inline(always)]
    pub(crate) const fn flows(&self) -> &Flows<A, NicRecord> {
        &self.flows
    }

    /// The flows known here, for the prefetch stages.
    #[inline(always)]
    pub(crate) const fn flows_mut(&mut self) -> &mut Flows<A, NicRecord> {
        &mut self.flows
    }

    /// Whether no flow is in transit.
    pub(crate) fn is_settled(&self) -> bool {
        self.incoming.is_none()
            && self.leaving.is_none()
            && self.tickets.iter().all(Option::is_none)
    }

    /// Whether a flow is being handed over.
    #[inline]
    pub(crate) const fn is_handing_over(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether entries of a flow are still to come.
    pub(crate) const fn is_receiving(&self) -> bool {
        self.incoming.is_some()
    }

    /// Whether entries are still to come that go straight back.
    #[inline]
    pub(crate) const fn is_returning(&self) -> bool {
        matches!(self.incoming, Some(Incoming { returned: true, .. }))
    }

    /// Whether the ends of entries on their way here may be due at the host `now`: their fence was
    /// too long ago.
    #[inline]
    pub(crate) const fn is_late(&self, now: u64) -> bool {
        !A::HOOKED.is_empty() && self.transit.alive_at().saturating_add(DELAY) <= now
    }

    /// Notes what happens to the entries on their way here. Only programs with hooks have code for
    /// it.
    #[inline(always)]
    fn in_transit(&mut self, note: impl FnOnce(&mut Transit)) {
        if const { !A::HOOKED.is_empty() } {
            note(&mut self.transit);
        }
    }

    /// Nothing waits for the flows that are on their way here.
    pub(crate) const fn forget_fences(&mut self) {
        self.transit.clear();
    }

    /// Declines offers while this many flows are known.
    pub(crate) const fn limit(&mut self, most: u32) {
        self.most = most;
    }

    /// Number of flows that can be added.
    pub(crate) fn room(&self) -> u32 {
        self.flows.room().min(self.most.saturating_sub(self.flows.len()))
    }

    /// Handles a message from the host about the owner of a flow. Held packets may be able to go on
    /// afterwards ([`HoldQueue::moves_on`]).
    #[inline(never)]
    pub(crate) fn message(
        &mut self,
        message: Ownership<'_>,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> Result<(), ProtocolError> {
        match message {
            Ownership::Offer { ticket, punts, keys, group } => {
                self.offer(ticket, punts, group, keys, side, out)
            }
            Ownership::Transfer { ticket, entries } => self.transfer(ticket, entries, side),
            Ownership::Entry { state, piece } => self.entry(state, piece, side, out),
            Ownership::Vanished {} => self.vanished(side, out),
            Ownership::Withdraw { ticket } => self.withdraw(ticket, side),
            Ownership::Recall { group } => self.recall(group, side, out),
            Ownership::MakeRoom { idle } => {
                self.make_room(idle, side, out);
                Ok(())
            }
            _ => Err(ProtocolError::unexpected(&message.into())),
        }
    }

    /// Whether earlier packets of this flow are still held.
    pub(crate) fn must_queue(&mut self, flow: u32, hold: &HoldQueue) -> bool {
        self.flows.record(flow).is_some_and(|record| record.is_held(hold.left()))
    }

    /// Whether a later packet of the flow ran while the first held one waited. When that came it
    /// was not the flow's; the flow's keys have changed since.
    pub(crate) fn was_passed_by(&mut self, flow: u32, hold: &HoldQueue) -> bool {
        self.flows.record(flow).is_some_and(|record| record.passed > hold.left())
    }

    /// A packet of the flow overtakes the held packets.
    #[inline]
    pub(crate) fn passes(&mut self, flow: u32, hold: &HoldQueue) {
        if let Some(record) = self.flows.record(flow) {
            record.passed = hold.joined();
        }
    }

    /// A packet of this flow, or one for the host, joined the hold queue.
    pub(crate) fn queued(&mut self, flow: Option<u32>, hold: &mut HoldQueue) {
        match flow.and_then(|flow| self.flows.record(flow)) {
            Some(record) => record.queued_until = hold.joined(),
            None => hold.host_waits(),
        }
    }

    /// Messages of this flow wait in a mailbox: later ones stay behind them, and the flow stays
    /// known.
    pub(crate) fn waits_in_mailbox(&mut self, flow: u32) {
        if let Some(record) = self.flows.record(flow) {
            record.queued_until = IN_MAILBOX;
        }
    }

    /// The last of them left it.
    pub(crate) fn left_mailbox(&mut self, flow: u32) {
        if let Some(record) = self.flows.record(flow)
            && record.queued_until == IN_MAILBOX
        {
            record.queued_until = 0;
        }
    }

    /// Whether the flow with this number is known.
    pub(crate) fn knows(&mut self, flow: u32) -> bool {
        self.flows.record(flow).is_some()
    }

    /// The number of the flow with this encoded group key, if it is owned here.
    pub(crate) fn flow_of(
        &mut self,
        app: &mut A,
        group: &[u8],
        now: u64,
        left: u64,
    ) -> Option<u32> {
        Some(self.find(app, &A::Group::get(group)?, now, left)?.flow)
    }

    /// A held packet of the flow ran. It may have made a key that finds other held packets, which
    /// were for the host.
    pub(crate) fn ran_held(&mut self, flow: u32, hold: &HoldQueue) {
        if let Some(record) = self.flows.record(flow) {
            record.queued_until = record.queued_until.max(hold.host_waits_until());
        }
    }

    /// After a run of the flow: forgets it if it has no entries (unless no state travels at all).
    /// Flows hardly ever get entries here, so the keys of new entries are not examined.
    #[inline]
    pub(crate) fn settle(&mut self, flow: u32, app: &mut A, hold: &mut HoldQueue) {
        let waits = self.must_queue(flow, hold);
        let (kept, joined) = entries::look_back(app, flow);
        self.flows.may_have_other_keys(joined);
        if !kept {
            self.flows.remove(app, flow);
            if waits {
                hold.host_waits();
            }
        }
    }

    /// Sends the flow's packets to the host from now on. If some are held here, all packets for the
    /// host stay behind them: without a record, nobody can tell the flow's packets from others.
    #[inline(never)]
    pub(crate) fn forget(&mut self, flow: u32, app: &mut A, hold: &mut HoldQueue) {
        if self.must_queue(flow, hold) {
            hold.host_waits();
        }
        self.flows.remove(app, flow);
    }

    /// The flow is no longer in transit, in either direction: its keys need no announcement, and
    /// its held packets can go on.
    fn arrived(&mut self, flow: u32, hold: &mut HoldQueue) {
        self.pending.forget(flow);
        hold.move_on();
    }

    /// The flow that was in transit is not the NIC's: its packets go to the host.
    #[inline(never)]
    fn arrived_at_host(&mut self, flow: u32, app: &mut A, hold: &mut HoldQueue) {
        self.arrived(flow, hold);
        self.forget(flow, app, hold);
    }

    /// Gives everything that decides later packets and messages to `say`.
    pub(crate) fn hash(&mut self, app: &mut A, hold: &HoldQueue, say: &mut Say<'_>) {
        self.flows.hash(app, hold.left(), say);
        self.tickets.iter().for_each(|flow| say_number(say, *flow));
        for (words, flow) in self.pending.all() {
            say_words(say, &words);
            say_words(say, &[flow.into()]);
        }
        if let Some(Incoming { flow, left, returned }) = self.incoming {
            say_words(say, &[flow.into(), left.into(), returned.into()]);
        }
        Leaving::hash(self.leaving, say);
        if const { !A::HOOKED.is_empty() } {
            self.transit.hash(say);
        }
        say_words(say, &[self.most.into()]);
    }
}
