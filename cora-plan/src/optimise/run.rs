//! The whole of planning.

use std::time::Instant;

use super::allocation::{Found, Freedom, better, optimise};
use super::candidate::{Candidate, all};
use super::short::Short;
use super::{Ask, Cliff, Inputs, Planned, PlanningError, RuleRate, baseline, buckets, rate};
use crate::figure::Figure;
use crate::model::offer;
use crate::model::predict::predict as model;
use crate::model::{Allocation, Prediction, Resource, Steering, coefficients};
use crate::nic::{FlowTable, NicProfile};
use crate::placement::{self, Placement, PlanError};
use crate::search::Share;
use crate::statement::{Stated, Statement};
use crate::vocabulary::{SHARE_OF, Sides};

/// Plans, also for every baseline, and for slightly more. All faults of the ask are reported at
/// once.
pub fn run(inputs: &Inputs<'_>, ask: &Ask) -> Result<Planned, Vec<PlanningError>> {
    let told = |error| match error {
        PlanningError::OutOfReach { mpps, resource, cause, nearest_mpps: None } => {
            let nearest_mpps = Some(rate::nearest(inputs, mpps));
            PlanningError::OutOfReach { mpps, resource, cause, nearest_mpps }
        }
        other => other,
    };
    let planned =
        alone(inputs, ask).map_err(|errors| errors.into_iter().map(told).collect::<Vec<_>>())?;
    let baselines = baseline::all(inputs, planned.mpps);
    let (cliff, rule_rates) = (cliff(inputs, &planned), rule_rates(inputs, planned.mpps));
    Ok(Planned { cliff, rule_rates, baselines, ..planned })
}

/// The same rate with other rates of the flow table's operations.
fn rule_rates(inputs: &Inputs<'_>, mpps: f64) -> Vec<RuleRate> {
    let Some(table) = &inputs.nic.flow_table else { return Vec::new() };
    if inputs.steering != Steering::Rules {
        return Vec::new();
    }
    let at = |per_s| {
        let inserts_per_s = Figure { value: per_s, ..table.inserts_per_s.clone() };
        let flow_table = Some(FlowTable { inserts_per_s, ..table.clone() });
        let nic = NicProfile { flow_table, ..inputs.nic.clone() };
        let inputs = Inputs { nic: &nic, ..*inputs };
        let found = best(&inputs, all(&inputs), mpps).ok();
        RuleRate { per_s, host_cores: found.map(|(_, found)| found.predicted.host_cores) }
    };
    RuleRate::RANGE.map(at).to_vec()
}

/// A plan for slightly more that needs more than twice the host cores.
fn cliff(inputs: &Inputs<'_>, planned: &Planned) -> Option<Cliff> {
    let mpps = planned.mpps * Cliff::AHEAD;
    let (_, found) = best(inputs, all(inputs), mpps).ok()?;
    let (now, host_cores) = (planned.predicted.host_cores, found.predicted.host_cores);
    (host_cores > 2.0 * now + 1e-6).then_some(Cliff { mpps, host_cores })
}

/// Plans without the baselines and without the nearest feasible rate, for callers that plan often.
pub fn alone(inputs: &Inputs<'_>, ask: &Ask) -> Result<Planned, Vec<PlanningError>> {
    let begun = Instant::now();
    check(inputs, ask)?;
    let (mpps, best) = match ask {
        Ask::Rate(mpps) => (*mpps, at_rate(inputs, *mpps)?),
        Ask::HostCores(cores) => rate::highest(inputs, *cores)?,
    };
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let (candidate, found) = best;
    let setting = candidate.setting(inputs);
    let coefficients = coefficients(&setting, &found.allocation, mpps);
    let predicted = model(&setting, &found.allocation, mpps);
    Ok(Planned {
        ask: ask.clone(),
        coefficients,
        mpps,
        nic: inputs.nic.name.clone(),
        traffic: inputs.traffic.name.clone(),
        weighed: candidate.demand.weighed,
        counted: candidate.demand.counted,
        allocation: found.allocation,
        predicted,
        proof: found.proof,
        ms,
        cliff: None,
        rule_rates: Vec::new(),
        baselines: Vec::new(),
    })
}

/// The model's prediction for an allocation, feasible or not.
pub fn predict(inputs: &Inputs<'_>, allocation: &Allocation, mpps: f64) -> Prediction {
    let candidate = Candidate::new(inputs, allocation.sides, &allocation.group)
        .with_unmatched(allocation.unmatched);
    model(&candidate.setting(inputs), allocation, mpps)
}

/// The decision of an allocation, with reasons; the runtimes' constants follow from it.
pub fn decide(inputs: &Inputs<'_>, planned: &Planned) -> Result<Placement, Vec<PlanError>> {
    let allocation = &planned.allocation;
    let mut statement = Statement::of(allocation.sides);
    statement.host_handlers.clone_from(&allocation.host_handlers);
    let stated = &inputs.statement.places;
    if allocation.sides == Sides::Split {
        for (state, place) in &allocation.places {
            let line = stated.get(state).map_or(0, |stated| stated.line);
            statement.places.insert(state.clone(), Stated { what: *place, line });
        }
        statement.nic_share = Some(Stated { what: share(inputs, allocation), line: 0 });
    }
    let buckets = allocation.nic_buckets();
    statement.nic_buckets = buckets.map(|what| Stated { what, line: 0 });
    let classes = inputs.traffic.classes(&allocation.group);
    statement.offer_after = offer::after(allocation.sides, classes, &allocation.shares);
    placement::run(inputs.graph, &statement)
}

/// The best candidate at a rate.
fn at_rate(inputs: &Inputs<'_>, mpps: f64) -> Result<(Candidate, Found), Vec<PlanningError>> {
    best(inputs, all(inputs), mpps).map_err(|short| vec![out_of_reach(short, mpps, None)])
}

pub(super) fn out_of_reach(short: Short, mpps: f64, nearest_mpps: Option<f64>) -> PlanningError {
    let Short { resource, cause } = short;
    PlanningError::OutOfReach { mpps, resource, cause, nearest_mpps }
}

/// The same, or the first exhausted resource of the most promising candidate.
pub(super) fn best(
    inputs: &Inputs<'_>,
    candidates: Vec<Candidate>,
    mpps: f64,
) -> Result<(Candidate, Found), Short> {
    let mut best: Option<(Candidate, Found)> = None;
    let mut short = None;
    for candidate in candidates {
        match of_candidate(inputs, &candidate, mpps) {
            Ok(found) => {
                if best.as_ref().is_none_or(|(_, best)| is_worth(&found, best)) {
                    best = Some((candidate, found));
                }
            }
            Err(cause) => short = short.or(Some(cause)),
        }
    }
    best.ok_or(short.unwrap_or(Short { resource: Resource::NicCores, cause: None }))
}

/// The best allocation of one candidate.
pub(super) fn of_candidate(
    inputs: &Inputs<'_>,
    candidate: &Candidate,
    mpps: f64,
) -> Result<Found, Short> {
    let statement = inputs.statement;
    let stated = match candidate.sides {
        Sides::Dealt => buckets::stated(statement),
        _ => statement.nic_share.map(|stated| Share::UpTo(stated.what)),
    };
    optimise(&candidate.setting(inputs), candidate, Freedom::All, stated, mpps)
}

/// Candidates come in order of preference, so a later one must be better by more than rounding.
fn is_worth(found: &Found, best: &Found) -> bool {
    better(found, best)
}

fn check(inputs: &Inputs<'_>, ask: &Ask) -> Result<(), Vec<PlanningError>> {
    let (what, kind) = match ask {
        Ask::Rate(mpps) => (*mpps, "rate"),
        Ask::HostCores(cores) => (*cores, "number of cores"),
    };
    let mut errors = Vec::new();
    if !(what.is_finite() && what > 0.0) {
        errors.push(PlanningError::NoAsk { what: what.to_string(), kind });
    }
    let has = inputs.nic.host.cores.value;
    if matches!(ask, Ask::HostCores(cores) if *cores > has && cores.is_finite()) {
        let (cores, nic) = (what, inputs.nic.name.clone());
        errors.push(PlanningError::TooManyCores { cores, has, nic });
    }
    if inputs.statement.sides == Sides::Dealt && inputs.nic.flow_table.is_none() {
        errors.push(PlanningError::NoFlowTable { nic: inputs.nic.name.clone() });
    }
    // Checks pins against program and kinds before the search.
    if let Err(refusals) = placement::run(inputs.graph, &inputs.statement.pins()) {
        let refusals = refusals.into_iter();
        // Without pins, the search decides which states travel together.
        let refusals = refusals.filter(|e| !matches!(e, PlanError::NoCommonGroup { .. }));
        errors.extend(refusals.map(PlanningError::Refused));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Share of all flows that the NIC may own. The runtime distinguishes classes only by
/// [`offer_after`], so it owns this share of every class. It is therefore the NIC's share of
/// packets over all classes of which the NIC owns a part.
fn share(inputs: &Inputs<'_>, allocation: &Allocation) -> f64 {
    let classes = inputs.traffic.classes(&allocation.group).iter().zip(&allocation.shares);
    let owned = classes.filter(|(_, share)| **share > 0.0);
    let (given, all) = owned.fold((0.0, 0.0), |(given, all), (class, share)| {
        (given + class.share * share, all + class.share)
    });
    let share: f64 = if all > 0.0 { given / all } else { 0.0 };
    (share * f64::from(SHARE_OF)).floor() / f64::from(SHARE_OF)
}
