//! Mean costs of single operations under an allocation, over the expected packets. The costs that a
//! run learns are compared with them.

use serde::{Deserialize, Serialize};

use super::predict::Point;
use super::terms::At;
use super::{Allocation, Setting, Side};
use crate::json::rounded;

/// Costs in nanoseconds of a side's time, rounded to six digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficients {
    /// A packet that the host handles.
    pub host_packet: f64,
    /// The host's part of a move.
    pub host_move: f64,
    /// A packet that the NIC handles.
    pub nic_packet: f64,
    /// A packet that the NIC forwards to the host.
    pub nic_pass: f64,
    /// The NIC's part of a move.
    pub nic_move: f64,
}

/// The coefficients of an allocation at a rate.
pub(crate) fn coefficients(
    setting: &Setting<'_>,
    allocation: &Allocation,
    mpps: f64,
) -> Coefficients {
    let point = Point::of(setting, allocation, mpps);
    let at = At::of(setting, &point.latencies, point.sides);
    let (mut host_packet, mut nic_packet, mut nic_pass, mut all) = (0.0, 0.0, 0.0, 0.0);
    for (class, weights) in setting.demand.weights.iter().enumerate() {
        for (route, weight) in weights.iter().enumerate() {
            let part = setting.classes[class].share * weight;
            let passed = at.away(class, route);
            host_packet += part * passed.host;
            nic_pass += part * passed.nic;
            nic_packet += part * at.local(class, route).nic;
            all += part;
        }
    }
    let mean = |sum: f64| rounded(if all > 0.0 { sum / all } else { 0.0 });
    let moving = |side| rounded(at.costs.moving(side));
    Coefficients {
        host_packet: mean(host_packet),
        host_move: moving(Side::Host),
        nic_packet: mean(nic_packet),
        nic_pass: mean(nic_pass),
        nic_move: moving(Side::Nic),
    }
}
