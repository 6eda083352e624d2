//! The figures of an allocation, with the latencies of exactly its working sets.

use std::collections::BTreeMap;

use super::latency::Latencies;
use super::limits::limits;
use super::residence::full;
use super::terms::{is_at_nic, terms};
use super::{Allocation, Prediction, Resource, Setting, Steering, offer};
use crate::search::{Problem, evaluate};
use crate::vocabulary::Sides;

/// Maximum number of steps towards the highest rate.
const STEPS: usize = 8;

/// Predicts `allocation` at `mpps` million packets a second. The highest rate holds at its own
/// latencies: where flows follow the rate, so does the working set.
pub(crate) fn predict(setting: &Setting<'_>, allocation: &Allocation, mpps: f64) -> Prediction {
    let (mut predicted, _) = judge(setting, allocation, mpps);
    if setting.traffic.mpps.is_none() {
        return predicted;
    }
    for _ in 0..STEPS {
        let before = predicted.ceiling_mpps;
        if !before.is_finite() || before <= 0.0 {
            break;
        }
        let at = Point::of(setting, allocation, before);
        let used = evaluate(&at.problem(before), &at.on, &at.shares).uses;
        (predicted.ceiling_mpps, predicted.bottleneck) = highest(setting, &at, before, &used);
        if (predicted.ceiling_mpps / before - 1.0).abs() < 1e-4 {
            break;
        }
    }
    predicted
}

/// The prediction with the highest rate at the latencies of this one, and these latencies.
pub(crate) fn judge(
    setting: &Setting<'_>,
    allocation: &Allocation,
    mpps: f64,
) -> (Prediction, Latencies) {
    let at = Point::of(setting, allocation, mpps);
    let problem = at.problem(mpps);
    let used = evaluate(&problem, &at.on, &at.shares).uses;
    let rows = limits(setting);
    let mut utilisation = BTreeMap::new();
    for (row, limit) in rows.iter().enumerate() {
        let amount = problem.limits[row];
        if used[row] == 0.0 && amount == 0.0 {
            continue;
        }
        let used_part = if amount > 0.0 { used[row] / amount } else { f64::INFINITY };
        let most = utilisation.entry(limit.resource).or_insert(0.0_f64);
        *most = most.max(used_part);
    }
    let cores = |resource| {
        let row = rows.iter().position(|limit| limit.resource == resource);
        row.map_or(0.0, |row| used[row])
    };
    let (ceiling_mpps, bottleneck) = highest(setting, &at, mpps, &used);
    let prediction = Prediction {
        host_cores: cores(Resource::HostCores),
        nic_cores: cores(Resource::NicCores),
        ceiling_mpps,
        bottleneck,
        utilisation,
        unstable: unstable(setting, allocation.sides, &problem, &used, mpps),
        at_nic: 1000.0
            * at.handled().iter().zip(setting.classes).map(|(h, c)| h * c.share).sum::<f64>(),
    };
    (prediction, at.latencies)
}

/// The highest rate within every limit at the latencies of a point, and the resource that limits
/// it; `used` is what the point uses at `mpps`.
fn highest(setting: &Setting<'_>, at: &Point<'_>, mpps: f64, used: &[f64]) -> (f64, Resource) {
    // Everything except the fixed part of switches and flows grows with the rate.
    let problem = at.problem(2.0 * mpps);
    let twice = evaluate(&problem, &at.on, &at.shares).uses;
    let mut most = (f64::INFINITY, Resource::NicCores);
    for (row, limit) in limits(setting).iter().enumerate() {
        let amount = problem.limits[row];
        let per_mpps = (twice[row] - used[row]) / mpps;
        let fixed = used[row] - per_mpps * mpps;
        let highest = if fixed > amount {
            0.0
        } else if per_mpps > 0.0 {
            (amount - fixed) / per_mpps
        } else {
            f64::INFINITY
        };
        if highest < most.0 {
            most = (highest, limit.resource);
        }
    }
    most
}

/// An allocation as switches and shares, and its latencies.
pub(super) struct Point<'a> {
    setting: &'a Setting<'a>,
    pub(super) sides: Sides,
    pub(super) on: Vec<bool>,
    pub(super) shares: Vec<f64>,
    /// Packets of a flow at the host before it offers the flow.
    pub(super) after: u32,
    pub(super) latencies: Latencies,
}

impl<'a> Point<'a> {
    pub(super) fn of(setting: &'a Setting<'a>, allocation: &Allocation, mpps: f64) -> Self {
        let states = setting.graph.states.iter().map(|state| {
            let place = allocation.places.get(&state.name);
            place.is_some_and(|place| is_at_nic(*place))
        });
        let handlers =
            setting.graph.chain.iter().map(|h| !allocation.host_handlers.contains(&h.name));
        let on: Vec<bool> = states.chain(handlers).collect();
        let shares = match allocation.sides {
            Sides::HostOnly => vec![0.0; setting.classes.len()],
            Sides::NicOnly => vec![1.0; setting.classes.len()],
            Sides::Split | Sides::Dealt => allocation.shares.clone(),
        };
        let after = offer::after(allocation.sides, setting.classes, &shares);
        let handled = handled(setting, (allocation.sides, after), &on, &shares);
        let latencies = Latencies::at(setting, allocation.sides, &handled, mpps);
        Self { setting, sides: allocation.sides, on, shares, after, latencies }
    }

    pub(super) fn problem(&self, mpps: f64) -> Problem {
        let sides = (self.sides, self.after);
        terms(self.setting, mpps, &self.latencies, sides, &|switch| Some(self.on[switch]))
    }

    fn handled(&self) -> Vec<f64> {
        handled(self.setting, (self.sides, self.after), &self.on, &self.shares)
    }
}

/// Whether all that a route needs is at the NIC.
pub(super) fn is_local(setting: &Setting<'_>, on: &[bool], route: usize) -> bool {
    let shape = &setting.shapes[route];
    shape.reaches.iter().chain(&shape.runs).zip(on).all(|(needed, on)| !needed || *on)
}

/// Per class: the share of its packets that the NIC handles alone.
pub(super) fn handled(
    setting: &Setting<'_>,
    (sides, after): (Sides, u32),
    on: &[bool],
    shares: &[f64],
) -> Vec<f64> {
    let classes = setting.classes.iter().zip(&setting.demand.weights).zip(shares);
    classes
        .map(|((class, weights), share)| {
            let runs = |route: &usize| is_local(setting, on, *route);
            // With messages these are runs, of which a packet may cause several.
            let all = weights.iter().sum::<f64>().max(1.0);
            let local: f64 =
                (0..weights.len()).filter(runs).map(|route| weights[route]).sum::<f64>() / all;
            let early = (f64::from(after) * class.opens).min(1.0);
            // Under a split alone first packets run at the host.
            let first = if sides == Sides::Split { early } else { 0.0 };
            share * (local - first).clamp(0.0, 1.0)
        })
        .collect()
}

/// Sentences about instabilities.
fn unstable(
    setting: &Setting<'_>,
    sides: Sides,
    problem: &Problem,
    used: &[f64],
    mpps: f64,
) -> Vec<String> {
    let mut sentences = Vec::new();
    for (row, limit) in limits(setting).iter().enumerate() {
        let over = used[row] > problem.limits[row] * (1.0 + 1e-9);
        let (used, most) = (used[row].round(), problem.limits[row]);
        match limit.resource {
            Resource::FlowTableInserts if over => sentences.push(format!(
                "rules come and go {used} times a second, and the flow table takes {most}: it falls behind for \
                 good; give the NIC only flows that last"
            )),
            Resource::FlowTable if over => sentences.push(format!(
                "{used} flows want a rule, and the flow table has room for {most}"
            )),
            Resource::TableEntries if over => {
                let table = limit.table.map(|table| full(setting, table, Some(used), mpps));
                sentences.extend(table.map(|full| {
                    format!("{full}: new flows are dropped as `table-full`")
                }));
            }
            _ => {}
        }
    }
    let by_rules = match sides {
        Sides::Dealt => true,
        Sides::HostOnly => false,
        Sides::NicOnly | Sides::Split => setting.steering == Steering::Rules,
    };
    if by_rules && setting.nic.flow_table.is_none() {
        sentences.push(format!("`{}` has no flow table to hold rules", setting.nic.name));
    }
    sentences
}
