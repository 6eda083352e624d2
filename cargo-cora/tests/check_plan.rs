//! `check-plan` as it is typed, on snapshots that are made here; tests/tests/check_plan.rs has
//! runs.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const FIREWALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/firewall");

/// The hash of the example's plan.
fn hash() -> String {
    cora_build::script::graph_of(Path::new(FIREWALL), None).unwrap().1.hash
}

/// A run of the firewall after so many seconds, each with `per_second` packets: one in a hundred
/// opens a flow, and the host has as many packets as `crossing` of a hundred.
fn snapshot(plan: &str, seconds: u64, per_second: u64, crossing: u64) -> Value {
    let packets = seconds * per_second;
    let crossed = packets / 100 * crossing;
    json!({
        "schema": "cora-snapshot/1",
        "status": {
            "program": "firewall", "plan": plan, "plan_name": "split", "uptime_ms": seconds * 1000,
            "restarts": { "NIC": 0, "host": 0 }, "upgrades": 0, "generation": 1,
        },
        "outcomes": { "packets_in": packets, "outcomes": { "transmit": packets } },
        "sides": {
            "nic": { "packets": packets - crossed, "passed_on": crossed, "busy_ns": packets * 100 },
            "host": { "packets": crossed, "offloads": packets / 100, "busy_ns": crossed * 200 },
        },
        "tables": { "Connection": { "entries": 10_000, "evicted": 0 } },
    })
}

/// Compares with a run that answers with these snapshots.
fn checked(snapshots: Vec<Value>, words: &[&str]) -> Output {
    let room = tempfile::tempdir().unwrap();
    let socket = room.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = std::thread::spawn(move || {
        for (snapshot, connection) in snapshots.iter().zip(listener.incoming()) {
            let mut connection = connection.unwrap();
            let mut line = String::new();
            BufReader::new(&connection).read_line(&mut line).unwrap();
            connection.write_all(snapshot.to_string().as_bytes()).unwrap();
        }
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.args(["check-plan", FIREWALL, "--seconds", "1", "--control"]).arg(&socket);
    let output = command.args(words).output().unwrap();
    server.join().unwrap();
    output
}

fn told(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn figure<'a>(told: &'a Value, what: &str) -> &'a Value {
    told["figures"].as_array().unwrap().iter().find(|figure| figure["what"] == what).unwrap()
}

#[test]
fn a_live_run_is_compared_by_what_it_counted_between_two_looks() {
    let plan = hash();
    // One packet in a hundred is the first of 10,000 flows, as the profile says; 40,000 packets
    // come before those that are compared, and all of them crossed.
    let profile = ["--traffic", "uniform:flows=10000,churn=0.01", "--json"];
    let [mut before, mut now] = [10, 20].map(|at| snapshot(&plan, at, 100_000, 1));
    for snapshot in [&mut before, &mut now] {
        let passed_on = snapshot["sides"]["nic"]["passed_on"].as_u64().unwrap();
        snapshot["sides"]["nic"]["passed_on"] = json!(passed_on + 40_000);
    }
    let output = checked(vec![before, now], &profile);
    let (out, err) = told(&output);
    assert!(output.status.success(), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((told["packets"].as_u64(), told["mpps"].as_f64()), (Some(1_000_000), Some(0.1)));
    for what in ["at-nic", "crossings", "punts", "moves"] {
        assert_eq!(figure(&told, what)["verdict"], "as-predicted", "{what}: {told}");
    }
    let crossings = figure(&told, "crossings");
    assert!((crossings["measured"].as_f64().unwrap() - 0.01).abs() < 1e-9, "{crossings}");
    // The table would have many more entries of flows that are gone.
    let entries = figure(&told, "entries");
    assert_eq!((&entries["verdict"], &entries["of"]), (&json!("off"), &json!("Connection")));
    assert!(entries["factor"].as_f64().unwrap() < 0.85, "{entries}");
    // Nothing is said of times, as the profile is that of a card.
    for what in ["host-time", "nic-time", "host-cores"] {
        let time = figure(&told, what);
        assert_eq!(time["verdict"], "not-compared", "{what}: {told}");
        assert!(time["cause"].as_str().unwrap().contains("another machine"), "{time}");
        assert!(time["remedy"].as_str().unwrap().contains("cargo cora calibrate"), "{time}");
    }
}

#[test]
fn more_flows_than_the_profile_says_are_the_cause() {
    let plan = hash();
    let snapshots = || [10, 20].map(|at| snapshot(&plan, at, 100_000, 1)).to_vec();
    let profile = ["--traffic", "uniform:flows=10000,churn=0.001"];
    let output = checked(snapshots(), &profile);
    let (out, err) = told(&output);
    assert!(output.status.success(), "{err}");
    let row = out.lines().find(|line| line.starts_with("packets that cross")).unwrap();
    assert!(row.ends_with("off by ×10.0"), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "for 1 packet in 100, and the traffic profile makes that 1 packet in 1,0",
        "cargo cora tap",
        "cargo cora profile t.pcapng",
    ] {
        assert!(words.contains(said), "no `{said}`: {out}");
    }
    let fails = |percent: &str| {
        let output = checked(snapshots(), &[profile[0], profile[1], "--fail-above", percent]);
        (output.status.code(), told(&output).1)
    };
    assert_eq!(fails("1000"), (Some(0), String::new()));
    let (code, err) = fails("800");
    assert!(code == Some(1) && err.contains("packets that cross to the host"), "{code:?} {err}");
}

#[test]
fn a_plan_for_less_traffic_than_comes_is_told() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("plan.toml");
    std::fs::write(&file, "[plan]\nuse = \"split\"\ntraffic = \"zipf\"\nmpps = 0.02\n").unwrap();
    let plan = file.to_str().unwrap();
    let hash = cora_build::script::graph_of(Path::new(FIREWALL), Some(plan)).unwrap().1.hash;
    let snapshots = [10, 20].map(|at| snapshot(&hash, at, 100_000, 1)).to_vec();
    let output = checked(snapshots, &["--plan", plan, "--json"]);
    let (out, err) = told(&output);
    assert!(output.status.success(), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    let rate = figure(&told, "rate");
    assert_eq!((&rate["verdict"], rate["factor"].as_f64()), (&json!("off"), Some(5.0)), "{rate}");
    assert!(rate["remedy"].as_str().unwrap().contains("mpps = 0.100"), "{rate}");
}

/// It fails, and says each of these.
fn refused(snapshots: Vec<Value>, words: &[&str], said: &[&str]) {
    let output = checked(snapshots, words);
    let (out, err) = told(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{err}");
    for said in said {
        assert!(err.contains(said), "no `{said}`: {err}");
    }
}

#[test]
fn a_run_that_says_nothing_about_the_plan_is_refused_with_the_cure() {
    let plan = hash();
    let whole = |seconds| snapshot(&plan, seconds, 1_000, 1);
    refused(vec![snapshot("00ff", 1, 1_000, 1)], &[], &["00ff", &plan, "--plan"]);
    let mut other = whole(1);
    other["status"]["program"] = json!("nat");
    refused(vec![other], &[], &["`nat`", "`firewall`", "name the package"]);
    let mut quiet = whole(1);
    quiet["status"]["uptime_ms"] = json!(2_000);
    refused(vec![whole(1), quiet], &[], &["no packet", "--seconds"]);
    let mut restarted = whole(2);
    restarted["status"]["restarts"]["NIC"] = json!(1);
    refused(vec![whole(1), restarted], &[], &["restarted", "ask again"]);
    let mut older = whole(1);
    older["schema"] = json!("cora-snapshot/0");
    refused(vec![older], &[], &["cora-snapshot/0", "same version"]);
}

#[test]
fn a_command_line_that_compares_with_nothing_is_refused() {
    for (words, code, said) in [
        (&["--control", "/nowhere/socket"][..], 1, "--control"),
        (&["--in", "/nowhere/a.pcap"], 1, "can't be read"),
        (&[], 2, "--in"),
        (&["--in", "a", "--control", "b"], 2, "cannot be used with"),
        (&["--in", "a", "--seconds", "3"], 2, "--seconds"),
        (&["--in", "a", "--fail-above", "nan"], 2, "--fail-above"),
        (&["--in", "a", "--traffic", "capmus"], 2, "campus"),
        (&["--in", "a", "--plan", "spilt"], 2, "split"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
        let output = command.args(["check-plan", FIREWALL]).args(words).output().unwrap();
        let (out, err) = told(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(code), ""), "{words:?}: {err}");
        assert!(err.contains(said), "{words:?}: {err}");
    }
}
