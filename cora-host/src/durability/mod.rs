//! Replicas of durable entries and singletons.
//!
//! | module | contents |
//! | --- | --- |
//! | `carried` | the shared memory's layout, and replicas that another build left |
//! | `layout` | the encoding of durable entries, so that another build can carry them over |
//! | `shared` | a store in memory that outlives the host |

pub(crate) mod carried;
pub(crate) mod layout;
pub(crate) mod shared;
