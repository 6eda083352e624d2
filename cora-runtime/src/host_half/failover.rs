//! The other side's process ended, or that of the host before.

use cora_core::app::App;

use crate::durability::{Reclaimed, ReplicaStore, Replication};
use crate::host_half::HostHalf;
use crate::link::message::Message;

impl<A: App> HostHalf<A> {
    /// Takes back the flows of a NIC that ended; everything that it published has been handled.
    /// Entries of durable states are restored from their replicas, and the NIC's other state is
    /// lost. A NIC that is started later owns no flow.
    #[cold]
    pub fn nic_lost(&mut self, store: &mut dyn ReplicaStore) -> Reclaimed {
        self.turns.forget();
        self.messages_lost();
        self.asked_for = u64::MAX;
        let Self { replication, ownership, engine, clock, .. } = self;
        replication.nic_lost(ownership, engine.app(), *clock, store)
    }

    /// Handles a message that the NIC sent to the previous host, and that host did not release from
    /// the ring. All such messages come here before [`Self::take_over`].
    #[cold]
    pub fn catch_up(&mut self, message: &Message<'_>, store: &mut dyn ReplicaStore) {
        self.replication.catch_up(message, self.engine.app(), store);
    }

    /// Restores durable singletons from their replicas, and gives `bad` the numbers of those that
    /// don't decode. This runs before any entry is restored, since entries may depend on
    /// singletons.
    #[cold]
    pub fn restore_singletons(&mut self, store: &dyn ReplicaStore, bad: &mut dyn FnMut(u16)) {
        Replication::restore_singletons(self.engine.app(), store, bad);
    }

    /// Takes over the durable entries of a host that ended. Before this, [`Self::catch_up`] got the
    /// messages that the old host left on the ring, and [`Self::restore_singletons`] ran. `now` is
    /// the time of the latest packet on the wire. Next, the NIC reports the flows that it owns
    /// ([`NicHalf::host_lost`](crate::nic_half::NicHalf::host_lost)). With `afresh`, state that
    /// flows depend on was lost with the old host, so every replica of an entry is dropped.
    #[cold]
    pub fn take_over(&mut self, now: u64, store: &mut dyn ReplicaStore, afresh: bool) -> Reclaimed {
        self.clock.now = self.clock.now.max(now);
        let Self { replication, ownership, engine, clock, .. } = self;
        replication.take_over(ownership, engine.app(), *clock, store, afresh)
    }
}
