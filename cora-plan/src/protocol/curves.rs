//! Host cores against the rate, for one program: a drawing for each traffic, one below the other.

use std::fmt::Write as _;

use super::{Sheet, Way};
use crate::optimise::Fair;
use crate::picture::escaped;
use crate::report::plot::{self, HEIGHT, Line, Look, WIDTH};

/// Height of a drawing's headline.
const HEADLINE: f64 = 28.0;

/// The drawing of a program's sheets, as a file of its own.
pub fn draw(sheets: &[&Sheet]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, sheets);
    out
}

fn write(out: &mut String, sheets: &[&Sheet]) -> std::fmt::Result {
    let each = HEIGHT + HEADLINE;
    let height = each * sheets.len() as f64;
    let program = sheets.first().map_or("", |sheet| sheet.program.as_str());
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} \
         {height}\" font-family=\"sans-serif\" role=\"img\"><title>Predicted host cores of {}</title><rect \
         width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
        escaped(program)
    )?;
    for (number, sheet) in sheets.iter().enumerate() {
        let top = each * number as f64;
        writeln!(
            out,
            "<g transform=\"translate(0 {top})\"><text x=\"14\" y=\"20\" font-size=\"14\" style=\"fill:#18181b\">{} \
             under {}, predicted</text><g transform=\"translate(0 {HEADLINE})\">{}</g></g>",
            escaped(&sheet.program),
            escaped(&sheet.traffic),
            plot::draw(&format!("{} under {}", sheet.program, sheet.traffic), &lines(sheet), None)
        )?;
    }
    writeln!(out, "</svg>")
}

fn lines(sheet: &Sheet) -> Vec<Line> {
    let line = |way: Way| {
        let points = sheet.rows.iter().filter_map(|row| Some((row.mpps, row.of(way)?)));
        Line { name: way.word(), look: look(way), points: points.collect() }
    };
    Way::all().map(line).filter(|line| !line.points.is_empty()).collect()
}

const fn look(way: Way) -> Look {
    match way {
        Way::Cora => Look::CORA,
        Way::Later => Look::LATER,
        Way::Baseline(Fair::HostOnly) => Look::HOST_ONLY,
        Way::Baseline(Fair::NicOnly) => Look::NIC_ONLY,
        Way::Baseline(Fair::StateOnly) => Look::STATE_ONLY,
        Way::Baseline(Fair::StateOverflow) => Look::STATE_OVERFLOW,
        Way::Baseline(Fair::FlowOnly) => Look::FLOW_ONLY,
        Way::Baseline(Fair::FlowFirst) => Look::FLOW_FIRST,
    }
}
