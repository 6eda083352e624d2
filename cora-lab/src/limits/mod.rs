//! Programs that hold sources to a limit, judged by nftables' rules of the same limit: the same
//! frames through both.
//!
//! | module | contents |
//! | --- | --- |
//! | `policer` | token buckets: sources below, at and beyond their rate |
//! | `scan` | sources that try too many services: which are blocked, and at which service |
//! | `passage` | frames sent at one end, and the frames that come at the other |

mod passage;
mod policer;
mod scan;

use std::path::Path;

use crate::Result;
use crate::verdict::{Observed, Row, compare};

use self::passage::Passage;

/// A network function that only enforces a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// Each source is held to a rate.
    Policer,
    /// Sources that try many services are blocked.
    PortScan,
}

impl Limiter {
    /// All, in the order that they are tried in.
    pub const ALL: [Self; 2] = [Self::Policer, Self::PortScan];

    /// Returns the name of the example.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policer => "policer",
            Self::PortScan => "port-scan",
        }
    }

    /// Returns the read-mostly state that holds the limits, and the text that sets them.
    fn configuration(self) -> (&'static str, String) {
        match self {
            Self::Policer => ("Rates", policer::configuration()),
            Self::PortScan => ("Limits", scan::configuration()),
        }
    }

    /// Returns the nftables rules of the same limits, between interfaces `inside` and `outside`.
    fn rules(self) -> String {
        match self {
            Self::Policer => policer::rules(),
            Self::PortScan => scan::rules(),
        }
    }

    fn observe(self, passage: &mut Passage) -> Result<Vec<Observed>> {
        match self {
            Self::Policer => policer::observe(passage),
            Self::PortScan => scan::observe(passage),
        }
    }
}

/// Sends the same frames through a program and the kernel, both at once, and compares.
///
/// # Errors
/// When this machine lacks something, or a run fails.
pub(crate) fn judge(
    limiter: Limiter,
    program: &Path,
    seed: u64,
    directory: &Path,
) -> Result<Vec<Row>> {
    let said = |what: &'static str| move |why: String| format!("{} {what}: {why}", limiter.name());
    let ours = || -> Result<Vec<Observed>> {
        let (state, text) = limiter.configuration();
        let path = directory.join(format!("{}.txt", limiter.name()));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let label = format!("{}-cora", limiter.name());
        let mut passage = Passage::through_cora(&label, program, (state, &path), seed)?;
        let seen = limiter.observe(&mut passage)?;
        passage.end()?;
        Ok(seen)
    };
    let kernel = || -> Result<Vec<Observed>> {
        let label = format!("{}-kernel", limiter.name());
        let mut passage = Passage::through_kernel(&label, &limiter.rules())?;
        limiter.observe(&mut passage)
    };
    let (ours, kernel) = crate::trial::side_by_side(ours, kernel);
    let (ours, kernel) =
        (ours.map_err(said("through Cora"))?, kernel.map_err(said("through the kernel"))?);
    Ok(compare(limiter.name(), ours, kernel))
}
