//! Packets through handlers, a burst at a time.
//!
//! | module | concept |
//! | --- | --- |
//! | [`burst`] | packets that are handled together |
//! | [`engine`] | one packet through all handlers, atomically |
//! | `egress` | where packets leave the NIC |
//! | `header_split` | long frames that go to the host as their heads |
//! | `hold` | packets that wait |
//! | `host_burst` | the packets that the host runs |
//! | [`reassemble`](mod@reassemble) | whole frames of heads whose rests a dead NIC left |

pub mod burst;
pub(crate) mod egress;
pub mod engine;
pub(crate) mod header_split;
pub(crate) mod hold;
mod host_burst;
pub mod reassemble;

pub use burst::{Arrival, Burst};
pub use egress::Wire;
pub use engine::Engine;
pub use header_split::{LONG, rest_of};
