//! A plan for scripts.
//!
//! | key | contents |
//! | --- | --- |
//! | `plan` | `hash`, `sides`, `places`, `host_handlers`, `group`, `shares` (per class of flows) |
//! | `predicted` | `host_cores`, `nic_cores`, `ceiling_mpps`, `bottleneck`, `utilisation`, |
//! | | `unstable`, `at_nic` |
//! | `baselines` | per baseline: `plan` (without hash: it is not built), `predicted`, `feasible` |
//! | `cliff` | `mpps` just above the planned rate, and `host_cores` there if they double |
//! | `proof` | `optimal`, `bound` (host cores, with a little for the NIC's), `nodes`, `ms` |
//!
//! Rates are million packets a second. Numbers have nine significant digits; infinity is null.

use std::collections::BTreeMap;

use serde::Serialize;

use super::numbers::exact;
use super::words::{LABEL, resource_word};
use super::{Report, facts};
use crate::demand::Origin;
use crate::model::{Allocation, Prediction};
use crate::statement::Ask;
use crate::vocabulary::{Place, Sides};

/// Version of this JSON.
pub const SCHEMA: u32 = 1;

/// The JSON, with a newline at its end.
pub fn write(report: &Report<'_>) -> String {
    crate::json::pretty(&document(report))
}

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    app: &'a str,
    label: &'static str,
    nic: &'a str,
    traffic: &'a str,
    ask: AskOf,
    mpps: Option<f64>,
    plan: PlanOf<'a>,
    predicted: PredictionOf<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baselines: Option<BTreeMap<&'static str, BaselineOf<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cliff: Option<CliffOf>,
    proof: ProofOf,
    origins: OriginsOf<'a>,
    why: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum AskOf {
    Mpps(Option<f64>),
    HostCores(Option<f64>),
}

#[derive(Serialize)]
struct PlanOf<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    sides: Sides,
    places: &'a BTreeMap<String, Place>,
    host_handlers: &'a [String],
    group: &'a str,
    shares: Vec<ShareOf<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nic_buckets: Option<u16>,
}

#[derive(Serialize)]
struct ShareOf<'a> {
    class: &'a str,
    flows: Option<f64>,
    packets: Option<f64>,
    nic: Option<f64>,
}

#[derive(Serialize)]
struct PredictionOf<'a> {
    host_cores: Option<f64>,
    nic_cores: Option<f64>,
    ceiling_mpps: Option<f64>,
    bottleneck: &'static str,
    utilisation: BTreeMap<&'static str, Option<f64>>,
    unstable: &'a [String],
    at_nic: Option<f64>,
}

#[derive(Serialize)]
struct BaselineOf<'a> {
    feasible: bool,
    plan: PlanOf<'a>,
    predicted: PredictionOf<'a>,
}

#[derive(Serialize)]
struct ProofOf {
    optimal: bool,
    bound: Option<f64>,
    nodes: u64,
    ms: Option<f64>,
}

#[derive(Serialize)]
struct CliffOf {
    mpps: Option<f64>,
    host_cores: Option<f64>,
}

#[derive(Serialize)]
struct OriginsOf<'a> {
    path_weights: Origin,
    instructions: Origin,
    measured: &'a str,
}

pub(super) fn document<'a>(report: &'a Report<'a>) -> Document<'a> {
    let planned = report.planned;
    let baselines = planned.baselines.iter().map(|other| {
        let plan = plan(&other.allocation, report, None);
        let predicted = prediction(&other.predicted);
        (other.baseline.word(), BaselineOf { feasible: other.feasible, plan, predicted })
    });
    let seats = facts::states(report).into_iter().chain(facts::handlers(report));
    Document {
        schema: SCHEMA,
        app: &report.graph.app,
        label: LABEL,
        nic: &planned.nic,
        traffic: &planned.traffic,
        ask: match planned.ask {
            Ask::Rate(mpps) => AskOf::Mpps(exact(mpps)),
            Ask::HostCores(cores) => AskOf::HostCores(exact(cores)),
        },
        mpps: exact(planned.mpps),
        plan: plan(&planned.allocation, report, Some(report.hash)),
        predicted: prediction(&planned.predicted),
        baselines: report.baselines.then(|| baselines.collect()),
        cliff: planned
            .cliff
            .map(|cliff| CliffOf { mpps: exact(cliff.mpps), host_cores: exact(cliff.host_cores) }),
        proof: ProofOf {
            optimal: planned.proof.optimal,
            bound: exact(planned.proof.bound),
            nodes: planned.proof.nodes,
            ms: exact(planned.ms),
        },
        origins: OriginsOf {
            path_weights: planned.weighed,
            instructions: planned.counted,
            measured: report.measured,
        },
        why: seats.map(|seat| (seat.name, seat.why)).collect(),
    }
}

fn plan<'a>(allocation: &'a Allocation, report: &Report<'a>, hash: Option<&'a str>) -> PlanOf<'a> {
    let growth = report.traffic.growth(report.planned.mpps);
    let classes = report.traffic.classes(&allocation.group).iter();
    let shares = classes.zip(&allocation.shares).map(|(class, share)| ShareOf {
        class: &class.name,
        flows: exact(class.flows * growth),
        packets: exact(class.share),
        nic: exact(*share),
    });
    PlanOf {
        hash,
        sides: allocation.sides,
        places: &allocation.places,
        host_handlers: &allocation.host_handlers,
        group: &allocation.group,
        shares: shares.collect(),
        nic_buckets: allocation.nic_buckets(),
    }
}

fn prediction(predicted: &Prediction) -> PredictionOf<'_> {
    let uses = predicted.utilisation.iter();
    PredictionOf {
        host_cores: exact(predicted.host_cores),
        nic_cores: exact(predicted.nic_cores),
        ceiling_mpps: exact(predicted.ceiling_mpps),
        bottleneck: resource_word(predicted.bottleneck),
        utilisation: uses
            .map(|(resource, used)| (resource_word(*resource), exact(*used)))
            .collect(),
        unstable: &predicted.unstable,
        at_nic: exact(predicted.at_nic),
    }
}
