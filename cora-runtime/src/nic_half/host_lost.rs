//! The host's process ended, and another one follows.

use cora_core::app::App;

use super::NicHalf;
use crate::channel::PeerOutbox;
use crate::durability;
use crate::exec::egress::Wire;
use crate::ownership::nic::NicSide;

impl<A: App> NicHalf<A> {
    /// The host ended, and a new one will read everything sent from here on. Incomplete flows are
    /// forgotten: the host has replicas of their durable entries. The flows owned here are reported
    /// to the new host, and held packets go on. Records and entries of owned flows stay as they
    /// are. With `afresh` they end instead, since state that they depend on is lost.
    #[cold]
    #[inline(never)]
    pub fn host_lost(&mut self, io: &mut (impl PeerOutbox + Wire), afresh: bool) {
        if const { A::MESSAGES } {
            self.move_mail(None, io);
        }
        if let Some(flow) = self.ownership.comes() {
            // At time 0 every entry is alive, so none that came is reported as gone.
            durability::disown(self.engine.app(), flow, 0);
        }
        self.ownership.forget_incomplete(side!(self));
        if afresh {
            self.ownership.end_all(side!(self));
        }
        if const { A::DURABLE } {
            // Changes that were sent may have been on the ring when the host ended.
            durability::retell(self.engine.app());
            self.tell_changes(io);
        }
        self.tell_anew(io);
        self.turns.begin_anew();
        self.ownership.report_owned(io);
        self.drain(io);
        // The last epoch that the wire told begins anew, behind held packets.
        self.turn_next(io);
    }
}
