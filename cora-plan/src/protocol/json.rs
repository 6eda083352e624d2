//! The protocol's results for scripts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Gain, Highest, Ranges, Row, STEPS, Sheet, Summary, Varied, Way};
use crate::json::{pretty, rounded};
use crate::model::NIC_CORE;
use crate::nic::NicProfile;
use crate::report::numbers::whole_cores;

/// Version of this JSON.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    label: &'static str,
    nic: &'a str,
    steps: u32,
    nic_core_costs: f64,
    /// Places and ways that a build can have today.
    runtime_follows: [&'static str; 5],
    /// Modelled only.
    no_runtime_yet: [&'static str; 1],
    rows: Vec<RowOf<'a>>,
    refused: Vec<RefusedOf<'a>>,
    summaries: Vec<SummaryOf<'a>>,
}

#[derive(Serialize)]
struct RowOf<'a> {
    program: &'a str,
    traffic: &'a str,
    mpps: f64,
    cores: BTreeMap<&'static str, Option<f64>>,
    band: &'static str,
    whole_cores: BTreeMap<&'static str, Option<f64>>,
}

#[derive(Serialize)]
struct RefusedOf<'a> {
    program: &'a str,
    traffic: &'a str,
    mpps: f64,
    because: &'a str,
}

#[derive(Serialize)]
struct SummaryOf<'a> {
    program: &'a str,
    traffic: &'a str,
    wire_mpps: f64,
    tables: Vec<TableOf<'a>>,
    not_dealt: &'a [String],
    band: Option<BandOf>,
    highest: Vec<HighestOf>,
    ranges: Option<RangesOf>,
}

#[derive(Serialize)]
struct TableOf<'a> {
    state: &'a str,
    declared: u64,
    capacity: u64,
}

#[derive(Serialize)]
struct BandOf {
    rows: usize,
    from_mpps: f64,
    to_mpps: f64,
    not_carried: usize,
    saved_cores: Spread,
    saved_share: Spread,
    ratio: BTreeMap<&'static str, RatioOf>,
    card_worth_cores: f64,
    card_worth_at_mpps: f64,
}

#[derive(Serialize)]
struct Spread {
    median: f64,
    most: f64,
}

#[derive(Serialize)]
struct RatioOf {
    ratio: Option<Spread>,
    rows_it_saves_nothing: usize,
}

#[derive(Serialize)]
struct HighestOf {
    host_cores: u32,
    mpps: BTreeMap<&'static str, f64>,
    added_mpps: f64,
    added_to_best_baseline_mpps: f64,
}

#[derive(Serialize)]
struct RangesOf {
    mpps: f64,
    rules_per_s: Vec<VariedOf>,
    state_bytes: Vec<VariedOf>,
    host_ns: Vec<VariedOf>,
}

#[derive(Serialize)]
struct VariedOf {
    number: f64,
    host_only: Option<f64>,
    cora: Option<f64>,
    cora_later: Option<f64>,
}

/// All sheets in one document.
pub fn write(nic: &NicProfile, sheets: &[Sheet]) -> String {
    let rows = sheets.iter().flat_map(|sheet| sheet.rows.iter().map(|row| of_row(sheet, row)));
    let refused = sheets.iter().flat_map(|sheet| {
        sheet.refused.iter().map(|refused| RefusedOf {
            program: &sheet.program,
            traffic: &sheet.traffic,
            mpps: rounded(refused.mpps),
            because: &refused.because,
        })
    });
    pretty(&Document {
        schema: SCHEMA,
        label: crate::report::words::LABEL,
        nic: &nic.name,
        steps: STEPS,
        nic_core_costs: NIC_CORE,
        runtime_follows: ["travels", "host", "nic", "replica", "divided"],
        no_runtime_yet: [Way::Later.word()],
        rows: rows.collect(),
        refused: refused.collect(),
        summaries: sheets.iter().map(of_sheet).collect(),
    })
}

fn of_row<'a>(sheet: &'a Sheet, row: &Row) -> RowOf<'a> {
    let cores = |of: fn(f64) -> f64| {
        let all = Way::all().map(|way| (way.word(), row.of(way).map(of)));
        all.collect()
    };
    RowOf {
        program: &sheet.program,
        traffic: &sheet.traffic,
        mpps: rounded(row.mpps),
        cores: cores(rounded),
        band: row.band.word(),
        whole_cores: cores(whole_cores),
    }
}

fn of_sheet(sheet: &Sheet) -> SummaryOf<'_> {
    let tables = sheet.tables.iter().map(|table| TableOf {
        state: &table.state,
        declared: table.declared,
        capacity: table.capacity,
    });
    SummaryOf {
        program: &sheet.program,
        traffic: &sheet.traffic,
        wire_mpps: rounded(sheet.wire_mpps),
        tables: tables.collect(),
        not_dealt: &sheet.not_dealt,
        band: sheet.summary.as_ref().map(band),
        highest: sheet.highest.iter().map(highest).collect(),
        ranges: sheet.ranges.as_ref().map(ranges),
    }
}

fn spread([median, most]: [f64; 2]) -> Spread {
    Spread { median: rounded(median), most: rounded(most) }
}

fn band(summary: &Summary) -> BandOf {
    let ratio = |gain: &Gain| RatioOf {
        ratio: gain.ratio.map(spread),
        rows_it_saves_nothing: gain.saves_nothing,
    };
    let [from, to] = summary.from_to_mpps;
    BandOf {
        rows: summary.rows,
        from_mpps: rounded(from),
        to_mpps: rounded(to),
        not_carried: summary.not_carried,
        saved_cores: spread(summary.saved_cores),
        saved_share: spread(summary.saved_share),
        ratio: summary.gains.iter().map(|(way, gain)| (way.word(), ratio(gain))).collect(),
        card_worth_cores: rounded(summary.worth[0]),
        card_worth_at_mpps: rounded(summary.worth[1]),
    }
}

fn highest(highest: &Highest) -> HighestOf {
    let [added, over_best] = highest.added();
    HighestOf {
        host_cores: highest.host_cores,
        mpps: highest.mpps.iter().map(|(way, mpps)| (way.word(), rounded(*mpps))).collect(),
        added_mpps: rounded(added),
        added_to_best_baseline_mpps: rounded(over_best),
    }
}

fn ranges(ranges: &Ranges) -> RangesOf {
    let varied = |all: &[Varied]| {
        let of = |varied: &Varied| VariedOf {
            number: varied.number,
            host_only: varied.host_only.map(rounded),
            cora: varied.cora.map(rounded),
            cora_later: varied.later.map(rounded),
        };
        all.iter().map(of).collect()
    };
    RangesOf {
        mpps: rounded(ranges.mpps),
        rules_per_s: varied(&ranges.rules_per_s),
        state_bytes: varied(&ranges.state_bytes),
        host_ns: varied(&ranges.host_ns),
    }
}
