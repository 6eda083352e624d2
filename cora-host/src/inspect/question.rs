//! Questions about entries, and orders, as they are asked.

use serde::Deserialize;

use crate::inspect::filter::Filter;

/// A question or an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Flows(Listing),
    Delete(Removal),
    Move(Movement),
}

/// Entries of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listing {
    pub(super) filter: Filter,
    /// Most entries of the answer.
    pub(super) limit: Option<usize>,
    /// Where the answer before this one stopped.
    pub(super) after: Option<String>,
}

/// Entries are to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Removal {
    pub(super) filter: Filter,
    /// Also of more than one flow.
    #[serde(default)]
    pub(super) all: bool,
}

/// Flows are to move.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Movement {
    /// `nic` or `host`.
    pub(super) to: String,
    pub(super) filter: Filter,
    /// Also more than one flow.
    #[serde(default)]
    pub(super) all: bool,
}
