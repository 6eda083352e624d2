//! A plan as one page of HTML: no network, no script, no font, no other file.
//!
//! Words repeat the meaning of each colour. Numbers are text beside every bar and under every
//! curve, so that the page reads aloud and prints in grey. Except for its first line, the page is
//! also well-formed XML, so a test can walk it.

mod style;
mod tables;

use super::plot::{self, Line, Look};
use super::words::LABEL;
use super::{Outlook, Report, facts};
use crate::optimise::Baseline;
use crate::picture::{escaped, svg};
use crate::what_if::curve::Series;

/// The page.
pub fn write(report: &Report<'_>, outlook: &Outlook) -> String {
    let app = escaped(&report.graph.app);
    let mut page = Page::default();
    page.line("<!DOCTYPE html>");
    page.line("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>");
    // With this policy the browser itself ensures that nothing is fetched and nothing runs.
    page.line(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>",
    );
    page.line("<meta name=\"viewport\" content=\"width=device-width\"/>");
    page.line(&format!("<title>{app}: plan {}</title>", escaped(report.hash)));
    page.line(&format!("<style>{}</style>\n</head>\n<body>", style::STYLE));
    head(&mut page, report);
    graph(&mut page, report);
    page.section("Where states live");
    tables::seats(&mut page, &facts::states(report));
    page.section("Where handlers run");
    tables::seats(&mut page, &facts::handlers(report));
    tables::classes(&mut page, report);
    tables::loads(&mut page, report);
    if report.baselines {
        tables::baselines(&mut page, report);
    }
    curves(&mut page, report, outlook);
    tables::sensitivity(&mut page, report, outlook);
    page.section("How sure this is");
    page.paragraph(&facts::proof(report));
    for origin in facts::origins(report) {
        page.paragraph(&origin);
    }
    page.line("</body>\n</html>");
    page.text
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// A line of raw HTML.
    fn line(&mut self, html: &str) {
        self.text.push_str(html);
        self.text.push('\n');
    }

    fn section(&mut self, title: &str) {
        self.line(&format!("<h2>{}</h2>", escaped(title)));
    }

    fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.line(&format!("<p>{}</p>", escaped(text)));
        }
    }

    /// A table; the first row is its head. Cells are HTML. The letter `r` marks columns of numbers.
    fn table(&mut self, columns: &str, rows: &[Vec<String>]) {
        self.line("<div class=\"wide\">\n<table>");
        for (number, row) in rows.iter().enumerate() {
            let tag = if number == 0 { "th" } else { "td" };
            let cells = row.iter().zip(columns.chars()).map(|(cell, column)| {
                let class = if column == 'r' { " class=\"number\"" } else { "" };
                format!("<{tag}{class}>{cell}</{tag}>")
            });
            self.line(&format!("<tr>{}</tr>", cells.collect::<String>()));
        }
        self.line("</table>\n</div>");
    }
}

fn head(page: &mut Page, report: &Report<'_>) {
    let planned = report.planned;
    page.line(&format!("<h1>{}</h1>", escaped(&report.graph.app)));
    let line = format!(
        "{} plan {} · NIC {} · traffic {} · {}",
        planned.allocation.sides,
        report.hash,
        planned.nic,
        planned.traffic,
        facts::ask(report)
    );
    page.line(&format!("<p class=\"what\">{}</p>", escaped(&line)));
    page.line(&format!("<p class=\"label\">{}</p>", escaped(LABEL)));
    page.line(&format!("<p class=\"headline\">{}</p>", escaped(&facts::headline(report))));
    if report.baselines {
        for fact in facts::comparison(report) {
            page.paragraph(&fact);
        }
    }
    for trouble in facts::troubles(report) {
        page.line(&format!("<p class=\"trouble\">Careful: {}</p>", escaped(&trouble)));
    }
    for title in [&report.nic.title, &report.traffic.title] {
        page.line(&format!("<p class=\"what\">{}</p>", escaped(title)));
    }
}

fn graph(page: &mut Page, report: &Report<'_>) {
    page.section("The program");
    let drawing = svg::draw_allocation(report.graph, &report.planned.allocation, report.hash);
    page.line(&format!("<div class=\"picture\">{}</div>", drawing.trim_end()));
}

fn curves(page: &mut Page, report: &Report<'_>, outlook: &Outlook) {
    if outlook.curves.iter().all(|series| series.points.is_empty()) {
        return;
    }
    page.section("Host cores against throughput");
    let lines: Vec<Line> = outlook.curves.iter().map(line).collect();
    let title = "Host cores against throughput, of Cora and every baseline";
    let plot = plot::draw(title, &lines, Some(report.planned.mpps));
    page.line(&format!("<div class=\"picture\">{plot}</div>"));
    page.paragraph("Where lines coincide, they take turns. The dotted upright is this plan.");
    tables::curves(page, &outlook.curves);
}

/// The line of a way of splitting.
fn line(series: &Series) -> Line {
    let look = match series.baseline {
        None => Look::CORA,
        Some(Baseline::HostOnly) => Look::HOST_ONLY,
        Some(Baseline::HostBehindNic) => Look::BEHIND_NIC,
        Some(Baseline::NicOnly) => Look::NIC_ONLY,
        Some(Baseline::StateOnly) => Look::STATE_ONLY,
        Some(Baseline::FlowOnly) => Look::FLOW_ONLY,
    };
    Line { name: series.name(), look, points: series.points.clone() }
}
