//! Replicas of durable entries and singletons.
//!
//! | module | contents |
//! | --- | --- |
//! | `carried` | the shared memory's layout, and replicas that another build left |
//! | `heap` | a store in this process, for a run on a capture |
//! | `layout` | the encoding of durable entries, so that another build can carry them over |
//! | `shared` | a store in memory that outlives the host |

pub(crate) mod carried;
pub(crate) mod heap;
pub(crate) mod layout;
pub(crate) mod shared;
