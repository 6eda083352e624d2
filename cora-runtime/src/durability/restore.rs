//! State restored from replicas at the host: the NIC's process ended, or the previous host's.

use cora_core::app::App;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::{NO_FLOW, Visit};

use super::replicate::{Replication, kept};
use super::store::{Holder, Reclaimed, Replica, ReplicaStore};
use super::track;
use super::waiting::{self, ENDED};
use crate::ownership::host::{Clock, HostOwnership};

impl<A: App> Replication<A> {
    /// Takes back the flows of a NIC that ended.
    pub(crate) fn nic_lost(
        &mut self,
        ownership: &mut HostOwnership<A>,
        app: &mut A,
        clock: Clock,
        store: &mut dyn ReplicaStore,
    ) -> Reclaimed {
        let interrupted = ownership.nic_lost(app, clock.now);
        let mut reclaimed = Reclaimed {
            cancelled: interrupted.cancelled,
            half_received: interrupted.missing.is_some().into(),
            missing: interrupted.missing.unwrap_or(0).into(),
            ..Reclaimed::default()
        };
        // The NIC may have ended before it could report its flows.
        for holder in [Holder::Nic, Holder::Unsure] {
            reclaimed += self.reinstall(holder, ownership, app, clock, store);
        }
        ownership.count_at_nic(0);
        self.reclaimed += reclaimed;
        reclaimed
    }

    /// Takes over the durable entries of a host that ended. With `afresh`, state that flows depend
    /// on was lost with the old host, so every replica of an entry is dropped.
    pub(crate) fn take_over(
        &mut self,
        ownership: &mut HostOwnership<A>,
        app: &mut A,
        clock: Clock,
        store: &mut dyn ReplicaStore,
        afresh: bool,
    ) -> Reclaimed {
        self.left_behind = None;
        let mut reclaimed = Reclaimed::default();
        if afresh {
            for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
                store.each(holder, None, &mut |_| reclaimed.dropped += 1);
                store.forget_all(holder, None);
            }
            self.replicate(ownership, app, store);
        } else {
            reclaimed = self.reinstall(Holder::Host, ownership, app, clock, store);
            store.assign(Holder::Nic, Holder::Unsure, None);
        }
        self.reclaimed += reclaimed;
        reclaimed
    }

    /// Restores durable singletons from their replicas, and gives `bad` the numbers of those that
    /// don't decode.
    pub(crate) fn restore_singletons(
        app: &mut A,
        store: &dyn ReplicaStore,
        bad: &mut dyn FnMut(u16),
    ) {
        for state in A::KEPT {
            let number = *state as u16;
            let Some(kept) = kept(app, *state) else { continue };
            if store.parts(number, &mut |at, part| kept.restore_part(at, part)) && !kept.restore() {
                bad(number);
            }
        }
    }

    /// The NIC owns the flow, and has reported all of its durable entries. Other replicas of it are
    /// stale.
    pub(crate) fn is_owned(group: &[u8], store: &mut dyn ReplicaStore) {
        store.forget_all(Holder::Unsure, Some(group));
    }

    /// The NIC owns nothing beyond the flows that it reported. The other entries it was thought to
    /// own become the host's.
    pub(crate) fn all_owned(
        &mut self,
        ownership: &mut HostOwnership<A>,
        app: &mut A,
        clock: Clock,
        store: &mut dyn ReplicaStore,
    ) {
        let reclaimed = self.reinstall(Holder::Unsure, ownership, app, clock, store);
        self.reclaimed += reclaimed;
    }

    /// Restores all replicas with this holder as the host's own entries.
    fn reinstall(
        &mut self,
        holder: Holder,
        ownership: &mut HostOwnership<A>,
        app: &mut A,
        clock: Clock,
        store: &mut dyn ReplicaStore,
    ) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        // Entries that have just come are newer than their replicas.
        self.replicate(ownership, app, store);
        let Clock { now, horizon } = clock;
        ownership.begin(clock, ALONE);
        app.begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead: ALONE });
        store.each(holder, None, &mut |replica| {
            if replica.state & ENDED != 0 {
                let bucket = replica.group.first().copied().unwrap_or(0);
                let taken = waiting::take(app, replica.state & !ENDED, replica.piece, bucket);
                reclaimed.refused += u64::from(taken.is_err());
            } else {
                reinstall_one(replica, ownership, app, now, &mut reclaimed);
            }
        });
        // The restored entries become the host's before the refused replicas are forgotten.
        self.replicate(ownership, app, store);
        if holder != Holder::Host {
            store.forget_all(holder, None);
        }
        reclaimed
    }
}

fn reinstall_one<A: App>(
    replica: &Replica<'_>,
    ownership: &mut HostOwnership<A>,
    app: &mut A,
    now: u64,
    reclaimed: &mut Reclaimed,
) {
    let flow = ownership.flow_to_restore(app, replica.group, now, &mut reclaimed.flows);
    match track::restore(app, replica.state, replica.piece, flow, now) {
        Ok(true) => {
            ownership.restored(app, flow, now);
            reclaimed.entries += 1;
        }
        Ok(false) | Err(_) => reclaimed.refused += 1,
    }
}
