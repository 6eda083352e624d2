//! The protocol on the sample's NAT, with a pool that is divided by bucket.

use super::row::Band;
use super::summary;
use super::way::{HOST_ONLY, NIC_ONLY};
use super::*;
use crate::model::Steering;
use crate::optimise::Fair;
use crate::sample;
use crate::statement::{Ask, Statement};
use crate::vocabulary::Kind;

fn case(kind: Kind, traffic: &str) -> Case {
    let mut graph = sample::nat();
    graph.states[0].kind = kind;
    let session = graph.states[1].keyed.as_mut().expect("keyed");
    (session.capacity, session.idle_ns) = (65_536, 30_000_000_000);
    let mut nic = sample::nic();
    nic.host.cores.value = 16.0;
    Case {
        graph,
        nic,
        traffic: Traffic::load(traffic).expect("built in"),
        measurement: None,
        statement: Statement::best(),
        steering: Steering::Cores,
        ask: Ask::HostCores(1.0),
    }
}

fn sheet(kind: Kind, traffic: &str) -> Sheet {
    of(&case(kind, traffic))
}

/// Five rates are enough for most, and planning takes its time without an optimiser.
fn of(case: &Case) -> Sheet {
    with(case, 5, &[]).expect("a sheet")
}

#[test]
fn rates_are_parts_of_the_wire() {
    for traffic in TRAFFICS {
        let sheet = sheet(Kind::PerBucket, traffic);
        let mut rates: Vec<f64> = sheet.rows.iter().map(|row| row.mpps).collect();
        rates.extend(sheet.refused.iter().map(|refused| refused.mpps));
        rates.sort_by(f64::total_cmp);
        assert_eq!(rates.len(), 5, "{traffic}");
        for (rate, part) in rates.iter().zip(1..) {
            let wanted = sheet.wire_mpps * 0.2 * f64::from(part);
            assert!((rate / wanted - 1.0).abs() < 1e-9, "{traffic}: {rate} {wanted}");
        }
    }
    let mut without = case(Kind::PerBucket, "campus");
    without.nic.port = None;
    assert!(run(&without).expect_err("no wire").contains("no `[port]`"));
}

#[test]
fn bands_are_what_they_say() {
    for traffic in TRAFFICS {
        for row in sheet(Kind::PerBucket, traffic).rows {
            let (host, nic) = (row.of(HOST_ONLY), row.of(NIC_ONLY));
            let contested = nic.is_none() && host.is_some_and(|cores| cores >= 1.0);
            assert_eq!(row.band == Band::Contested, contested, "{row:?}");
            assert_eq!(row.band == Band::CardAlone, nic.is_some(), "{row:?}");
            assert_eq!(row.band == Band::HostCannot, nic.is_none() && host.is_none(), "{row:?}");
        }
    }
}

#[test]
fn more_freedom_never_costs_more() {
    let little = |a: Option<f64>, b: Option<f64>, row: &Row| {
        // Ways are chosen by host cores and a hundredth of the NIC's, of which there are eight.
        let (a, b) = (a.unwrap_or(f64::INFINITY), b.unwrap_or(f64::INFINITY));
        assert!(a <= b + 0.08, "{a} {b} {row:?}");
    };
    for (kind, traffic) in [
        (Kind::PerBucket, "campus"),
        (Kind::PerBucket, "imix"),
        (Kind::Singleton, "campus"),
        (Kind::Singleton, "imix"),
    ] {
        for row in sheet(kind, traffic).rows {
            let of = |fair| row.of(Way::Baseline(fair));
            little(row.of(Way::Later), row.of(Way::Cora), &row);
            little(of(Fair::StateOverflow), of(Fair::StateOnly), &row);
            little(of(Fair::FlowFirst), of(Fair::FlowOnly), &row);
            for split in Way::splits() {
                // Every split may leave the card alone, or leave everything to it.
                little(row.of(split), row.of(HOST_ONLY), &row);
                little(row.of(split), row.of(NIC_ONLY), &row);
            }
            if kind == Kind::PerBucket {
                little(row.of(Way::Cora), of(Fair::FlowFirst), &row);
                little(row.of(Way::Cora), row.of(HOST_ONLY), &row);
            }
        }
    }
}

#[test]
fn tables_have_room_and_what_memory_can_not_hold_is_refused_with_its_reason() {
    let plain = sheet(Kind::PerBucket, "campus");
    assert_eq!(plain.tables.len(), 1);
    let table = &plain.tables[0];
    assert!(table.state == "Session" && table.declared == 65_536, "{table:?}");
    assert!(table.capacity > 1_000_000, "{table:?}");
    assert!(plain.refused.is_empty(), "{:?}", plain.refused);
    let mut large = case(Kind::PerBucket, "campus");
    large.graph.states[1].keyed.as_mut().expect("keyed").capacity = 1 << 40;
    assert!(of(&large).tables.is_empty(), "a larger table stays");
    let mut small = case(Kind::PerBucket, "campus");
    small.nic.host.state_bytes.value = 2e8;
    let refused = of(&small).refused;
    assert!(!refused.is_empty());
    for refused in refused {
        assert!(refused.because.contains("the host's bytes for states"), "{refused:?}");
    }
}

#[test]
fn what_is_not_dealt_is_named() {
    assert!(sheet(Kind::PerBucket, "imix").not_dealt.is_empty());
    let singleton = sheet(Kind::Singleton, "imix").not_dealt;
    assert_eq!(singleton.len(), 1);
    assert!(singleton[0].starts_with("`PortPool` can't be dealt by bucket"), "{singleton:?}");
}

#[test]
fn durable_states_are_dealt_like_others() {
    let mut durable = case(Kind::PerBucket, "imix");
    durable.graph.states[0].durable = true;
    let (durable, free) = (of(&durable), sheet(Kind::PerBucket, "imix"));
    assert!(durable.not_dealt.is_empty(), "{:?}", durable.not_dealt);
    for (row, free) in durable.rows.iter().zip(&free.rows) {
        assert_eq!(row.of(Way::Cora), free.of(Way::Cora));
    }
}

fn row(mpps: f64, host: f64, state: f64, cora: Option<f64>) -> Row {
    let cores = Way::all().map(|way| {
        let cores = match way {
            Way::Baseline(Fair::NicOnly) => None,
            Way::Baseline(Fair::HostOnly | Fair::FlowOnly) => Some(host),
            Way::Baseline(_) => Some(state),
            Way::Cora | Way::Later => cora,
        };
        (way, cores)
    });
    Row { mpps, cores: cores.collect(), band: Band::of(Some(host), None) }
}

#[test]
fn a_summary_counts_contested_rows_alone() {
    let rows = [
        row(1.0, 0.5, 0.4, Some(0.1)),
        row(2.0, 2.0, 1.5, Some(1.0)),
        row(3.0, 3.0, 2.0, Some(1.0)),
        row(4.0, 4.0, 3.5, None),
        row(5.0, 5.0, 5.0, Some(1.0)),
    ];
    let summary = summary::of(&rows).expect("four are contested");
    assert_eq!((summary.rows, summary.not_carried), (4, 1));
    let close = |found: [f64; 2], wanted: [f64; 2]| {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    };
    close(summary.from_to_mpps, [2.0, 5.0]);
    close(summary.saved_cores, [2.0, 4.0]);
    close(summary.saved_share, [1.0 - 1.0 / 3.0, 0.8]);
    close(summary.worth, [4.0, 5.0]);
    let gain = |fair| {
        let mut gains = summary.gains.iter();
        gains.find(|(way, _)| *way == Way::Baseline(fair)).expect("every split").1
    };
    // Ratios 2 and 2; nothing at 5 Mpps.
    let state = Gain { ratio: Some([2.0, 2.0]), saves_nothing: 1 };
    assert_eq!(gain(Fair::StateOnly), state);
    assert_eq!(gain(Fair::FlowOnly), Gain { ratio: None, saves_nothing: 3 });
    assert_eq!(summary::of(&rows[..1]), None);
}

#[test]
fn results_are_written_and_the_same_every_time() {
    let sheets = || {
        let of = |traffic| with(&case(Kind::PerBucket, traffic), 5, &[2]).expect("a sheet");
        ["imix", "campus"].map(of).to_vec()
    };
    let (once, again) = (sheets(), sheets());
    let nic = sample::nic();
    assert_eq!(json(&nic, &once), json(&nic, &again));
    let document: serde_json::Value = serde_json::from_str(&json(&nic, &once)).expect("JSON");
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len() + document["refused"].as_array().expect("a list").len(), 10);
    for row in rows {
        for way in Way::all() {
            let (cores, whole) = (&row["cores"][way.word()], &row["whole_cores"][way.word()]);
            assert_eq!(cores.is_null(), whole.is_null(), "{row}");
            if let (Some(cores), Some(whole)) = (cores.as_f64(), whole.as_f64()) {
                assert!(whole + 1e-3 >= cores && whole < cores + 1.0 && whole.fract() == 0.0);
            }
        }
    }
    let band = &document["summaries"][0]["band"];
    assert!(band["rows"].as_u64() > Some(0), "{band}");
    let ranges = once[0].ranges.as_ref().expect("contested");
    assert_eq!(ranges.rules_per_s.len(), 3);
    // Dealt buckets never change their rules, so plans don't depend on that rate.
    let host_only: Vec<_> = ranges.rules_per_s.iter().map(|varied| varied.host_only).collect();
    assert!(host_only.windows(2).all(|pair| pair[0] == pair[1]), "{host_only:?}");
    let all: Vec<&Sheet> = once.iter().collect();
    let drawn = curves(&all);
    assert_eq!(drawn, curves(&again.iter().collect::<Vec<_>>()));
    assert_eq!(drawn.matches("<svg").count(), 3, "one for each traffic, and one around them");
    assert_eq!(drawn.matches("<svg").count(), drawn.matches("</svg>").count());
    for way in Way::all() {
        assert!(drawn.contains(&format!(">{}</text>", way.word())), "{}", way.word());
    }
    assert_eq!(table(&once).lines().count(), 4);
    let contested = once.iter().filter(|sheet| sheet.ranges.is_some()).count();
    assert_eq!(ranges_table(&once).lines().count(), 2 + contested);
    assert!(sized(&once).contains("Session"), "{}", sized(&once));
    let begin = format!("Predicted: in {contested} of 2 pairs of program and traffic some rate");
    assert!(sentence("card", &once).starts_with(&begin), "{}", sentence("card", &once));
    assert!(sentence("card", &[]).contains("no rate of these 0 pairs"));
}
