//! Traffic profiles: what the packets look like, in classes of flows by their rate.

use std::collections::BTreeMap;

/// Traffic, as a plan sees it. It has no rate: a plan is asked for at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// What it is called: that of a built-in profile, or of a file.
    pub name: String,
    /// What it is, in a line: with the source of its parameters, or the capture it was drawn from.
    pub title: String,
    /// Mean length of a frame in bytes, without its check sequence.
    pub mean_bytes: f64,
    /// Classes of flows by the type of the key that flows are told apart by (`FiveTuple`, `SourceAddress`, …), heaviest
    /// first. Both directions of a flow count as one. `FiveTuple` is always there.
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
    /// Its flows by rate, heaviest first: finer than the class, for what caches make of it. Flows and shares add up to
    /// those of the class.
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
