//! A case that differs from another in one thing, by a factor.

use super::Case;
use crate::statement::Ask;
use crate::traffic::{Bin, Class, Traffic, mean_bytes};

/// A changed quantity and its factor. A factor of 1 changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The asked rate, or the number of host cores if [`Ask`] gives host cores.
    Ask(f64),
    /// Number of concurrent flows, and how long each lasts; the number of packets stays.
    Flows(f64),
    /// The NIC's memory for states.
    NicMemory(f64),
    /// Skew of the flow rates: each flow's rate is raised to this power. The power multiplies the
    /// exponent of a Zipf distribution; 0 gives all flows the same rate.
    Skew(f64),
    /// Share of packets that are the first of their flow; at most 1.
    Opens(f64),
}

impl Change {
    /// The case after the change.
    pub fn applied(self, case: &Case) -> Case {
        let mut case = case.clone();
        match self {
            Self::Ask(factor) => {
                case.ask = match case.ask {
                    Ask::Rate(mpps) => Ask::Rate(mpps * factor),
                    Ask::HostCores(cores) => Ask::HostCores(cores * factor),
                }
            }
            Self::Flows(factor) => each(&mut case.traffic, |class| {
                class.flows *= factor;
                class.seconds = class.seconds.map(|seconds| seconds * factor);
                class.bins.iter_mut().for_each(|bin| bin.flows *= factor);
            }),
            Self::NicMemory(factor) => case.nic.nic.state_bytes.value *= factor,
            Self::Skew(power) => skew(&mut case.traffic, power),
            Self::Opens(factor) => {
                each(&mut case.traffic, |class| class.opens = (class.opens * factor).min(1.0));
            }
        }
        case
    }
}

fn each(traffic: &mut Traffic, change: impl Fn(&mut Class)) {
    traffic.by_key.values_mut().flatten().for_each(change);
}

/// Raises every flow's rate to a power, and normalises the shares to a sum of 1.
fn skew(traffic: &mut Traffic, power: f64) {
    for classes in traffic.by_key.values_mut() {
        let total: f64 =
            classes.iter().flat_map(|class| &class.bins).map(|bin| heft(*bin, power)).sum();
        if total <= 0.0 {
            continue;
        }
        for class in classes.iter_mut() {
            for bin in &mut class.bins {
                bin.share = heft(*bin, power) / total;
            }
            class.share = class.bins.iter().map(|bin| bin.share).sum();
        }
    }
    // Heavier classes may have longer frames, so the mean frame length changes with the shares.
    if let Some(flows) = traffic.by_key.get("FiveTuple") {
        [traffic.mean_bytes, _] = mean_bytes(flows);
    }
}

/// The weight of a bin's flows together, before normalisation.
fn heft(bin: Bin, power: f64) -> f64 {
    if bin.flows <= 0.0 || bin.share <= 0.0 {
        return 0.0;
    }
    bin.flows * (bin.share / bin.flows).powf(power)
}
