//! Runs packets through handlers, burst by burst.
//!
//! | module | concept |
//! | --- | --- |
//! | [`burst`] | packets that are handled together |
//! | [`engine`] | one packet through all handlers, as a transaction |
//! | `prefetch` | the entries and flow records that a burst will look up |
//! | `took` | counts of handlers of messages |
//! | `egress` | where packets leave the NIC |
//! | `header_split` | the split of long frames at the NIC |
//! | [`reassemble`](mod@reassemble) | whole frames from heads and the rests that a dead NIC left |

pub mod burst;
pub(crate) mod egress;
pub mod engine;
pub(crate) mod header_split;
pub(crate) mod prefetch;
pub mod reassemble;
mod took;

pub use burst::{Arrival, Burst};
pub use egress::Wire;
pub use engine::Engine;
pub use header_split::{LONG, rest_of};
pub use took::Took;
