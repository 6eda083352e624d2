//! The same rate with other numbers of the profile, for those that are known to an order of
//! magnitude only.

use super::way::{HOST_ONLY, Way};
use crate::figure::Figure;
use crate::model::Steering;
use crate::nic::{FlowTable, Port};
use crate::optimise::RuleRate;
use crate::what_if::Case;

/// One number of the profile, and host cores with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Varied {
    /// The number.
    pub number: f64,
    /// Host cores of host-only; `None` if it can't carry the rate.
    pub host_only: Option<f64>,
    /// Host cores of Cora's plan; `None` if no plan carries the rate.
    pub cora: Option<f64>,
    /// The same for a later runtime.
    pub later: Option<f64>,
}

/// Host cores at one rate by numbers of the profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    /// Million packets a second.
    pub mpps: f64,
    /// By operations a second of the flow table, if flows had rules of their own. Today's runtime
    /// installs none, and dealt buckets need no operations.
    pub rules_per_s: Vec<Varied>,
    /// By bytes for states at the NIC.
    pub state_bytes: Vec<Varied>,
    /// By nanoseconds of the host's driver for a frame.
    pub host_ns: Vec<Varied>,
}

/// Parts of the bytes for states.
const BYTES: [f64; 3] = [0.25, 0.5, 1.0];

/// Parts of the driver's time.
const DRIVER: [f64; 3] = [0.0, 1.0, 2.0];

/// All ranges at a rate.
pub(super) fn at(case: &Case, mpps: f64) -> Ranges {
    let with = |number: f64, change: &dyn Fn(&mut Case)| {
        let mut case = case.clone();
        change(&mut case);
        let cores = |way: Way| way.at(&case, mpps).map(|predicted| predicted.host_cores);
        Varied {
            number,
            host_only: cores(HOST_ONLY),
            cora: cores(Way::Cora),
            later: cores(Way::Later),
        }
    };
    let rules = |per_s: f64| {
        with(per_s, &|case| {
            case.steering = Steering::Rules;
            let table = case.nic.flow_table.take();
            case.nic.flow_table = table.map(|table| FlowTable {
                inserts_per_s: scaled(&table.inserts_per_s, per_s),
                ..table
            });
        })
    };
    let bytes = |part: f64| {
        let bytes = part * case.nic.nic.state_bytes.value;
        with(bytes, &|case| case.nic.nic.state_bytes.value = bytes)
    };
    let driver = |part: f64| {
        let ns = part * case.nic.port.as_ref().map_or(0.0, |port| port.host_ns.value);
        with(ns, &|case| {
            let port = case.nic.port.take();
            case.nic.port = port.map(|port| Port { host_ns: scaled(&port.host_ns, ns), ..port });
        })
    };
    Ranges {
        mpps,
        rules_per_s: never_rising(RuleRate::RANGE.map(rules)),
        state_bytes: never_rising(BYTES.map(bytes)),
        host_ns: DRIVER.map(driver).to_vec(),
    }
}

/// A plan for a smaller limit also holds under a larger one, though the search may miss it there.
fn never_rising(mut all: [Varied; 3]) -> Vec<Varied> {
    let mut least = [f64::INFINITY; 2];
    for varied in &mut all {
        for (cores, least) in [&mut varied.cora, &mut varied.later].into_iter().zip(&mut least) {
            *least = cores.map_or(*least, |cores| cores.min(*least));
            *cores = least.is_finite().then_some(*least);
        }
    }
    all.to_vec()
}

fn scaled(figure: &Figure, value: f64) -> Figure {
    Figure { value, ..figure.clone() }
}
