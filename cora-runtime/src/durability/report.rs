//! The NIC's part: it reports the changes of its durable entries, and the host keeps replicas.

use cora_core::app::{App, Sides};
use cora_core::state::table::Change;

use super::track;
use crate::channel::PeerOutbox;
use crate::hooks;
use crate::link::message::group::{encoded, room};
use crate::link::message::{Durability, GroupKey, Records};
use crate::ownership::records::{FlowRecord, Flows};

/// Sends the changes of durable entries to the host, and the ended entries of recorded states and
/// of those with hooks. These come first: the host then has them whenever their replicas end.
#[inline]
pub(crate) fn report_changes<A: App, R: FlowRecord>(
    app: &mut A,
    flows: &Flows<A, R>,
    out: &mut impl PeerOutbox,
) {
    if const { !A::RECORDED.is_empty() } {
        app.ended(&mut |state, ending| out.send(&Records::of(state, ending).into()));
    }
    if const { !A::HOOKED.is_empty() && matches!(A::PLAN.sides, Sides::Split) } {
        hooks::tell_noticed(app, out);
    }
    if const { A::DURABLE && matches!(A::PLAN.sides, Sides::Split) } {
        track::tell(app, flows, &mut |state, group, change| match change {
            Change::Gone(key) => out.send(&Durability::Erase { state, key }.into()),
            Change::Is { piece, .. } => {
                let mut bytes = room();
                let group = group.map_or(&[][..], |group| encoded(&group, &mut bytes));
                out.send(&Durability::Copy { state, group: GroupKey(group), piece }.into());
            }
        });
    }
}
