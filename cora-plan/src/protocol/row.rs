//! One rate: host cores of every way, and whether the rate is contested.

use super::way::{Cores, HOST_ONLY, NIC_ONLY, Way};
use crate::model::Resource;
use crate::model::limits::usable;
use crate::optimise::plain;
use crate::what_if::Case;

/// One rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Million packets a second.
    pub mpps: f64,
    /// Host cores of every way.
    pub cores: Cores,
    /// Whether splits have anything to gain.
    pub band: Band,
}

/// Whether splits have anything to gain at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// The card alone can't carry it, and host-only can with a whole core or more.
    Contested,
    /// The card alone carries it.
    CardAlone,
    /// Host-only needs less than a whole core.
    LessThanCore,
    /// Host-only can't carry it, nor can the card alone.
    HostCannot,
}

/// A rate at which host-only would drop packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// Million packets a second.
    pub mpps: f64,
    /// The reason.
    pub because: String,
}

impl Band {
    /// The word, as reports spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Contested => "contested",
            Self::CardAlone => "the card alone suffices",
            Self::LessThanCore => "less than a host core",
            Self::HostCannot => "host-only can't carry it",
        }
    }

    pub(super) fn of(host_only: Option<f64>, nic_only: Option<f64>) -> Self {
        match (nic_only, host_only) {
            (Some(_), _) => Self::CardAlone,
            (None, None) => Self::HostCannot,
            (None, Some(cores)) if cores < 1.0 => Self::LessThanCore,
            (None, Some(_)) => Self::Contested,
        }
    }
}

impl Row {
    /// Host cores of a way; `None` if it can't carry the rate.
    pub fn of(&self, way: Way) -> Option<f64> {
        self.cores.get(&way).copied().flatten()
    }

    /// Host cores that a way saves of host-only's, and their share.
    pub fn saved(&self, way: Way) -> Option<(f64, f64)> {
        let (host, cores) = (self.of(HOST_ONLY)?, self.of(way)?);
        (host > 0.0).then(|| (host - cores, 1.0 - cores / host))
    }
}

/// Plans a rate in every way.
pub(super) fn at(case: &Case, mpps: f64) -> Result<Row, Refused> {
    if let Some(because) = drops(case, mpps) {
        return Err(Refused { mpps, because });
    }
    let cores: Cores = Way::all()
        .map(|way| (way, way.at(case, mpps).map(|predicted| predicted.host_cores)))
        .collect();
    let of = |way| cores.get(&way).copied().flatten();
    let band = Band::of(of(HOST_ONLY), of(NIC_ONLY));
    Ok(Row { mpps, cores, band })
}

/// The reason that host-only would drop packets for want of room.
fn drops(case: &Case, mpps: f64) -> Option<String> {
    let predicted = plain(&case.inputs(), mpps);
    let full = |resource| {
        let used = predicted.utilisation.get(&resource).copied().unwrap_or_default();
        (used > usable(resource) * (1.0 + 1e-6)).then_some((resource, used))
    };
    let (resource, used) = full(Resource::HostMemory).or_else(|| full(Resource::TableEntries))?;
    Some(format!(
        "host-only would drop new flows: they need {used:.2} times {}, of which a plan uses {} %",
        resource.words(),
        100.0 * usable(resource)
    ))
}
