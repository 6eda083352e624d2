//! The measurement, for people.

use std::fmt::Write as _;

use cora_plan::Graph;
use cora_plan::demand::{Counted, Executed, Measured, Observed, Route, handler_runs};
use cora_plan::graph::{Access, Does, Exit, Path};
use cora_plan::traffic::Traffic;

use super::Counts;

/// Routes with instructions and packets, shares of them by class, and estimates.
pub(super) fn text(
    graph: &Graph,
    observed: &Observed,
    measured: &Measured,
    traffic: &Traffic,
    counts: &Counts,
) -> String {
    let mut text = format!(
        "{} on {}: {} packets\n\n{:>6}{:>12}{:>9}{:>14}{:>14}   way\n",
        graph.app, traffic.name, observed.packets, "route", "packets", "share", "host", "nic"
    );
    let routes = &measured.measurement.routes;
    for ((number, route), packets) in routes.iter().enumerate().zip(measured.per_route()) {
        // Writing to a string does not fail.
        let _infallible = writeln!(
            text,
            "{number:>6}{packets:>12}{:>8.2}%{:>14}{:>14}   {}",
            percent(packets, observed.packets),
            executed(route.host),
            executed(route.nic),
            way(graph, route)
        );
    }
    text.push_str(
        "(instructions of one packet, all told / branches of it that are foretold wrongly)\n",
    );
    if graph.takes_messages() {
        text.push_str(&runs(graph, observed));
    }
    for (key, classes) in &measured.measurement.counts {
        text.push_str(&by_class(key, classes, traffic));
    }
    text.push('\n');
    text.push_str(&notes(observed, measured, counts));
    text
}

fn executed(of: Executed) -> String {
    format!("{:.0} / {:.2}", of.instructions, of.mispredictions)
}

/// Runs of each handler per packet of the capture, and the messages of a run.
fn runs(graph: &Graph, observed: &Observed) -> String {
    let mut text =
        format!("\n{:<22}{:>12}{:>12}   sent in a run\n", "handler", "runs", "per packet");
    for of in handler_runs(graph, observed) {
        let sent = of.sent.iter().map(|(message, how, count)| {
            format!("{} {:.2} {message}", how.word(), per(*count, of.runs))
        });
        let sent: Vec<String> = sent.collect();
        let _infallible = writeln!(
            text,
            "{:<22}{:>12}{:>12.3}   {}",
            of.handler,
            of.runs,
            per(of.runs, observed.packets),
            sent.join(", ")
        );
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]
fn per(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Shares of routes within each class.
fn by_class(key: &str, classes: &[Vec<u64>], traffic: &Traffic) -> String {
    let mut text =
        format!("\n{:<22}{:>12}   share of each route\n", format!("by {key}"), "packets");
    for (class, counts) in traffic.classes(key).iter().zip(classes) {
        let packets: u64 = counts.iter().sum();
        let _infallible = write!(text, "{:<22}{packets:>12}   ", class.name);
        for count in counts {
            let _infallible = write!(text, "{:>8.2}%", percent(*count, packets));
        }
        text.push('\n');
    }
    text
}

/// How far the numbers hold.
fn notes(observed: &Observed, measured: &Measured, counts: &Counts) -> String {
    let mut lines = vec![
        counted("host", &counts.host, "estimates from the source stand in"),
        counted("nic", &counts.nic, "the host's numbers stand in"),
    ];
    let fits = measured.fits;
    let mut tell = |packets: u64, what: &str| {
        if packets > 0 {
            lines.push(format!("{packets} packets {what}"));
        }
    };
    tell(
        fits.but_for_names,
        "took the path that fits best: of states that are no tables only names are seen",
    );
    tell(fits.otherwise, "took a way that the graph has no path for; the nearest stands in");
    tell(fits.ambiguous, "fit several paths alike, and count for the first");
    tell(observed.cut_off, "did more than is noted of one packet; their ways are cut off");
    lines.join("\n") + "\n"
}

fn counted(side: &str, counted: &Result<Counted, String>, otherwise: &str) -> String {
    match counted {
        Ok(counted) => {
            let missing = counted.per_route.iter().filter(|count| count.is_none()).count();
            let mut line = format!(
                "{side}: instructions counted, {:.0} a packet in bursts, with {:.2} branches foretold wrongly; the first half \
                 predicts the second within {:+.2} %",
                counted.mean.instructions,
                counted.mean.mispredictions,
                counted.error * 100.0
            );
            if missing > 0 {
                let _infallible = write!(
                    line,
                    "; {missing} routes have no packet among those counted (--count), and get the mean"
                );
            }
            line
        }
        Err(why) => format!("{side}: instructions not counted, {otherwise}: {why}"),
    }
}

fn way(graph: &Graph, route: &Route) -> String {
    let step = |(handler, path): &(usize, usize)| {
        let handler = graph.chain.get(*handler)?;
        Some(format!("{} {}", handler.name, shown(handler.paths.get(*path)?)))
    };
    let steps: Vec<String> = route.steps.iter().filter_map(step).collect();
    let inside = if route.inside { "sent to " } else { "" };
    format!("{inside}{}", steps.join(", "))
}

fn shown(path: &Path) -> String {
    let mut accesses: Vec<String> = path.accesses.iter().map(access).collect();
    accesses.dedup();
    accesses.push(
        match path.exit {
            Exit::Transmit => "transmit",
            Exit::Drop => "drop",
            Exit::Pass => "pass",
            Exit::Redirect => "redirect",
            Exit::Done => "done",
            Exit::Unseen => "?",
        }
        .to_owned(),
    );
    accesses.join(" → ")
}

fn access(access: &Access) -> String {
    let does = match access.does {
        Does::Read => "read",
        Does::Write => "write",
        Does::Insert => "insert",
        Does::Remove => "remove",
        Does::Anything => "anything",
    };
    let many = if access.many { "*" } else { "" };
    format!("{does} {}{many}", access.state)
}

#[expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
