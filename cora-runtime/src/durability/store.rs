//! The replica store: replicas of durable entries and singletons, which outlive the owner.
//!
//! The host keeps replicas of the NIC's entries and, for the next host, of its own. So the store
//! has every durable entry, each with its holder.
//!
//! The replicas of a singleton and of the entries that a burst changed take effect together. A pool
//! that has a session's port without the session would leak the port. A session without its lease
//! would get the packets of the port's next lessee.
//!
//! # How far replicas lag
//!
//! *No packet.* At the NIC, a packet's changes enter the punt ring before the packet enters the
//! wire's. The punt ring is published first. At the host, changes are in the store before the
//! packets are published. So no packet that left depends on state that a kill can destroy, and a
//! packet with lost changes did not leave. Only times of last use lag: a lookup is not reported,
//! and a restored entry counts as used at its restoration.
//!
//! This holds under a split plan. Under nic-only no flow ever moves, so replicas have nowhere to go
//! back to. Under host-only the NIC owns nothing.

/// The owner of a replicated entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// The host itself.
    Host,
    /// The NIC.
    Nic,
    /// The NIC, as the previous host thought; the new one waits for the NIC's confirmation.
    Unsure,
}

/// A replica of a durable entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica<'a> {
    /// The state's number.
    pub state: u16,
    /// Its owner.
    pub holder: Holder,
    /// The group key of its flow, encoded; empty if it belongs to no flow.
    pub group: &'a [u8],
    /// The key of its insertion, encoded.
    pub key: &'a [u8],
    /// The whole entry, which begins with that key.
    pub piece: &'a [u8],
}

/// Keeps replicas: at most one for each key of a state.
pub trait ReplicaStore {
    /// Keeps a replica in place of the one with the same state and key. `false`: there is no room
    /// for it, and the old one is gone.
    fn keep(&mut self, copy: &Replica<'_>) -> bool;

    /// Forgets the replica with this key, if this side holds the entry.
    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]);

    /// Forgets the replicas of this holder's entries, of one flow or of all.
    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>);

    /// Assigns the entries of `from`, of one flow or of all, to `to`.
    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>);

    /// Begins a transaction: calls until [`Self::commit`] take effect with that, or not at all.
    fn begin(&mut self) {}

    /// Commits the calls since [`Self::begin`].
    fn commit(&mut self) {}

    /// Overwrites a part of the singleton's encoding, from offset `at` on. The first time all parts
    /// come.
    fn keep_part(&mut self, state: u16, at: usize, part: &[u8]) {
        let _ = (state, at, part);
    }

    /// Visits the replica of the singleton with this number, part by part. Returns whether there is
    /// one.
    fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        let _ = (state, visit);
        false
    }

    /// Visits the replica with this key. Returns whether there is one.
    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool;

    /// Visits the replicas of this holder's entries, of one flow or of all, in the same order each
    /// time.
    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Replica<'_>));
}

/// State that the survivor kept of a dead side's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Flows restored from replicas.
    pub flows: u64,
    /// Durable entries restored from replicas.
    pub entries: u64,
    /// Replicas that could not be restored: no room, the key of another entry, or bytes that don't
    /// decode.
    pub refused: u64,
    /// Flows offered to the other side that stay here.
    pub cancelled: u64,
    /// Flows that had come in part. Their missing entries are lost unless there are replicas.
    pub half_received: u64,
    /// Missing entries of those flows.
    pub missing: u64,
    /// Replicas dropped because state that their entries depend on is lost.
    pub dropped: u64,
}

impl core::ops::AddAssign for Reclaimed {
    fn add_assign(&mut self, other: Self) {
        self.flows += other.flows;
        self.entries += other.entries;
        self.refused += other.refused;
        self.cancelled += other.cancelled;
        self.half_received += other.half_received;
        self.missing += other.missing;
        self.dropped += other.dropped;
    }
}
