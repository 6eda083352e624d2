//! The host's half of the protocol: it handles what the NIC passes on, and offers flows back.

use cora_core::app::{App, Sides};
use cora_core::hash::FlowHasher;
use cora_core::key::Key;
use cora_core::plain::Plain;
use cora_core::state::{Memory, NO_FLOW, OutOfMemory};

use crate::channel::{Outbox, ProtocolError, TICKETS};
use crate::durability::store::{Holder, Reclaimed};
use crate::exec::engine::Engine;
use crate::link::message::{Load, Message, Report};
use crate::ownership::admission::{ASKED_AGAIN, Admission, Order};
use crate::ownership::encode::{encoded, room};
use crate::ownership::handover::{Leaving, SMALL};
use crate::ownership::records::{Flows, Record, Stage};
use crate::telemetry::{Talker, Watch};

/// Decides which flows the NIC may own: the same for a flow in every run.
const SHARE: FlowHasher = FlowHasher::new(0x0073_6861_7265);

/// Which part of the flows, of 1024, a group's flows are: the NIC may own them when this is below
/// the plan's
/// [`nic_share`](cora_core::app::PlanFacts::nic_share).
#[inline]
pub fn share_of(group: &impl Key) -> u16 {
    (group.hash(&SHARE, false) >> 54) as u16
}

/// An offer under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) flow: u32,
    /// Of the keys it announced.
    pub(crate) digest: u64,
}

/// A released flow whose entries are coming in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<K> {
    pub(crate) flow: u32,
    pub(crate) left: u32,
    pub(crate) group: K,
    /// The latest use of an entry that came in.
    pub(crate) used: u64,
}

/// The host's half.
#[derive(Debug)]
pub struct HostHalf<A: App> {
    pub(crate) engine: Engine<A>,
    pub(crate) flows: Flows<A>,
    pub(crate) tickets: [Option<Offer>; TICKETS],
    /// Tickets that no offer has, a bit each.
    pub(crate) free: u64,
    pub(crate) incoming: Option<Incoming<A::Group>>,
    /// The flow whose entries go to the NIC bit by bit.
    pub(crate) leaving: Option<Leaving>,
    /// Tickets that the NIC answered meanwhile: their flows' turn comes behind it.
    pub(crate) fenced: u64,
    /// Flows may move: the plan splits, and there is a NIC.
    pub(crate) moving: bool,
    pub(crate) now: u64,
    /// No packet still to come is older.
    pub(crate) horizon: u64,
    pub(crate) admission: Admission,
    /// Flows handed to the NIC that did not come back. Those that ended there are among them.
    pub(crate) at_nic: u32,
    /// When the NIC was asked for room last (ns of packet time), and how long that is not done
    /// again.
    pub(crate) asked: u64,
    pub(crate) asked_for: u64,
    pub(crate) watch: Watch<A::Group>,
    /// What happened here.
    pub report: Report,
    /// What lived on here after another process ended.
    pub reclaimed: Reclaimed,
    /// Changes of durable entries that there was no room to copy.
    pub uncopied: u64,
}

impl<A: App> HostHalf<A> {
    /// Bytes of [`Memory`] beside those of the program's states.
    pub fn bytes(app: &mut A) -> usize {
        Flows::bytes(app)
    }

    /// The half, owning every flow. Without a NIC (`nic` is `false`) it handles all packets itself.
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

    /// Whether no offer is under way.
    pub const fn is_drained(&self) -> bool {
        self.free == u64::MAX && self.incoming.is_none() && self.leaving.is_none()
    }

    /// Whether [`Self::hand_over`] has something to do.
    pub const fn is_handing_over(&self) -> bool {
        self.leaving.is_some()
    }

    /// No flow is offered any more.
    pub const fn close(&mut self) {
        self.moving = false;
    }

    /// A message from the NIC, beside packets. Those that end a run are the caller's.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        match *message {
            Message::Release { punts, entries, group } => {
                self.release(punts, entries, group, out)?;
            }
            Message::Entry(state, piece) => self.entry(state, piece, out)?,
            Message::Copy { .. }
            | Message::Erase(..)
            | Message::Same { .. }
            | Message::Owned(_)
            | Message::AllOwned(_)
                if const { A::DURABLE } =>
            {
                self.durable_message(message, out)?;
            }
            Message::Expired(..) | Message::Removed(..) | Message::Evicted(..)
                if const { !A::RECORDED.is_empty() } =>
            {
                if let Some((state, ending)) = message.ending() {
                    out.ended(state, ending);
                }
            }
            Message::Fence(ticket) => self.fence(ticket, out)?,
            Message::Decline(ticket) => {
                let offer = self.take_ticket(ticket)?;
                self.report.declined += 1;
                if let Some(record) = self.offered_record(ticket, offer) {
                    record.stage = Stage::Owned;
                    record.punts = record.punts.saturating_add(1);
                    record.packets = 0;
                }
            }
            _ => return Err(ProtocolError::Unexpected(message.kind())),
        }
        Ok(())
    }

    /// From now on packets are sampled, for whoever asks for the [load](Self::load).
    pub const fn watch(&mut self) {
        self.watch.begin();
    }

    /// What the host has seen and done, and the flows with most packets of late.
    pub fn load(&mut self, mut talker: impl FnMut(&Talker<A::Group>)) -> Load {
        let (counts, room) = (self.counts(), u64::from(self.flows.room()));
        let talkers = &mut self.watch.talkers;
        let told = talkers.all().len() as u64;
        talkers.all().iter().for_each(&mut talker);
        talkers.age();
        Load { counts, room, talkers: told, ..Load::default() }
    }

    /// The counts of this side, with the flows owned now.
    pub fn counts(&mut self) -> Report {
        let evicted = self.engine.evicted();
        Report { flows: u64::from(self.flows.len()), evicted, ..self.report }
    }

    /// Flows handed to the NIC that did not come back; those that ended there are among them.
    pub const fn at_nic(&self) -> u32 {
        self.at_nic
    }

    /// Offers that could be made now.
    pub const fn offers_left(&self) -> usize {
        if self.leaving.is_some() { 0 } else { self.free.count_ones() as usize }
    }

    /// The NIC owns so many flows, it says.
    pub const fn count_at_nic(&mut self, flows: u32) {
        self.at_nic = flows;
    }

    /// Follows an order, as far as that is possible now.
    pub fn follow(&mut self, order: &Order<A::Group>, out: &mut impl Outbox) {
        match order {
            Order::Admit(admission) => self.admission = *admission,
            Order::Offer(group) => {
                let app = self.engine.app();
                // As of the last packet: time goes on by packets only.
                let found = self.flows.find(app, group, self.now, 0);
                if let Some(flow) = found.filter(|_| self.moving)
                    && self.may_move(flow)
                {
                    self.offer(flow, out);
                }
            }
            // Nothing that the NIC may answer by a release stands between the entries of a flow.
            Order::Recall(group) if self.moving && self.leaving.is_none() => {
                out.send(&Message::Recall(encoded(group, &mut room())));
            }
            Order::Recall(_) => {}
        }
    }

    /// Whether the flow is here, whole, and not on its way already.
    pub(crate) fn may_move(&mut self, flow: u32) -> bool {
        let strays = Flows::strays(self.engine.app());
        let comes = self.incoming.is_some_and(|incoming| incoming.flow == flow);
        let Some(record) = self.flows.record(flow) else { return false };
        // When there is no stray any more, none is this flow's.
        record.scattered &= strays > 0;
        record.stage == Stage::Owned && !record.scattered && !comes
    }

    /// Offers the flow, if an offer is free.
    pub(crate) fn offer(&mut self, flow: u32, out: &mut impl Outbox) {
        let Some(group) = self.flows.group(flow) else { return };
        let punts = self.flows.record(flow).map_or(0, |record| record.punts);
        if self.offers_left() == 0 {
            return;
        }
        let ticket = self.free.trailing_zeros() as usize;
        let Some(keys) = self.flows.keys(self.engine.app(), flow) else { return };
        out.send(&Message::Offer {
            ticket: ticket as u32,
            punts,
            group: encoded(&group, &mut room()),
            keys: zerocopy::IntoBytes::as_bytes(keys.as_slice()),
        });
        self.tickets[ticket] = Some(Offer { flow, digest: digest(&group.words(), &keys) });
        self.free &= !(1 << ticket);
        if let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Offered;
            record.ticket = ticket as u32;
        }
    }

    /// Everything of the flow that came before the fence is handled: hand it over, unless it
    /// changed.
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
            out.send(&Message::Withdraw(ticket));
            return Ok(());
        }
        let (app, flow, now) = (self.engine.app(), offer.flow, self.horizon);
        let left = Flows::entries(app, flow, now);
        if const { A::DURABLE } {
            self.copies_go_along(flow, now, out);
        }
        out.send(&Message::Transfer { ticket, entries: left });
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

    /// The record of an offered flow, if its number is still this flow's.
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
            return Err(ProtocolError::Unexpected(4));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(4))?;
        self.flows.expect(self.engine.app(), &group);
        // The NIC may refuse a flow before all of it went there: the rest goes, and comes back
        // behind what was there.
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
        // Without a record the entries are kept all the same; the flow then stays here for good.
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
        let Some(incoming) = &mut self.incoming else { return Err(ProtocolError::Unexpected(5)) };
        let came = self.flows.import(self.engine.app(), state, piece, incoming.flow, true)?;
        // The key may be another's by now, of whom nobody here knew that it was taken.
        self.report.refused += u64::from(came.is_none());
        incoming.used = incoming.used.max(came.unwrap_or(0));
        incoming.left -= 1;
        // The ring does not have it any more when this side ends amid the flow.
        self.tell_changes(out);
        self.end_of_release(out);
        Ok(())
    }

    /// When the last entry is in, copies of others are stale: those had expired.
    pub(crate) fn end_of_release(&mut self, out: &mut impl Outbox) {
        let Some(Incoming { left: 0, group, flow, used }) = self.incoming else { return };
        self.incoming = None;
        // The NIC is ahead of the host, and a record is known for as long as its entries.
        self.flows.unpin(flow, used.max(self.now));
        if const { A::DURABLE } {
            self.tell_changes(out);
            if let Some(standby) = out.standby() {
                standby.forget_all(Holder::Nic, Some(encoded(&group, &mut room())));
            }
        }
    }
}

/// Tells sets of keys apart, whatever their order.
fn digest(group: &[u64; 5], keys: &[[u64; 5]]) -> u64 {
    keys.iter().fold(SHARE.hash(group), |digest, key| digest.wrapping_add(SHARE.hash(key) | 1))
}
