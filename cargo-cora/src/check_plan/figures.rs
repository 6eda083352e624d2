//! The figures of a run beside those of the model.
#![expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]

use cora_plan::model::Expected;
use cora_plan::nic::{NicProfile, Tier};
use cora_plan::traffic::{Class, Traffic};

use super::rows::{Row, What};
use super::{Basis, Source, shares};
use crate::calibrate::Machine;

/// A side must have been busy for so long before its time of a packet says something: a pass of
/// `cargo xtask model` is as long (docs/accuracy.md). Less is mostly cold caches.
const LONG_ENOUGH_NS: u64 = 100_000_000;

/// Cores that make no difference: the model's price of a whole core of the NIC.
const NO_CORES: f64 = cora_plan::model::NIC_CORE;

/// Nanoseconds of a packet that are a core at a million packets a second.
const CORES: f64 = 1e3;

/// The profile by which times are of the program as it is run.
const RELEASE: &str = "release";

/// The key of flows.
const FLOW: &str = "FiveTuple";

/// All rows, in the order of the table.
pub(super) fn rows(basis: &Basis<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(rate(basis));
    rows.extend(ways(basis));
    rows.extend(records(basis));
    rows.extend(entries(basis));
    rows.extend(times(basis));
    if let Some(drawn) = basis.run.drawn() {
        rows.extend(traffic(basis, drawn));
    }
    rows
}

/// The rate, if the plan is for one.
fn rate(basis: &Basis<'_>) -> Option<Row> {
    let (planned, measured) = (basis.subject.planned_mpps()?, basis.run.mpps()?);
    Some(Row::compared(What::Rate, None, [Some(planned), None], measured, None))
}

/// A figure of both predictions.
fn both(basis: &Basis<'_>, of: impl Fn(&Expected) -> f64) -> [Option<f64>; 2] {
    [Some(of(&basis.expected)), basis.own.as_ref().map(of)]
}

/// Where packets ran, and flows that moved.
fn ways(basis: &Basis<'_>) -> Vec<Row> {
    let (counts, sides) = (&basis.run.counts, basis.subject.placement.sides);
    let arrived = counts.arrived(sides);
    let (nic, host) = (counts.nic, counts.host);
    let figures = [
        (What::AtNic, both(basis, |it| it.at_nic), nic.packets),
        (What::Crossings, both(basis, |it| it.crossings), nic.punts + nic.passed_on),
        (What::Punts, both(basis, |it| it.punts), nic.punts),
        (What::Moves, both(basis, |it| it.moves), host.offloads),
    ];
    let why = if basis.subject.graph.takes_messages() {
        Some("the model counts runs of handlers, and a run counts the packets that came")
    } else if arrived < 1.0 {
        Some("no packet came to a handler")
    } else {
        None
    };
    let row = |(what, predicted, count): (What, [Option<f64>; 2], u64)| match why {
        Some(why) => Row::left(what, None, [None, None], None, Some(why.to_owned())),
        None => Row::compared(what, None, predicted, count as f64 / arrived, Some(arrived)),
    };
    figures.into_iter().map(row).collect()
}

/// Records on the rings, which a live run tells at its end alone.
fn records(basis: &Basis<'_>) -> Option<Row> {
    let counts = &basis.run.counts;
    basis.run.drawn()?;
    let records = counts.nic.ring_records + counts.host.ring_records;
    let measured = records as f64 / counts.packets.max(1) as f64;
    let why = "the model has packets that cross, and no records by which flows are handed over"
        .to_owned();
    Some(Row::left(What::Records, None, [None, None], Some(measured), Some(why)))
}

/// Entries of each table.
fn entries(basis: &Basis<'_>) -> Vec<Row> {
    let graph = &basis.subject.graph;
    let keyed = graph.states.iter().filter_map(|state| Some((state, state.keyed.as_ref()?)));
    let row = |(state, keyed): (&cora_plan::graph::StateNode, &cora_plan::graph::Keyed)| {
        let name = state.name.as_str();
        let measured = basis.run.counts.tables.get(name)?.entries as f64;
        let mut predicted = both(basis, |it| it.entries.get(name).copied().unwrap_or(0.0));
        let has_classes =
            keyed.key == "One" || basis.subject.profiles.traffic.by_key.contains_key(&keyed.key);
        let why = if graph.takes_messages() {
            predicted = [None, None];
            Some("how many keys messages have is unknown to the model".to_owned())
        } else if has_classes {
            None
        } else {
            Some(format!("traffic profiles have no classes by {}", keyed.key))
        };
        if why.is_some() {
            return Some(Row::left(What::Entries, Some(name), predicted, Some(measured), why));
        }
        Some(Row::compared(What::Entries, Some(name), predicted, measured, Some(1.0)))
    };
    keyed.filter_map(row).collect()
}

/// Time of the cores of both sides, and the host cores that it is.
fn times(basis: &Basis<'_>) -> Vec<Row> {
    let (nic, run) = (&basis.subject.profiles.nic, basis.run);
    let packets = run.counts.packets.max(1) as f64;
    let of_packet = |busy_ns: u64| busy_ns as f64 / packets;
    let [nic_busy, host_busy] = [run.counts.nic, run.counts.host].map(|side| side.busy_ns);
    // A run on a capture has no rate of its own: it takes packets as fast as it can.
    let is_live = matches!(run.source, Source::Live) && run.seconds > 0.0;
    let little = if is_live { NO_CORES } else { 0.0 };
    let row = |what, predicted: [Option<f64>; 2], measured, why: Option<String>, little| match why {
        None => Row::compared(what, None, predicted, measured, None).beyond(little),
        why => Row::left(what, None, predicted, Some(measured), why),
    };
    let little_ns = little * CORES / basis.mpps;
    let this = Machine::this().core;
    let host_ns = both(basis, |it| it.host_ns);
    let host_why = unlike(basis, "host", &nic.host, &this, host_busy);
    let nic_ns = both(basis, |it| it.nic_ns);
    let nic_why = unlike(basis, "NIC", &nic.nic, &this, nic_busy);
    let host_time = of_packet(host_busy);
    let mut rows = vec![row(What::HostTime, host_ns, host_time, host_why.clone(), little_ns)];
    if is_live {
        let cores = host_ns.map(|ns| ns.map(|ns| ns * basis.mpps / CORES));
        let busy = host_busy as f64 / 1e9 / run.seconds;
        rows.push(row(What::HostCores, cores, busy, host_why, little));
    }
    rows.push(row(What::NicTime, nic_ns, of_packet(nic_busy), nic_why, little_ns));
    rows
}

/// Why a side's time is not to be compared, if it isn't.
fn unlike(basis: &Basis<'_>, side: &str, tier: &Tier, this: &str, busy: u64) -> Option<String> {
    if let Source::Capture { profile, .. } = &basis.run.source
        && profile != RELEASE
    {
        return Some(format!("the program was built with Cargo's profile `{profile}`"));
    }
    if tier.core != this {
        return Some(format!(
            "`{}` is a profile of another machine: its {side} has {}, and this one {this}",
            basis.subject.profiles.nic.name, tier.core
        ));
    }
    // Of a side that nothing was predicted for, no time is as predicted.
    (0 < busy && busy < LONG_ENOUGH_NS).then(|| {
        format!(
            "the {side} half was busy for {:.1} ms, and {} are needed",
            busy as f64 / 1e6,
            LONG_ENOUGH_NS / 1_000_000
        )
    })
}

/// Whether the times of some side are those of this machine, so that they are worth some more runs.
pub(super) fn compares_times(nic: &NicProfile, profile: &str) -> bool {
    let this = Machine::this().core;
    profile == RELEASE && [&nic.nic, &nic.host].into_iter().any(|tier| tier.core == this)
}

/// The traffic profile beside the profile of the capture.
fn traffic(basis: &Basis<'_>, drawn: &Traffic) -> Vec<Row> {
    let profile = &basis.subject.profiles.traffic;
    let packets = basis.run.counts.packets as f64;
    let pair = |of: &dyn Fn(&Traffic) -> f64| (of(profile), of(drawn));
    let row = |what, (predicted, measured): (f64, f64), counted| {
        Row::compared(what, None, [Some(predicted), None], measured, counted)
    };
    let mut rows = vec![
        row(What::Flows, pair(&|it| it.flows(FLOW, basis.mpps)), Some(1.0)),
        row(What::Opens, pair(&opens), Some(packets)),
        row(What::Bytes, pair(&|it| it.mean_bytes), None),
    ];
    let classes = |of: &'_ Traffic| -> (Vec<Class>, f64) {
        (of.classes(FLOW).to_vec(), of.growth(basis.mpps))
    };
    let ((of_profile, growth), (of_drawn, own_growth)) = (classes(profile), classes(drawn));
    let measured = shares::of_ranks((&of_profile, growth), (&of_drawn, own_growth));
    let shares = of_profile.iter().zip(measured).map(|(class, measured)| {
        let predicted = [Some(class.share), None];
        Row::compared(What::Class, Some(&class.name), predicted, measured, Some(packets))
    });
    rows.extend(shares);
    rows
}

/// Share of the packets that are the first of their flow.
pub(super) fn opens(traffic: &Traffic) -> f64 {
    traffic.classes(FLOW).iter().map(|class| class.share * class.opens).sum()
}

/// Flows at a time.
pub(super) fn flows(traffic: &Traffic, mpps: f64) -> f64 {
    traffic.flows(FLOW, mpps)
}
