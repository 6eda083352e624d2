//! docs/json.md has each field of the JSON that commands and runs print, and no other.
//!
//! JSON of runs is read from `tests/golden/json`: unit tests of cora-host hold it to the types that
//! a run prints.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

#[path = "json/page.rs"]
mod page;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use page::Page;

/// The JSON that `cargo cora …` prints in the workspace.
fn printed(words: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("cora");
    let output = command.args(words).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{words:?}: {why}: {told}"))
}

fn golden(name: &str) -> Value {
    let path = format!("{}/../tests/golden/json/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

/// The tables of a run's JSON. The first of each pair has all fields, the second no optional one.
fn runs(page: &Page) -> BTreeSet<String> {
    let of = |heading, names: &[&str]| {
        page.check(heading, &names.iter().map(|name| golden(name)).collect::<Vec<_>>(), &[])
    };
    let all = [
        of("cora-run/2", &["run", "run-least"]),
        of("cora-status/1", &["status"]),
        of("cora-outcomes/1", &["outcomes", "outcomes-least"]),
        of("cora-tables/1", &["tables"]),
        of("cora-values/1", &["values"]),
        of("cora-snapshot/1", &["snapshot"]),
        of("cora-flows/1", &["flows"]),
        of("cora-delete/1", &["delete"]),
        of("cora-move/1", &["move"]),
        of("cora-log/1", &["log"]),
        of("cora-agent/1", &["agent"]),
        of("cora-events/1", &["events"]),
        of("cora-tap/1", &["tap"]),
        of("cora-trace/1", &["trace"]),
    ];
    all.into_iter().flatten().collect()
}

/// The output of a command that asks a run for these, in this order, and gets these answers.
fn asked(answers: &[(&str, Value)], words: &[&str]) -> Value {
    let room = tempfile::tempdir().unwrap();
    let socket = room.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let answers: Vec<(String, Value)> =
        answers.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect();
    let server = std::thread::spawn(move || {
        // No further connection is waited for.
        for ((name, answer), connection) in answers.iter().zip(listener.incoming()) {
            let mut connection = connection.unwrap();
            let mut line = String::new();
            BufReader::new(&connection).read_line(&mut line).unwrap();
            let question: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(question["command"], **name);
            connection.write_all(answer.to_string().as_bytes()).unwrap();
        }
    });
    let socket = socket.to_str().unwrap();
    let told = printed(&words.iter().copied().chain([socket]).collect::<Vec<_>>());
    server.join().unwrap();
    told
}

/// That of `top`, which asks twice, each time for events, too.
fn top(page: &Page) -> BTreeSet<String> {
    let answers = ["snapshot", "events"].repeat(2);
    let answers: Vec<_> = answers.into_iter().map(|name| (name, golden(name))).collect();
    page.check("cora-top/1", &[asked(&answers, &["top", "--json", "--every", "100"])], &[])
}

/// That of `check-plan`, of a run that has figures of each verdict.
fn check_plan(page: &Page) -> BTreeSet<String> {
    let firewall = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/firewall");
    let hash = cora_build::script::graph_of(&firewall, None).unwrap().1.hash;
    let snapshot = |seconds: u64| {
        let mut snapshot = golden("snapshot");
        let status = &mut snapshot["status"];
        (status["program"], status["plan"]) = (json!("firewall"), json!(hash));
        status["uptime_ms"] = json!(seconds * 1000);
        snapshot["outcomes"]["packets_in"] = json!(seconds * 1000);
        snapshot["sides"]["nic"]["packets"] = json!(seconds * 500);
        snapshot["sides"]["nic"]["passed_on"] = json!(seconds * 500);
        snapshot
    };
    let words = ["check-plan", "firewall", "--json", "--seconds", "1", "--control"];
    let answers = [10, 20].map(|seconds| ("snapshot", snapshot(seconds)));
    let told = asked(&answers, &words);
    let verdicts = told["figures"].as_array().unwrap().iter();
    let verdicts: BTreeSet<&str> = verdicts.filter_map(|it| it["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["as-predicted", "not-compared", "off"].into(), "{told}");
    page.check("cora-check-plan/1", &[told], &[])
}

fn doctor(page: &Page) -> BTreeSet<String> {
    page.check("cora-doctor/1", &[printed(&["doctor", "--json"])], &[])
}

/// Of captures of which one has a packet more.
fn compare(page: &Page) -> BTreeSet<String> {
    let room = tempfile::tempdir().unwrap();
    let capture = |name: &str, frames: u32| {
        let path = room.path().join(name);
        let head: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0004_0000, 1];
        let frame: [u32; 8] = [1, 0, 16, 16, 0, 0, 0, 0];
        let words = head.into_iter().chain((0..frames).flat_map(|_| frame));
        fs::write(&path, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
        path.display().to_string()
    };
    let told = printed(&["compare", "--json", &capture("a", 1), &capture("b", 2)]);
    assert_eq!(told["differing"], 1, "{told}");
    page.check("compare", &[told], &[])
}

/// Plans with each kind of target, and both of a comparison. No example here has a cliff.
fn plans(page: &Page) -> BTreeSet<String> {
    let by_rate = printed(&["plan", "firewall", "--format", "json", "--mpps", "1"]);
    let by_cores =
        printed(&["plan", "firewall", "--format", "json", "--host-cores", "1", "--baselines"]);
    let both = printed(&["what-if", "firewall", "--json", "--nic", "bluefield3"]);
    let keys: Vec<&String> = both.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["today", "what_if"]);
    let all = [by_rate, by_cores, both["today"].clone(), both["what_if"].clone()];
    page.check("plan", &all, &[("plan", "cliff")])
}

/// The final state of a program with states of both kinds.
fn state(page: &Page) -> BTreeSet<String> {
    let state = golden("state");
    let states = state["states"].as_object().unwrap();
    let entries = states.values().filter_map(Value::as_array).flatten().cloned();
    // No program here has a state with `life`.
    let unshown = [("state-entry", "inserted")];
    let mut read = page.check("state-entry", &entries.collect::<Vec<_>>(), &unshown);
    assert!(states.values().any(Value::is_object), "a state without keys");
    read.extend(page.check("cora-state/2", &[state], &[]));
    read
}

/// Graphs of programs that have all kinds of states, handlers, hooks and messages together.
fn graphs(page: &Page) -> BTreeSet<String> {
    let programs = [
        "examples/chain",
        "examples/dns-guard",
        "examples/flow-monitor",
        "examples/mica",
        "examples/replicated-kv",
        "tests/programs/health-lb",
        "tests/programs/parcels",
    ];
    let graph = |program: &str| printed(&["graph", &format!("../{program}"), "--format", "json"]);
    let unshown = [("keyed", "life_ns"), ("sent", "own_key"), ("wire", "port")];
    page.check("graph", &programs.map(graph), &unshown)
}

/// Savings under a traffic for which a table must be larger. No rate of an example is refused.
fn savings(page: &Page) -> BTreeSet<String> {
    let words = ["savings", "firewall", "--protocol", "--json", "--traffic", "imix"];
    page.check("savings", &[printed(&words)], &[("savings", "refused")])
}

#[test]
fn each_field_is_on_the_page_and_each_field_there_is_printed() {
    let page = Page::read();
    let all = [runs, top, check_plan, doctor, compare, plans, state, graphs, savings];
    let read = all.map(|read| read(&page));
    let read: BTreeSet<String> = read.into_iter().flatten().collect();
    let mut headings = page.headings();
    headings.retain(|heading| !read.contains(*heading));
    assert_eq!(headings, ["cliff", "refused-rate"].into(), "nothing is held to these tables");
}

#[test]
fn what_differs_from_the_page_is_found() {
    let page = Page::read();
    let finding = json!({ "what": "a", "found": "b", "state": "ok", "advice": null });
    let is_held = |finding: Value| {
        let told = json!({ "schema": "cora-doctor/1", "findings": [finding] });
        let checked = std::panic::catch_unwind(|| page.check("cora-doctor/1", &[told], &[]));
        checked.is_ok()
    };
    assert!(is_held(finding.clone()));
    for (field, value) in [("more", json!(1)), ("found", json!(1)), ("what", Value::Null)] {
        let mut other = finding.clone();
        other[field] = value;
        assert!(!is_held(other), "{field}");
    }
    assert!(!is_held(json!({ "what": "a", "found": "b", "state": "ok" })));
    let none = json!({ "schema": "cora-doctor/1", "findings": [] });
    let shown = std::panic::catch_unwind(|| page.check("cora-doctor/1", &[none], &[]));
    assert!(shown.is_err(), "a row that nothing shows");
}
