//! Regions, as data.

use serde::{Deserialize, Serialize};

use crate::number::grouped;

/// The declarations of a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Number of items.
    pub length: u64,
}

impl Region {
    /// Its declaration in a few words: `65,536 items by number`.
    pub fn summary(&self) -> String {
        format!("{} items by number", grouped(self.length))
    }
}
