//! What the NIC does with a packet: it depends on whose it is.

use cora_core::app::App;
use cora_core::key::Key;
use cora_core::packet::Packet;

use crate::nic_half::NicHalf;
use crate::ownership::records::Stage;

/// Whose packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dispatch {
    /// Of a flow owned here.
    Run(u32),
    /// Of a flow that is on its way here.
    Wait(u32),
    /// Of none of them.
    Host,
}

impl<A: App> NicHalf<A> {
    /// Whose packet it is, which is number `ahead` of the burst: mostly known ahead, if it is the
    /// host's.
    #[inline(always)]
    pub(crate) fn dispatch_ahead(&mut self, now: u64, packet: &Packet<'_>, ahead: u8) -> Dispatch {
        if self.flows.is_unknown(ahead) && self.announced.is_empty() {
            return Dispatch::Host;
        }
        self.dispatch(now, packet)
    }

    /// Whose packet it is.
    pub(crate) fn dispatch(&mut self, now: u64, packet: &Packet<'_>) -> Dispatch {
        let Ok(group) = A::Group::of(packet) else {
            return Dispatch::Host;
        };
        let left = self.hold.left();
        if let Some(flow) = self.flows.find(self.engine.app(), &group, now, left) {
            return match self.flows.record(flow).map(|record| record.stage) {
                Some(Stage::Offered | Stage::Leaving) => Dispatch::Wait(flow),
                Some(Stage::Owned) | None => Dispatch::Run(flow),
            };
        }
        if self.announced.is_empty() {
            return Dispatch::Host;
        }
        self.announced.find(&group.words()).map_or(Dispatch::Host, Dispatch::Wait)
    }
}
