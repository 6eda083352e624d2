//! Drift: learned costs relative to the plan's prediction.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::adaptive::Costs;

/// Costs that a controller learned, and costs that it expected (ns).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Learned costs.
    pub learned: Costs,
    /// Expected costs; learned costs are bound to them.
    pub expected: Costs,
    /// Whether these are the plan's prediction; otherwise they are the usual costs.
    pub predicted: bool,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = if self.predicted { "the plan's prediction" } else { "the usual cost" };
        for ((what, cost), (_, expected)) in
            self.learned.each().into_iter().zip(self.expected.each())
        {
            writeln!(f, "  {what}: {cost:.0} ns, {:.2} of {by}", cost / expected)?;
        }
        Ok(())
    }
}
