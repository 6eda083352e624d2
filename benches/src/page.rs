//! The figures as one standalone page: a bar per figure, the goal as a line.

use std::fmt::Write as _;

use crate::figure::{Figure, machine};

const STYLE: &str = "body{font:15px/1.4 system-ui,sans-serif;margin:2em;max-width:70em}\
    table{border-collapse:collapse}td,th{padding:.2em .7em;text-align:right;white-space:nowrap}\
    td:first-child,th:first-child{text-align:left}svg{vertical-align:middle}\
    @media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}";

/// Pixels of a ratio of 1.
const SCALE: f64 = 90.0;
const WIDTH: f64 = 280.0;

/// Draws the page.
pub(crate) fn draw(figures: &[Figure]) -> String {
    let mut page = format!(
        "<!doctype html><meta charset=utf-8><title>Cora: figures</title><style>{STYLE}</style>\n\
         <h1>Cora against named peers</h1>\n<p>{}. The bar is the ratio, the thin line the goal; \
         contestants took turns in one run.</p>\n<table><tr><th>figure<th>Cora<th>baseline<th>\
         <th>ratio<th>goal<th>spread<th></tr>\n",
        machine()
    );
    for figure in figures {
        // Writing to a string does not fail.
        let _ = row(&mut page, figure);
    }
    page.push_str("</table>\n");
    page
}

fn row(page: &mut String, figure: &Figure) -> std::fmt::Result {
    let Figure { name, cora, baseline, baseline_name, ratio, goal, unit, spread, .. } = figure;
    let bar = (ratio * SCALE).clamp(1.0, WIDTH);
    let line = (goal * SCALE).clamp(1.0, WIDTH);
    let colour = if ratio >= goal { "#2a7" } else { "#c63" };
    writeln!(
        page,
        "<tr><td>{name}<td>{cora:.1} {unit}<td>{baseline:.1}<td>{baseline_name}<td>{ratio:.2}\
         <td>{goal:.2}<td>± {:.0} %<td><svg width={WIDTH} height=16><rect width={bar:.0} height=12 \
         y=2 fill='{colour}'/><rect x={line:.0} width=2 height=16 fill='#888'/></svg></tr>",
        spread * 100.0
    )
}
