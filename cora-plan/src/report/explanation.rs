//! The explanation of one subject, as text.

use std::fmt::Write as _;

use super::numbers::{bytes, count, figure, percent};
use super::table::wrapped;
use super::{Report, facts, why};
use crate::model::Prediction;
use crate::optimise::Planned;
use crate::statement::Ask;
use crate::what_if::Explanation;
use crate::what_if::next_best::{NextBest, Rest};
use crate::what_if::subject::Subject;
use crate::what_if::turning::{Knob, Turn, Turning};

/// Maximum columns of a line.
const WIDTH: usize = 96;

/// The explanation of a subject of the report's plan.
pub fn write(report: &Report<'_>, explanation: &Explanation) -> String {
    let Explanation { subject, standing, next_best, turning } = explanation;
    let planned = report.planned;
    let mut out = String::new();
    line(
        &mut out,
        &format!(
            "{} `{}` {}",
            capital(subject.kind()),
            subject.name(),
            subject.words(report.graph, *standing)
        ),
    );
    line(
        &mut out,
        &format!(
            "in the plan of `{}` for {} on `{}` with traffic `{}`. Predicted, not measured.",
            report.graph.app,
            facts::ask(report),
            planned.nic,
            planned.traffic
        ),
    );
    line(&mut out, "\nWhy");
    item(&mut out, &format!("{}.", capital(&because(report, subject))));
    let messages = super::messages::of(report, subject);
    if !messages.is_empty() {
        line(&mut out, "\nIts messages");
    }
    for text in messages {
        item(&mut out, &text);
    }
    line(&mut out, "\nThe next best");
    for text in next(report, subject, next_best) {
        item(&mut out, &text);
    }
    line(&mut out, "\nWhat would have to change for it to move");
    let turns: Vec<String> = turning.iter().filter_map(|it| turn(report, subject, it)).collect();
    if turns.is_empty() {
        item(&mut out, &format!("Nothing that was tried moves it: {TRIED}."));
    }
    for text in turns {
        item(&mut out, &text);
    }
    out
}

fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _infallible = writeln!(out, "{}", wrapped(text, WIDTH, 2));
}

fn item(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "  {}", wrapped(text, WIDTH - 4, 4));
}

/// The reason for its standing, in a sentence.
fn because(report: &Report<'_>, subject: &Subject) -> String {
    match subject {
        Subject::State(name) => {
            report.graph.state(name).map(|node| why::state(report, node)).unwrap_or_default()
        }
        Subject::Handler(name) => {
            let node = report.graph.chain.iter().find(|node| node.name == *name);
            node.map(|node| why::handler(report, node)).unwrap_or_default()
        }
        Subject::Class(number, _) => facts::flow_classes(report)
            .get(*number)
            .map(|class| {
                format!(
                    "its {} flows have {} of all packets, and the NIC owns {} of them: {}",
                    count(class.flows),
                    percent(class.packets),
                    percent(class.owned),
                    class.why
                )
            })
            .unwrap_or_default(),
    }
}

/// The cost of the opposite choice.
fn next(report: &Report<'_>, subject: &Subject, next: &NextBest) -> Vec<String> {
    let name = subject.name();
    match next {
        NextBest::NoChoice(because) => vec![format!("There is none: {because}.")],
        NextBest::Refused { standing, over, because } => {
            let mut out = vec![format!(
                "If `{name}` {}, it does not work out:",
                conditional(subject.words(report.graph, *standing))
            )];
            out.extend(over.iter().map(|(over, used)| {
                format!("it would take {} of {}", percent(*used), over.words())
            }));
            out.extend(because.iter().cloned());
            out
        }
        NextBest::Possible { standing, rest, mpps, predicted } => {
            let all_else = match rest {
                Rest::PlannedAgain => "all else is planned again",
                Rest::Kept => "all else stays",
                Rest::FlowsToHost => "and every flow is the host's",
            };
            vec![
                format!(
                    "If `{name}` {} ({all_else}):",
                    conditional(subject.words(report.graph, *standing))
                ),
                costs(report.planned, *rest, *mpps, predicted),
            ]
        }
    }
}

/// `travels with its flows` as a condition, in the subjunctive.
fn conditional(words: &str) -> String {
    words.replacen("is ", "were ", 1)
}

/// The cost of another plan, compared with today's.
fn costs(planned: &Planned, rest: Rest, mpps: f64, other: &Prediction) -> String {
    let today = &planned.predicted;
    if rest == Rest::PlannedAgain && matches!(planned.ask, Ask::HostCores(_)) {
        let by = difference(planned.mpps, mpps, "the same", "more", "less");
        let (mpps, now) = (figure(mpps), figure(planned.mpps));
        return format!("{mpps} Mpps instead of {now} ({by}), with the same host cores.");
    }
    let by = difference(today.host_cores, other.host_cores, "the same", "more", "fewer");
    let (cores, now) = (figure(other.host_cores), figure(today.host_cores));
    let limit = other.bottleneck.words();
    let (ceiling, before) = (figure(other.ceiling_mpps), figure(today.ceiling_mpps));
    let ceiling = if ceiling == before {
        format!("It would go up to {ceiling} Mpps as it does now; there {limit} run out.")
    } else {
        format!("It would go up to {ceiling} Mpps instead of {before}; there {limit} run out.")
    };
    format!("{cores} host cores instead of {now} ({by}). {ceiling}")
}

/// `0.42 more`.
pub(super) fn difference(today: f64, other: f64, same: &str, more: &str, less: &str) -> String {
    let by = other - today;
    // The difference is below the resolution of three digits.
    if by.abs() <= 0.000_5 * today.abs().max(other.abs()) {
        return same.to_owned();
    }
    format!("{} {}", figure(by.abs()), if by > 0.0 { more } else { less })
}

/// The changes that turning points are searched among.
const TRIED: &str = "the ask, the flows at a time and the NIC's memory, each up to a thousandfold \
                     more and less";

/// A line about one turning point; `None` if the subject never moves.
fn turn(report: &Report<'_>, subject: &Subject, turning: &Turning) -> Option<String> {
    let planned = report.planned;
    let way = if turning.up { "more" } else { "less" };
    let (name, unit): (&str, fn(f64) -> String) = match (turning.knob, &planned.ask) {
        (Knob::Ask, Ask::Rate(_)) => ("rate", |at| format!("{} Mpps", figure(at))),
        (Knob::Ask, Ask::HostCores(_)) => ("host cores", |at| format!("{} host cores", figure(at))),
        (Knob::Flows, _) => ("flows at a time", |at| format!("{} flows", count(at.round()))),
        (Knob::NicMemory, _) => ("NIC memory", bytes),
    };
    let way = match turning.knob {
        Knob::Flows if !turning.up => "fewer",
        Knob::Ask if matches!(planned.ask, Ask::HostCores(_)) && !turning.up => "fewer",
        Knob::Ask if matches!(planned.ask, Ask::Rate(_)) => {
            if turning.up {
                "a higher"
            } else {
                "a lower"
            }
        }
        _ => way,
    };
    let today = unit(turning.today);
    let start = format!("{} {name} (now {today}):", capital(way));
    Some(match &turning.turn {
        Turn::Moves { at, to } => {
            let (side, at) = (if turning.up { "from" } else { "at" }, unit(*at));
            let below = if turning.up { " on" } else { " and below" };
            format!("{start} {side} {at}{below} it {}.", subject.words(report.graph, *to))
        }
        Turn::NoPlan { at, because } => {
            format!("{start} it stays; at {} there is no plan any more: {because}", unit(*at))
        }
        Turn::Never { .. } => return None,
    })
}

/// With a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
