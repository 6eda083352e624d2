//! Failover: the other side's process ended, and another one will be started. This module has the
//! part of the survivor, and the start of a new host.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::{NO_FLOW, Visit};

use crate::channel::{Outbox, TICKETS};
use crate::durability::replicate::kept;
use crate::durability::store::{Copied, Holder, Reclaimed, Standby};
use crate::exec::Wire;
use crate::exec::burst::ALONE;
use crate::host_half::HostHalf;
use crate::link::message::Ownership;
use crate::nic_half::{Incoming, NicHalf};
use crate::ownership::encode::{encoded, room};
use crate::ownership::records::{Flows, Record, Stage};

impl<A: App> HostHalf<A> {
    /// Takes back the flows of a NIC that ended; everything that it published has been handled.
    /// Entries of durable states are restored from their replicas, and the NIC's other state is
    /// lost. A NIC that is started later owns no flow.
    #[cold]
    pub fn nic_lost(&mut self, standby: &mut dyn Standby) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        for ticket in 0..TICKETS as u32 {
            let Ok(offer) = self.take_ticket(ticket) else { continue };
            if let Some(record) = self.offered_record(ticket, offer) {
                record.stage = Stage::Owned;
                record.packets = 0;
                reclaimed.cancelled += 1;
            }
        }
        self.fenced = 0;
        // Only replicas are left of a flow that was being handed over.
        if let Some(leaving) = self.leaving.take() {
            self.flows.remove(self.engine.app(), leaving.flow);
        }
        if let Some(incoming) = self.incoming.take() {
            self.flows.unpin(incoming.flow, incoming.used.max(self.now));
            reclaimed.half_received = 1;
            reclaimed.missing = incoming.left.into();
        }
        self.reinstall(Holder::Nic, standby, &mut reclaimed);
        // The NIC may have ended before it could report its flows.
        self.reinstall(Holder::Unsure, standby, &mut reclaimed);
        self.count_at_nic(0);
        self.reclaimed += reclaimed;
        reclaimed
    }

    /// Takes over the durable entries of a host that ended. Before this, [`Self::catch_up`] got the
    /// messages that the old host left on the ring, and [`Self::restore_singletons`] ran. `now` is
    /// the time of the latest packet on the wire. Next, the NIC reports the flows that it owns
    /// ([`NicHalf::host_lost`]). With `afresh`, state that flows depend on was lost with the old
    /// host, so every replica of an entry is dropped.
    #[cold]
    pub fn take_over(&mut self, now: u64, standby: &mut dyn Standby, afresh: bool) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        self.now = self.now.max(now);
        self.incoming = None;
        if afresh {
            for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
                standby.each(holder, None, &mut |_| reclaimed.dropped += 1);
                standby.forget_all(holder, None);
            }
            self.tell_to(standby);
            self.reclaimed += reclaimed;
            return reclaimed;
        }
        self.reinstall(Holder::Host, standby, &mut reclaimed);
        standby.assign(Holder::Nic, Holder::Unsure, None);
        self.reclaimed += reclaimed;
        reclaimed
    }

    /// Restores durable singletons from their replicas, and gives `bad` the numbers of those that
    /// don't decode. This runs before any entry is restored, since entries may depend on
    /// singletons.
    #[cold]
    pub fn restore_singletons(&mut self, standby: &dyn Standby, bad: &mut dyn FnMut(u16)) {
        for state in A::KEPT {
            let number = *state as u16;
            let Some(kept) = kept(self.engine.app(), *state) else { continue };
            if standby.parts(number, &mut |at, part| kept.restore_part(at, part)) && !kept.restore()
            {
                bad(number);
            }
        }
    }

    /// The NIC owns the flow, and has reported all of its durable entries. Other replicas of it are
    /// stale.
    pub(crate) fn owned(&mut self, group: &[u8], out: &mut impl Outbox) {
        if let Some(standby) = out.standby() {
            standby.forget_all(Holder::Unsure, Some(group));
        }
        self.count_at_nic(self.at_nic().saturating_add(1));
    }

    /// The NIC owns nothing beyond the flows that it reported. The other entries it was thought to
    /// own become the host's.
    pub(crate) fn all_owned(&mut self, out: &mut impl Outbox) {
        let mut reclaimed = Reclaimed::default();
        if let Some(standby) = out.standby() {
            self.reinstall(Holder::Unsure, standby, &mut reclaimed);
        }
        self.reclaimed += reclaimed;
    }

    /// Restores all replicas with this holder as the host's own entries.
    fn reinstall(&mut self, holder: Holder, standby: &mut dyn Standby, reclaimed: &mut Reclaimed) {
        // Entries that have just come are newer than their replicas.
        self.tell_to(standby);
        let (now, horizon) = (self.now, self.horizon);
        self.flows.begin(now, horizon, ALONE);
        self.engine.app().begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead: ALONE });
        standby.each(holder, None, &mut |copy| self.reinstall_one(copy, reclaimed));
        // The restored entries become the host's before the refused replicas are forgotten.
        self.tell_to(standby);
        if holder != Holder::Host {
            standby.forget_all(holder, None);
        }
    }

    fn reinstall_one(&mut self, copy: &Copied<'_>, reclaimed: &mut Reclaimed) {
        let group = A::Group::get(copy.group).filter(|_| !copy.group.is_empty());
        let flow = group.and_then(|group| {
            let (app, now) = (self.engine.app(), self.now);
            if let Some(flow) = self.flows.find(app, &group, now, 0) {
                return Some(flow);
            }
            self.flows.reserve(app, &group)?;
            let record = Record { came: now.max(1), ..Record::OWNED };
            let flow = self.flows.add(app, group, record)?;
            reclaimed.flows += 1;
            Some(flow)
        });
        // Without room for a record the entry is kept, and its flow stays here for good.
        let flow = flow.unwrap_or(NO_FLOW);
        let (app, now) = (self.engine.app(), self.now);
        match self.flows.restore(app, copy.state, copy.piece, flow, now) {
            Ok(true) => reclaimed.entries += 1,
            Ok(false) | Err(_) => reclaimed.refused += 1,
        }
    }
}

impl<A: App> NicHalf<A> {
    /// The host ended, and a new one will read everything sent from here on. Incomplete flows are
    /// forgotten: the host has replicas of their durable entries. The flows owned here are reported
    /// to the new host, and held packets go on. Records and entries of owned flows stay as they
    /// are. With `afresh` they end instead, since state that they depend on is lost.
    #[cold]
    #[inline(never)]
    pub fn host_lost(&mut self, io: &mut (impl Outbox + Wire), afresh: bool) {
        for ticket in 0..TICKETS as u32 {
            if let Ok(flow) = self.take_ticket(ticket) {
                self.arrived(flow);
                self.forget(flow);
            }
        }
        if let Some(Incoming { flow, returned, .. }) = self.incoming.take() {
            self.arrived(flow);
            if !returned {
                // At time 0 every entry is alive, so none that came is reported as gone.
                Flows::disown(self.engine.app(), flow, 0);
                self.forget(flow);
            }
        }
        if let Some(leaving) = self.leaving.take() {
            self.arrived(leaving.flow);
            self.forget(leaving.flow);
        }
        if afresh {
            self.end_all();
        }
        if const { A::DURABLE } {
            // Changes that were sent may have been on the ring when the host ended.
            Flows::retell(self.engine.app());
            self.tell_changes(io);
        }
        let mut owned = 0;
        self.flows.each(&mut |_, group| {
            io.send(&Ownership::Owned { group: encoded(&group, &mut room()) }.into());
            owned += 1;
        });
        io.send(&Ownership::AllOwned { flows: owned }.into());
        self.drain(io);
    }

    /// Ends every flow. Its held packets go to the host, like those of unknown flows.
    fn end_all(&mut self) {
        for flow in 0..self.flows.made() {
            if self.flows.group(flow).is_some() {
                self.forget(flow);
                self.report.ended_with_host += 1;
            }
        }
    }
}
