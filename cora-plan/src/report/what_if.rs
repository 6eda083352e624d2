//! Two plans side by side: today's, and one for another NIC, another traffic, another rate, or
//! other pins.

use std::fmt::Write as _;

use serde::Serialize;

use super::explanation::difference;
use super::facts::{self, Seat};
use super::numbers::{count, figure, percent, rate};
use super::table::{Align, columns, wrapped};
use super::words::LABEL;
use super::{Report, json};
use crate::statement::Ask;
use crate::what_if::subject::Subject;

/// Maximum columns of a line.
const WIDTH: usize = 96;

/// Both plans in one table, with marks at differences.
pub fn write(today: &Report<'_>, other: &Report<'_>) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        // Writing to a string does not fail.
        let _infallible = writeln!(out, "{text}");
    };
    say(&format!("{}: today's plan, and what if", today.graph.app));
    say(LABEL);
    say("");
    let rows = rows(today, other);
    let cells = rows.iter().map(|row| {
        let mark = if row.is_head() || row.today == row.other { "" } else { "≠" };
        [mark, &row.name, &row.today, &row.other].map(str::to_owned).to_vec()
    });
    for line in columns(&[Align::Left; 4], &cells.collect::<Vec<_>>()) {
        say(&line);
    }
    say("");
    for sentence in sentences(today, other) {
        say(&wrapped(&sentence, WIDTH, 0));
    }
    out
}

/// Both plans for scripts: `today` and `what_if`, each as in [`json`].
pub fn as_json(today: &Report<'_>, other: &Report<'_>) -> String {
    crate::json::pretty(&Both { today: json::document(today), what_if: json::document(other) })
}

#[derive(Serialize)]
struct Both<'a> {
    today: json::Document<'a>,
    what_if: json::Document<'a>,
}

/// A row of the table.
struct Row {
    name: String,
    today: String,
    other: String,
}

impl Row {
    fn is_head(&self) -> bool {
        self.name.is_empty()
    }
}

fn rows(today: &Report<'_>, other: &Report<'_>) -> Vec<Row> {
    let both = |name: &str, of: &dyn Fn(&Report<'_>) -> String| Row {
        name: name.to_owned(),
        today: of(today),
        other: of(other),
    };
    let mut rows =
        vec![Row { name: String::new(), today: "today".to_owned(), other: "what if".to_owned() }];
    rows.push(both("NIC", &|it| it.planned.nic.clone()));
    rows.push(both("traffic", &|it| it.planned.traffic.clone()));
    rows.push(both("asked", &asked));
    rows.push(both("plan", &|it| format!("{} {}", it.planned.allocation.sides, it.hash)));
    rows.extend(seats("state", &facts::states(today), &facts::states(other)));
    rows.extend(seats("handler", &facts::handlers(today), &facts::handlers(other)));
    rows.extend(owned(today, other));
    rows.push(both("packets at the NIC", &|it| percent(it.planned.predicted.at_nic / 1000.0)));
    rows.push(both("Mpps", &|it| figure(it.planned.mpps)));
    rows.push(both("host cores", &|it| figure(it.planned.predicted.host_cores)));
    rows.push(both("NIC cores", &|it| figure(it.planned.predicted.nic_cores)));
    rows.push(both("up to Mpps", &|it| figure(it.planned.predicted.ceiling_mpps)));
    rows.push(both("limited by", &|it| it.planned.predicted.bottleneck.words().to_owned()));
    rows
}

/// The places of all states, or of all handlers.
fn seats(kind: &str, today: &[Seat], other: &[Seat]) -> Vec<Row> {
    let row = |(today, other): (&Seat, &Seat)| Row {
        name: format!("{kind} {}", today.name),
        today: today.place.to_owned(),
        other: other.place.to_owned(),
    };
    today.iter().zip(other).map(row).collect()
}

fn asked(report: &Report<'_>) -> String {
    match report.planned.ask {
        Ask::Rate(mpps) => format!("{} Mpps", rate(mpps)),
        Ask::HostCores(cores) => format!("{} host cores", count(cores)),
    }
}

/// The NIC's share of each class today, and of the class of the same name in the other plan.
fn owned(today: &Report<'_>, other: &Report<'_>) -> Vec<Row> {
    let facts = [today, other].map(facts::flow_classes);
    let group = [today, other].map(|it| it.traffic.classes(&it.planned.allocation.group));
    let [mine, theirs] = group;
    let mut names: Vec<&str> = mine.iter().map(|class| class.name.as_str()).collect();
    // A class that only the other plan has goes after its predecessor there.
    let mut at = 0;
    for class in theirs {
        if let Some(found) = names.iter().position(|name| *name == class.name) {
            at = found + 1;
        } else {
            names.insert(at, &class.name);
            at += 1;
        }
    }
    let share = |which: usize, name: &str| {
        let class = facts[which].iter().find(|class| class.name == name);
        class.map_or_else(|| "-".to_owned(), |class| percent(class.owned))
    };
    names
        .iter()
        .map(|name| Row {
            name: format!("NIC owns of {name}"),
            today: share(0, name),
            other: share(1, name),
        })
        .collect()
}

/// The main differences, in words.
fn sentences(today: &Report<'_>, other: &Report<'_>) -> Vec<String> {
    let (a, b) = (today.planned, other.planned);
    let seats = today.graph.states.iter().map(|node| Subject::State(node.name.clone()));
    let seats: Vec<Subject> =
        seats.chain(today.graph.chain.iter().map(|it| Subject::Handler(it.name.clone()))).collect();
    let moved = seats.iter().filter(|seat| seat.standing(a) != seat.standing(b));
    let mut out: Vec<String> = moved
        .map(|seat| {
            format!("`{}` {} instead.", seat.name(), seat.words(today.graph, seat.standing(b)))
        })
        .collect();
    if out.is_empty() {
        out.push("Every state and handler stays where it is.".to_owned());
    }
    let cores = difference(
        a.predicted.host_cores,
        b.predicted.host_cores,
        "as many host cores",
        "host cores more",
        "host cores fewer",
    );
    let ceiling = difference(
        a.predicted.ceiling_mpps,
        b.predicted.ceiling_mpps,
        "the same ceiling",
        "Mpps more at most",
        "Mpps less at most",
    );
    let asked = if asked(today) == asked(other) { "" } else { ", for another ask" };
    out.push(format!("It would need {cores}, with {ceiling}{asked}."));
    out.extend(b.predicted.unstable.iter().map(|trouble| format!("Careful: {trouble}")));
    out
}
