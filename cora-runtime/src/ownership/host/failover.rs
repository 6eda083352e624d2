//! The NIC's process or the host's ended, and another one will be started.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::NO_FLOW;

use super::{Clock, HostOwnership, HostRecord};
use crate::dealing::Dealing;

/// What was in transit when the NIC ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupted {
    /// Offered flows that stay here.
    pub(crate) cancelled: u64,
    /// Missing entries of the flow that had come in part.
    pub(crate) missing: Option<u32>,
}

impl<A: App> HostOwnership<A> {
    /// The NIC ended: ends all transit. A NIC that is started later owns no flow.
    pub(crate) fn nic_lost(&mut self, app: &mut A, now: u64) -> Interrupted {
        let cancelled = self.cancel_offers();
        // Only replicas are left of a flow that was being handed over.
        if let Some(leaving) = self.leaving.take() {
            self.flows.remove(app, leaving.flow);
        }
        Interrupted { cancelled, missing: self.end_amid_release(now) }
    }

    /// Begins to restore entries, at this time.
    pub(crate) fn begin(&mut self, Clock { now, horizon }: Clock, ahead: u8) {
        self.flows.begin(now, horizon, ahead);
    }

    /// The flow of an entry that is restored, by its encoded group key; [`NO_FLOW`] if it belongs
    /// to none. Counts a flow that was not known in `made`. Without room for a record the entry is
    /// kept, and its flow stays here for good.
    pub(crate) fn flow_to_restore(
        &mut self,
        app: &mut A,
        group: &[u8],
        now: u64,
        made: &mut u64,
    ) -> u32 {
        if let Some(bucket) = Dealing::named::<A>(group) {
            return bucket;
        }
        let Some(group) = A::Group::get(group).filter(|_| !group.is_empty()) else {
            return NO_FLOW;
        };
        if let Some(found) = self.flows.find(app, &group, now, 0, || None) {
            return found.flow;
        }
        if self.flows.reserve(app, &group, 0).is_none() {
            return NO_FLOW;
        }
        let record = HostRecord { came: now.max(1), ..HostRecord::OWNED };
        let flow = self.add(app, group, record);
        *made += u64::from(flow.is_some());
        flow.unwrap_or(NO_FLOW)
    }

    /// An entry of the flow, last used at `used`, was restored.
    pub(crate) fn restored(&mut self, app: &mut A, flow: u32, used: u64) {
        self.flows.note_used(flow, used);
        self.flows.note_keys(app, flow);
    }
}
