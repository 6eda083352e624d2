//! Answers of a live run as lines for people.

use std::fmt::Write as _;

use cora_plan::number::grouped;
use serde_json::Value;

/// The program, and whether it works.
pub(super) fn status(of: &Value) -> String {
    let mut text = String::new();
    let works = if of["works"] == true { "works" } else { "does not work yet, or no more" };
    line(
        &mut text,
        "program",
        format!("{}, plan {} ({})", word(of, "program"), word(of, "plan_name"), word(of, "plan")),
    );
    line(&mut text, "state", works);
    line(&mut text, "up for", lasted(number(of, "uptime_ms")));
    line(&mut text, "file", format!("{}, process {}", word(of, "file"), word(of, "pid")));
    line(&mut text, "configuration", format!("version {}", word(of, "version")));
    line(&mut text, "upgrades", word(of, "upgrades"));
    for (half, times) in each(&of["restarts"]) {
        line(&mut text, &format!("restarts of {half}"), grouped(times.as_u64().unwrap_or(0)));
    }
    line(&mut text, "packets in", grouped(number(of, "packets_in")));
    line(&mut text, "packets out", grouped(number(of, "packets_out")));
    let latency = &of["latency"];
    if number(latency, "frames") > 0 {
        let [half, most] = ["p50_ns", "p99_ns"].map(|what| in_us(number(latency, what)));
        line(&mut text, "wire to wire", format!("half within {half}, 99 % within {most}"));
    }
    text
}

/// A time of this many nanoseconds, in microseconds.
fn in_us(ns: u64) -> String {
    format!("{} \u{b5}s", grouped(ns.div_ceil(1000)))
}

/// Packets by outcome, most first, and ports.
pub(super) fn outcomes(of: &Value) -> String {
    let mut text = String::new();
    line(&mut text, "packets in", grouped(number(of, "packets_in")));
    line(&mut text, "packets out", grouped(number(of, "packets_out")));
    for (outcome, count) in by_count(&of["outcomes"]) {
        line(&mut text, &format!("  {outcome}"), grouped(count));
    }
    line(&mut text, "without an outcome yet", grouped(number(of, "unsettled")));
    for (reason, count) in by_count(&of["dropped"]) {
        line(&mut text, &format!("output dropped: {reason}"), grouped(count));
    }
    for (port, of) in each(&of["ports"]) {
        let frames = ["received", "transmitted"].map(|what| grouped(number(of, what)));
        let [received, transmitted] = frames;
        line(&mut text, port, format!("{received} received, {transmitted} sent"));
        for (reason, count) in by_count(&of["dropped"]) {
            line(&mut text, &format!("  dropped: {reason}"), grouped(count));
        }
    }
    text
}

/// A line for each state without keys.
pub(super) fn values(of: &Value) -> String {
    let mut text = String::new();
    for (state, value) in each(&of["values"]) {
        line(&mut text, state, value);
    }
    for state in of["left_out"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        line(&mut text, state, "too large to be asked for: `--state-out` has it at the end");
    }
    text
}

/// A row for each table.
pub(super) fn tables(of: &Value) -> String {
    let mut text = row("table", ["entries", "capacity", "at NIC", "at host", "evicted", "expired"]);
    let columns =
        ["entries", "capacity", "entries_at_nic", "entries_at_host", "evicted", "expired"];
    for (table, of) in each(&of["tables"]) {
        let cells = columns.map(|column| grouped(number(of, column)));
        text += &row(table, cells.each_ref().map(String::as_str));
    }
    text
}

/// The level of each part, and lines that nobody can read.
pub(super) fn log(of: &Value) -> String {
    let mut text = String::new();
    for (part, _) in each(&of["levels"]) {
        line(&mut text, part, word(&of["levels"], part));
    }
    line(&mut text, "lost lines", grouped(number(of, "lost")));
    text
}

fn row(name: &str, cells: [&str; 6]) -> String {
    let mut row = format!("{name:<28}");
    for cell in cells {
        // Text in memory takes anything.
        let _written = write!(row, "{cell:>14}");
    }
    row + "\n"
}

fn line(text: &mut String, name: &str, what: impl std::fmt::Display) {
    let _written = writeln!(text, "{name:<28} {what}");
}

/// The members of an object, in the order of their names.
pub(super) fn each(of: &Value) -> impl Iterator<Item = (&str, &Value)> {
    of.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// Counts by name, the largest first.
pub(super) fn by_count(of: &Value) -> Vec<(&str, u64)> {
    let mut all: Vec<_> =
        each(of).map(|(name, count)| (name, count.as_u64().unwrap_or(0))).collect();
    all.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    all
}

pub(super) fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

pub(super) fn word(of: &Value, name: &str) -> String {
    match &of[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A time in the largest units that it has.
pub(super) fn lasted(ms: u64) -> String {
    let seconds = ms / 1000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{}.{} s", seconds, ms % 1000 / 100),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcomes_stand_by_their_number_and_nothing_is_left_out() {
        let told = outcomes(&json!({
            "packets_in": 1_234_567, "packets_out": 3, "unsettled": 4,
            "outcomes": { "not-ip": 7, "transmit": 90 },
            "ports": { "inside": { "received": 5, "transmitted": 6, "dropped": { "no-room": 8 } } },
            "dropped": { "link-down": 2 },
        }));
        let lines: Vec<Vec<&str>> =
            told.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["packets", "in", "1,234,567"]);
        assert_eq!(lines[2], ["transmit", "90"]);
        assert_eq!(lines[3], ["not-ip", "7"]);
        assert_eq!(lines[4].last(), Some(&"4"));
        assert_eq!(lines[6], ["inside", "5", "received,", "6", "sent"]);
        assert_eq!(lines[7], ["dropped:", "no-room", "8"]);
    }

    #[test]
    fn each_part_of_the_log_is_named_with_its_level() {
        let told = log(&json!({ "levels": { "ports": "debug", "run": "info" }, "lost": 1200 }));
        let words: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(words, ["ports", "debug", "run", "info", "lost", "lines", "1,200"]);
    }

    #[test]
    fn times_are_said_in_units_of_their_size() {
        let told = [900, 61_000, 7_260_000, 90_000_000].map(lasted);
        assert_eq!(told, ["0.9 s", "1 min 1 s", "2 h 1 min", "1 d 1 h"]);
    }
}
