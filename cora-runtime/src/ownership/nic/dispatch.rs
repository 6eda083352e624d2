//! Classifies packets at the NIC by the owner of their flow.

use cora_core::app::App;
use cora_core::key::{Key as _, PacketKey as _};
use cora_core::packet::Packet;

use super::{NicOwnership, Stage};
use crate::hooks;
use crate::ownership::lookup::Match;

/// The class of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dispatch {
    /// Its flow is owned here. Unless that is sure, the host decides: the packet punts.
    Run(Match),
    /// Its flow is in transit.
    Wait(u32),
    /// It goes to the host.
    Host,
}

impl<A: App> NicOwnership<A> {
    /// Classifies packet `ahead` of the burst. For most packets of the host, the prefetch stages
    /// have settled that.
    #[inline(always)]
    pub(crate) fn dispatch_ahead(
        &mut self,
        app: &mut A,
        now: u64,
        left: u64,
        packet: &Packet<'_>,
        ahead: u8,
    ) -> Dispatch {
        if self.flows.is_unknown(ahead) && self.pending.is_empty() {
            return Dispatch::Host;
        }
        self.dispatch(app, now, left, packet)
    }

    /// Classifies a packet by the owner of its flow; `left` is the number of packets that ever left
    /// the hold queue.
    pub(crate) fn dispatch(
        &mut self,
        app: &mut A,
        now: u64,
        left: u64,
        packet: &Packet<'_>,
    ) -> Dispatch {
        let Ok(group) = A::Group::of_packet(packet) else {
            return Dispatch::Host;
        };
        let found = match self.seek(app, &group, now, left) {
            Ok(found) => found,
            Err(idle) => {
                if const { !A::HOOKED.is_empty() } {
                    self.end_idle(app, idle, now);
                }
                return Dispatch::Host;
            }
        };
        match self.flows.record(found.flow).map(|record| record.stage) {
            Some(Stage::Offered | Stage::Leaving) => Dispatch::Wait(found.flow),
            Some(Stage::Owned) | None => Dispatch::Run(found),
        }
    }

    /// A packet of an idle flow goes to the host, which may make an entry with the key of one that
    /// ended here: the end is told in front of the packet. The replica of the new entry takes the
    /// place of the old one's, and the old one's hook must not depend on that.
    #[cold]
    #[inline(never)]
    fn end_idle(&mut self, app: &mut A, flow: Option<u32>, now: u64) {
        if let Some(flow) = flow
            && self.flows.record(flow).is_some_and(|record| record.stage == Stage::Owned)
        {
            hooks::end_of_flow(app, flow, now);
        }
    }

    /// The flow of a packet with this group key, known or in transit.
    pub(super) fn find(
        &mut self,
        app: &mut A,
        group: &A::Group,
        now: u64,
        left: u64,
    ) -> Option<Match> {
        self.seek(app, group, now, left).ok()
    }

    /// As [`Self::find`]; the error is the flow that it would give if that were not idle.
    fn seek(
        &mut self,
        app: &mut A,
        group: &A::Group,
        now: u64,
        left: u64,
    ) -> Result<Match, Option<u32>> {
        let Self { flows, pending, .. } = self;
        let announced = || if pending.is_empty() { None } else { pending.find(&group.words()) };
        let found = flows.seek(app, group, now, left, announced);
        found.or_else(|idle| match announced() {
            Some(flow) => Ok(Match { flow, is_sure: true }),
            None => Err(idle),
        })
    }
}
