//! Traffic profiles: packets in classes of flows by rate.
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
//! | module | contents |
//! | --- | --- |
//! | `class` | flows by rate, divided into classes and bins |
//! | `builtin` | profiles with published parameters, and their names |
//! | `parameter` | parameters after a profile's name |
//! | `popularity` | distribution of packets over ranked flows and their addresses |
//! | `zipf` | Zipf's law, summed |
//! | `campus` | lengths of flows on a campus |
//! | `frames` | lengths of frames, and the bytes that cross under header split |
//! | `draw` | a profile from the counts of a capture |
//! | `standing` | flows at a time, and entries of tables, at a rate |
//! | `read`, `write` | profiles as TOML; the schema is in `docs/traffic.md` |
//! | `error` | faults of a profile, or of its name |

mod builtin;
mod campus;
mod class;
mod draw;
mod error;
mod frames;
mod parameter;
mod popularity;
mod read;
mod standing;
#[cfg(test)]
mod tests;
mod write;
mod zipf;

use std::collections::BTreeMap;

pub use builtin::BUILTIN;
pub use draw::{Borders, Clock, Drawn, Sample, Tally};
pub use error::{ProfileFault, TrafficError};
pub use frames::{HEAD, LONG, LONGEST, mean_bytes};

/// The flow keys of built-in profiles and captures, as in `by_key`.
pub const KEYS: [&str; 4] = ["DestinationAddress", "FiveTuple", "InsideAddress", "SourceAddress"];

/// Traffic for planning. The ask has the rate. Flows at a time follow it if the profile says at
/// which rate they were counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Its name: of a built-in profile, or of a file.
    pub name: String,
    /// Its description in a line, with the source of its parameters or with the capture.
    pub title: String,
    /// Mean length of a frame in bytes, without its check sequence.
    pub mean_bytes: f64,
    /// The rate at which flows at a time were counted, in million packets a second: flows come and
    /// go, and there are as many more at a higher rate. `None`: the same flows send at any rate,
    /// such as those of a fixed number of clients.
    pub mpps: Option<f64>,
    /// Classes of flows by type of flow key (`FiveTuple`, `SourceAddress`, …), heaviest first. Both
    /// directions of a flow count as one. `FiveTuple` is always present.
    pub by_key: BTreeMap<String, Vec<Class>>,
}

impl Traffic {
    /// Classes of flows by this key, or by five-tuple if the profile has none.
    pub fn classes(&self, key: &str) -> &[Class] {
        let own = self.by_key.get(key).or_else(|| self.by_key.get("FiveTuple"));
        own.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Flows of about the same rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name: `the top 64`, `the next 1,936`, `the rest`.
    pub name: String,
    /// Number of concurrent flows, at [`Traffic::mpps`] if there is one. Fractions are averages.
    pub flows: f64,
    /// Share of all packets, 0 to 1; the shares of all classes add up to 1.
    pub share: f64,
    /// Share of this class's packets that are the first of a flow, 0 to 1.
    pub opens: f64,
    /// Mean seconds from the first packet of a flow to its last, if flows come and go; `None` if
    /// that is unknown.
    pub seconds: Option<f64>,
    /// Mean length of its frames, in bytes.
    pub mean_bytes: f64,
    /// Mean bytes of a frame that cross under header split: at most the mean length, and equal to
    /// it if no frame is long.
    pub head_bytes: f64,
    /// Its flows by rate, heaviest first, finer than the class for the cache model. Flows and
    /// shares add up to those of the class.
    pub bins: Vec<Bin>,
}

/// Flows of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Number of flows.
    pub flows: f64,
    /// Their share of all packets.
    pub share: f64,
}
