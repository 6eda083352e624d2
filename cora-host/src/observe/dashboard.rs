//! `docs/dashboard.json`, the dashboard for Grafana, and the metrics: neither has what the other
//! does not know.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use crate::observe::live::tests::full;
use crate::observe::metrics::{Format, text};

/// Families that no panel shows, each with its reason. There is none today.
const WITHOUT_PANEL: [(&str, &str); 0] = [];

/// The names of all samples that a run can have, with their labels.
fn exported() -> BTreeMap<String, BTreeSet<String>> {
    let text = text(&full(), Format::Prometheus);
    let mut all = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (sample, _value) = line.rsplit_once(' ').expect("a sample has a value");
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let of: &mut BTreeSet<String> = all.entry(name.to_owned()).or_default();
        // Values in the sample have neither a comma nor an equals sign.
        let labels = labels.trim_end_matches('}').split(',').filter_map(|it| it.split_once('='));
        of.extend(labels.map(|(label, _)| label.to_owned()));
    }
    all
}

/// A query of a panel, and the legend of its lines.
#[derive(Debug)]
struct Query {
    panel: String,
    expr: String,
    legend: String,
}

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dashboard.json");
    let read = std::fs::read_to_string(&path).expect("the dashboard");
    serde_json::from_str(&read).expect("it is JSON")
}

fn list(of: &Value) -> &[Value] {
    of.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(of: &Value) -> String {
    of.as_str().unwrap_or_else(|| panic!("{of} is no text")).to_owned()
}

fn queries(dashboard: &Value) -> Vec<Query> {
    let of_panel = |panel: &Value| -> Vec<Query> {
        let query = |target: &Value| Query {
            panel: word(&panel["title"]),
            expr: word(&target["expr"]),
            legend: word(&target["legendFormat"]),
        };
        list(&panel["targets"]).iter().map(query).collect()
    };
    list(&dashboard["panels"]).iter().flat_map(of_panel).collect()
}

/// Each metric in an expression, with the labels that it is selected by.
fn metrics(expr: &str) -> Vec<(String, Vec<String>)> {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let begin = |(at, _): (usize, &str)| {
        let rest = &expr[at..];
        let (name, rest) = rest.split_at(rest.find(|it| !is_name(it)).unwrap_or(rest.len()));
        let selector = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let selector = selector.map_or("", |(selector, _)| selector);
        let label = |it: &str| it.split(['=', '!']).next().unwrap_or(it).trim().to_owned();
        (name.to_owned(), selector.split(',').filter(|it| !it.is_empty()).map(label).collect())
    };
    expr.match_indices("cora_").map(begin).collect()
}

/// The words between all pairs of these marks, divided at commas.
fn within<'a>(text: &'a str, open: &str, close: char) -> Option<BTreeSet<&'a str>> {
    let parts = text.split(open).skip(1).filter_map(|part| part.split(close).next());
    let words: BTreeSet<&str> = parts.flat_map(|part| part.split(',')).map(str::trim).collect();
    (!words.is_empty()).then_some(words)
}

#[test]
fn each_query_is_of_metrics_and_labels_that_are_exported() {
    let (exported, dashboard) = (exported(), dashboard());
    let queries = queries(&dashboard);
    assert!(queries.len() > 30, "{}", queries.len());
    for Query { panel, expr, legend } in &queries {
        let metrics = metrics(expr);
        assert!(!metrics.is_empty(), "{panel}: `{expr}` has no metric of Cora's");
        let shown = within(expr, "by (", ')').unwrap_or_default();
        for (name, selected) in metrics {
            let labels = exported.get(&name).unwrap_or_else(|| panic!("{panel}: no `{name}`"));
            let is_there = |label: &str| label == "instance" || labels.contains(label);
            assert!(selected.iter().any(|it| it == "instance"), "{panel}: `{name}` of every run");
            for label in selected.iter().map(String::as_str).chain(shown.iter().copied()) {
                assert!(is_there(label), "{panel}: `{name}` has no label `{label}`");
            }
            for label in within(legend, "{{", '}').unwrap_or_default() {
                let has = if shown.is_empty() { is_there(label) } else { shown.contains(label) };
                assert!(has, "{panel}: the lines of `{expr}` have no label `{label}`");
            }
            // A counter says nothing by itself, but how often something happened in all.
            let counters = ["_total", "_bucket", "_sum", "_count"];
            let is_counter = counters.iter().any(|suffix| name.ends_with(suffix));
            let may_be_whole = ["Upgrades", "Restarts"].contains(&panel.as_str());
            let is_rate = expr.contains(&format!("rate({name}"));
            assert!(is_rate == is_counter || may_be_whole, "{panel}: `{expr}`");
        }
    }
}

#[test]
fn each_metric_is_in_a_panel_or_an_exception() {
    let dashboard = dashboard();
    let queries = queries(&dashboard);
    let shown = queries.iter().flat_map(|query| metrics(&query.expr)).map(|(name, _)| name);
    let shown: BTreeSet<String> = shown.collect();
    let excepted: BTreeSet<&str> = WITHOUT_PANEL.iter().map(|(name, _)| *name).collect();
    let exported = exported();
    for name in exported.keys() {
        let (is_shown, is_excepted) = (shown.contains(name), excepted.contains(name.as_str()));
        assert!(is_shown != is_excepted, "{name}: shown {is_shown}, excepted {is_excepted}");
    }
    assert!(excepted.iter().all(|name| exported.contains_key(*name)), "{excepted:?}");
    // A family without a sample would be missed above.
    let text = text(&full(), Format::Prometheus);
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for family in families {
        let of_family = |name: &String| {
            let suffix = name.strip_prefix(family);
            suffix.is_some_and(|suffix| ["", "_bucket"].contains(&suffix))
        };
        assert!(exported.keys().any(of_family), "the made snapshot has no sample of {family}");
    }
}

/// Columns and lines of the page that a panel takes.
#[derive(Debug)]
struct Place {
    across: Range<u64>,
    down: Range<u64>,
}

impl Place {
    fn of(panel: &Value) -> Self {
        let number = |key: &str| panel["gridPos"][key].as_u64().expect("a place");
        let range = |from, length| number(from)..number(from) + number(length);
        Self { across: range("x", "w"), down: range("y", "h") }
    }

    fn meets(&self, other: &Self) -> bool {
        let meet = |one: &Range<u64>, two: &Range<u64>| one.start < two.end && two.start < one.end;
        meet(&self.across, &other.across) && meet(&self.down, &other.down)
    }
}

#[test]
fn it_can_be_imported() {
    let dashboard = dashboard();
    let input = &dashboard["__inputs"][0];
    assert_eq!(
        (&input["name"], &input["pluginId"]),
        (&"DS_PROMETHEUS".into(), &"prometheus".into())
    );
    let variable = &dashboard["templating"]["list"][0];
    assert_eq!(variable["name"], "instance");
    assert_eq!(metrics(&word(&variable["definition"]))[0].0, "cora_works");
    let panels = list(&dashboard["panels"]);
    let mut places: Vec<Place> = Vec::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64()), "{}: its id is another's", panel["title"]);
        let place = Place::of(panel);
        assert!(place.across.end <= 24, "{} is beyond the edge", panel["title"]);
        assert!(!places.iter().any(|it| place.meets(it)), "{} is over another", panel["title"]);
        places.push(place);
        let asked = list(&panel["targets"]).iter().chain((panel["type"] != "row").then_some(panel));
        for from in asked {
            assert_eq!(from["datasource"]["uid"], "${DS_PROMETHEUS}", "{}", panel["title"]);
        }
    }
    let rows: Vec<&str> = panels
        .iter()
        .filter(|panel| panel["type"] == "row")
        .filter_map(|row| row["title"].as_str())
        .collect();
    let wanted = [
        "Overview",
        "Sides and shards",
        "Tables",
        "Flows and moves",
        "Messages",
        "Ports",
        "Values",
    ];
    assert_eq!(rows, wanted);
}
