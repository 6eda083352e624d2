//! Offload of flows to the NIC, from the host's offer to the last entry.

use cora_core::app::App;
use cora_core::plain::Plain;

use super::{Incoming, NicOwnership, NicRecord, NicSide, Stage, Transit};
use crate::channel::{PeerOutbox, ProtocolError, TICKETS};
use crate::durability::report_changes;
use crate::hooks;
use crate::link::message::{Hooks, Keys, Kind, Ownership};

impl<A: App> NicOwnership<A> {
    pub(super) fn offer(
        &mut self,
        ticket: u32,
        punts: u32,
        group: &[u8],
        keys: Keys<'_>,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> Result<(), ProtocolError> {
        let place =
            self.tickets.get(ticket as usize).ok_or(ProtocolError::UnknownTicket(ticket))?;
        if place.is_some() {
            return Err(ProtocolError::UnknownTicket(ticket));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Offer))?;
        let now = side.hold.oldest().unwrap_or(side.now).min(side.hooks_until);
        let late = self.is_late(now);
        let Some(flow) = (!late).then(|| self.expect_flow(group, punts, keys, side)).flatten()
        else {
            side.report.declined += 1;
            out.send(&Ownership::Decline { ticket }.into());
            return Ok(());
        };
        self.tickets[ticket as usize % TICKETS] = Some(flow);
        if const { !A::HOOKED.is_empty() } {
            // The host ends what expired by now, so all that comes is alive.
            hooks::tell_ends(side.app, now, out);
            // Behind the fence the host may give an entry with the key of one that ended here: the
            // replica is that of the new one then, and must not be erased.
            report_changes(side.app, &self.flows, out);
            out.send(&Hooks::Reached { now }.into());
            self.in_transit(|transit| transit.fence(ticket, now));
        }
        out.send(&Ownership::Fence { ticket }.into());
        Ok(())
    }

    /// Begins to hold the packets of a flow. `None`: there is no room, or no offer is taken.
    fn expect_flow(
        &mut self,
        group: A::Group,
        punts: u32,
        keys: Keys<'_>,
        side: &mut NicSide<'_, A>,
    ) -> Option<u32> {
        let NicSide { app, hold, now, .. } = side;
        let room = self.pending.has_room(keys.words().count());
        let full = self.flows.len() >= self.most;
        if full || !room || self.find(app, &group, *now, hold.left()).is_some() {
            return None;
        }
        self.flows.reserve(*app, &group, hold.left())?;
        // Held packets for the host may be this flow's, so its next ones stay behind them.
        let queued_until = hold.joined();
        let record = NicRecord { stage: Stage::Offered, punts, newest: 0, queued_until, passed: 0 };
        let flow = self.flows.add(group, record)?;
        // Until the host answers, however long that takes.
        self.flows.pin(flow);
        for words in keys.words() {
            self.pending.add(words, flow);
        }
        self.flows.expect_keys(&group, keys.words());
        Some(flow)
    }

    /// Returns the flow that was offered under a ticket, and frees the ticket.
    pub(super) fn take_ticket(&mut self, ticket: u32) -> Result<u32, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        place.ok_or(ProtocolError::UnknownTicket(ticket))
    }

    /// The host keeps the flow after all.
    pub(super) fn withdraw(
        &mut self,
        ticket: u32,
        side: &mut NicSide<'_, A>,
    ) -> Result<(), ProtocolError> {
        let flow = self.take_ticket(ticket)?;
        self.in_transit(|transit| transit.ends(ticket));
        side.report.declined += 1;
        self.arrived_at_host(flow, side.app, side.hold);
        Ok(())
    }

    pub(super) fn transfer(
        &mut self,
        ticket: u32,
        entries: u32,
        side: &mut NicSide<'_, A>,
    ) -> Result<(), ProtocolError> {
        if self.incoming.is_some() {
            return Err(ProtocolError::Unexpected(Kind::Transfer));
        }
        let flow = self.take_ticket(ticket)?;
        self.in_transit(|transit| transit.comes(ticket));
        self.incoming = Some(Incoming { flow, left: entries, returned: false });
        self.end_of_transfer(side);
        Ok(())
    }

    pub(super) fn entry(
        &mut self,
        state: u16,
        piece: &[u8],
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Entry);
        let mut incoming = self.incoming.ok_or(unexpected)?;
        let flow = incoming.flow;
        if !incoming.returned && !self.install(state, piece, flow, side.app)? {
            incoming.returned = true;
            side.report.declined += 1;
            let punts = self.punts(flow).saturating_add(1);
            // At time 0 every entry is alive, so all that came go back.
            self.give_back(flow, punts, 0, incoming.left, side, out);
            self.forget(flow, side.app, side.hold);
        }
        if incoming.returned {
            out.send(&Ownership::Entry { state, piece }.into());
        }
        incoming.left -= 1;
        self.incoming = Some(incoming);
        self.end_of_transfer(side);
        Ok(())
    }

    /// Installs an entry. `false`: there is no room for it, or its key belongs to another entry.
    #[inline(never)]
    fn install(
        &mut self,
        state: u16,
        piece: &[u8],
        flow: u32,
        app: &mut A,
    ) -> Result<bool, ProtocolError> {
        let used = self.flows.install(app, (state, piece), flow, |table| {
            table.import_entry(piece, flow, table.capacity())
        })?;
        if let (Some(used), Some(record)) = (used, self.flows.record(flow)) {
            record.newest = used.max(record.newest);
        }
        Ok(used.is_some())
    }

    /// Handles an entry that expired before it could be sent.
    pub(super) fn vanished(
        &mut self,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Vanished);
        let incoming = self.incoming.as_mut().ok_or(unexpected)?;
        incoming.left -= 1;
        if incoming.returned {
            out.send(&Ownership::Vanished {}.into());
        }
        self.end_of_transfer(side);
        Ok(())
    }

    /// After the last entry, the flow is owned here, and its held packets can run.
    fn end_of_transfer(&mut self, side: &mut NicSide<'_, A>) {
        let Some(Incoming { flow, left: 0, returned }) = self.incoming else { return };
        self.incoming = None;
        self.in_transit(Transit::came);
        self.arrived(flow, side.hold);
        if !returned && let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Owned;
            // A restarted NIC may have had no packet yet, so its own time may be too early.
            let now = side.now.max(record.newest);
            self.flows.unpin(flow, now);
            side.report.offloads += 1;
        }
    }
}
