//! Execution of a packet on a core.

use serde::{Deserialize, Serialize};

use crate::nic::Tier;

/// Total execution of one packet on a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Executed {
    /// Instructions.
    pub instructions: f64,
    /// Branch mispredictions.
    pub mispredictions: f64,
}

impl Executed {
    /// Reads a line of the plugin in `benches/counter`: instructions and branch mispredictions.
    ///
    /// # Errors
    ///
    /// A sentence, if these are not two whole numbers.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (instructions, mispredictions) =
            line.split_once(' ').ok_or_else(|| format!("`{line}` is not two numbers"))?;
        let count = |word: &str| number::<u64>(word).map(|count| count as f64);
        Ok(Self { instructions: count(instructions)?, mispredictions: count(mispredictions)? })
    }

    /// Nanoseconds on a core of this kind, if all data hit the first-level cache.
    pub fn ns(self, tier: &Tier) -> f64 {
        self.instructions * tier.instruction_ns.value
            + self.mispredictions * tier.mispredict_ns.value
    }

    /// The excess over the other, at least 0.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        self.zip(other, |own, other| (own - other).max(0.0))
    }

    /// Applies a function to both numbers.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        self.zip(self, |own, _| of(own))
    }

    /// Combines each number with its counterpart.
    pub(super) fn zip(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            instructions: of(self.instructions, other.instructions),
            mispredictions: of(self.mispredictions, other.mispredictions),
        }
    }

    pub(super) fn sum(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |sum, next| sum.zip(next, |a, b| a + b))
    }
}

pub(super) fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}
