//! Offload of flows to the NIC, from the host's offer to the last entry.

use cora_core::app::App;
use cora_core::plain::Plain;

use crate::channel::{Outbox, ProtocolError, TICKETS};
use crate::exec::Wire;
use crate::link::message::{Keys, Kind, Ownership};
use crate::nic_half::{Incoming, NicHalf};
use crate::ownership::records::{Record, Stage};

impl<A: App> NicHalf<A> {
    /// A message from the host about the owner of a flow.
    pub(crate) fn ownership_message(
        &mut self,
        message: Ownership<'_>,
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        match message {
            Ownership::Offer { ticket, punts, keys, group } => {
                self.offer(ticket, punts, group, keys, io)
            }
            Ownership::Transfer { ticket, entries } => self.transfer(ticket, entries, io),
            Ownership::Entry { state, piece } => self.entry(state, piece, io),
            Ownership::Vanished {} => self.vanished(io),
            Ownership::Recall { group } => self.recall(group, io),
            Ownership::MakeRoom { idle } => {
                self.make_room(idle, io);
                Ok(())
            }
            Ownership::Withdraw { ticket } => {
                let flow = self.take_ticket(ticket)?;
                self.arrived(flow);
                self.report.declined += 1;
                self.forget(flow);
                self.drain(io);
                Ok(())
            }
            _ => Err(ProtocolError::unexpected(&message.into())),
        }
    }

    pub(crate) fn offer(
        &mut self,
        ticket: u32,
        punts: u32,
        group: &[u8],
        keys: Keys<'_>,
        io: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        let place =
            self.tickets.get(ticket as usize).ok_or(ProtocolError::UnknownTicket(ticket))?;
        if place.is_some() {
            return Err(ProtocolError::UnknownTicket(ticket));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Offer))?;
        let Some(flow) = self.expect_flow(group, punts, keys) else {
            self.report.declined += 1;
            io.send(&Ownership::Decline { ticket }.into());
            return Ok(());
        };
        self.tickets[ticket as usize % TICKETS] = Some(flow);
        io.send(&Ownership::Fence { ticket }.into());
        Ok(())
    }

    /// Begins to hold the packets of a flow. `None`: there is no room, or no offer is taken.
    fn expect_flow(&mut self, group: A::Group, punts: u32, keys: Keys<'_>) -> Option<u32> {
        let room = self.announced.has_room(keys.words().count());
        let left = self.hold.left();
        if self.closed
            || !room
            || self.flows.find(self.engine.app(), &group, self.now, left).is_some()
        {
            return None;
        }
        self.flows.reserve(self.engine.app(), &group)?;
        // Held packets for the host may be this flow's, so its next ones stay behind them.
        let queued_until = self.hold.joined();
        let record = Record { stage: Stage::Offered, punts, queued_until, ..Record::OWNED };
        let flow = self.flows.add(self.engine.app(), group, record)?;
        // Until the host answers, however long that takes.
        self.flows.pin(flow);
        for words in keys.words() {
            self.announced.add(words, flow);
        }
        self.flows.expect_keys(&group, keys.words());
        Some(flow)
    }

    /// Returns the flow that was offered under a ticket, and frees the ticket.
    pub(crate) fn take_ticket(&mut self, ticket: u32) -> Result<u32, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        place.ok_or(ProtocolError::UnknownTicket(ticket))
    }

    /// The flow is no longer in transit, in either direction: its keys need no announcement.
    pub(crate) fn arrived(&mut self, flow: u32) {
        self.announced.forget(flow);
    }

    pub(crate) fn transfer(
        &mut self,
        ticket: u32,
        entries: u32,
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        if self.incoming.is_some() {
            return Err(ProtocolError::Unexpected(Kind::Transfer));
        }
        let flow = self.take_ticket(ticket)?;
        self.incoming = Some(Incoming { flow, left: entries, returned: false });
        self.end_of_transfer(io);
        Ok(())
    }

    pub(crate) fn entry(
        &mut self,
        state: u16,
        piece: &[u8],
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Entry);
        let mut incoming = self.incoming.ok_or(unexpected)?;
        let (app, flow) = (self.engine.app(), incoming.flow);
        if !incoming.returned && self.flows.import(app, state, piece, flow, false)?.is_none() {
            incoming.returned = true;
            self.report.declined += 1;
            let punts = self.flows.record(flow).map_or(0, |record| record.punts).saturating_add(1);
            // At time 0 every entry is alive, so all that came go back.
            self.give_back(flow, punts, 0, incoming.left, io);
            self.forget(flow);
        }
        if incoming.returned {
            io.send(&Ownership::Entry { state, piece }.into());
        }
        incoming.left -= 1;
        self.incoming = Some(incoming);
        self.end_of_transfer(io);
        Ok(())
    }

    /// Handles an entry that expired before it could be sent.
    pub(crate) fn vanished(&mut self, io: &mut (impl Outbox + Wire)) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Vanished);
        let incoming = self.incoming.as_mut().ok_or(unexpected)?;
        incoming.left -= 1;
        if incoming.returned {
            io.send(&Ownership::Vanished {}.into());
        }
        self.end_of_transfer(io);
        Ok(())
    }

    /// After the last entry, the flow is owned here, and its held packets run.
    fn end_of_transfer(&mut self, io: &mut (impl Outbox + Wire)) {
        let Some(Incoming { flow, left: 0, returned }) = self.incoming else { return };
        self.incoming = None;
        self.arrived(flow);
        if !returned && let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Owned;
            // A restarted NIC may have had no packet yet, so its own time may be too early.
            let now = self.now.max(record.came);
            self.flows.unpin(flow, now);
            self.report.offloads += 1;
        }
        self.drain(io);
    }
}
