//! Durable entries and singletons: replicas that outlive the owner.
//!
//! | module | concept |
//! | --- | --- |
//! | `failover` | the other side's process ended, and another will be started |
//! | `replicate` | replicas at the host: of the NIC's entries, and of its own |
//! | [`store`] | the replica store, and how far replicas lag |
//! | `track` | durable entries of flows: the side that reports them, and their changes |

mod failover;
mod replicate;
pub mod store;
mod track;

pub use store::{Copied, Holder, Reclaimed, Standby};
