//! Offers to the NIC, and flows on their way there.

use cora_core::app::App;
use cora_core::hash::FlowHasher;
use cora_core::key::Key;

use super::{HostOwnership, HostRecord, HostSide, Stage};
use crate::channel::{PeerOutbox, ProtocolError};
use crate::link::message::group::{encoded, room};
use crate::link::message::{Keys, Ownership};
use crate::ownership::entries;
use crate::ownership::leaving::{Leaving, SMALL};

/// Chooses the flows that the NIC may own: the same in every run.
const SHARE: FlowHasher = FlowHasher::new(0x0073_6861_7265);

/// The number, below 1024, that a group's flows hash to. The NIC may own them if it is below the
/// plan's [`nic_share`](cora_core::app::PlanFacts::nic_share).
#[inline]
pub fn share_of(group: &impl Key) -> u16 {
    (group.hash(&SHARE, false) >> 54) as u16
}

/// A digest of a set of keys, independent of their order.
fn digest(group: &[u64; 5], keys: &[[u64; 5]]) -> u64 {
    keys.iter().fold(SHARE.hash(group), |digest, key| digest.wrapping_add(SHARE.hash(key) | 1))
}

/// A pending offer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) flow: u32,
    /// Digest of the announced keys.
    pub(super) digest: u64,
}

impl<A: App> HostOwnership<A> {
    /// Number of offers that can be made now.
    pub(crate) const fn offers_left(&self) -> usize {
        if self.leaving.is_some() { 0 } else { self.free.count_ones() as usize }
    }

    /// Offers whose answer is not here.
    pub(super) const fn offered(&self) -> u32 {
        self.free.count_zeros()
    }

    /// Whether the flow is here, complete, and not in transit.
    pub(super) fn may_move(&mut self, flow: u32, strays: impl FnOnce() -> u32) -> bool {
        let strays = strays();
        let comes = self.incoming.is_some_and(|incoming| incoming.flow == flow);
        let Some(record) = self.flows.record(flow) else { return false };
        // Without any strays, none belongs to this flow.
        record.scattered &= strays > 0;
        record.stage == Stage::Owned && !record.scattered && !comes
    }

    /// Offers the flow, if a ticket is free and the NIC half takes flows. Returns whether it did.
    pub(super) fn offer(&mut self, app: &mut A, flow: u32, out: &mut impl PeerOutbox) -> bool {
        let Some(group) = self.flows.group(flow) else { return false };
        let punts = self.flows.record(flow).map_or(0, |record| record.punts);
        if self.offers_left() == 0 || !self.nic_takes {
            return false;
        }
        let ticket = self.free.trailing_zeros();
        let Some(keys) = entries::keys(app, flow, &group) else { return false };
        out.send(
            &Ownership::Offer {
                ticket,
                punts,
                group: encoded(&group, &mut room()),
                keys: Keys(zerocopy::IntoBytes::as_bytes(keys.as_slice())),
            }
            .into(),
        );
        if let Some(place) = self.tickets.get_mut(ticket as usize) {
            *place = Some(Offer { flow, digest: digest(&group.words(), &keys) });
        }
        self.free &= !(1 << ticket);
        if let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Offered(ticket);
        }
        true
    }

    /// The group key of the flow that was offered under this ticket.
    pub(crate) fn offered_under(&self, ticket: u32) -> Option<A::Group> {
        let offer = self.tickets.get(ticket as usize).copied().flatten()?;
        self.flows.group(offer.flow)
    }

    /// Handles a fence: all of the flow's earlier packets are handled. Returns the flow if it goes
    /// now. It does not if it changed or `stays`, and waits while another one goes.
    pub(crate) fn fence(
        &mut self,
        ticket: u32,
        stays: bool,
        app: &mut A,
        out: &mut impl PeerOutbox,
    ) -> Result<Option<u32>, ProtocolError> {
        if self.leaving.is_some() {
            let bit = 1_u64.checked_shl(ticket).unwrap_or(0);
            if bit & !self.free & !self.fenced == 0 {
                return Err(ProtocolError::UnknownTicket(ticket));
            }
            self.fenced |= bit;
            return Ok(None);
        }
        let offer = self.take_ticket(ticket)?;
        if !stays && self.is_as_offered(app, ticket, offer) {
            return Ok(Some(offer.flow));
        }
        if let Some(record) = self.offered_record(ticket, offer) {
            record.stage = Stage::Owned;
        }
        out.send(&Ownership::Withdraw { ticket }.into());
        Ok(None)
    }

    /// The ticket of the next flow that goes, if none goes now.
    pub(crate) const fn next_fenced(&mut self) -> Option<u32> {
        if self.leaving.is_some() || self.fenced == 0 {
            return None;
        }
        let ticket = self.fenced.trailing_zeros();
        self.fenced &= self.fenced - 1;
        Some(ticket)
    }

    /// Begins to hand the flow over under its ticket. The first entries go at once.
    pub(crate) fn transfer(
        &mut self,
        ticket: u32,
        flow: u32,
        side: &mut HostSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        let now = side.clock.horizon;
        let left = entries::count(side.app, flow, now);
        out.send(&Ownership::Transfer { ticket, entries: left }.into());
        side.report.offloads += 1;
        self.at_nic = self.at_nic.saturating_add(1);
        self.flows.pin(flow);
        if let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Leaving;
        }
        self.leaving = Some(Leaving { flow, left, now });
        self.send_entries(if left <= SMALL { left } else { 0 }, side, out);
    }

    /// Sends the next entries of the leaving flow, at most `most`.
    pub(crate) fn send_entries(
        &mut self,
        most: u32,
        side: &mut HostSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        let Some(mut leaving) = self.leaving else { return };
        side.report.moved_bytes += leaving.send(side.app, most, out);
        self.leaving = (leaving.left > 0).then_some(leaving);
        if leaving.left == 0 {
            self.flows.remove(side.app, leaving.flow);
        }
    }

    /// Whether this flow is being handed over.
    pub(crate) fn is_leaving(&self, group: &A::Group) -> bool {
        self.leaving.is_some_and(|leaving| self.flows.group(leaving.flow) == Some(*group))
    }

    /// The NIC declined the offer.
    pub(crate) fn declined(
        &mut self,
        ticket: u32,
        side: &mut HostSide<'_, A>,
    ) -> Result<(), ProtocolError> {
        let offer = self.take_ticket(ticket)?;
        side.report.declined += 1;
        if let Some(record) = self.offered_record(ticket, offer) {
            record.stage = Stage::Owned;
            record.punts = record.punts.saturating_add(1);
            record.packets = 0;
        }
        Ok(())
    }

    /// The NIC ended: its flows' offers are void. Returns their number.
    pub(super) fn cancel_offers(&mut self) -> u64 {
        let mut cancelled = 0;
        for ticket in 0..self.tickets.len() as u32 {
            let Ok(offer) = self.take_ticket(ticket) else { continue };
            if let Some(record) = self.offered_record(ticket, offer) {
                record.stage = Stage::Owned;
                record.packets = 0;
                cancelled += 1;
            }
        }
        self.fenced = 0;
        cancelled
    }

    /// The record of an offered flow, if its number still belongs to this offer.
    fn offered_record(&mut self, ticket: u32, offer: Offer) -> Option<&mut HostRecord> {
        let record = self.flows.record(offer.flow)?;
        (record.stage == Stage::Offered(ticket)).then_some(record)
    }

    fn is_as_offered(&mut self, app: &mut A, ticket: u32, offer: Offer) -> bool {
        if self.offered_record(ticket, offer).is_none() {
            return false;
        }
        let Some(group) = self.flows.group(offer.flow) else { return false };
        let keys = entries::keys(app, offer.flow, &group);
        keys.is_some_and(|keys| digest(&group.words(), &keys) == offer.digest)
    }

    fn take_ticket(&mut self, ticket: u32) -> Result<Offer, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        let offer = place.ok_or(ProtocolError::UnknownTicket(ticket))?;
        self.free |= 1 << ticket;
        Ok(offer)
    }
}
