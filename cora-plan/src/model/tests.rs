use std::collections::BTreeMap;

use super::latency::Latencies;
use super::predict::predict;
use super::terms::terms;
use super::*;
use crate::demand::estimate;
use crate::graph::HandlerNode;
use crate::sample;
use crate::search::{Terms, evaluate};

fn allocation(sides: Sides, shares: &[f64], session: Place) -> Allocation {
    let pool = if sides == Sides::NicOnly { Place::Nic } else { Place::Host };
    Allocation {
        sides,
        places: BTreeMap::from([("PortPool".to_owned(), pool), ("Session".to_owned(), session)]),
        host_handlers: Vec::new(),
        group: "FiveTuple".to_owned(),
        shares: shares.to_vec(),
        unmatched: Unmatched::default(),
    }
}

/// Runs `test` with the sample's setting.
fn with_setting(steering: Steering, test: impl FnOnce(&Setting<'_>)) {
    let (graph, nic, traffic) = (sample::nat(), sample::nic(), sample::traffic());
    let demand = estimate(&graph, traffic.classes("FiveTuple"));
    test(&Setting::new(&graph, &nic, &traffic, &demand, "FiveTuple", true, steering));
}

#[test]
fn host_only_costs_what_its_parts_say() {
    with_setting(Steering::Cores, |setting| {
        let predicted =
            predict(setting, &allocation(Sides::HostOnly, &[0.0, 0.0], Place::Host), 1.0);
        // By hand: 20 + 64·0.05 to receive, 30 + 64·0.05 to cross, and at least the instructions of
        // a steady packet, (100 + 60 + 250)·0.1.
        let least = 20.0 + 30.0 + 6.4 + 41.0;
        let ns = predicted.host_cores * 1e3;
        assert!(ns > least && ns < 2.0 * least, "{ns} ns");
        assert!(predicted.at_nic.abs() < 1e-12);
        // Four cores at a utilisation of 0.9.
        let ceiling = 4.0 * 0.9 / predicted.host_cores;
        assert_eq!(predicted.bottleneck, Resource::HostCores);
        assert!((predicted.ceiling_mpps / ceiling - 1.0).abs() < 1e-9, "{predicted:?}");
    });
}

#[test]
fn cores_and_utilisation_grow_with_the_rate_and_the_ceiling_does_not() {
    with_setting(Steering::Cores, |setting| {
        let split = allocation(Sides::Split, &[1.0, 0.25], Place::Travels);
        let (one, three) = (predict(setting, &split, 1.0), predict(setting, &split, 3.0));
        assert!((three.host_cores / one.host_cores - 3.0).abs() < 1e-9);
        assert!((three.ceiling_mpps / one.ceiling_mpps - 1.0).abs() < 1e-9);
        let at_ceiling = predict(setting, &split, one.ceiling_mpps);
        let fullest = at_ceiling.utilisation[&one.bottleneck];
        assert!((fullest - 1.0).abs() < 1e-9, "{at_ceiling:?}");
    });
}

#[test]
fn owning_steady_flows_saves_host_cores_and_pinning_their_state_does_not() {
    with_setting(Steering::Cores, |setting| {
        let at = |shares: &[f64], session| {
            predict(setting, &allocation(Sides::Split, shares, session), 1.0).host_cores
        };
        let host = at(&[0.0, 0.0], Place::Travels);
        let heavy = at(&[1.0, 0.0], Place::Travels);
        assert!(heavy < 0.6 * host, "{heavy} of {host}");
        // Every packet that looks its session up punts.
        assert!(at(&[1.0, 0.0], Place::Host) > host);
    });
}

#[test]
fn more_flows_than_the_caches_hold_cost_more() {
    let ns = |flows: f64| {
        let (mut graph, nic, mut traffic) = (sample::nat(), sample::nic(), sample::traffic());
        graph.states[1].keyed.as_mut().expect("keyed").capacity = 10_000_000;
        let classes = vec![sample::class("all", flows, 1.0, 0.0)];
        traffic.by_key.insert("FiveTuple".to_owned(), classes);
        let demand = estimate(&graph, traffic.classes("FiveTuple"));
        let setting =
            Setting::new(&graph, &nic, &traffic, &demand, "FiveTuple", true, Steering::Cores);
        predict(&setting, &allocation(Sides::HostOnly, &[0.0], Place::Host), 1.0).host_cores * 1e3
    };
    let (few, some, many) = (ns(100.0), ns(10_000.0), ns(10_000_000.0));
    assert!(few < some && some < many, "{few} {some} {many}");
    // A line of the index and one of the entry, 120 ns each, half of it exposed, and almost none of
    // it for a hundred flows.
    assert!(many - few > 90.0 && many - few < 120.0, "{}", many - few);
}

#[test]
fn rules_that_come_too_fast_and_tables_that_are_full_are_told() {
    with_setting(Steering::Rules, |setting| {
        let split = allocation(Sides::Split, &[1.0, 1.0], Place::Travels);
        let calm = predict(setting, &split, 0.001);
        // 20,100 flows need a rule each, and the table has 10,000.
        assert_eq!(calm.unstable.len(), 1, "{:?}", calm.unstable);
        assert!(calm.utilisation[&Resource::FlowTable] > 2.0);
        let hurried = predict(setting, &split, 10.0);
        assert!(hurried.unstable.iter().any(|s| s.contains("falls behind")), "{hurried:?}");
        assert_eq!(hurried.utilisation.get(&Resource::RingPackets).map(|u| *u < 1.0), Some(true));
    });
    let (mut graph, nic, traffic) = (sample::nat(), sample::nic(), sample::traffic());
    graph.states[1].keyed.as_mut().expect("keyed").capacity = 1_000;
    let demand = estimate(&graph, traffic.classes("FiveTuple"));
    let setting = Setting::new(&graph, &nic, &traffic, &demand, "FiveTuple", true, Steering::Cores);
    let predicted = predict(&setting, &allocation(Sides::HostOnly, &[0.0, 0.0], Place::Host), 1.0);
    assert!(
        predicted.unstable[0].contains("`Session` has 1,000 entries, and 60,130 stand at the host"),
        "{predicted:?}"
    );
}

/// Uses of the flow table and of its insertions, and crossings.
fn by_rules(sides: Sides, share: f64, unmatched: Unmatched, mpps: f64) -> [f64; 3] {
    let (graph, nic, traffic) = (sample::nat(), sample::nic(), sample::traffic());
    let demand = estimate(&graph, traffic.classes("FiveTuple"));
    let steering = Steering::Rules;
    let setting = Setting::new(&graph, &nic, &traffic, &demand, "FiveTuple", true, steering)
        .with_unmatched(unmatched);
    let allocation = Allocation { unmatched, ..allocation(sides, &[share, share], Place::Travels) };
    let used = predict(&setting, &allocation, mpps).utilisation;
    let amount = |resource, limit: f64| used.get(&resource).copied().unwrap_or_default() * limit;
    [
        amount(Resource::FlowTable, 10_000.0),
        amount(Resource::FlowTableInserts, 2_000.0),
        amount(Resource::RingPackets, 100.0),
    ]
}

#[test]
fn one_side_alone_needs_rules_of_its_ports_only() {
    for mpps in [0.01, 1.0, 100.0] {
        let nic = by_rules(Sides::NicOnly, 1.0, Unmatched::Nic, mpps);
        // Two ports, each with two directions.
        assert!(nic[0] <= 2.0 * 2.0 + 1e-6 && nic[1] == 0.0 && nic[2] == 0.0, "{nic:?}");
        let host = by_rules(Sides::HostOnly, 0.0, Unmatched::Host, mpps);
        assert!(host.iter().all(|used| *used == 0.0), "{host:?}");
    }
}

#[test]
fn flows_of_the_side_without_the_default_need_four_operations_each() {
    // 80,060 flows open a second.
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    let to_host = by_rules(Sides::Split, 0.25, Unmatched::Host, 1.0);
    let to_nic = by_rules(Sides::Split, 0.25, Unmatched::Nic, 1.0);
    assert!(close(to_host[1], 0.25 * 4.0 * 80_060.0), "{to_host:?}");
    assert!(close(to_nic[1], 0.75 * 4.0 * 80_060.0), "{to_nic:?}");
    // Rules stay for as long as entries: half a second after the last packet.
    assert!(close(to_host[0], 4.0 + 0.25 * 60_130.0), "{to_host:?}");
    assert!(close(to_nic[0], 4.0 + 0.75 * 60_130.0), "{to_nic:?}");
    // First packets go through the NIC if it has what no rule matches.
    assert!(to_nic[2] > to_host[2] + 0.04, "{to_nic:?} {to_host:?}");
}

#[test]
fn one_shard_has_one_core_of_each() {
    let (graph, nic, traffic) = (sample::nat(), sample::nic(), sample::traffic());
    let demand = estimate(&graph, traffic.classes("FiveTuple"));
    let ceiling = |many_shards| {
        let setting = Setting::new(
            &graph,
            &nic,
            &traffic,
            &demand,
            "FiveTuple",
            many_shards,
            Steering::Cores,
        );
        let host = allocation(Sides::HostOnly, &[0.0, 0.0], Place::Host);
        predict(&setting, &host, 1.0).ceiling_mpps
    };
    assert!((ceiling(true) / ceiling(false) - 4.0).abs() < 1e-9);
}

/// Nanoseconds a byte: copied at the NIC, copied at the host, and over the link.
const BYTES: [f64; 3] = [0.02, 0.07, 0.11];

/// Nanoseconds at the NIC and at the host, and utilisation of the rings' bytes, for a million
/// packets a second that all cross. `headers` has the flag of each handler in the chain.
fn crossing(sides: Sides, bytes: [f64; 2], headers: &[bool], steering: Steering) -> [f64; 3] {
    let predicted = carried(sides, bytes, headers, steering);
    let bytes = predicted.utilisation.get(&Resource::RingBytes).copied().unwrap_or_default();
    [predicted.nic_cores * 1e3, predicted.host_cores * 1e3, bytes]
}

/// Utilisation of PCIe by frames that hardware hands to the host.
fn direct(bytes: [f64; 2], headers: bool) -> f64 {
    let predicted = carried(Sides::HostOnly, bytes, &[headers], Steering::Rules);
    predicted.utilisation[&Resource::Pcie]
}

fn carried(
    sides: Sides,
    [mean_bytes, head_bytes]: [f64; 2],
    headers: &[bool],
    steering: Steering,
) -> Prediction {
    let (mut graph, mut nic, mut traffic) = (sample::nat(), sample::nic(), sample::traffic());
    [nic.nic.byte_ns.value, nic.host.byte_ns.value, nic.link.byte_ns.value] = BYTES;
    let handler = graph.chain[0].clone();
    let chain = headers.iter().map(|headers| HandlerNode { headers: *headers, ..handler.clone() });
    graph.chain = chain.collect();
    traffic.by_key.values_mut().flatten().for_each(|class| {
        (class.mean_bytes, class.head_bytes) = (mean_bytes, head_bytes);
    });
    let demand = estimate(&graph, traffic.classes("FiveTuple"));
    let setting = Setting::new(&graph, &nic, &traffic, &demand, "FiveTuple", true, steering);
    // Under a split that keeps sessions at the host, the NIC's flows punt.
    predict(&setting, &allocation(sides, &[1.0, 1.0], Place::Host), 1.0)
}

#[test]
fn of_long_frames_heads_cross_and_the_rest_is_copied_at_the_nic() {
    let [at_nic, at_host, over] = BYTES;
    let rest = 1514.0 - 128.0;
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    let passing = |headers| crossing(Sides::HostOnly, [1514.0, 128.0], headers, Steering::Cores);
    let (whole, heads) = (passing(&[false]), passing(&[true]));
    assert!(close(whole[0] - heads[0], rest * (over - at_nic)), "{whole:?} {heads:?}");
    assert!(close(whole[1] - heads[1], rest * (over + at_host)), "{whole:?} {heads:?}");
    assert!(close(whole[2] / heads[2], 1514.0 / 128.0), "{whole:?} {heads:?}");
    // One path of this program ends before any look-up, and so never punts.
    let punting = |headers| crossing(Sides::Split, [1514.0, 128.0], headers, Steering::Cores);
    let (whole, heads) = (punting(&[false]), punting(&[true]));
    let punts = (whole[0] - heads[0]) / (rest * (over - at_nic));
    assert!(punts > 0.5 && punts < 1.0, "{punts}");
    assert!(close(whole[1] - heads[1], punts * rest * (over + at_host)), "{whole:?} {heads:?}");
    assert!(close(whole[2] / heads[2], 1514.0 / 128.0), "{whole:?} {heads:?}");
}

#[test]
#[expect(clippy::float_cmp, reason = "they are the same sums")]
fn frames_cross_whole_where_they_are_short_or_a_handler_reads_them() {
    let same = |headers: &[bool], bytes, steering| {
        let of = |headers: &[bool]| crossing(Sides::HostOnly, bytes, headers, steering);
        assert_eq!(of(headers), of(&vec![false; headers.len()]), "{headers:?} {bytes:?}");
    };
    same(&[true], [64.0, 64.0], Steering::Cores);
    same(&[true, false], [1514.0, 128.0], Steering::Cores);
}

#[test]
fn of_frames_from_hardware_the_host_loads_the_heads_and_pcie_carries_all() {
    let of = |headers| crossing(Sides::HostOnly, [1514.0, 128.0], &[headers], Steering::Rules);
    let (whole, heads) = (of(false), of(true));
    let [_, at_host, _] = BYTES;
    assert!(((whole[1] - heads[1]) / ((1514.0 - 128.0) * at_host) - 1.0).abs() < 1e-9);
    assert!(whole[0] == 0.0 && whole[2] == 0.0 && heads[0] == 0.0, "{whole:?} {heads:?}");
    let pcie = |headers| direct([1514.0, 128.0], headers);
    assert!((pcie(true) / pcie(false) - 1.0).abs() < 1e-12 && pcie(true) > 0.0);
}

/// The search minimises the same figures that predictions report.
#[test]
fn problem_and_prediction_agree() {
    with_setting(Steering::Cores, |setting| {
        let split = allocation(Sides::Split, &[0.75, 0.5], Place::Travels);
        let on = [false, true, true];
        let handled = predict::handled(setting, (Sides::Split, 1), &on, &split.shares);
        let latencies = Latencies::at(setting, Sides::Split, &handled, 2.0);
        let problem = terms(setting, 2.0, &latencies, (Sides::Split, 1), &|_| None);
        let Terms { cost, uses } = evaluate(&problem, &on, &split.shares);
        let predicted = predict(setting, &split, 2.0);
        assert!((cost - predicted.cost()).abs() < 1e-12);
        assert!((uses[0] - predicted.nic_cores).abs() < 1e-12);
        let crowded = terms(
            setting,
            2.0,
            &Latencies::crowded(setting, Sides::Split, 2.0),
            (Sides::Split, 1),
            &|_| None,
        );
        let Terms { cost: worst, uses: more } = evaluate(&crowded, &on, &split.shares);
        assert!(worst >= cost && more[0] >= uses[0], "a crowded working set costs no less");
    });
}
