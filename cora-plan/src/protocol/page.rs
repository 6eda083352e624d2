//! The protocol's results as a table for a document, and in one sentence.

use super::summary::{Gain, Summary};
use super::way::Way;
use super::{Band, Sheet, Varied};
use crate::optimise::Fair;
use crate::report::numbers::{bytes, count, figure, percent};
use crate::report::table::{Align, markdown};

const HEAD: [&str; 10] = [
    "program",
    "traffic",
    "contested Mpps",
    "saved, median",
    "saved, most",
    "worth",
    "added at 1, 2, 4 cores",
    "state-only",
    "flow-only",
    "later",
];

/// A row for each program and traffic, as Markdown.
pub fn table(sheets: &[Sheet]) -> String {
    let mut align = [Align::Right; HEAD.len()];
    align[..2].fill(Align::Left);
    let head = HEAD.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(sheets.iter().map(cells)).collect();
    markdown(&align, &rows)
}

fn cells(sheet: &Sheet) -> Vec<String> {
    let mut cells = vec![sheet.program.clone(), sheet.traffic.clone()];
    let Some(summary) = &sheet.summary else {
        cells.push(uncontested(sheet));
        cells.resize(HEAD.len(), "-".to_owned());
        cells[6] = added(sheet);
        return cells;
    };
    let [from, to] = summary.from_to_mpps;
    let saved = |cores: f64, share: f64| format!("{} ({})", figure(cores), percent(share));
    let ([median, most], [median_share, most_share]) = (summary.saved_cores, summary.saved_share);
    let missing = match summary.not_carried {
        0 => String::new(),
        rows => format!(", {rows} of {} not carried", summary.rows),
    };
    cells.extend([
        format!("{} to {}{missing}", figure(from), figure(to)),
        saved(median, median_share),
        saved(most, most_share),
        format!("{} at {}", figure(summary.worth[0]), figure(summary.worth[1])),
        added(sheet),
        ratios(summary, [Fair::StateOnly, Fair::StateOverflow]),
        ratios(summary, [Fair::FlowOnly, Fair::FlowFirst]),
        later(sheet),
    ]);
    cells
}

/// The reason that no rate is contested: that of the highest rate.
fn uncontested(sheet: &Sheet) -> String {
    let Some(last) = sheet.rows.last() else {
        return "host-only would drop at every rate".to_owned();
    };
    match last.band {
        Band::CardAlone if sheet.refused.is_empty() => Band::CardAlone.word().to_owned(),
        band => format!("{} at {}", band.word(), figure(last.mpps)),
    }
}

/// Million packets a second that Cora's plans add to host-only, and to the best baseline.
fn added(sheet: &Sheet) -> String {
    let pair = |[host, best]: [f64; 2]| format!("{} ({})", figure(host), figure(best));
    let pairs: Vec<String> = sheet.highest.iter().map(|highest| pair(highest.added())).collect();
    if pairs.is_empty() { "-".to_owned() } else { pairs.join(", ") }
}

/// Median ratios against the strict and the relaxed form of a split.
fn ratios(summary: &Summary, forms: [Fair; 2]) -> String {
    let of = |fair: Fair| {
        let found = summary.gains.iter().find(|(way, _)| *way == Way::Baseline(fair));
        found.map_or("-".to_owned(), |(_, gain)| ratio(gain))
    };
    forms.map(of).join(", ")
}

fn ratio(gain: &Gain) -> String {
    match gain.ratio {
        Some([median, _]) => format!("{}×", figure(median)),
        None if gain.saves_nothing > 0 => "saves nothing".to_owned(),
        None => "neither saves".to_owned(),
    }
}

/// Host cores that plans of a later runtime save, in the middle of the contested rates.
fn later(sheet: &Sheet) -> String {
    let band = sheet.rows.iter().filter(|row| row.band == Band::Contested);
    let saved = band.filter_map(|row| row.saved(Way::Later));
    let mut saved: Vec<(f64, f64)> = saved.collect();
    saved.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = saved.get(saved.len() / 2);
    middle.map_or("-".to_owned(), |(cores, share)| {
        format!("{} ({})", figure(*cores), percent(*share))
    })
}

/// The results of all sheets in one paragraph.
pub fn sentence(nic: &str, sheets: &[Sheet]) -> String {
    let summaries: Vec<&Summary> =
        sheets.iter().filter_map(|sheet| sheet.summary.as_ref()).collect();
    let pairs = format!("{} pairs of program and traffic", sheets.len());
    let (Some(worth), Some(share)) = (
        range(summaries.iter().map(|of| of.worth[0])),
        range(summaries.iter().map(|of| of.saved_share[0])),
    ) else {
        return format!("Predicted: no rate of these {pairs} is contested.");
    };
    let at_two = sheets.iter().flat_map(|sheet| &sheet.highest).filter(|of| of.host_cores == 2);
    let faster = at_two.filter_map(|of| {
        let [_, over_best] = of.added();
        let best = of.of(Way::Cora) - over_best;
        (best > 0.0).then(|| over_best / best)
    });
    let faster = range(faster).map_or(String::new(), |[least, most]| {
        format!(
            " With two host cores they carry {} to {} more packets than the best baseline.",
            percent(least),
            percent(most)
        )
    });
    format!(
        "Predicted: in {} of {pairs} some rate is contested. There a {nic} is worth {} to {} host cores. In the median \
         over the contested rates, plans save {} to {} of host-only's cores.{faster} Against {}; against {}.",
        summaries.len(),
        figure(worth[0]),
        figure(worth[1]),
        percent(share[0]),
        percent(share[1]),
        against(&summaries, "state-only", [Fair::StateOnly, Fair::StateOverflow]),
        against(&summaries, "flow-only", [Fair::FlowOnly, Fair::FlowFirst]),
    )
}

/// The least and the most of some numbers.
fn range(numbers: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    numbers.fold(None, |range, number| {
        let [least, most] = range.unwrap_or([number, number]);
        Some([least.min(number), most.max(number)])
    })
}

/// The ratios against the strict and the relaxed form of a split.
fn against(summaries: &[&Summary], name: &str, [strict, relaxed]: [Fair; 2]) -> String {
    let ratios = |fair: Fair| {
        let gains = summaries.iter().flat_map(|of| &of.gains);
        let own = gains.filter(|(way, _)| *way == Way::Baseline(fair));
        let medians = own.filter_map(|(_, gain)| Some(gain.ratio?[0]));
        range(medians).map_or("it saves nothing".to_owned(), |[least, most]| {
            format!("{} to {} times its savings", figure(least), figure(most))
        })
    };
    format!("strict {name} {}, and relaxed {}", ratios(strict), ratios(relaxed))
}

/// What the protocol changed in the programs: the tables that it made larger, and rates that it
/// refused.
pub fn sized(sheets: &[Sheet]) -> String {
    let mut tables: Vec<&str> = sheets
        .iter()
        .flat_map(|sheet| sheet.tables.iter().map(|table| table.state.as_str()))
        .collect();
    tables.sort_unstable();
    tables.dedup();
    let refused: usize = sheets.iter().map(|sheet| sheet.refused.len()).sum();
    let rates: usize = sheets.iter().map(|sheet| sheet.rows.len()).sum::<usize>() + refused;
    let tables = match &tables[..] {
        [] => "All tables have room as declared.".to_owned(),
        tables => format!(
            "Tables were given room for all entries that stand at the full wire, at the declared idle times: {}.",
            tables.join(", ")
        ),
    };
    format!(
        "{tables} Of {rates} rates {refused} are refused, because host-only would drop new flows for want of memory."
    )
}

/// Host cores at the middle of the contested band with other numbers of the profile, as Markdown.
pub fn ranges(sheets: &[Sheet]) -> String {
    let head =
        ["program", "traffic", "Mpps", "rules a second", "bytes at the NIC", "driver, ns a frame"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(sheets.iter().filter_map(|sheet| {
        let ranges = sheet.ranges.as_ref()?;
        let (program, traffic) = (sheet.program.clone(), sheet.traffic.clone());
        let cora = |all: &[Varied], spelled: fn(f64) -> String| {
            let of = |varied: &Varied| {
                let cores = |cores: Option<f64>| cores.map_or("no plan".to_owned(), figure);
                let (today, later) = (cores(varied.cora), cores(varied.later));
                let later = if later == today { String::new() } else { format!(" ({later})") };
                format!("{today}{later} at {}", spelled(varied.number))
            };
            all.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let pair = |varied: &Varied| {
            let [host, cora] =
                [varied.host_only, varied.cora].map(|it| it.map_or("-".to_owned(), figure));
            format!("{host} → {cora} at {}", count(varied.number))
        };
        let driver: Vec<String> = ranges.host_ns.iter().map(pair).collect();
        let rules = cora(&ranges.rules_per_s, count);
        let at_nic = cora(&ranges.state_bytes, bytes);
        Some(vec![program, traffic, figure(ranges.mpps), rules, at_nic, driver.join(", ")])
    }));
    let mut align = [Align::Left; 6];
    align[2] = Align::Right;
    markdown(&align, &rows)
}

/// Programs that can't be dealt, each with its reasons.
pub fn not_dealt(sheets: &[Sheet]) -> String {
    let mut lines: Vec<String> = sheets
        .iter()
        .filter(|sheet| !sheet.not_dealt.is_empty())
        .map(|sheet| format!("- `{}`: {}.", sheet.program, sheet.not_dealt.join("; ")))
        .collect();
    lines.dedup();
    lines.join("\n")
}
