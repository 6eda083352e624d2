//! Flows that come back from the NIC.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::NO_FLOW;

use super::admission::ASKED_AGAIN;
use super::{HostOwnership, HostRecord, HostSide};
use crate::channel::ProtocolError;
use crate::link::message::Kind;

/// A released flow with entries still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<K> {
    pub(super) flow: u32,
    pub(super) left: u32,
    group: K,
    /// The latest use of an entry that came.
    used: u64,
}

impl<A: App> HostOwnership<A> {
    /// The group key in a release, if one may come now. Prefetches its places.
    pub(crate) fn announced_release(
        &mut self,
        group: &[u8],
        app: &mut A,
    ) -> Result<A::Group, ProtocolError> {
        if self.incoming.is_some() {
            return Err(ProtocolError::Unexpected(Kind::Release));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Release))?;
        self.flows.prefetch_new(app, &group);
        Ok(group)
    }

    /// A flow begins to come back: `entries` entries follow.
    pub(crate) fn release(
        &mut self,
        (group, punts): (A::Group, u32),
        entries: u32,
        side: &mut HostSide<'_, A>,
    ) {
        let now = side.clock.now;
        self.at_nic = self.at_nic.saturating_sub(1);
        self.asked_for = ASKED_AGAIN[0];
        side.report.released += 1;
        self.flows.reserve(side.app, &group, 0);
        let record = HostRecord { punts, came: now.max(1), ..HostRecord::OWNED };
        let flow = self.add(side.app, group, record);
        if let Some(flow) = flow {
            self.flows.pin(flow);
        }
        // Without room for a record the entries are kept, and the flow stays here for good.
        let flow = flow.unwrap_or(NO_FLOW);
        self.incoming = Some(Incoming { flow, left: entries, group, used: now });
    }

    /// An entry of the flow came.
    pub(crate) fn entry(
        &mut self,
        state: u16,
        piece: &[u8],
        side: &mut HostSide<'_, A>,
    ) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Entry);
        let flow = self.incoming.ok_or(unexpected)?.flow;
        let used = self.take_back(state, piece, flow, side.app)?;
        // By now the key may belong to another entry, since nobody here knew that it was in use.
        self.came(Kind::Entry, used, side)
    }

    /// Installs an entry; one that comes back always finds room. `None`: its key belongs to another
    /// entry.
    #[inline(never)]
    fn take_back(
        &mut self,
        state: u16,
        piece: &[u8],
        flow: u32,
        app: &mut A,
    ) -> Result<Option<u64>, ProtocolError> {
        let used = self.flows.install(app, (state, piece), flow, |table| {
            let used = table.take_back(piece, flow)?;
            if const { A::DURABLE }
                && let Some(durable) = table.as_durable()
            {
                durable.changed(piece);
            }
            Ok(used)
        })?;
        if used.is_some() {
            self.flows.note_keys(app, flow);
        }
        Ok(used)
    }

    /// The flow whose entries come.
    pub(crate) fn incoming_flow(&self, kind: Kind) -> Result<u32, ProtocolError> {
        Ok(self.incoming.ok_or(ProtocolError::Unexpected(kind))?.flow)
    }

    /// An entry of the flow, last used at `used`, is here; or it was refused.
    pub(crate) fn came(
        &mut self,
        kind: Kind,
        used: Option<u64>,
        side: &mut HostSide<'_, A>,
    ) -> Result<(), ProtocolError> {
        side.report.refused += u64::from(used.is_none());
        let incoming = self.incoming.as_mut().ok_or(ProtocolError::Unexpected(kind))?;
        incoming.used = incoming.used.max(used.unwrap_or(0));
        incoming.left -= 1;
        Ok(())
    }

    /// Handles an entry that expired before it could be sent.
    pub(crate) fn vanished(&mut self) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Vanished);
        self.incoming.as_mut().ok_or(unexpected)?.left -= 1;
        Ok(())
    }

    /// After the last entry, the flow is the host's. Returns its group key then.
    pub(crate) fn end_of_release(&mut self, now: u64) -> Option<A::Group> {
        let Incoming { left: 0, group, flow, used } = self.incoming? else { return None };
        self.incoming = None;
        // The NIC's time is ahead of the host's, and a record must live as long as its entries.
        self.flows.unpin(flow, used.max(now));
        Some(group)
    }

    /// The rest of the flow that comes is lost. Returns the number of missing entries.
    pub(super) fn end_amid_release(&mut self, now: u64) -> Option<u32> {
        let incoming = self.incoming.take()?;
        self.flows.unpin(incoming.flow, incoming.used.max(now));
        Some(incoming.left)
    }
}
