//! A plot of the host's time per packet over time: a line per controller, a mark at the start of
//! each phase. Below it, the part of the packets that the NIC handled alone.
//!
//! Lines differ in colour (the palette of Okabe and Ito, which colour-blind people can distinguish)
//! and in their dashes; each has its name beside its end.

use std::fmt::Write as _;

use super::outcome::{Outcome, Slice, Trial};
use super::scenario::Scenario;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 100.0;
const TOP: f64 = 40.0;
/// Height of each of the two diagrams.
const HEIGHT: f64 = 240.0;
const BETWEEN: f64 = 46.0;
/// Upper bound on the points of a line.
const POINTS: usize = 400;

/// Colour, dashes and width of the lines, in the order of the trials.
const PAINTS: [(&str, &str, f64); 6] = [
    ("#3f3f46", "none", 1.5),
    ("#0072b2", "none", 2.5),
    ("#a33f00", "8 4", 1.5),
    ("#00694d", "2 3", 1.5),
    ("#8a3f6e", "12 3 2 3", 1.5),
    ("#5c5c00", "5 2", 1.5),
];

/// A diagram of a function of slices, up to a largest value.
struct Diagram {
    title: &'static str,
    top: f64,
    most: f64,
    step: f64,
    of: fn(&[Slice]) -> f64,
}

/// Draws the plot.
pub(super) fn draw(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, scenario, outcome);
    out
}

fn write(out: &mut String, scenario: &Scenario, outcome: &Outcome) -> std::fmt::Result {
    let height = TOP + 2.0 * HEIGHT + BETWEEN + 40.0;
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"Helvetica,Arial,sans-serif\" \
         font-size=\"12\"><title>Host time per packet over time, of each controller</title>"
    )?;
    let host = |slices: &[Slice]| sum(slices, |it| it.host_busy) / sum(slices, |it| it.packets);
    let at_nic =
        |slices: &[Slice]| sum(slices, |it| it.at_nic) * 100.0 / sum(slices, |it| it.packets);
    let highest = outcome.trials.iter().flat_map(|trial| chunks(trial).map(host));
    let most = (highest.fold(1.0, f64::max) / 50.0).ceil() * 50.0;
    let second = TOP + HEIGHT + BETWEEN;
    let diagrams = [
        Diagram { title: "host ns per packet", top: TOP, most, step: most / 5.0, of: host },
        Diagram { title: "% at the NIC", top: second, most: 100.0, step: 25.0, of: at_nic },
    ];
    for diagram in &diagrams {
        axes(out, diagram)?;
        phases(out, scenario, outcome, diagram)?;
        // The baseline comes first, so that it lies below.
        for (trial, paint) in outcome.trials.iter().zip(PAINTS.iter().cycle()) {
            line(out, diagram, trial, *paint)?;
        }
    }
    names(out, outcome)?;
    let seconds = outcome.trials.first().map_or(0, |trial| trial.slices.len()) as f64
        * scenario.slice as f64
        / 1e9;
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    let words = format!("{seconds:.1} seconds of the sides' time");
    text(out, (middle, height - 10.0), "middle", "#18181b", &words)?;
    write!(out, "</svg>")
}

fn sum(slices: &[Slice], of: fn(&Slice) -> f64) -> f64 {
    slices.iter().map(of).sum::<f64>().max(1e-9)
}

/// Returns the slices of each point.
fn chunks(trial: &Trial) -> impl Iterator<Item = &[Slice]> {
    trial.slices.chunks(trial.slices.len().div_ceil(POINTS).max(1))
}

fn x(part: f64) -> f64 {
    LEFT + part * (WIDTH - LEFT - RIGHT)
}

impl Diagram {
    fn y(&self, value: f64) -> f64 {
        self.top + HEIGHT * (1.0 - (value / self.most).clamp(0.0, 1.0))
    }
}

fn axes(out: &mut String, diagram: &Diagram) -> std::fmt::Result {
    let (right, floor) = (WIDTH - RIGHT, diagram.top + HEIGHT);
    let mut at = 0.0;
    while at <= diagram.most + 1e-9 {
        let y = diagram.y(at);
        write!(out, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e7\"/>")?;
        text(out, (LEFT - 6.0, y + 4.0), "end", "#3f3f46", &format!("{at:.0}"))?;
        at += diagram.step;
    }
    let top = diagram.top;
    write!(out, "<path d=\"M{LEFT} {top}V{floor}H{right}\" fill=\"none\" stroke=\"#3f3f46\"/>")?;
    let middle = f64::midpoint(top, floor);
    let title = diagram.title;
    write!(
        out,
        "<text x=\"14\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle})\">{title}</text>"
    )
}

fn phases(
    out: &mut String,
    scenario: &Scenario,
    outcome: &Outcome,
    diagram: &Diagram,
) -> std::fmt::Result {
    let all = outcome.trials.first().map_or(1, |trial| trial.slices.len()).max(1) as f64;
    let (top, floor) = (diagram.top, diagram.top + HEIGHT);
    for (number, begin) in outcome.begins.iter().enumerate() {
        let x = x(*begin as f64 / all);
        write!(
            out,
            "<path d=\"M{x:.1} {top}V{floor}\" stroke=\"#71717a\" stroke-dasharray=\"2 3\"/>"
        )?;
        if diagram.top > TOP {
            continue;
        }
        for (line, words) in scenario.step(number).split(", ").enumerate() {
            let y = 12.0 + 12.0 * line as f64;
            text(out, (x + 3.0, y), "start", "#3f3f46", words)?;
        }
    }
    Ok(())
}

fn line(
    out: &mut String,
    diagram: &Diagram,
    trial: &Trial,
    (colour, dashes, width): (&str, &str, f64),
) -> std::fmt::Result {
    let points: Vec<&[Slice]> = chunks(trial).collect();
    let mut way = String::new();
    for (number, slices) in points.iter().enumerate() {
        let letter = if number == 0 { 'M' } else { 'L' };
        let x = x((number as f64 + 0.5) / points.len() as f64);
        write!(way, "{letter}{x:.1} {:.1}", diagram.y((diagram.of)(slices)))?;
    }
    let name = &trial.controller;
    write!(
        out,
        "<path d=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         stroke-dasharray=\"{dashes}\"><title>{name}</title></path>"
    )
}

/// Writes the legend beside the first diagram.
fn names(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    for (number, (trial, paint)) in outcome.trials.iter().zip(PAINTS.iter().cycle()).enumerate() {
        let (colour, dashes, width) = paint;
        let (x, y) = (WIDTH - RIGHT + 8.0, TOP + 14.0 + 18.0 * number as f64);
        let end = x + 20.0;
        write!(
            out,
            "<path d=\"M{x} {y}H{end}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-dasharray=\"{dashes}\"/>"
        )?;
        text(out, (end + 4.0, y + 4.0), "start", colour, &trial.controller)?;
    }
    Ok(())
}

fn text(
    out: &mut String,
    (x, y): (f64, f64),
    anchor: &str,
    fill: &str,
    words: &str,
) -> std::fmt::Result {
    write!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{words}</text>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line's position is its measured value.
    #[test]
    fn points_are_where_their_values_are() {
        let diagram = Diagram { title: "", top: 10.0, most: 100.0, step: 25.0, of: |_| 50.0 };
        assert!((diagram.y(50.0) - (10.0 + HEIGHT / 2.0)).abs() < 1e-9);
        assert!((diagram.y(900.0) - 10.0).abs() < 1e-9, "not beyond the edge");
        assert!((x(1.0) - (WIDTH - RIGHT)).abs() < 1e-9);
    }
}
