//! The host's half of the protocol: it handles what the NIC passes on, and offers flows back.

use super::burst::{Burst, announce};
use super::engine::{Engine, Ran};
use super::flows::{Flows, Record, Stage};
use super::{Outbox, ProtocolError, TICKETS};
use crate::app::{App, Sides};
use crate::hash::FlowHasher;
use crate::key::Key;
use crate::message::{Message, Report, Stamp};
use crate::packet::Packet;
use crate::plain::Plain;
use crate::state::{EveryState, Memory, NO_FLOW, OutOfMemory, Visit};
use crate::verdict::Forward;

/// Decides which flows the NIC may own: the same for a flow in every run.
const SHARE: FlowHasher = FlowHasher::new(0x0073_6861_7265);

/// Which part of the flows, of 1024, a group's flows are: the NIC may own them when this is below the plan's
/// [`nic_share`](crate::app::PlanFacts::nic_share).
#[inline]
pub fn share_of(group: &impl Key) -> u16 {
    (SHARE.hash(&group.words()) >> 54) as u16
}

/// A flow that punts again and again is offered only after so many packets at most, as a power of 2.
const MAX_BACK_OFF: u32 = 16;

/// An offer under way.
#[derive(Clone, Copy, Debug)]
struct Offer {
    flow: u32,
    /// Of the keys it announced.
    digest: u64,
}

/// A released flow whose entries are coming in.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    flow: u32,
    left: u32,
}

/// The host's half.
#[derive(Debug)]
pub struct HostHalf<A: App> {
    engine: Engine<A>,
    flows: Flows<A>,
    tickets: [Option<Offer>; TICKETS],
    incoming: Option<Incoming>,
    /// Flows may move: the plan splits, and there is a NIC.
    moving: bool,
    now: u64,
    /// No packet still to come is older.
    horizon: u64,
    /// What happened here.
    pub report: Report,
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
            incoming: None,
            moving: nic && A::PLAN.sides == Sides::Split,
            now: 0,
            horizon: 0,
            report: Report::default(),
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
    pub fn is_drained(&self) -> bool {
        self.tickets.iter().all(Option::is_none) && self.incoming.is_none()
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
        if self.incoming.is_some() && !matches!(message, Message::Entry(..)) {
            return Err(ProtocolError::Unexpected(message.kind()));
        }
        match *message {
            Message::Release { punts, entries, group } => self.release(punts, entries, group)?,
            Message::Entry(state, piece) => self.entry(state, piece)?,
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

    /// Whether it matters which flow a packet belongs to. Only messages make flows known that were not.
    #[inline(always)]
    fn knows_flows(&self) -> bool {
        self.moving || !self.flows.is_empty()
    }

    /// Handles packets, one after the other. An error when the NIC let them arrive amid the
    /// entries of a flow.
    // A function by itself, and so is the loop that fills the burst: each has the registers it needs.
    #[inline(never)]
    pub fn burst(
        &mut self,
        burst: &mut Burst<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        if self.incoming.is_some() && !burst.is_empty() {
            return Err(ProtocolError::Unexpected(Message::PUNT));
        }
        if self.knows_flows() {
            announce(burst, &mut self.engine, Some(&mut self.flows));
            self.run_all::<true>(burst, out);
        } else {
            announce(burst, &mut self.engine, None);
            self.run_all::<false>(burst, out);
        }
        Ok(())
    }

    /// Runs the packets; `FLOWS` says whether it matters which flows they belong to.
    #[inline(always)]
    fn run_all<const FLOWS: bool>(&mut self, burst: &mut Burst<'_>, out: &mut impl Outbox) {
        for (number, arrival) in (0..).zip(burst.arrivals_mut()) {
            self.run::<FLOWS>(&arrival.stamp(), &mut arrival.packet, number, out);
        }
        self.report.packets += burst.len() as u64;
    }

    #[inline(always)]
    fn run<const FLOWS: bool>(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        out: &mut impl Outbox,
    ) {
        self.now = self.now.max(stamp.meta.now);
        self.horizon = self.horizon.max(stamp.horizon);
        let group = if FLOWS { A::Group::of(packet).ok() } else { None };
        let flow = group.and_then(|group| {
            self.flows.begin(stamp.meta.now, stamp.horizon, ahead);
            let app = self.engine.app();
            self.flows
                .find(app, &group, stamp.meta.now, 0)
                .or_else(|| self.flows.reserve(app, &group))
        });
        let visit = Visit {
            now: stamp.meta.now,
            horizon: stamp.horizon,
            undo: false,
            flow: flow.unwrap_or(NO_FLOW),
            ahead,
        };
        let ran = self.engine.run::<EveryState>(packet, visit);
        let egress = match ran {
            Ran::Forward(Forward::Transmit) => Some(stamp.meta.port.opposite()),
            Ran::Forward(Forward::Redirect(port)) => Some(port),
            _ => None,
        };
        if let Some(egress) = egress {
            out.leave(stamp, egress, packet.frame());
        }
        if let (Some(group), Some(flow)) = (group, flow)
            && let Some(flow) = self.flows.settle(self.engine.app(), flow, &group)
        {
            self.consider_offer(flow, out);
        }
    }

    /// Offers the flow to the NIC, if the plan lets it go there and it did not just come back.
    fn consider_offer(&mut self, flow: u32, out: &mut impl Outbox) {
        let Some(group) = self.flows.group(flow).filter(|_| self.moving) else { return };
        let share = share_of(&group);
        let strays = Flows::strays(self.engine.app());
        let Some(record) = self.flows.record(flow) else { return };
        // When there is no stray any more, none is this flow's.
        record.scattered &= strays > 0;
        record.packets = record.packets.saturating_add(1);
        let patience = A::PLAN.offer_after.max(1 << record.punts.min(MAX_BACK_OFF));
        let stays = record.stage == Stage::Offered || record.scattered || record.packets < patience;
        if stays || share >= A::PLAN.nic_share {
            return;
        }
        let punts = record.punts;
        let Some(ticket) = self.tickets.iter().position(Option::is_none) else { return };
        let Some(keys) = self.flows.keys(self.engine.app(), flow) else { return };
        let mut bytes = [0; 64];
        group.put(&mut bytes);
        let message = Message::Offer {
            ticket: ticket as u32,
            punts,
            group: &bytes[..<A::Group as Plain>::SIZE],
            keys: zerocopy::IntoBytes::as_bytes(keys.as_slice()),
        };
        out.send(&message);
        self.tickets[ticket] = Some(Offer { flow, digest: digest(&group.words(), &keys) });
        if let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Offered;
            record.ticket = ticket as u32;
        }
    }

    /// Everything of the flow that came before the fence is handled: hand it over, unless it changed.
    fn fence(&mut self, ticket: u32, out: &mut impl Outbox) -> Result<(), ProtocolError> {
        let offer = self.take_ticket(ticket)?;
        if !self.is_as_offered(ticket, offer) {
            if let Some(record) = self.offered_record(ticket, offer) {
                record.stage = Stage::Owned;
            }
            out.send(&Message::Withdraw(ticket));
            return Ok(());
        }
        let (app, now) = (self.engine.app(), self.horizon);
        out.send(&Message::Transfer { ticket, entries: Flows::entries(app, offer.flow, now) });
        Flows::export(app, offer.flow, now, &mut |state, piece| {
            out.send(&Message::Entry(state, piece));
        });
        self.flows.remove(app, offer.flow);
        self.report.offloads += 1;
        Ok(())
    }

    /// The record of an offered flow, if its number is still this flow's.
    fn offered_record(&mut self, ticket: u32, offer: Offer) -> Option<&mut Record> {
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

    fn take_ticket(&mut self, ticket: u32) -> Result<Offer, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        place.ok_or(ProtocolError::UnknownTicket(ticket))
    }

    fn release(&mut self, punts: u32, entries: u32, group: &[u8]) -> Result<(), ProtocolError> {
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(4))?;
        let record = Record { punts, ..Record::OWNED };
        self.flows.reserve(self.engine.app(), &group);
        let flow = self.flows.add(self.engine.app(), group, record);
        if entries == 0 {
            return Ok(());
        }
        // Without a record the entries are kept all the same; the flow then stays here for good.
        self.incoming = Some(Incoming { flow: flow.unwrap_or(NO_FLOW), left: entries });
        Ok(())
    }

    fn entry(&mut self, state: u16, piece: &[u8]) -> Result<(), ProtocolError> {
        let Some(Incoming { flow, left }) = self.incoming else {
            return Err(ProtocolError::Unexpected(5));
        };
        if !self.flows.import(self.engine.app(), state, piece, flow, true)? {
            return Err(ProtocolError::NoRoom(state));
        }
        self.incoming = (left > 1).then_some(Incoming { flow, left: left - 1 });
        Ok(())
    }
}

/// Tells sets of keys apart, whatever their order.
fn digest(group: &[u64; 5], keys: &[[u64; 5]]) -> u64 {
    keys.iter().fold(SHARE.hash(group), |digest, key| digest.wrapping_add(SHARE.hash(key) | 1))
}
