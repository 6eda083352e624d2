//! Configured tables, as data.

use serde::{Deserialize, Serialize};

use crate::number::grouped;

/// The declarations of a configured table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// How rows are found: `map`, `prefixes` or `acl`.
    pub form: String,
    /// Type of the key of a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Maximum number of rows.
    pub capacity: u64,
}

impl Rows {
    /// Its declaration in one line: `map by SourceAddress, 10,000 rows`.
    pub fn summary(&self) -> String {
        let key = self.key.as_ref().map_or_else(String::new, |key| format!(" by {key}"));
        format!("{}{key}, {} rows", self.form, grouped(self.capacity))
    }
}
