//! The host's half of the protocol: it handles packets that the NIC passes on, and offers flows to
//! the NIC.

use cora_core::app::{App, Sides};
use cora_core::hash::FlowHasher;
use cora_core::key::Key;
use cora_core::plain::Plain;
use cora_core::state::{Memory, NO_FLOW, OutOfMemory};

use crate::channel::{Outbox, ProtocolError, TICKETS};
use crate::durability::store::{Holder, Reclaimed};
use crate::exec::engine::Engine;
use crate::link::message::{Keys, Kind, Load, Message, Ownership, Report};
use crate::ownership::admission::{ASKED_AGAIN, Admission, Order};
use crate::ownership::encode::{encoded, room};
use crate::ownership::handover::{Leaving, SMALL};
use crate::ownership::records::{Flows, Record, Stage};
use crate::telemetry::{Talker, Watch};

/// Chooses the flows that the NIC may own: the same in every run.
const SHARE: FlowHasher = FlowHasher::new(0x0073_6861_7265);

/// The number, below 1024, that a group's flows hash to. The NIC may own them if it is below the
/// plan's [`nic_share`](cora_core::app::PlanFacts::nic_share).
#[inline]
pub fn share_of(group: &impl Key) -> u16 {
    (group.hash(&SHARE, false) >> 54) as u16
}

/// A pending offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) flow: u32,
    /// Digest of the announced keys.
    pub(crate) digest: u64,
}

/// A released flow with entries still to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<K> {
    pub(crate) flow: u32,
    pub(crate) left: u32,
    pub(crate) group: K,
    /// The latest use of an entry that came.
    pub(crate) used: u64,
}

/// The host's half.
#[derive(Debug)]
pub struct HostHalf<A: App> {
    pub(crate) engine: Engine<A>,
    pub(crate) flows: Flows<A>,
    pub(crate) tickets: [Option<Offer>; TICKETS],
    /// Free tickets, a bit each.
    pub(crate) free: u64,
    pub(crate) incoming: Option<Incoming<A::Group>>,
    /// The flow that is being handed over to the NIC.
    pub(crate) leaving: Option<Leaving>,
    /// Tickets that the NIC fenced meanwhile, a bit each: their flows go after that one.
    pub(crate) fenced: u64,
    /// Whether flows may move: the plan is split, there is a NIC, and the half is not closed.
    pub(crate) moving: bool,
    pub(crate) now: u64,
    /// Low watermark: no later packet is older.
    pub(crate) horizon: u64,
    pub(crate) admission: Admission,
    /// Flows handed to the NIC that did not come back, including those that ended there.
    pub(crate) at_nic: u32,
    /// When the NIC was last asked for room, and the back-off until the next time (ns of packet
    /// time).
    pub(crate) asked: u64,
    pub(crate) asked_for: u64,
    pub(crate) watch: Watch<A::Group>,
    /// The counters of this side.
    pub report: Report,
    /// State kept here after another process ended.
    pub reclaimed: Reclaimed,
    /// Changes of durable entries that were not replicated: no room, or the host owns the entry.
    pub uncopied: u64,
}

impl<A: App> HostHalf<A> {
    /// Bytes of [`Memory`] in addition to those of the program's states.
    pub fn bytes(app: &mut A) -> usize {
        Flows::bytes(app)
    }

    /// A half that owns every flow. Without a NIC (`nic` is `false`) it handles all packets itself.
    pub fn create(mut app: A, memory: &mut Memory, nic: bool) -> Result<Self, OutOfMemory> {
        Ok(Self {
            flows: Flows::create(memory, &mut app)?,
            engine: Engine::new(app),
            tickets: [None; TICKETS],
            free: const {
                assert!(TICKETS == u64::BITS as usize);
                u64::MAX
            },
            incoming: None,
            leaving: None,
            fenced: 0,
            moving: nic && A::PLAN.sides == Sides::Split,
            now: 0,
            horizon: 0,
            admission: Admission::of_plan(&A::PLAN),
            at_nic: 0,
            asked: 0,
            asked_for: ASKED_AGAIN[0],
            watch: Watch::new(),
            report: Report::default(),
            reclaimed: Reclaimed::default(),
            uncopied: 0,
        })
    }

    /// The program's states and outcomes.
    pub const fn engine(&mut self) -> &mut Engine<A> {
        &mut self.engine
    }

    /// Flows owned here; under a plan that moves none, none is counted.
    pub const fn flows(&self) -> u32 {
        self.flows.len()
    }

    /// The time of the latest packet.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Whether no offer is pending and no flow is in transit.
    pub const fn is_drained(&self) -> bool {
        self.free == u64::MAX && self.incoming.is_none() && self.leaving.is_none()
    }

    /// Whether [`Self::hand_over`] has work.
    pub const fn is_handing_over(&self) -> bool {
        self.leaving.is_some()
    }

    /// Stops offering flows.
    pub const fn close(&mut self) {
        self.moving = false;
    }

    /// Handles a message from the NIC that is no packet. Messages that end a run are the caller's.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        match *message {
            Message::Ownership(message) => self.ownership_message(message, out),
            Message::Durability(message) if const { A::DURABLE } => {
                self.durability_message(message, out)
            }
            Message::Records(message) if const { !A::RECORDED.is_empty() } => {
                let (state, ending) = message.ending();
                out.ended(state, ending);
                Ok(())
            }
            _ => Err(ProtocolError::unexpected(message)),
        }
    }

    fn ownership_message(
        &mut self,
        message: Ownership<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        match message {
            Ownership::Release { punts, entries, group } => {
                self.release(punts, entries, group, out)?;
            }
            Ownership::Entry { state, piece } => self.entry(state, piece, out)?,
            Ownership::Vanished {} => self.vanished(out)?,
            Ownership::Fence { ticket } => self.fence(ticket, out)?,
            Ownership::Decline { ticket } => {
                let offer = self.take_ticket(ticket)?;
                self.report.declined += 1;
                if let Some(record) = self.offered_record(ticket, offer) {
                    record.stage = Stage::Owned;
                    record.punts = record.punts.saturating_add(1);
                    record.packets = 0;
                }
            }
            Ownership::Owned { group } if const { A::DURABLE } => self.owned(group, out),
            Ownership::AllOwned { .. } if const { A::DURABLE } => self.all_owned(out),
            _ => return Err(ProtocolError::unexpected(&message.into())),
        }
        Ok(())
    }

    /// Starts sampling packets for the [load](Self::load).
    pub const fn watch(&mut self) {
        self.watch.begin();
    }

    /// The host's counters, and its recent top flows.
    pub fn load(&mut self, mut talker: impl FnMut(&Talker<A::Group>)) -> Load {
        let (counts, room) = (self.counts(), u64::from(self.flows.room()));
        let talkers = &mut self.watch.talkers;
        let told = talkers.all().len() as u64;
        talkers.all().iter().for_each(&mut talker);
        talkers.age();
        Load { counts, room, talkers: told, ..Load::default() }
    }

    /// The counters of this side, with the flows owned now.
    pub fn counts(&mut self) -> Report {
        let evicted = self.engine.evicted();
        Report { flows: u64::from(self.flows.len()), evicted, ..self.report }
    }

    /// Flows handed to the NIC that did not come back, including those that ended there.
    pub const fn at_nic(&self) -> u32 {
        self.at_nic
    }

    /// Number of offers that can be made now.
    pub const fn offers_left(&self) -> usize {
        if self.leaving.is_some() { 0 } else { self.free.count_ones() as usize }
    }

    /// Sets the number of the NIC's flows, as the NIC reported it.
    pub const fn count_at_nic(&mut self, flows: u32) {
        self.at_nic = flows;
    }

    /// Follows an order, as far as possible now.
    pub fn follow(&mut self, order: &Order<A::Group>, out: &mut impl Outbox) {
        match order {
            Order::Admit(admission) => self.admission = *admission,
            Order::Offer(group) => {
                let app = self.engine.app();
                // At the time of the last packet, since only packets advance time.
                let found = self.flows.find(app, group, self.now, 0);
                if let Some(flow) = found.filter(|_| self.moving)
                    && self.may_move(flow)
                {
                    self.offer(flow, out);
                }
            }
            // No message that the NIC may answer by a release may stand between the entries of a
            // flow.
            Order::Recall(group) if self.moving && self.leaving.is_none() => {
                out.send(&Ownership::Recall { group: encoded(group, &mut room()) }.into());
            }
            Order::Recall(_) => {}
        }
    }

    /// Whether the flow is here, complete, and not in transit.
    pub(crate) fn may_move(&mut self, flow: u32) -> bool {
        let strays = Flows::strays(self.engine.app());
        let comes = self.incoming.is_some_and(|incoming| incoming.flow == flow);
        let Some(record) = self.flows.record(flow) else { return false };
        // Without any strays, none belongs to this flow.
        record.scattered &= strays > 0;
        record.stage == Stage::Owned && !record.scattered && !comes
    }

    /// Offers the flow, if a ticket is free.
    pub(crate) fn offer(&mut self, flow: u32, out: &mut impl Outbox) {
        let Some(group) = self.flows.group(flow) else { return };
        let punts = self.flows.record(flow).map_or(0, |record| record.punts);
        if self.offers_left() == 0 {
            return;
        }
        let ticket = self.free.trailing_zeros() as usize;
        let Some(keys) = self.flows.keys(self.engine.app(), flow) else { return };
        out.send(
            &Ownership::Offer {
                ticket: ticket as u32,
                punts,
                group: encoded(&group, &mut room()),
                keys: Keys(zerocopy::IntoBytes::as_bytes(keys.as_slice())),
            }
            .into(),
        );
        self.tickets[ticket] = Some(Offer { flow, digest: digest(&group.words(), &keys) });
        self.free &= !(1 << ticket);
        if let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Offered;
            record.ticket = ticket as u32;
        }
    }

    /// Handles a fence: all of the flow's earlier packets are handled. Hands the flow over, unless
    /// it changed.
    pub(crate) fn fence(
        &mut self,
        ticket: u32,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        if self.leaving.is_some() {
            let bit = 1_u64.checked_shl(ticket).unwrap_or(0);
            if bit & !self.free & !self.fenced == 0 {
                return Err(ProtocolError::UnknownTicket(ticket));
            }
            self.fenced |= bit;
            return Ok(());
        }
        let offer = self.take_ticket(ticket)?;
        if !self.is_as_offered(ticket, offer) {
            if let Some(record) = self.offered_record(ticket, offer) {
                record.stage = Stage::Owned;
            }
            out.send(&Ownership::Withdraw { ticket }.into());
            return Ok(());
        }
        let (app, flow, now) = (self.engine.app(), offer.flow, self.horizon);
        let left = Flows::entries(app, flow, now);
        if const { A::DURABLE } {
            self.copies_go_along(flow, now, out);
        }
        out.send(&Ownership::Transfer { ticket, entries: left }.into());
        self.report.offloads += 1;
        self.at_nic = self.at_nic.saturating_add(1);
        self.flows.pin(flow);
        if let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Leaving;
        }
        let at_once = if left <= SMALL { left } else { 0 };
        self.send_entries(Leaving { flow, left, now }, at_once, out);
        Ok(())
    }

    /// The record of an offered flow, if its number still belongs to this offer.
    pub(crate) fn offered_record(&mut self, ticket: u32, offer: Offer) -> Option<&mut Record> {
        let record = self.flows.record(offer.flow)?;
        (record.stage == Stage::Offered && record.ticket == ticket).then_some(record)
    }

    fn is_as_offered(&mut self, ticket: u32, offer: Offer) -> bool {
        if self.offered_record(ticket, offer).is_none() {
            return false;
        }
        let (group, keys) =
            (self.flows.group(offer.flow), self.flows.keys(self.engine.app(), offer.flow));
        match (group, keys) {
            (Some(group), Some(keys)) => digest(&group.words(), &keys) == offer.digest,
            _ => false,
        }
    }

    pub(crate) fn take_ticket(&mut self, ticket: u32) -> Result<Offer, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        let offer = place.ok_or(ProtocolError::UnknownTicket(ticket))?;
        self.free |= 1 << ticket;
        Ok(offer)
    }

    fn release(
        &mut self,
        punts: u32,
        entries: u32,
        group: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        if self.incoming.is_some() {
            return Err(ProtocolError::Unexpected(Kind::Release));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Release))?;
        self.flows.expect(self.engine.app(), &group);
        // The NIC may refuse a flow amid its handover. Then the remaining entries are sent, and
        // come back behind the others.
        if self.leaving.is_some_and(|leaving| self.flows.group(leaving.flow) == Some(group)) {
            self.hand_over(u32::MAX, out)?;
        }
        let record = Record { punts, came: self.now.max(1), ..Record::OWNED };
        self.at_nic = self.at_nic.saturating_sub(1);
        self.asked_for = ASKED_AGAIN[0];
        self.report.released += 1;
        self.flows.reserve(self.engine.app(), &group);
        let flow = self.flows.add(self.engine.app(), group, record);
        if let Some(flow) = flow {
            self.flows.pin(flow);
        }
        // Without room for a record the entries are kept, and the flow stays here for good.
        let flow = flow.unwrap_or(NO_FLOW);
        self.incoming = Some(Incoming { flow, left: entries, group, used: self.now });
        self.end_of_release(out);
        Ok(())
    }

    fn entry(
        &mut self,
        state: u16,
        piece: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Entry);
        let incoming = self.incoming.as_mut().ok_or(unexpected)?;
        let came = self.flows.import(self.engine.app(), state, piece, incoming.flow, true)?;
        // By now the key may belong to another entry, since nobody here knew that it was in use.
        self.report.refused += u64::from(came.is_none());
        incoming.used = incoming.used.max(came.unwrap_or(0));
        incoming.left -= 1;
        // Replicated now: if this side ends amid the flow, the ring no longer has the entry.
        self.tell_changes(out);
        self.end_of_release(out);
        Ok(())
    }

    /// Handles an entry that expired before it could be sent.
    fn vanished(&mut self, out: &mut impl Outbox) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Vanished);
        self.incoming.as_mut().ok_or(unexpected)?.left -= 1;
        self.end_of_release(out);
        Ok(())
    }

    /// After the last entry, replicas of the flow that the NIC still holds are stale: those entries
    /// had expired.
    pub(crate) fn end_of_release(&mut self, out: &mut impl Outbox) {
        let Some(Incoming { left: 0, group, flow, used }) = self.incoming else { return };
        self.incoming = None;
        // The NIC's time is ahead of the host's, and a record must live as long as its entries.
        self.flows.unpin(flow, used.max(self.now));
        if const { A::DURABLE } {
            self.tell_changes(out);
            if let Some(standby) = out.standby() {
                standby.forget_all(Holder::Nic, Some(encoded(&group, &mut room())));
            }
        }
    }
}

/// A digest of a set of keys, independent of their order.
fn digest(group: &[u64; 5], keys: &[[u64; 5]]) -> u64 {
    keys.iter().fold(SHARE.hash(group), |digest, key| digest.wrapping_add(SHARE.hash(key) | 1))
}
