//! What a live run tells at its end.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A live run, told by the process that watched over it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LiveReport {
    /// `cora-live/1`.
    pub(super) schema: &'static str,
    /// The program.
    pub(super) program: &'static str,
    /// Hash of its plan.
    pub(super) plan: String,
    /// Frames that came.
    pub(super) packets_in: u64,
    /// Frames that left.
    pub(super) packets_out: u64,
    /// Frames that the wire dropped, by name.
    pub(super) dropped: BTreeMap<&'static str, u64>,
    /// Frames that a NIC which died had not taken: the next one got them.
    pub(super) fed_again: u64,
    /// How often each half was started again.
    pub(super) restarts: BTreeMap<&'static str, u64>,
    /// From the death of a half to the moment when both worked again, each (µs).
    pub(super) pauses_us: Vec<u64>,
    /// How often the program was replaced; what else is told here is of the time since.
    pub(super) upgrades: u64,
    /// The last region's generation.
    pub(super) generation: u64,
    /// What the last host and the last NIC counted; nothing if the host did not come to its end.
    pub(super) halves: Option<Value>,
}

impl fmt::Display for LiveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (plan {})", self.program, self.plan)?;
        writeln!(f, "{:>12} frames came, {} left", self.packets_in, self.packets_out)?;
        for (name, count) in &self.dropped {
            writeln!(f, "{count:>12} {name}")?;
        }
        for (half, times) in &self.restarts {
            writeln!(f, "{times:>12} times the {half} was started again")?;
        }
        let mut pauses = self.pauses_us.clone();
        pauses.sort_unstable();
        if let (Some(median), Some(longest)) = (pauses.get(pauses.len() / 2), pauses.last()) {
            writeln!(
                f,
                "{median:>12} µs until both halves worked again (median; longest {longest})"
            )?;
        }
        Ok(())
    }
}
