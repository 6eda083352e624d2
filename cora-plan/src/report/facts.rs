//! Contents of reports, in any format.

use super::numbers::{count, figure, percent, rate, whole_cores};
use super::words::{self, limit};
use super::{Report, why};
use crate::figure::Source;
use crate::model::residence::{MEAN_IDLE, idle};
use crate::model::{NIC_CORE, Prediction, Resource, Unmatched};
use crate::optimise::{Baseline, BaselinePlan, Cliff, Planned};
use crate::placement::one_shard;
use crate::statement::Ask;
use crate::traffic::{HEAD, mean_bytes};
use crate::vocabulary::{BUCKETS, Place, Sides};
use crate::what_if::subject::{Standing, Subject};

/// A state or a handler, its place, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its name.
    pub name: String,
    /// The place, in up to three words.
    pub place: &'static str,
    /// The reason, in a sentence.
    pub why: String,
}

/// A class of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassFacts {
    /// Its name.
    pub name: String,
    /// Number of concurrent flows at the planned rate.
    pub flows: f64,
    /// Share of all packets.
    pub packets: f64,
    /// Share of its flows that the NIC owns.
    pub owned: f64,
    /// The reason for this share.
    pub why: &'static str,
}

/// Utilisation of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The resource.
    pub resource: Resource,
    /// Its utilisation.
    pub used: f64,
    /// The limit, if the profile has one.
    pub limit: Option<String>,
    /// Whether it limits the plan.
    pub is_bottleneck: bool,
}

/// The request: `10 Mpps with the fewest host cores`.
pub fn ask(report: &Report<'_>) -> String {
    match report.planned.ask {
        Ask::Rate(mpps) => format!("{} Mpps with the fewest host cores", rate(mpps)),
        Ask::HostCores(cores) => format!("the highest rate with {} host cores", count(cores)),
    }
}

/// The result, in a sentence or two.
pub fn headline(report: &Report<'_>) -> String {
    let Prediction { host_cores, nic_cores, ceiling_mpps, bottleneck, .. } =
        report.planned.predicted;
    let limit = bottleneck.words();
    let nic = cores(nic_cores);
    match report.planned.ask {
        Ask::Rate(mpps) => format!(
            "{} Mpps need {} host cores and {nic} NIC cores. It goes up to {} Mpps; there {limit} run out.",
            count(mpps),
            cores(host_cores),
            figure(ceiling_mpps)
        ),
        Ask::HostCores(given) => format!(
            "With {} host cores it goes up to {} Mpps, on {nic} NIC cores. With more of them {limit} run out, at {} \
             Mpps.",
            count(given),
            figure(report.planned.mpps),
            figure(ceiling_mpps)
        ),
    }
}

/// A number of cores, and the whole ones that it takes: a core that polls does nothing else.
fn cores(number: f64) -> String {
    let part = figure(number);
    let whole = count(whole_cores(number));
    let is_whole = part == "0" || part == whole || !number.is_finite();
    if is_whole { part } else { format!("{part} ({whole} whole)") }
}

/// All states.
pub fn states(report: &Report<'_>) -> Vec<Seat> {
    let nodes = report.graph.states.iter();
    nodes
        .map(|node| {
            let standing = Subject::State(node.name.clone()).standing(report.planned);
            let place = match standing {
                Standing::At(place) => place.word(),
                _ => Place::Host.word(),
            };
            Seat { name: node.name.clone(), place, why: why::state(report, node) }
        })
        .collect()
}

/// All handlers, in chain order.
pub fn handlers(report: &Report<'_>) -> Vec<Seat> {
    let nodes = report.graph.chain.iter();
    nodes
        .map(|node| {
            let standing = Subject::Handler(node.name.clone()).standing(report.planned);
            let place = match standing {
                Standing::NicAlone => "nic",
                Standing::EitherSide => "nic + host",
                _ => "host",
            };
            Seat { name: node.name.clone(), place, why: why::handler(report, node) }
        })
        .collect()
}

/// All classes of flows, heaviest first.
pub fn flow_classes(report: &Report<'_>) -> Vec<ClassFacts> {
    let allocation = &report.planned.allocation;
    let classes = report.traffic.classes(&allocation.group).iter().enumerate();
    classes
        .map(|(number, class)| {
            let owned = match allocation.sides {
                Sides::HostOnly => 0.0,
                Sides::NicOnly => 1.0,
                Sides::Split | Sides::Dealt => {
                    allocation.shares.get(number).copied().unwrap_or(0.0)
                }
            };
            let (name, why) = (class.name.clone(), why::class(report, owned));
            let flows = class.flows * report.traffic.growth(report.planned.mpps);
            ClassFacts { name, flows, packets: class.share, owned, why }
        })
        .collect()
}

/// All resources, by falling utilisation.
pub fn loads(report: &Report<'_>) -> Vec<Load> {
    let predicted = &report.planned.predicted;
    let many_shards = one_shard(report.graph, &report.planned.allocation.group).is_empty();
    let uses = predicted.utilisation.iter();
    let mut loads: Vec<Load> = uses
        .map(|(resource, used)| Load {
            resource: *resource,
            used: *used,
            limit: limit(*resource, report.nic, many_shards),
            is_bottleneck: *resource == predicted.bottleneck,
        })
        .collect();
    loads.sort_by(|a, b| b.used.total_cmp(&a.used).then(a.resource.cmp(&b.resource)));
    loads
}

fn baseline<'a>(report: &'a Report<'_>, which: Baseline) -> Option<&'a BaselinePlan> {
    let found = report.planned.baselines.iter().find(|plan| plan.baseline == which);
    found.filter(|plan| plan.feasible)
}

/// The saving of `ours` as a share of `theirs`; `None` if `theirs` is 0.
pub fn saved(theirs: f64, ours: f64) -> Option<f64> {
    (theirs > 0.0).then(|| 1.0 - ours / theirs)
}

/// The saving of Cora's plan at the same rate as a share of a baseline's host cores, if the
/// baseline reaches the rate.
pub fn gain(planned: &Planned, other: &BaselinePlan) -> Option<f64> {
    let gain = saved(other.predicted.host_cores, planned.predicted.host_cores);
    gain.filter(|_| other.feasible)
}

/// What a user should know before using the plan: instabilities, and a cliff next to it.
pub fn troubles(report: &Report<'_>) -> Vec<String> {
    let planned = report.planned;
    let cliff = planned.cliff.map(|Cliff { mpps, host_cores }| {
        format!(
            "next to a cliff: at {} Mpps, 1 % more, the best plan needs {} host cores instead of {}",
            figure(mpps),
            figure(host_cores),
            figure(planned.predicted.host_cores)
        )
    });
    planned.predicted.unstable.iter().cloned().chain(cliff).collect()
}

/// The rules of hardware that steers: those that deal buckets, or under a split by rules the way of
/// packets that none matches.
pub fn rules(report: &Report<'_>) -> Option<String> {
    if let Some(buckets) = report.planned.allocation.nic_buckets() {
        return Some(format!(
            "Rules of the NIC's flow table give packets of {buckets} buckets of {BUCKETS} to its cores, and the others \
             straight to a queue of the host."
        ));
    }
    let used = report.planned.predicted.utilisation.get(&Resource::FlowTable)?;
    if *used <= 0.0 || report.planned.allocation.sides != Sides::Split {
        return None;
    }
    let words = match report.planned.allocation.unmatched {
        Unmatched::Host => {
            "Hardware hands packets that no rule matches to the host; flows of the NIC have rules."
        }
        Unmatched::Nic => {
            "Hardware gives packets that no rule matches to the NIC's cores; flows of the host have rules."
        }
    };
    Some(words.to_owned())
}

/// Host cores by the rate of the flow table's operations, if hardware steers by rules.
pub fn rule_rates(report: &Report<'_>) -> Option<String> {
    let rates = report.planned.rule_rates.iter().map(|rate| {
        let cores = rate.host_cores.map_or("no plan".to_owned(), figure);
        format!("{} at {}", cores, count(rate.per_s))
    });
    let rates: Vec<String> = rates.collect();
    (!rates.is_empty()).then(|| {
        format!(
            "Host cores by how many operations the flow table takes a second: {}.",
            rates.join(", ")
        )
    })
}

/// The states that restrict the program to one shard, one sentence each;
/// empty if there are none.
pub fn shards(report: &Report<'_>) -> Vec<String> {
    let reasons = one_shard(report.graph, &report.planned.allocation.group);
    let reasons = reasons
        .iter()
        .map(|(state, why)| format!("It runs on one shard because of `{state}`: {why}."));
    reasons.collect()
}

/// The effect of header split, if long frames cross and it reduces their bytes.
pub fn heads(report: &Report<'_>) -> Option<String> {
    let carried = report.planned.predicted.utilisation.get(&Resource::RingBytes);
    if carried.is_none_or(|used| *used <= 0.0) || !report.graph.takes_headers() {
        return None;
    }
    let classes = report.traffic.classes(&report.planned.allocation.group);
    let [whole, crossing] = mean_bytes(classes);
    (crossing < whole).then(|| {
        format!(
            "Long frames go to the host as their first {HEAD} bytes, since handlers take headers alone: of a frame's \
             {whole:.0} bytes {crossing:.0} cross, on average."
        )
    })
}

/// Comparison of Cora's plan with the baselines at its rate: one sentence each.
pub fn comparison(report: &Report<'_>) -> Vec<String> {
    let ours = report.planned.predicted.host_cores;
    let against_host = match baseline(report, Baseline::HostOnly) {
        Some(host) => {
            let theirs = host.predicted.host_cores;
            match saved(theirs, ours) {
                Some(share) if share < 0.0 => format!(
                    "Host-only behind a plain NIC needs fewer: {} host cores.",
                    figure(theirs)
                ),
                share => {
                    let share = share.map_or_else(|| "nothing".to_owned(), percent);
                    format!("Against host-only it saves {share} of {} host cores.", figure(theirs))
                }
            }
        }
        None => "The host alone can't carry this rate.".to_owned(),
    };
    vec![against_host, against_splits(report, ours)]
}

/// Comparison with the better of state-only and flow-only.
fn against_splits(report: &Report<'_>, ours: f64) -> String {
    const BETTER: &str = "the better of state-only and flow-only";
    let splits = [Baseline::StateOnly, Baseline::FlowOnly].into_iter();
    let splits = splits.filter_map(|which| baseline(report, which));
    let better = splits.min_by(|a, b| a.predicted.host_cores.total_cmp(&b.predicted.host_cores));
    let Some(split) = better else {
        return "Neither state-only nor flow-only can carry this rate.".to_owned();
    };
    let (name, theirs) = (split.baseline.word(), split.predicted.host_cores);
    if theirs <= ours * 1.000_5 + 1e-9 {
        format!("It needs as many as {BETTER} ({name}): deciding both at once gains nothing here.")
    } else if ours <= 1e-9 {
        format!("{BETTER} ({name}) needs {} host cores; Cora's plan needs none.", figure(theirs))
            .replacen("the", "The", 1)
    } else {
        let ratio = figure(theirs / ours);
        format!("{ratio}× fewer host cores than {BETTER} ({name}: {}).", figure(theirs))
    }
}

/// The proof of optimality.
pub fn proof(report: &Report<'_>) -> String {
    let (proof, ms) = (report.planned.proof, figure(report.planned.ms));
    let bound = figure(proof.bound);
    let nodes = if proof.nodes == 1 {
        "1 node".to_owned()
    } else {
        format!("{} nodes", count(proof.nodes as f64))
    };
    let price = count(NIC_CORE * 100.0);
    if proof.optimal {
        format!(
            "Proven optimal under this model, at the latencies that its working sets have: nothing costs less than \
             {bound} host cores, with a core of the NIC at {price} % of one ({nodes}, {ms} ms)."
        )
    } else {
        format!(
            "Not proven optimal: nothing costs less than {bound} host cores, with a core of the NIC at {price} % of \
             one, and this plan costs {} ({nodes}, {ms} ms).",
            figure(report.planned.predicted.cost())
        )
    }
}

/// The measured and the estimated inputs.
pub fn origins(report: &Report<'_>) -> Vec<String> {
    let planned = report.planned;
    let figures = report.nic.figures();
    let assumed = figures.iter().filter(|it| matches!(it.source, Source::Assumed(_))).count();
    let mut origins = vec![
        match (planned.weighed, planned.counted) {
            (a, b) if a == b => {
                format!("How often paths are taken, and how long they are: {}.", words::origin(a))
            }
            (weighed, counted) => format!(
                "How often paths are taken: {}. How long they are: {}.",
                words::origin(weighed),
                words::origin(counted)
            ),
        },
        report.measured.to_owned(),
        format!(
            "{assumed} of the {} numbers of the profile `{}` are assumed; each says why, or where it is from.",
            figures.len(),
            report.nic.name
        ),
    ];
    origins.extend(mean_idle(report));
    origins
}

/// The states with idle times by entry, whose mean is an estimate.
fn mean_idle(report: &Report<'_>) -> Option<String> {
    let keyed = report.graph.states.iter().filter_map(|state| Some((state, state.keyed.as_ref()?)));
    let states: Vec<&str> = keyed
        .filter(|(_, keyed)| keyed.idle_by && idle(keyed) >= MEAN_IDLE)
        .map(|(state, _)| state.name.as_str())
        .collect();
    (!states.is_empty()).then(|| {
        format!(
            "Entries of {} have idle times of their own, by `idle_by`; {} s in the mean are assumed.",
            words::listed(&states),
            count(MEAN_IDLE)
        )
    })
}
