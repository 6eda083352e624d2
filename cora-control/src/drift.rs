//! How far what things cost is from what the plan predicts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::adaptive::Costs;

/// What things cost, as a controller learned it, and what it expected (ns).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// As learned.
    pub learned: Costs,
    /// As expected; learned costs are bound to it.
    pub expected: Costs,
    /// Whether that is the plan's prediction, and not what is usual.
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
