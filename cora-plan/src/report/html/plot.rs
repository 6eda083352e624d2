//! Host cores against throughput, drawn: one line per way of splitting.
//!
//! Lines differ in colour (the palette of Okabe and Ito, which colour-blind people tell apart), in their dashes, and in
//! their points; each has its name at its end.

use std::fmt::Write as _;

use crate::advice::curve::Series;
use crate::picture::escaped;
use crate::planning::Baseline;
use crate::report::Report;
use crate::report::numbers::figure;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 120.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 48.0;

/// The drawing.
pub(super) fn draw(report: &Report<'_>, curves: &[Series]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, report, curves);
    out
}

/// From numbers to places in the drawing.
struct Scale {
    mpps: f64,
    cores: f64,
}

impl Scale {
    fn of(curves: &[Series]) -> Self {
        let most = |of: fn(&(f64, f64)) -> f64| {
            let all = curves.iter().flat_map(|series| &series.points).map(of);
            all.filter(|number| number.is_finite()).fold(0.0, f64::max).max(1e-9)
        };
        Self { mpps: most(|point| point.0), cores: most(|point| point.1) }
    }

    fn x(&self, mpps: f64) -> f64 {
        LEFT + (mpps / self.mpps).min(1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, cores: f64) -> f64 {
        HEIGHT - BOTTOM - (cores / self.cores).min(1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

fn write(out: &mut String, report: &Report<'_>, curves: &[Series]) -> std::fmt::Result {
    let scale = Scale::of(curves);
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>Host cores against throughput, of Cora and every \
         baseline</title>"
    )?;
    axes(out, &scale)?;
    asked(out, &scale, report.planned.mpps)?;
    let names = names(curves, &scale);
    // Cora's line last, so that it lies above the others.
    for (series, name) in curves.iter().zip(&names).rev() {
        line(out, &scale, series, *name)?;
    }
    write!(out, "</svg>")
}

fn axes(out: &mut String, scale: &Scale) -> std::fmt::Result {
    let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for at in ticks(scale.mpps) {
        let x = scale.x(at);
        write!(out, "<path d=\"M{x:.1} {TOP}V{floor}\" stroke=\"#e4e4e7\"/>")?;
        let y = floor + 18.0;
        text(out, x, y, "middle", "#3f3f46", &figure(at))?;
    }
    for at in ticks(scale.cores) {
        let y = scale.y(at);
        write!(out, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e7\"/>")?;
        text(out, LEFT - 8.0, y + 4.0, "end", "#3f3f46", &figure(at))?;
    }
    write!(out, "<path d=\"M{LEFT} {TOP}V{floor}H{right}\" fill=\"none\" stroke=\"#3f3f46\"/>")?;
    let middle = f64::midpoint(LEFT, right);
    text(out, middle, HEIGHT - 10.0, "middle", "#18181b", "million packets a second")?;
    let y = f64::midpoint(TOP, floor);
    write!(
        out,
        "<text x=\"14\" y=\"{y}\" font-size=\"12\" text-anchor=\"middle\" \
         transform=\"rotate(-90 14 {y})\">host cores</text>"
    )
}

/// Round numbers from 0 up to `most`: at most eight.
fn ticks(most: f64) -> Vec<f64> {
    let mut step = 10f64.powi(most.log10().floor() as i32 - 1);
    for factor in [2.0, 2.5, 2.0].into_iter().cycle() {
        if most / step <= 7.0 {
            break;
        }
        step *= factor;
    }
    let count = (most / step + 1e-9).floor() as i32;
    (0..=count).map(|number| f64::from(number) * step).collect()
}

/// The rate that the plan is about.
fn asked(out: &mut String, scale: &Scale, mpps: f64) -> std::fmt::Result {
    if mpps > scale.mpps {
        return Ok(());
    }
    let (x, floor) = (scale.x(mpps), HEIGHT - BOTTOM);
    write!(
        out,
        "<path d=\"M{x:.1} {TOP}V{floor}\" stroke=\"#3f3f46\" stroke-dasharray=\"2 3\"><title>this plan: {} \
         Mpps</title></path>",
        figure(mpps)
    )
}

fn text(
    out: &mut String,
    x: f64,
    y: f64,
    anchor: &str,
    fill: &str,
    words: &str,
) -> std::fmt::Result {
    let words = escaped(words);
    write!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"12\" text-anchor=\"{anchor}\" style=\"fill:{fill}\">{words}</text>"
    )
}

/// Colour and dashes of a line.
fn paint(baseline: Option<Baseline>) -> (&'static str, &'static str, f64) {
    match baseline {
        None => ("#0072b2", "none", 3.5),
        Some(Baseline::HostOnly) => ("#a33f00", "8 4", 2.0),
        Some(Baseline::NicOnly) => ("#00694d", "2 3", 2.0),
        Some(Baseline::StateOnly) => ("#8a3f6e", "12 3 2 3", 2.0),
        Some(Baseline::FlowOnly) => ("#5c5c00", "5 2", 2.0),
    }
}

/// Where each name stands, beside the end of its line: the highest first, a line of text apart.
fn names(curves: &[Series], scale: &Scale) -> Vec<f64> {
    let wish = |series: &Series| series.points.last().map_or(HEIGHT, |point| scale.y(point.1));
    let mut order: Vec<usize> = (0..curves.len()).collect();
    order.sort_by(|a, b| wish(&curves[*a]).total_cmp(&wish(&curves[*b])).then(a.cmp(b)));
    let mut places = vec![0.0; curves.len()];
    let mut free = TOP;
    for at in order {
        places[at] = wish(&curves[at]).max(free);
        free = places[at] + 16.0;
    }
    places
}

fn line(out: &mut String, scale: &Scale, series: &Series, name: f64) -> std::fmt::Result {
    let (colour, dashes, width) = paint(series.baseline);
    let Some(last) = series.points.last() else { return Ok(()) };
    let mut way = String::new();
    for (number, (mpps, cores)) in series.points.iter().enumerate() {
        let letter = if number == 0 { 'M' } else { 'L' };
        write!(way, "{letter}{:.1} {:.1}", scale.x(*mpps), scale.y(*cores))?;
    }
    write!(
        out,
        "<path d=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         stroke-dasharray=\"{dashes}\"/>"
    )?;
    for (mpps, cores) in &series.points {
        write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{}: {} Mpps with {} host \
             cores</title></circle>",
            scale.x(*mpps),
            scale.y(*cores),
            series.name(),
            figure(*mpps),
            figure(*cores)
        )?;
    }
    let (x, y, end) = (WIDTH - RIGHT + 30.0, name, scale.x(last.0));
    write!(
        out,
        "<path d=\"M{end:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-width=\"0.7\" \
         stroke-dasharray=\"1 4\"/>",
        scale.y(last.1),
        x - 4.0,
        y
    )?;
    text(out, x, y + 4.0, "start", colour, series.name())
}
