//! The comparison as one standalone page: no script, no font, no other file.

use std::fmt::Write as _;

use super::outcome::{Outcome, shown};
use super::plot;
use super::scenario::Scenario;

const STYLE: &str = "body{font-family:Helvetica,Arial,sans-serif;color:#18181b;background:#fff;max-width:62rem;\
    margin:2rem auto;padding:0 1rem;line-height:1.45}svg{max-width:100%;height:auto}\
    table{border-collapse:collapse}th,td{text-align:right;padding:.2rem .9rem .2rem 0;\
    border-bottom:1px solid #e4e4e7;font-variant-numeric:tabular-nums}\
    th:first-child,td:first-child{text-align:left}";

/// Draws the page.
pub(super) fn draw(scenario: &Scenario, outcome: &Outcome, machine: &str) -> String {
    let Scenario { flows, room, slower, seed, .. } = scenario;
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <title>Cora: moving flows while traffic changes</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Moving flows while traffic changes</h1>\n\
         <p>{machine}. {flows} flows, seed {seed}; the NIC has room for {room} of them, and its core takes {slower} \
         times as long as this machine's. Both halves and their protocol are those of a run; they take turns on one \
         core, each in its own time.</p>\n{}\n",
        plot::draw(scenario, outcome)
    );
    for sentence in outcome.verdict() {
        let _infallible = writeln!(page, "<p>{sentence}</p>");
    }
    let mut rows = vec![
        [
            "controller",
            "host ns per packet",
            "× oracle",
            "deciding",
            "at NIC",
            "NIC busy",
            "moves",
            "declined",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for trial in &outcome.trials {
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        rows.push(vec![
            trial.controller.clone(),
            format!("{:.1}", trial.host_ns),
            format!("{:.2}", trial.to_oracle),
            percent(trial.deciding),
            percent(trial.at_nic),
            percent(trial.nic_utilisation),
            format!("{:.0}", trial.moves),
            format!("{:.0}", trial.declined),
        ]);
    }
    table(&mut page, &rows);
    page.push_str("<h2>Phase by phase: host ns per packet (reaction, ms)</h2>\n");
    let names = outcome.trials.iter().map(|trial| trial.controller.clone());
    let mut rows = vec![std::iter::once("phase".to_owned()).chain(names).collect::<Vec<_>>()];
    for number in 0..outcome.begins.len() {
        let cells = outcome.trials.iter().map(|trial| {
            format!("{:.1} ({})", trial.phases_ns[number], shown(trial.reaction_ms[number]))
        });
        rows.push(std::iter::once(scenario.step(number)).chain(cells).collect());
    }
    table(&mut page, &rows);
    page.push_str("</body>\n</html>\n");
    page
}

/// Writes a table; the first row is its head.
fn table(page: &mut String, rows: &[Vec<String>]) {
    page.push_str("<table>\n");
    for (number, row) in rows.iter().enumerate() {
        let tag = if number == 0 { "th" } else { "td" };
        page.push_str("<tr>");
        for cell in row {
            // Writing to a string does not fail.
            let _infallible = write!(page, "<{tag}>{cell}</{tag}>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}
