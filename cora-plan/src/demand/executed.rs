//! What a packet makes a core execute.

use serde::{Deserialize, Serialize};

use crate::nic::Tier;

/// What one packet makes a core execute, all told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Executed {
    /// Instructions.
    pub instructions: f64,
    /// Branches among them that the core foretells wrongly.
    pub mispredictions: f64,
}

impl Executed {
    /// Reads what the plugin in `benches/counter` writes into a line: instructions, and branches
    /// foretold wrongly.
    ///
    /// # Errors
    ///
    /// A sentence, when these are not two whole numbers.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (instructions, mispredictions) =
            line.split_once(' ').ok_or_else(|| format!("`{line}` is not two numbers"))?;
        let count = |word: &str| number::<u64>(word).map(|count| count as f64);
        Ok(Self { instructions: count(instructions)?, mispredictions: count(mispredictions)? })
    }

    /// Nanoseconds that it takes a core of this kind, when all data are in the first cache.
    pub fn ns(self, tier: &Tier) -> f64 {
        self.instructions * tier.instruction_ns.value
            + self.mispredictions * tier.mispredict_ns.value
    }

    /// What is beyond the other, or nothing.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        self.zip(other, |own, other| (own - other).max(0.0))
    }

    /// Both numbers, changed alike.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        self.zip(self, |own, _| of(own))
    }

    /// Both numbers, each with its counterpart.
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
