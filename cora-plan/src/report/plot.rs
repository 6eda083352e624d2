//! The plot of host cores over throughput, with one line for each way of splitting.
//!
//! Lines differ in colour (the palette of Okabe and Ito, for colour-blind readers) and in the shape
//! of their points. Each has its name at its end, beside a sample of it. Coinciding lines don't
//! hide each other: they alternate along the line, and at its points.

use std::fmt::Write as _;

use super::numbers::figure;
use crate::picture::escaped;

/// Width of a drawing.
pub(crate) const WIDTH: f64 = 790.0;
/// Height of a drawing.
pub(crate) const HEIGHT: f64 = 380.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 48.0;

/// Length of a line's turn if several coincide.
const TURN: f64 = 9.0;
/// Points closer than this coincide.
const NEAR: f64 = 1.5;

/// One line of a plot: a way of splitting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) look: Look,
    /// Rates in million packets a second, and host cores. Rates rise.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Colour, width and outline of the points of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub(crate) colour: &'static str,
    pub(crate) width: f64,
    pub(crate) shape: &'static str,
}

impl Look {
    /// A disc, for Cora.
    pub(crate) const CORA: Self =
        Self { colour: "#0072b2", width: 3.5, shape: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z" };
    /// A square.
    pub(crate) const HOST_ONLY: Self = Self::thin("#a33f00", "M-3.5 -3.5h7v7h-7z");
    /// A cross.
    pub(crate) const BEHIND_NIC: Self =
        Self::thin("#52525b", "M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5");
    /// A triangle.
    pub(crate) const NIC_ONLY: Self = Self::thin("#00694d", "M0 -4.5L4.5 3.5h-9z");
    /// A diamond.
    pub(crate) const STATE_ONLY: Self = Self::thin("#8a3f6e", "M0 -5L5 0L0 5L-5 0z");
    /// A flat bar.
    pub(crate) const FLOW_ONLY: Self = Self::thin("#5c5c00", "M-5 -2h10v4h-10z");
    /// A narrow diamond.
    pub(crate) const STATE_OVERFLOW: Self = Self::thin("#c2185b", "M0 -5L3 0L0 5L-3 0z");
    /// A high bar.
    pub(crate) const FLOW_FIRST: Self = Self::thin("#8d6e00", "M-2 -5h4v10h-4z");
    /// A small disc, for plans that no runtime follows yet.
    pub(crate) const LATER: Self = Self {
        colour: "#3b4cc0",
        width: 1.5,
        shape: "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z",
    };

    const fn thin(colour: &'static str, shape: &'static str) -> Self {
        Self { colour, width: 2.5, shape }
    }
}

/// The drawing, with the rate of a plan as a dotted line if there is one.
pub(crate) fn draw(title: &str, lines: &[Line], planned: Option<f64>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, title, lines, planned);
    out
}

/// Converts numbers to positions in the drawing.
struct Scale {
    mpps: f64,
    cores: f64,
}

impl Scale {
    fn of(curves: &[Line]) -> Self {
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

fn write(out: &mut String, title: &str, curves: &[Line], planned: Option<f64>) -> std::fmt::Result {
    let scale = Scale::of(curves);
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title>",
        escaped(title)
    )?;
    axes(out, &scale)?;
    if let Some(mpps) = planned {
        asked(out, &scale, mpps)?;
    }
    let names = names(curves, &scale);
    let ways: Vec<Way> = curves.iter().map(|series| Way::of(series, &scale)).collect();
    for at in 0..curves.len() {
        line(out, &ways, at)?;
    }
    for (at, series) in curves.iter().enumerate() {
        points(out, curves, &ways, at)?;
        end(out, &ways[at], series, names[at])?;
    }
    write!(out, "</svg>")
}

/// A series in the drawing.
struct Way {
    points: Vec<(f64, f64)>,
    colour: &'static str,
    width: f64,
}

impl Way {
    fn of(series: &Line, scale: &Scale) -> Self {
        let points = series.points.iter().map(|(mpps, cores)| (scale.x(*mpps), scale.y(*cores)));
        let Look { colour, width, .. } = series.look;
        Self { points: points.collect(), colour, width }
    }

    /// Whether its point with this index coincides with another's.
    fn meets(&self, other: &Self, number: usize) -> bool {
        let (Some(a), Some(b)) = (self.points.get(number), other.points.get(number)) else {
            return false;
        };
        (a.0 - b.0).abs() < NEAR && (a.1 - b.1).abs() < NEAR
    }

    /// Whether the segment up to this point coincides with another's.
    fn runs_along(&self, other: &Self, number: usize) -> bool {
        self.meets(other, number - 1) && self.meets(other, number)
    }
}

/// The turn of `at` among the coinciding ways, and their number.
fn turn(ways: &[Way], at: usize, meets: impl Fn(&Way, &Way) -> bool) -> (usize, usize) {
    let together: Vec<usize> =
        (0..ways.len()).filter(|other| *other == at || meets(&ways[at], &ways[*other])).collect();
    let turn = together.iter().position(|other| *other == at).unwrap_or(0);
    (turn, together.len())
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

/// At most eight round numbers from 0 up to `most`.
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

/// The rate of the plan.
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

/// Positions of the names beside the ends of their lines: the highest first, a line of text apart.
fn names(curves: &[Line], scale: &Scale) -> Vec<f64> {
    let wish = |series: &Line| series.points.last().map_or(HEIGHT, |point| scale.y(point.1));
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

/// The line of a series: a path for each stretch that it shares with the same other lines.
fn line(out: &mut String, ways: &[Way], at: usize) -> std::fmt::Result {
    let way = &ways[at];
    let turns = |number: usize| turn(ways, at, |one, other| one.runs_along(other, number));
    let mut from = 1;
    while from < way.points.len() {
        let (turn, of) = turns(from);
        let alike = (from..way.points.len()).take_while(|number| turns(*number) == (turn, of));
        let to = from + alike.count();
        let mut path = String::new();
        for (number, (x, y)) in way.points[from - 1..to].iter().enumerate() {
            let letter = if number == 0 { 'M' } else { 'L' };
            write!(path, "{letter}{x:.1} {y:.1}")?;
        }
        let (colour, width) = (way.colour, way.width);
        write!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\""
        )?;
        if of > 1 {
            let (gap, before) = (TURN * (of - 1) as f64, TURN * (of - turn) as f64);
            write!(out, " stroke-dasharray=\"{TURN} {gap}\" stroke-dashoffset=\"{before}\"")?;
        }
        write!(out, "/>")?;
        from = to;
    }
    Ok(())
}

/// The points of a series. Coinciding points take turns between series, and carry all names.
fn points(out: &mut String, curves: &[Line], ways: &[Way], at: usize) -> std::fmt::Result {
    let (series, way) = (&curves[at], &ways[at]);
    for (number, ((mpps, cores), (x, y))) in series.points.iter().zip(&way.points).enumerate() {
        let (turn, of) = turn(ways, at, |one, other| one.meets(other, number));
        if number % of != turn {
            continue;
        }
        let others = ways.iter().zip(curves).enumerate();
        let others = others.filter(|(other, (its, _))| *other == at || way.meets(its, number));
        let names: Vec<&str> = others.map(|(_, (_, series))| series.name).collect();
        write!(
            out,
            "<path d=\"{}\" transform=\"translate({x:.1} {y:.1})\" fill=\"{}\"><title>{}: {} Mpps with {} host \
             cores</title></path>",
            series.look.shape,
            way.colour,
            names.join(", "),
            figure(*mpps),
            figure(*cores)
        )?;
    }
    Ok(())
}

/// The name of a series beside a sample of its line, and a connection to the line's end.
fn end(out: &mut String, way: &Way, series: &Line, y: f64) -> std::fmt::Result {
    let Some((end_x, end_y)) = way.points.last() else { return Ok(()) };
    let (x, colour, width) = (WIDTH - RIGHT + 30.0, way.colour, way.width);
    let (middle, name) = (x + 12.0, x + 32.0);
    write!(
        out,
        "<path d=\"M{end_x:.1} {end_y:.1}L{:.1} {y:.1}\" stroke=\"{colour}\" stroke-width=\"0.7\" \
         stroke-dasharray=\"1 4\"/><path d=\"M{x:.1} {y:.1}h24\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
         <path d=\"{}\" transform=\"translate({middle:.1} {y:.1})\" fill=\"{colour}\"/>",
        x - 4.0,
        series.look.shape
    )?;
    text(out, name, y + 4.0, "start", colour, series.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &'static str, look: Look, points: &[(f64, f64)]) -> Line {
        Line { name, look, points: points.to_vec() }
    }

    #[test]
    fn lines_that_coincide_take_turns_and_part_again() {
        let shared = [(1.0, 1.0), (2.0, 2.0)];
        let curves = [
            series("Cora", Look::CORA, &[shared[0], shared[1], (3.0, 2.5)]),
            series("state-only", Look::STATE_ONLY, &[shared[0], shared[1], (3.0, 4.0)]),
            series("flow-only", Look::FLOW_ONLY, &shared),
        ];
        let scale = Scale::of(&curves);
        let ways: Vec<Way> = curves.iter().map(|series| Way::of(series, &scale)).collect();
        let turns = |number: usize| {
            let turn = |at| turn(&ways, at, |one, other| one.runs_along(other, number));
            [turn(0), turn(1)]
        };
        assert_eq!(turns(1), [(0, 3), (1, 3)], "all three go up together");
        assert_eq!(turns(2), [(0, 1), (0, 1)], "two go on apart");
        let mut drawn = String::new();
        line(&mut drawn, &ways, 1).expect("strings take all");
        assert_eq!(drawn.matches("<path").count(), 2, "{drawn}");
        assert!(drawn.contains("stroke-dasharray=\"9 18\" stroke-dashoffset=\"18\""), "{drawn}");
        let mut drawn = String::new();
        points(&mut drawn, &curves, &ways, 1).expect("strings take all");
        assert!(drawn.contains("<title>Cora, state-only, flow-only: 2.00 Mpps"), "{drawn}");
    }
}
