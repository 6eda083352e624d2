//! Durable entries and singletons: copies that outlive the side that owns them.
//!
//! | module | concept |
//! | --- | --- |
//! | `failover` | the other side's process ended, and another will be started |
//! | `replicate` | copies at the host: of what the NIC tells, and of what changes here |
//! | [`store`] | where copies are kept, and how far they are behind |
//! | `track` | durable entries of flows: which side tells of them, what changed |

mod failover;
mod replicate;
pub mod store;
mod track;

pub use store::{Copied, Holder, Reclaimed, Standby};
