//! Objects of flows, as data.

use serde::{Deserialize, Serialize};

use super::{Keyed, duration};
use crate::number::grouped;

/// The declarations of objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objects {
    /// Bytes of memory for them at each side.
    pub bytes: u64,
}

impl Objects {
    /// Their declaration in a few words: `32 MiB, 1,024 flows, idle 1h`.
    pub fn summary(&self, flows: &Keyed) -> String {
        let mib = self.bytes as f64 / f64::from(1 << 20);
        let idle = duration(flows.idle_ns);
        format!("{mib} MiB, {} flows, idle {idle}", grouped(flows.capacity))
    }
}
