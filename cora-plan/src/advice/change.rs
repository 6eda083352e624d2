//! A case that differs from another in one thing, by a factor.

use super::Case;
use crate::planning::Ask;
use crate::traffic::{Bin, Class, Traffic, mean_bytes};

/// What is changed, and by which factor. A factor of 1 changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The asked rate; where host cores are asked with, their number.
    Ask(f64),
    /// How many flows there are at a time; the packets are the same.
    Flows(f64),
    /// The NIC's memory for states.
    NicMemory(f64),
    /// How unlike the flows are: each flow's rate is raised to this power. It multiplies the
    /// exponent of a Zipf distribution; 0 makes all flows alike.
    Skew(f64),
    /// Which share of packets are the first of their flow; never more than all.
    Opens(f64),
}

impl Change {
    /// The case after it.
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

/// Raises every flow's rate to a power, and makes the shares add up to 1 again.
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
    // Heavier classes may have longer frames, so the mean of all changes with their shares.
    if let Some(flows) = traffic.by_key.get("FiveTuple") {
        [traffic.mean_bytes, _] = mean_bytes(flows);
    }
}

/// What a bin's flows would have together, before all is made to add up.
fn heft(bin: Bin, power: f64) -> f64 {
    if bin.flows <= 0.0 || bin.share <= 0.0 {
        return 0.0;
    }
    bin.flows * (bin.share / bin.flows).powf(power)
}
