//! Durable entries and singletons: replicas that outlive the owner.
//!
//! | module | concept |
//! | --- | --- |
//! | [`store`] | the replica store, and how far replicas lag |
//! | `track` | durable entries: their changes, and the side that reports them |
//! | `report` | the NIC reports its changes |
//! | `replicate` | the host keeps replicas: of the NIC's entries, and of its own |
//! | `catch_up` | messages that a dead host left on the ring |
//! | [`waiting`] | ended entries whose hooks have not run |
//! | `restore` | state restored from replicas, after one side's process ended |

mod catch_up;
mod replicate;
mod report;
mod restore;
pub mod store;
#[cfg(test)]
pub(crate) mod tests;
mod track;
pub mod waiting;

pub(crate) use replicate::Replication;
pub(crate) use report::report_changes;
pub use store::{Holder, Reclaimed, Replica, ReplicaStore};
pub use track::sizes;
pub(crate) use track::{disown, retell};
