//! The ways to split a program that the protocol compares.

use std::collections::BTreeMap;

use crate::model::Prediction;
use crate::optimise::{Fair, cora, fair, later};
use crate::what_if::Case;

/// A way to split a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// A strong baseline.
    Baseline(Fair),
    /// Cora's best plan for today's runtime.
    Cora,
    /// Cora's best plan if dealt buckets could lend entries to the host. No runtime does that yet.
    Later,
}

/// Host cores of each way; `None` if it can't carry the rate.
pub type Cores = BTreeMap<Way, Option<f64>>;

impl Way {
    /// Every way, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        Fair::ALL.into_iter().map(Self::Baseline).chain([Self::Cora, Self::Later])
    }

    /// The baselines that split a program.
    pub fn splits() -> impl Iterator<Item = Self> {
        let whole = |fair: &Fair| !matches!(fair, Fair::HostOnly | Fair::NicOnly);
        Fair::ALL.into_iter().filter(whole).map(Self::Baseline)
    }

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Baseline(fair) => fair.word(),
            Self::Cora => "cora",
            Self::Later => "cora-later",
        }
    }

    /// Its plan at a rate; `None` if it can't carry the rate.
    pub(super) fn at(self, case: &Case, mpps: f64) -> Option<Prediction> {
        let inputs = case.inputs();
        match self {
            Self::Baseline(which) => fair(&inputs, which, mpps),
            Self::Cora => cora(&inputs, mpps),
            Self::Later => later(&inputs, mpps),
        }
    }
}

/// The baseline that runs everything at the host behind a plain NIC.
pub(super) const HOST_ONLY: Way = Way::Baseline(Fair::HostOnly);

/// The baseline that runs everything at the NIC.
pub(super) const NIC_ONLY: Way = Way::Baseline(Fair::NicOnly);
