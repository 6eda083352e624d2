//! A plan as a page for the terminal: at most 100 columns.

use std::fmt::Write as _;

use super::numbers::{count, figure, percent};
use super::table::{Align, columns, wrapped};
use super::words::LABEL;
use super::{Report, facts, messages};
use crate::model::Prediction;

/// Maximum columns of a line.
const WIDTH: usize = 96;

/// Squares of a bar.
const BAR: usize = 16;

/// The page.
pub fn write(report: &Report<'_>) -> String {
    let mut out = String::new();
    head(&mut out, report);
    seats(&mut out, "Where states live", &facts::states(report));
    seats(&mut out, "Where handlers run", &facts::handlers(report));
    messages(&mut out, report);
    classes(&mut out, report);
    loads(&mut out, report);
    if report.baselines {
        baselines(&mut out, report);
    }
    section(&mut out, "How sure this is");
    sentence(&mut out, &facts::proof(report));
    for origin in facts::origins(report) {
        sentence(&mut out, &origin);
    }
    out
}

/// A line. Writing to a string does not fail.
fn line(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "{text}");
}

fn section(out: &mut String, title: &str) {
    line(out, &format!("\n{title}"));
}

fn sentence(out: &mut String, text: &str) {
    if !text.is_empty() {
        line(out, &format!("  {}", wrapped(text, WIDTH - 2, 2)));
    }
}

fn head(out: &mut String, report: &Report<'_>) {
    let (app, planned) = (&report.graph.app, report.planned);
    let sides = planned.allocation.sides;
    line(out, &format!("{app} · {sides} plan {}", report.hash));
    line(
        out,
        &format!("NIC {} · traffic {} · {}", planned.nic, planned.traffic, facts::ask(report)),
    );
    line(out, &format!("{LABEL}\n"));
    line(out, &wrapped(&facts::headline(report), WIDTH, 0));
    if report.baselines {
        for fact in facts::comparison(report) {
            line(out, &wrapped(&fact, WIDTH, 0));
        }
    }
    for trouble in facts::troubles(report) {
        line(out, &wrapped(&format!("Careful: {trouble}"), WIDTH, 0));
    }
}

fn seats(out: &mut String, title: &str, seats: &[facts::Seat]) {
    if seats.is_empty() {
        return;
    }
    section(out, title);
    let widest = |of: fn(&facts::Seat) -> usize| seats.iter().map(of).max().unwrap_or(0);
    let (name, place) = (widest(|it| it.name.chars().count()), widest(|it| it.place.len()));
    for seat in seats {
        let start = format!("  {:name$}  {:place$}  ", seat.name, seat.place);
        let indent = start.chars().count().min(WIDTH / 2);
        line(out, &format!("{start}{}", wrapped(&seat.why, WIDTH - indent, indent)));
    }
}

/// Whether a program with messages is settled.
fn messages(out: &mut String, report: &Report<'_>) {
    let settled = messages::settled(report);
    if !settled.is_empty() {
        section(out, "In which order messages are handled");
    }
    for text in settled {
        sentence(out, &text);
    }
}

fn classes(out: &mut String, report: &Report<'_>) {
    let classes = facts::flow_classes(report);
    if classes.is_empty() {
        return;
    }
    section(out, &format!("Which flows the NIC owns (by {})", report.planned.allocation.group));
    let mut rows =
        vec![["", "flows", "of all packets", "NIC owns", ""].map(str::to_owned).to_vec()];
    rows.extend(classes.iter().map(|class| {
        vec![
            class.name.clone(),
            count(class.flows),
            percent(class.packets),
            percent(class.owned),
            bar(class.owned),
        ]
    }));
    table(out, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left], &rows);
}

fn table(out: &mut String, align: &[Align], rows: &[Vec<String>]) {
    for row in columns(align, rows) {
        line(out, &format!("  {row}"));
    }
}

fn loads(out: &mut String, report: &Report<'_>) {
    section(out, &format!("How busy it is at {} Mpps", figure(report.planned.mpps)));
    let rows: Vec<Vec<String>> = facts::loads(report)
        .iter()
        .map(|load| {
            let of = load.limit.as_ref().map(|limit| format!("of {limit}")).unwrap_or_default();
            let mark = if load.is_bottleneck { "▸" } else { "" };
            let name = load.resource.words().to_owned();
            vec![mark.to_owned(), name, bar(load.used), percent(load.used), of]
        })
        .collect();
    table(out, &[Align::Left, Align::Left, Align::Left, Align::Right, Align::Left], &rows);
    sentence(out, "▸ runs out first when the rate rises.");
    if let Some(rules) = facts::rules(report) {
        sentence(out, &rules);
    }
    let rates = facts::rule_rates(report);
    for fact in rates.into_iter().chain(facts::heads(report)).chain(facts::shards(report)) {
        sentence(out, &fact);
    }
}

/// A bar of [`BAR`] squares; a share over the limit ends in `▶`.
fn bar(share: f64) -> String {
    // Clamped to 0..=BAR before the cast; NaN counts as 0.
    #[expect(clippy::cast_sign_loss, reason = "clamped to 0 and above")]
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let mut bar = "█".repeat(full);
    bar.push_str(&"·".repeat(BAR - full));
    if share > 1.0 + 1e-9 {
        bar.push('▶');
    }
    bar
}

fn baselines(out: &mut String, report: &Report<'_>) {
    let planned = report.planned;
    section(out, &format!("Against deciding less, at {} Mpps", figure(planned.mpps)));
    let head = ["", "host cores", "NIC cores", "up to Mpps", "Cora saves", "then run out"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.push(row("Cora", &planned.predicted, String::new()));
    for other in &planned.baselines {
        let gained = match facts::gain(planned, other) {
            Some(share) => percent(share),
            None if other.feasible => "-".to_owned(),
            None => "falls short".to_owned(),
        };
        rows.push(row(other.baseline.word(), &other.predicted, gained));
    }
    let right = Align::Right;
    table(out, &[Align::Left, right, right, right, right, Align::Left], &rows);
}

fn row(name: &str, predicted: &Prediction, gained: String) -> Vec<String> {
    vec![
        name.to_owned(),
        figure(predicted.host_cores),
        figure(predicted.nic_cores),
        figure(predicted.ceiling_mpps),
        gained,
        predicted.bottleneck.words().to_owned(),
    ]
}
