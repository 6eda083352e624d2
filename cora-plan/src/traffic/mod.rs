//! Traffic profiles: what the packets look like, in classes of flows by their rate.
//!
//! ```
//! use cora_plan::traffic::Traffic;
//!
//! let traffic = Traffic::load("zipf:flows=1000000,s=0.99").expect("a built-in profile");
//! let classes = &traffic.by_key["FiveTuple"];
//! assert_eq!(classes[0].name, "the top 10");
//! assert_eq!(format!("{:.3}", classes[0].share), "0.192");
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | `class` | flows by their rate, cut into classes and bins |
//! | `builtin` | profiles with published parameters, and the names that ask for them |
//! | `parameter` | what may stand behind a profile's name |
//! | `popularity` | how the packets are shared among ranked flows, and among their addresses |
//! | `zipf` | Zipf's law, summed |
//! | `campus` | how long the flows of a campus are |
//! | `frames` | how long frames are, and how much of long ones goes to the host as their heads |
//! | `draw` | a profile from what was counted in a capture |
//! | `read`, `write` | profiles as TOML; the schema is in `docs/traffic.md` |
//! | `error` | what can be wrong with a profile, or its name |

mod builtin;
mod campus;
mod class;
mod draw;
mod error;
mod frames;
mod parameter;
mod popularity;
mod read;
#[cfg(test)]
mod tests;
mod write;
mod zipf;

use std::collections::BTreeMap;

pub use builtin::BUILTIN;
pub use draw::{Borders, Drawn, Sample, Tally};
pub use error::{ProfileFault, TrafficError};
pub use frames::{HEAD, LONG, LONGEST, mean_bytes};

/// The keys that built-in profiles and captures tell flows apart by, as `by_key` names them.
pub const KEYS: [&str; 4] = ["DestinationAddress", "FiveTuple", "InsideAddress", "SourceAddress"];

/// Traffic, as a plan sees it. It has no rate: a plan is asked for at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// What it is called: that of a built-in profile, or of a file.
    pub name: String,
    /// What it is, in a line: with the source of its parameters, or the capture it was drawn from.
    pub title: String,
    /// Mean length of a frame in bytes, without its check sequence.
    pub mean_bytes: f64,
    /// Classes of flows by the type of the key that flows are told apart by (`FiveTuple`,
    /// `SourceAddress`, …), heaviest first. Both directions of a flow count as one. `FiveTuple` is
    /// always there.
    pub by_key: BTreeMap<String, Vec<Class>>,
}

impl Traffic {
    /// Classes of flows by this key; by five-tuple where the profile has none of its own.
    pub fn classes(&self, key: &str) -> &[Class] {
        let own = self.by_key.get(key).or_else(|| self.by_key.get("FiveTuple"));
        own.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Flows of about the same rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// What it is called: `the top 64`, `the next 1,936`, `the rest`.
    pub name: String,
    /// Flows at a time. Fractions are averages.
    pub flows: f64,
    /// Share of all packets, 0 to 1; those of all classes make 1.
    pub share: f64,
    /// Share of this class's packets that are the first of a flow, 0 to 1.
    pub opens: f64,
    /// Mean length of its frames, in bytes.
    pub mean_bytes: f64,
    /// Bytes of a frame that cross on average where long ones go to the host as their heads: at
    /// most the mean length, and as many where no frame is long.
    pub head_bytes: f64,
    /// Its flows by rate, heaviest first: finer than the class, for what caches make of it. Flows
    /// and shares add up to those of the class.
    pub bins: Vec<Bin>,
}

/// Flows of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// How many.
    pub flows: f64,
    /// Share of all packets that they have together.
    pub share: f64,
}
