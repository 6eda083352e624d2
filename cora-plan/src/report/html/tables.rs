//! The tables of the page, with a bar for each share.

use super::Page;
use crate::model::Prediction;
use crate::picture::escaped;
use crate::report::facts::{self, Seat};
use crate::report::numbers::{count, figure, percent};
use crate::report::words::change;
use crate::report::{Outlook, Report};
use crate::what_if::curve::Series;

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| escaped(cell)).collect()
}

pub(super) fn seats(page: &mut Page, seats: &[Seat]) {
    if seats.is_empty() {
        return page.paragraph("There are none.");
    }
    let mut rows = vec![row(&["name", "where", "why"])];
    rows.extend(seats.iter().map(|seat| row(&[&seat.name, seat.place, &seat.why])));
    page.table("lll", &rows);
}

pub(super) fn classes(page: &mut Page, report: &Report<'_>) {
    let classes = facts::flow_classes(report);
    if classes.is_empty() {
        return;
    }
    page.section("Which flows the NIC owns");
    page.paragraph(&format!(
        "Flows are told apart by {}, and stand in classes by their rate.",
        report.planned.allocation.group
    ));
    let mut rows = vec![row(&["class", "flows", "of all packets", "NIC owns", "", "why"])];
    rows.extend(classes.iter().map(|class| {
        let numbers = [count(class.flows), percent(class.packets), percent(class.owned)];
        let mut cells = vec![escaped(&class.name)];
        cells.extend(numbers);
        cells.push(bar(class.owned, Paint::Nic));
        cells.push(escaped(class.why));
        cells
    }));
    page.table("lrrrll", &rows);
}

pub(super) fn loads(page: &mut Page, report: &Report<'_>) {
    page.section(&format!("How busy it is at {} Mpps", figure(report.planned.mpps)));
    let mut rows = vec![row(&["resource", "", "used", "of", ""])];
    rows.extend(facts::loads(report).iter().map(|load| {
        let paint = if load.is_bottleneck { Paint::Limit } else { Paint::Plain };
        vec![
            escaped(load.resource.words()),
            bar(load.used, paint),
            percent(load.used),
            escaped(load.limit.as_deref().unwrap_or_default()),
            if load.is_bottleneck { "runs out first" } else { "" }.to_owned(),
        ]
    }));
    page.table("llrll", &rows);
    for fact in facts::heads(report).into_iter().chain(facts::shards(report)) {
        page.paragraph(&fact);
    }
}

pub(super) fn baselines(page: &mut Page, report: &Report<'_>) {
    let planned = report.planned;
    page.section(&format!("Against deciding less, at {} Mpps", figure(planned.mpps)));
    let head =
        ["", "host cores", "", "NIC cores", "up to Mpps", "Cora saves", "runs out first", ""];
    let all = std::iter::once(&planned.predicted);
    let all = all.chain(planned.baselines.iter().map(|other| &other.predicted));
    let most = all.map(|it| it.host_cores).filter(|cores| cores.is_finite()).fold(0.0, f64::max);
    let mut rows = vec![row(&head)];
    rows.push(baseline("Cora", &planned.predicted, most, "", ""));
    for other in &planned.baselines {
        let gained = facts::gain(planned, other).map(percent).unwrap_or_default();
        let mark = if other.feasible { "" } else { "not enough for the request" };
        rows.push(baseline(other.baseline.word(), &other.predicted, most, &gained, mark));
    }
    page.table("lrlrrrll", &rows);
}

fn baseline(
    name: &str,
    predicted: &Prediction,
    most: f64,
    gained: &str,
    mark: &str,
) -> Vec<String> {
    let share = if most > 0.0 { predicted.host_cores / most } else { 0.0 };
    vec![
        escaped(name),
        figure(predicted.host_cores),
        bar(share.min(1.0), Paint::Host),
        figure(predicted.nic_cores),
        figure(predicted.ceiling_mpps),
        escaped(gained),
        escaped(predicted.bottleneck.words()),
        escaped(mark),
    ]
}

/// The numbers of the curves, collapsed.
pub(super) fn curves(page: &mut Page, curves: &[Series]) {
    let mut rates: Vec<f64> = curves.iter().flat_map(|it| &it.points).map(|(at, _)| *at).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let mut head = vec!["Mpps".to_owned()];
    head.extend(curves.iter().map(|series| format!("{}, host cores", escaped(series.name()))));
    let columns = "r".repeat(head.len());
    let mut rows = vec![head];
    for at in rates {
        let mut cells = vec![figure(at)];
        cells.extend(curves.iter().map(|series| {
            let found = series.points.iter().find(|(mpps, _)| mpps.total_cmp(&at).is_eq());
            found.map_or_else(|| "-".to_owned(), |(_, cores)| figure(*cores))
        }));
        rows.push(cells);
    }
    page.line("<details><summary>The same in numbers</summary>");
    page.table(&columns, &rows);
    page.line("</details>");
}

pub(super) fn sensitivity(page: &mut Page, report: &Report<'_>, outlook: &Outlook) {
    if outlook.sensitivity.is_empty() {
        return;
    }
    page.section("If the traffic were other");
    page.paragraph("Planned again each time, with the same ask.");
    let head =
        ["", "host cores", "Mpps", "up to Mpps", "packets of the NIC's flows", "", "elsewhere"];
    let mut rows = vec![row(&head)];
    let today = &report.planned.predicted;
    let owned = facts::flow_classes(report).iter().map(|it| it.packets * it.owned).sum();
    rows.push(vec![
        "today".to_owned(),
        figure(today.host_cores),
        figure(report.planned.mpps),
        figure(today.ceiling_mpps),
        percent(owned),
        bar(owned, Paint::Nic),
        String::new(),
    ]);
    for line in &outlook.sensitivity {
        let mut cells = vec![escaped(&change(line.change))];
        match &line.outcome {
            Ok(it) => {
                cells.extend([figure(it.host_cores), figure(it.mpps), figure(it.ceiling_mpps)]);
                cells.extend([percent(it.owned), bar(it.owned, Paint::Nic)]);
                let moved = it.moved.iter().map(|(state, place)| format!("{state}: {place}"));
                cells.push(escaped(&moved.collect::<Vec<_>>().join(", ")));
            }
            Err(because) => {
                cells.extend(["-", "-", "-", "-", ""].map(str::to_owned));
                cells.push(escaped(&format!("no plan: {because}")));
            }
        }
        rows.push(cells);
    }
    page.table("lrrrrll", &rows);
}

/// Meanings of a bar's colour; words repeat them.
#[derive(Clone, Copy)]
enum Paint {
    Nic,
    Host,
    Plain,
    Limit,
}

/// A bar for a share. Above 1 it is full and ends in an arrow.
fn bar(share: f64, paint: Paint) -> String {
    const WIDTH: f64 = 140.0;
    let fill = match paint {
        Paint::Nic => "#2e7d32",
        Paint::Host => "#b45f06",
        Paint::Plain => "#71717a",
        Paint::Limit => "#9a3412",
    };
    let long = share.clamp(0.0, 1.0) * WIDTH;
    let over = if share > 1.0 + 1e-9 {
        format!("<path d=\"M142 1l8 6l-8 6z\" fill=\"{fill}\"/>")
    } else {
        String::new()
    };
    format!(
        "<svg width=\"152\" height=\"14\" viewBox=\"0 0 152 14\" aria-hidden=\"true\"><rect x=\"0.5\" y=\"1.5\" \
         width=\"140\" height=\"11\" fill=\"#fff\" stroke=\"#71717a\"/><rect x=\"0.5\" y=\"1.5\" width=\"{long:.1}\" \
         height=\"11\" fill=\"{fill}\"/>{over}</svg>"
    )
}
