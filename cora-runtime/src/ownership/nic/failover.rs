//! The host ended, and another one will be started.

use cora_core::app::App;

use super::{Incoming, NicOwnership, NicSide, Transit};
use crate::channel::{PeerOutbox, TICKETS};
use crate::hooks;
use crate::link::message::Ownership;
use crate::link::message::group::{encoded, room};

impl<A: App> NicOwnership<A> {
    /// The flow that has come in part.
    pub(crate) fn comes(&self) -> Option<u32> {
        self.incoming.filter(|incoming| !incoming.returned).map(|incoming| incoming.flow)
    }

    /// Forgets all flows in transit. The host has replicas of their durable entries.
    pub(crate) fn forget_incomplete(&mut self, side: &mut NicSide<'_, A>) {
        for ticket in 0..TICKETS as u32 {
            if let Ok(flow) = self.take_ticket(ticket) {
                self.arrived_at_host(flow, side.app, side.hold);
            }
        }
        self.in_transit(Transit::clear);
        if let Some(Incoming { flow, returned, .. }) = self.incoming.take() {
            if returned {
                self.arrived(flow, side.hold);
            } else {
                self.arrived_at_host(flow, side.app, side.hold);
            }
        }
        if let Some(leaving) = self.leaving.take() {
            self.arrived_at_host(leaving.flow, side.app, side.hold);
        }
    }

    /// Ends every flow. Its held packets go to the host, like those of unknown flows.
    pub(crate) fn end_all(&mut self, side: &mut NicSide<'_, A>) {
        for flow in 0..self.flows.made() {
            if self.flows.group(flow).is_some() {
                self.forget(flow, side.app, side.hold);
                side.report.ended_with_host += 1;
            }
        }
        hooks::discard(side.app);
    }

    /// Reports the flows owned here to a new host.
    pub(crate) fn report_owned(&self, out: &mut impl PeerOutbox) {
        let mut owned = 0;
        self.flows.each(&mut |_, group| {
            out.send(&Ownership::Owned { group: encoded(&group, &mut room()) }.into());
            owned += 1;
        });
        out.send(&Ownership::AllOwned { flows: owned }.into());
    }
}
