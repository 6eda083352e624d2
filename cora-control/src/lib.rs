//! The controller decides which flows move while traffic runs, beside the plan; no I/O but a log.
//!
//! ```text
//! worker ── Observation ──→ controller ── Order… ──→ worker
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | [`observation`] | observations, and the interface of a controller |
//! | [`adaptive`] | a controller that learns the costs of packets and moves |
//! | `ledger` | flows that changed sides, by their messages |
//! | [`Drift`] | learned costs relative to expected ones |
//! | `log` | observations and decisions, logged |
//! | [`replay()`] | a log, decided anew |
#![forbid(unsafe_code)]

pub mod adaptive;
mod drift;
mod ledger;
mod log;
pub mod observation;
mod replay;

pub use adaptive::Adaptive;
pub use drift::Drift;
pub use ledger::Ledger;
pub use observation::{Controller, Move, Observation, Seen};
pub use replay::{Decided, ReplayError, Replayed, replay};
