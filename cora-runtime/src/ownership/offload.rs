//! Flows on their way to the NIC: from the host's offer to the last of their entries.

use cora_core::app::App;
use cora_core::plain::Plain;

use crate::channel::{Outbox, ProtocolError, TICKETS};
use crate::exec::Wire;
use crate::link::message::{Message, offered_keys};
use crate::nic_half::{Incoming, NicHalf};
use crate::ownership::records::{Record, Stage};

impl<A: App> NicHalf<A> {
    pub(crate) fn offer(
        &mut self,
        ticket: u32,
        punts: u32,
        group: &[u8],
        keys: &[u8],
        io: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        let place =
            self.tickets.get(ticket as usize).ok_or(ProtocolError::UnknownTicket(ticket))?;
        if place.is_some() {
            return Err(ProtocolError::UnknownTicket(ticket));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(8))?;
        let Some(flow) = self.expect_flow(group, punts, keys) else {
            self.report.declined += 1;
            io.send(&Message::Decline(ticket));
            return Ok(());
        };
        self.tickets[ticket as usize % TICKETS] = Some(flow);
        io.send(&Message::Fence(ticket));
        Ok(())
    }

    /// Begins to hold the packets of a flow; `None` when there is no room for it.
    fn expect_flow(&mut self, group: A::Group, punts: u32, keys: &[u8]) -> Option<u32> {
        let room = self.announced.has_room(keys.len() / 40);
        let left = self.hold.left();
        if self.closed
            || !room
            || self.flows.find(self.engine.app(), &group, self.now, left).is_some()
        {
            return None;
        }
        self.flows.reserve(self.engine.app(), &group)?;
        // Packets that wait for the host may be this flow's: its next ones stay behind them.
        let queued_until = self.hold.joined();
        let record = Record { stage: Stage::Offered, punts, queued_until, ..Record::OWNED };
        let flow = self.flows.add(self.engine.app(), group, record)?;
        // However long the host takes.
        self.flows.pin(flow);
        for words in offered_keys(keys) {
            self.announced.add(words, flow);
        }
        self.flows.expect_keys(&group, offered_keys(keys));
        Some(flow)
    }

    /// The flow offered under a ticket, which is given back.
    pub(crate) fn take_ticket(&mut self, ticket: u32) -> Result<u32, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        place.ok_or(ProtocolError::UnknownTicket(ticket))
    }

    /// The flow is no longer on its way, here or from here: its keys need no announcement.
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
            return Err(ProtocolError::Unexpected(9));
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
        let Some(mut incoming) = self.incoming else { return Err(ProtocolError::Unexpected(5)) };
        let (app, flow) = (self.engine.app(), incoming.flow);
        if !incoming.returned && self.flows.import(app, state, piece, flow, false)?.is_none() {
            incoming.returned = true;
            self.report.declined += 1;
            let punts = self.flows.record(flow).map_or(0, |record| record.punts).saturating_add(1);
            // At time 0 everything is alive: all go back that came.
            self.give_back(flow, punts, 0, incoming.left, io);
            self.forget(flow);
        }
        if incoming.returned {
            io.send(&Message::Entry(state, piece));
        }
        incoming.left -= 1;
        self.incoming = Some(incoming);
        self.end_of_transfer(io);
        Ok(())
    }

    /// When the last entry is in, the flow is owned here, and what waited for it runs.
    fn end_of_transfer(&mut self, io: &mut (impl Outbox + Wire)) {
        let Some(Incoming { flow, left: 0, returned }) = self.incoming else { return };
        self.incoming = None;
        self.arrived(flow);
        if !returned && let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Owned;
            // A NIC that was started anew may have had no packet yet, and not know how late it is.
            let now = self.now.max(record.came);
            self.flows.unpin(flow, now);
            self.report.offloads += 1;
        }
        self.drain(io);
    }
}
