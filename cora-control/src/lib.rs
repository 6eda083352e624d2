//! Who decides which flows move while traffic runs, beside the plan: no input or output but a log.
//!
//! ```text
//! worker ── Observation ──→ controller ── Order… ──→ worker
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`observation`] | what a controller sees, and what it is asked |
//! | [`adaptive`] | a controller that learns what packets and moves cost |
//! | `ledger` | which flows changed sides, by the messages that say so |
//! | [`Drift`] | what things cost, against what was expected |
//! | `log` | what the controller saw and decided |
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
