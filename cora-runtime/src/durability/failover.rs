//! The other side's process ended, and another one will be started: what the side that lives on
//! does, and how a new host begins.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::{NO_FLOW, Visit};

use crate::channel::{Outbox, TICKETS};
use crate::durability::replicate::kept;
use crate::durability::store::{Copied, Holder, Reclaimed, Standby};
use crate::exec::Wire;
use crate::exec::burst::ALONE;
use crate::host_half::HostHalf;
use crate::link::message::Message;
use crate::nic_half::{Incoming, NicHalf};
use crate::ownership::encode::{encoded, room};
use crate::ownership::records::{Flows, Record, Stage};

impl<A: App> HostHalf<A> {
    /// The NIC is no more, and all that it published was handled: its flows are the host's again.
    /// Those of durable states live on by their copies; what else was there is lost with it. A NIC
    /// that is started behind this owns no flow.
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
        // Of what was on its way, copies are left.
        if let Some(leaving) = self.leaving.take() {
            self.flows.remove(self.engine.app(), leaving.flow);
        }
        if let Some(incoming) = self.incoming.take() {
            self.flows.unpin(incoming.flow, incoming.used.max(self.now));
            reclaimed.half_received = 1;
            reclaimed.missing = incoming.left.into();
        }
        self.reinstall(Holder::Nic, standby, &mut reclaimed);
        // It may have ended before it could say what it owned.
        self.reinstall(Holder::Unsure, standby, &mut reclaimed);
        self.count_at_nic(0);
        self.reclaimed += reclaimed;
        reclaimed
    }

    /// A new host, after another one that ended: takes over what that one owned, as far as it is
    /// durable. What that one did not take from the NIC went to [`Self::catch_up`] before. `now` is
    /// the time of the latest packet on the wire. What the NIC owns it says next
    /// ([`NicHalf::host_lost`]). It begins `afresh` where the one before had what flows rest on: no
    /// copy of an entry lives on. Durable singletons are there before: see
    /// [`Self::restore_singletons`].
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

    /// Takes over the durable singletons that there are copies of, and tells the numbers of those
    /// whose copies encode none. Before any entry: what those rest on is there then.
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

    /// The NIC owns the flow, and told all durable entries of it: other copies are stale.
    pub(crate) fn owned(&mut self, group: &[u8], out: &mut impl Outbox) {
        if let Some(standby) = out.standby() {
            standby.forget_all(Holder::Unsure, Some(group));
        }
        self.count_at_nic(self.at_nic().saturating_add(1));
    }

    /// The NIC owns nothing beside what it told: what it was thought to own is the host's.
    pub(crate) fn all_owned(&mut self, out: &mut impl Outbox) {
        let mut reclaimed = Reclaimed::default();
        if let Some(standby) = out.standby() {
            self.reinstall(Holder::Unsure, standby, &mut reclaimed);
        }
        self.reclaimed += reclaimed;
    }

    /// Makes all entries that this holder has copies of the host's own.
    fn reinstall(&mut self, holder: Holder, standby: &mut dyn Standby, reclaimed: &mut Reclaimed) {
        // What came just now is newer than its copy.
        self.tell_to(standby);
        let (now, horizon) = (self.now, self.horizon);
        self.flows.begin(now, horizon, ALONE);
        self.engine.app().begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead: ALONE });
        standby.each(holder, None, &mut |copy| self.reinstall_one(copy, reclaimed));
        // They are the host's before the copies that were refused go.
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
        // Without a record the entry is kept all the same; the flow then stays here for good.
        let flow = flow.unwrap_or(NO_FLOW);
        let (app, now) = (self.engine.app(), self.now);
        match self.flows.restore(app, copy.state, copy.piece, flow, now) {
            Ok(true) => reclaimed.entries += 1,
            Ok(false) | Err(_) => reclaimed.refused += 1,
        }
    }
}

impl<A: App> NicHalf<A> {
    /// The host is no more, and another one will read what is sent from here on: flows that did not
    /// come whole are forgotten (the host has what is durable of them), the new one is told what is
    /// owned here, and what waited goes on. Records and entries of owned flows stay as they are,
    /// unless the run goes on `afresh`: then they end, since what they rest on is gone.
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
                // At time 0 everything is alive: of nothing that came it is to be told that it is
                // gone.
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
            // What was told may have been on the ring when the host ended.
            Flows::retell(self.engine.app());
            self.tell_changes(io);
        }
        let mut owned = 0;
        self.flows.each(&mut |_, group| {
            io.send(&Message::Owned(encoded(&group, &mut room())));
            owned += 1;
        });
        io.send(&Message::AllOwned(owned));
        self.drain(io);
    }

    /// Every flow ends. What of it waits goes to the host, as of flows that nobody knows.
    fn end_all(&mut self) {
        for flow in 0..self.flows.made() {
            if self.flows.group(flow).is_some() {
                self.forget(flow);
                self.report.ended_with_host += 1;
            }
        }
    }
}
