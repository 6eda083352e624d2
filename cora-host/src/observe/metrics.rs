//! A live run as text for Prometheus: in its own format (text 0.0.4), or as OpenMetrics 1.0.

use std::fmt::{Display, Write as _};

use serde_json::{Map, Number, Value};

use crate::ingress::latency::Latency;
use crate::observe::live::{ShardNow, Snapshot, Status, TableNow};
use crate::observe::messages::OfHandler;
use crate::observe::report::{Side, Sides};

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The one for a client that does not ask for another.
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// Its media type.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The text of a run.
pub(crate) fn text(of: &Snapshot, format: Format) -> String {
    let mut text = Text { whole: String::new(), format, sampled: String::new() };
    status(&mut text, &of.status);
    outcomes(&mut text, of);
    latency(&mut text, of.latency.as_ref());
    ports(&mut text, of);
    tables(&mut text, of.tables.iter().map(|(name, table)| (*name, table)));
    values(&mut text, &of.values);
    sides(&mut text, &of.shards);
    shards(&mut text, &of.shards);
    if format == Format::OpenMetrics {
        text.whole.push_str("# EOF\n");
    }
    text.whole
}

fn status(text: &mut Text, of: &Status) {
    let Status { program, plan_name, plan, .. } = of;
    text.family("cora_build", Kind::Info, "The program and its plan.");
    text.sample(&[("program", program), ("plan", plan), ("plan_name", plan_name)], 1);
    text.family("cora_works", Kind::Gauge, "Whether all halves are at work.");
    text.sample(&[], u64::from(of.works));
    text.family("cora_uptime_seconds", Kind::Gauge, "Time since the run began or was upgraded.");
    let (seconds, ms) = (of.uptime_ms / 1000, of.uptime_ms % 1000);
    text.sample(&[], format_args!("{seconds}.{ms:03}"));
    let versions = "The version of read-mostly states in force.";
    text.family("cora_configuration_version", Kind::Gauge, versions);
    text.sample(&[], of.version);
    text.family("cora_upgrades", Kind::Counter, "Builds that took the program's place.");
    text.sample(&[], of.upgrades);
    text.family("cora_restarts", Kind::Counter, "Restarts of a half.");
    for (half, times) in &of.restarts {
        text.sample(&[("half", half)], *times);
    }
}

fn outcomes(text: &mut Text, of: &Snapshot) {
    let now = &of.outcomes;
    text.family("cora_packets", Kind::Counter, "Packets at the wire.");
    text.sample(&[("direction", "in")], now.packets_in);
    text.sample(&[("direction", "out")], now.packets_out);
    text.family("cora_outcomes", Kind::Counter, "Packets and messages by outcome.");
    for (outcome, count) in &now.outcomes {
        text.sample(&[("outcome", outcome)], *count);
    }
    let unsettled = "Packets and messages that have no outcome yet, or were lost with a half.";
    text.family("cora_unsettled", Kind::Gauge, unsettled);
    text.sample(&[], now.unsettled);
    let Some(messages) = &now.messages else { return };
    text.family(
        "cora_messages_sent",
        Kind::Counter,
        "Messages that handlers sent, hooks and timers.",
    );
    text.sample(&[], messages.sent);
    text.family("cora_handler_messages", Kind::Counter, "What a handler of messages took and did.");
    for (handler, of) in &messages.by_handler {
        let OfHandler { came, done, passed, dropped, sent, answers, .. } = of;
        let counts = [
            ("in", came),
            ("done", done),
            ("passed", passed),
            ("dropped", dropped),
            ("sent", sent),
            ("answers", answers),
        ];
        for (what, count) in counts {
            text.sample(&[("handler", handler), ("what", what)], *count);
        }
    }
}

fn latency(text: &mut Text, of: Option<&Latency>) {
    let Some(latency) = of else { return };
    let help = "Time of a packet from wire to wire: of one in 16 packets.";
    text.family("cora_latency_seconds", Kind::Histogram, help);
    for (bound, frames) in latency.up_to() {
        text.bucket(&seconds(bound), frames);
    }
    text.bucket("+Inf", latency.frames());
    text.of_histogram("_sum", seconds(latency.sum_ns()));
    text.of_histogram("_count", latency.frames());
}

fn ports(text: &mut Text, of: &Snapshot) {
    let ports = &of.outcomes.ports.ports;
    text.family("cora_port_frames", Kind::Counter, "Frames that a port received and sent.");
    for (port, of) in ports {
        text.sample(&[("port", port), ("direction", "received")], of.received);
        text.sample(&[("port", port), ("direction", "transmitted")], of.transmitted);
    }
    text.family("cora_port_dropped", Kind::Counter, "Frames dropped at a port.");
    for (port, of) in ports {
        for (reason, count) in &of.dropped {
            text.sample(&[("port", port), ("reason", reason)], *count);
        }
    }
    let not_taken = "Output frames that the ports dropped, or that no port was there for.";
    text.family("cora_output_dropped", Kind::Counter, not_taken);
    for (reason, count) in &of.outcomes.ports.dropped {
        text.sample(&[("reason", reason)], *count);
    }
}

fn tables<'a>(text: &mut Text, all: impl Iterator<Item = (&'a str, &'a TableNow)> + Clone) {
    text.family("cora_table_entries", Kind::Gauge, "Entries of a table.");
    for (table, of) in all.clone() {
        text.sample(&[("table", table), ("side", "nic")], of.entries_at_nic);
        text.sample(&[("table", table), ("side", "host")], of.entries_at_host);
    }
    text.family(
        "cora_table_capacity",
        Kind::Gauge,
        "Entries that all sides and shards have room for.",
    );
    for (table, of) in all.clone() {
        text.sample(&[("table", table)], of.capacity);
    }
    text.family("cora_table_evicted", Kind::Counter, "Entries that made room for others.");
    for (table, of) in all.clone() {
        text.sample(&[("table", table)], of.evicted);
    }
    text.family("cora_table_expired", Kind::Counter, "Entries that expired.");
    for (table, of) in all {
        text.sample(&[("table", table)], of.expired);
    }
}

/// Most elements of a list that are told.
const MOST_ELEMENTS: usize = 16;

/// The numbers in the values of states, each with its path: fields, and numbers of elements.
fn values(text: &mut Text, all: &Map<String, Value>) {
    if all.is_empty() {
        return;
    }
    text.family("cora_value", Kind::Gauge, "A number in the value of a state without keys.");
    for (state, value) in all {
        numbers(value, &mut Vec::new(), &mut |path, number| {
            text.sample(&[("state", state), ("field", path)], number);
        });
    }
}

fn numbers(of: &Value, path: &mut Vec<String>, each: &mut dyn FnMut(&str, &Number)) {
    let mut inside = |name: String, value: &Value| {
        path.push(name);
        numbers(value, path, each);
        path.pop();
    };
    match of {
        Value::Number(number) => each(&path.join("."), number),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| inside(name.clone(), value));
        }
        Value::Array(elements) if elements.len() <= MOST_ELEMENTS => {
            elements.iter().enumerate().for_each(|(at, value)| inside(at.to_string(), value));
        }
        _ => {}
    }
}

/// The family of a count of a side, and whether its values are nanoseconds: Prometheus has seconds.
fn side_name(count: &str) -> (String, bool) {
    match count.strip_suffix("_ns") {
        Some(time) => (format!("cora_side_{time}_seconds"), true),
        None => (format!("cora_side_{count}"), false),
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Writes a family for each count of a side, named and explained as it is.
macro_rules! side_families {
    ($($(#[doc = $doc:literal])* $field:ident,)*) => {
        fn sides(text: &mut Text, shards: &[ShardNow]) {
            $({
                // The one that falls as well.
                let is_gauge = stringify!($field) == "flows";
                let kind = if is_gauge { Kind::Gauge } else { Kind::Counter };
                let (name, is_time) = side_name(stringify!($field));
                text.family(&name, kind, concat!($($doc),*).trim());
                for (number, shard) in shards.iter().enumerate() {
                    let Sides { nic, host } = shard.sides;
                    let number = number.to_string();
                    for (side, Side { $field, .. }) in [("nic", nic), ("host", host)] {
                        let value = if is_time { seconds($field) } else { $field.to_string() };
                        text.sample(&[("side", side), ("shard", &number)], value);
                    }
                }
            })*
        }
    };
}

cora_runtime::side_counts!(side_families);

fn shards(text: &mut Text, all: &[ShardNow]) {
    text.family("cora_ring_bytes", Kind::Gauge, "Bytes that wait on a ring.");
    for (number, shard) in all.iter().enumerate() {
        for (ring, bytes) in &shard.rings {
            text.sample(&[("ring", ring), ("shard", &number.to_string())], *bytes);
        }
    }
    text.family("cora_bursts", Kind::Counter, "Bursts by number of packets, up to this one.");
    for (number, shard) in all.iter().enumerate() {
        for (side, bursts) in [("nic", &shard.bursts_at_nic), ("host", &shard.bursts_at_host)] {
            for (class, count) in bursts.iter().enumerate() {
                let most = ((2_u64 << class) - 1).to_string();
                let labels =
                    [("side", side), ("shard", &number.to_string()), ("packets", most.as_str())];
                text.sample(&labels, *count);
            }
        }
    }
}

/// The kind of a family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

struct Text {
    whole: String,
    format: Format,
    /// The name of samples of the family that was begun last.
    sampled: String,
}

impl Text {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let suffix = match kind {
            Kind::Counter => "_total",
            Kind::Gauge | Kind::Histogram => "",
            Kind::Info => "_info",
        };
        // OpenMetrics names the family, and the other format the samples.
        let (family, kind) = match (self.format, kind) {
            (Format::OpenMetrics, Kind::Info) => (name.to_owned(), "info"),
            (Format::OpenMetrics, Kind::Counter) => (name.to_owned(), "counter"),
            (Format::Prometheus, Kind::Counter) => (format!("{name}{suffix}"), "counter"),
            (Format::Prometheus, Kind::Info) => (format!("{name}{suffix}"), "gauge"),
            (_, Kind::Gauge) => (name.to_owned(), "gauge"),
            (_, Kind::Histogram) => (name.to_owned(), "histogram"),
        };
        let help = escaped(help);
        self.write(format_args!("# HELP {family} {help}\n# TYPE {family} {kind}\n"));
        self.sampled = format!("{name}{suffix}");
    }

    fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        let name = self.sampled.clone();
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.write(format_args!("{name}{labels} {value}\n"));
    }

    /// A class of the histogram that was begun last, with all frames up to this bound.
    fn bucket(&mut self, bound: &str, frames: u64) {
        let name = self.sampled.clone();
        self.write(format_args!("{name}_bucket{{le=\"{bound}\"}} {frames}\n"));
    }

    /// The sum or the number of the histogram that was begun last.
    fn of_histogram(&mut self, suffix: &str, value: impl Display) {
        let name = self.sampled.clone();
        self.write(format_args!("{name}{suffix} {value}\n"));
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) {
        // Text in memory takes anything.
        let _written = self.whole.write_fmt(words);
    }
}

/// As a label's value or a help text.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::live::tests::full;

    #[test]
    fn both_formats_have_every_sample() {
        let snapshot = full();
        let samples = |format| {
            let text = text(&snapshot, format);
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (plain, open) = (samples(Format::Prometheus), samples(Format::OpenMetrics));
        assert_eq!(plain, open);
        for line in [
            "cora_build_info{program=\"nf\",plan=\"0f\",plan_name=\"split\"} 1",
            "cora_packets_total{direction=\"in\"} 9",
            "cora_outcomes_total{outcome=\"not\\\"ip\\\\\"} 2",
            "cora_unsettled 1",
            "cora_table_entries{table=\"Session\",side=\"nic\"} 3",
            "cora_side_punts_total{side=\"nic\",shard=\"0\"} 4",
            "cora_side_flows{side=\"host\",shard=\"0\"} 0",
            "cora_side_busy_seconds_total{side=\"nic\",shard=\"0\"} 2.000000007",
            "cora_value{state=\"Seen\",field=\"bytes\"} 7",
            "cora_value{state=\"Seen\",field=\"of.0.port\"} 9",
            "cora_value{state=\"Total\",field=\"\"} 5",
            "cora_latency_seconds_bucket{le=\"0.000001024\"} 1",
            "cora_latency_seconds_bucket{le=\"+Inf\"} 3",
            "cora_latency_seconds_sum 3.000002400",
            "cora_latency_seconds_count 3",
            "cora_bursts_total{side=\"nic\",shard=\"0\",packets=\"3\"} 5",
        ] {
            assert!(plain.iter().any(|it| it == line), "{line} is not in {plain:#?}");
        }
        assert!(text(&snapshot, Format::OpenMetrics).ends_with("# EOF\n"));
    }

    #[test]
    fn each_sample_is_of_a_family_that_was_told_once() {
        for format in [Format::Prometheus, Format::OpenMetrics] {
            let text = text(&full(), format);
            let mut known = std::collections::BTreeSet::new();
            let mut family = "";
            for line in text.lines().filter(|line| *line != "# EOF") {
                if let Some(rest) = line.strip_prefix("# TYPE ") {
                    family = rest.split(' ').next().expect("a name");
                    assert!(known.insert(family), "{family} twice");
                } else if !line.starts_with('#') {
                    assert!(line.starts_with(family), "{line} behind {family}");
                }
            }
        }
    }
}
