//! Entries of a live run are listed, looked up, removed and moved, and its packets tapped, while it
//! goes on.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeSet;

use cora_tests::live_run::{Live, SOON, kill_half};
use cora_tests::pcapng::comments;
use cora_tests::process::{run as run_command, wait_until};
use cora_tests::workshop::cora;
use serde_json::{Value, json};

/// Fifty connections, which say something all the time.
const ENDLESS: &str = "inside=mem:flows=50;size=60,outside=mem:flows=1;size=60";

/// All entries that are meant, page by page.
fn listed(run: &Live, filter: &Value, page: usize) -> Vec<Value> {
    let (mut entries, mut after) = (Vec::new(), Value::Null);
    loop {
        let answer = run.ask_for(&json!({
            "command": "flows", "filter": filter, "limit": page, "after": after,
        }));
        assert!(answer["error"].is_null(), "{answer}");
        let rows = answer["entries"].as_array().unwrap();
        assert!(rows.len() <= page, "{answer}");
        entries.extend_from_slice(rows);
        after = answer["next"].clone();
        if after.is_null() {
            return entries;
        }
    }
}

fn keys(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().map(|entry| entry["key"].to_string()).collect()
}

/// Waits until all connections are at this side.
fn all_at(run: &Live, side: &str, entries: usize) -> bool {
    wait_until(SOON, || listed(run, &json!({ "side": side }), 1000).len() == entries)
}

#[test]
fn each_entry_is_listed_with_its_place_and_the_reason() {
    let run = Live::start("firewall", ENDLESS, &[]);
    assert!(all_at(&run, "nic", 50), "{}", run.ask("tables"));
    let entries = listed(&run, &json!({}), 1000);
    assert_eq!((entries.len(), keys(&entries).len()), (50, 50));
    for entry in &entries {
        assert_eq!((&entry["side"], &entry["stay"]["is"]), (&json!("nic"), &json!("taken")));
        assert!(entry["idle_ms"].as_u64() < Some(10_000), "{entry}");
        assert!(entry["flow"].is_string() && entry["value"].is_object(), "{entry}");
    }
    // Page by page the same, whatever stands where a page ends.
    for page in [1, 7] {
        assert_eq!(keys(&listed(&run, &json!({}), page)), keys(&entries), "{page}");
    }
    let first = entries[0]["key"].as_str().unwrap();
    let found = listed(&run, &json!({ "key": first }), 10);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["key"], first);
    let protocol = first.split(' ').next().unwrap();
    assert_eq!(listed(&run, &json!({ "protocol": protocol }), 1000).len(), 50);
    assert!(listed(&run, &json!({ "net": "192.168.99.0/24" }), 10).is_empty());
    // The command shows the same.
    let mut command = cora();
    command.arg("flows").arg(run.room.join("socket")).args(["--limit", "20"]);
    let shown = run_command(&mut command, SOON).well("flows").stdout;
    assert_eq!(shown.lines().count(), 21, "{shown}");
    assert!(shown.ends_with("20 of 20 entries; more follow, see `--limit`\n"), "{shown}");
    let mut command = cora();
    command.arg("flow").arg(run.room.join("socket")).arg(first);
    let shown = run_command(&mut command, SOON).well("flow").stdout;
    assert!(shown.contains("because    the host offered its flow"), "{shown}");
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.log);
}

#[test]
fn a_flow_is_recalled_offered_and_removed_and_no_packet_is_lost() {
    let run = Live::start("firewall", ENDLESS, &[]);
    assert!(all_at(&run, "nic", 50), "{}", run.ask("tables"));
    let entries = listed(&run, &json!({}), 1000);
    let key = entries[0]["key"].clone();
    let before = run.ask("snapshot")["sides"]["host"]["offloads"].as_u64();
    let answer = run.ask_for(&json!({ "command": "move", "to": "host", "filter": { "key": key } }));
    assert_eq!((&answer["moves"], &answer["not_moved"]), (&json!(1), &json!([])), "{answer}");
    // The plan offers it again at its next packet, which comes soon.
    let again = || run.ask("snapshot")["sides"]["host"]["offloads"].as_u64() > before;
    assert!(wait_until(SOON, again), "{}", run.ask("snapshot"));
    // An order for many says so.
    let many = json!({ "command": "move", "to": "host", "filter": {} });
    let answer = run.ask_for(&many);
    assert!(answer["error"].as_str().unwrap().contains("50 flows are meant"), "{answer}");
    let answer =
        run.ask_for(&json!({ "command": "move", "to": "host", "filter": {}, "all": true }));
    let moved = answer["moves"].as_u64().unwrap() + answer["there"].as_u64().unwrap();
    assert_eq!(moved, 50, "{answer}");
    assert!(all_at(&run, "nic", 50), "they are offered again");
    // Removed entries of connections that go on are made anew.
    let removed = run.ask_for(&json!({ "command": "delete", "filter": {}, "all": true }));
    assert_eq!(removed["removed"], 50, "{removed}");
    assert!(all_at(&run, "nic", 50), "{}", run.ask("tables"));
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{} {}", report.json, report.log);
    let outcomes = report.json["outcomes"].as_object().unwrap();
    let sum: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    assert_eq!(report.json["packets_in"].as_u64(), Some(sum), "{outcomes:?}");
    assert!(outcomes.keys().all(|name| !name.starts_with("lost")), "{outcomes:?}");
}

#[test]
fn a_question_that_makes_no_sense_is_answered_with_one_that_does() {
    let run = Live::start("firewall", ENDLESS, &[]);
    for (question, why) in [
        (json!({ "command": "flows", "filter": { "net": "10.0.0.0/99" } }), "a prefix such as"),
        (json!({ "command": "flows", "filter": { "state": "Conections" } }), "no state is called"),
        (json!({ "command": "flows", "filter": { "ports": 1 } }), "unknown field `ports`"),
        (json!({ "command": "flows", "limit": 0 }), "from 1 to"),
        (json!({ "command": "flows", "after": "0.card.0.0" }), "`next` of an answer"),
        (json!({ "command": "flows", "after": "0.nic.65535.0" }), "of this program"),
        (json!({ "command": "tap", "file": "x", "points": ["drop"] }), "a whole path"),
        (json!({ "command": "tap", "file": "/tmp/x", "points": ["drops"] }), "no point is called"),
        (json!({ "command": "tap", "file": "/", "points": ["drop"] }), "directory"),
        (json!({ "command": "move", "to": "moon", "filter": {} }), "`nic` or `host`"),
        (json!({ "command": "delete", "filter": { "port": 1 } }), "is meant"),
    ] {
        let answer = run.ask_for(&question);
        let said = answer["error"].as_str().unwrap_or_else(|| panic!("{question}: {answer}"));
        assert!(said.contains(why), "{question}: {said}");
    }
    assert_eq!(run.finish().code, Some(0));
}

/// Whatever half dies amid a listing, the answer is whole or says that it is not.
#[test]
fn a_listing_outlives_either_half() {
    let run = Live::start("firewall", ENDLESS, &[]);
    assert!(all_at(&run, "nic", 50), "{}", run.ask("tables"));
    for half in ["__nic", "__host"] {
        kill_half(&run, half);
        let answers = || {
            let answer = run.ask_for(&json!({ "command": "flows" }));
            let why = answer["error"].as_str().unwrap_or_default().to_owned();
            let is_known = ["anew", "no host half", "does not answer", "was lost meanwhile"]
                .iter()
                .any(|it| why.contains(it));
            assert!(why.is_empty() || is_known, "{answer}");
            why.is_empty() && answer["entries"].as_array().unwrap().len() >= 50
        };
        assert!(wait_until(SOON, answers), "{half}: {}", run.ask("tables"));
    }
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.log);
}

/// The comments of a capture, by interface.
fn tapped(run: &Live, points: &[&str], more: &[&str]) -> (Value, Vec<(String, String)>) {
    let file = run.room.join("tap.pcapng");
    let mut command = cora();
    command.arg("tap").arg(run.room.join("socket")).arg(points.join(","));
    command.args(["--json", "--out"]).arg(&file).args(more);
    let told = run_command(&mut command, SOON).well("tap").json();
    (told, comments(&std::fs::read(&file).unwrap()))
}

/// Outside says more than it was asked for.
const UNASKED: &str = "inside=mem:flows=50;size=60,outside=mem:flows=60;size=60";

#[test]
fn a_tap_tells_what_became_of_each_packet() {
    let run = Live::start("firewall", UNASKED, &[]);
    assert!(all_at(&run, "nic", 50), "{}", run.ask("tables"));
    let (told, all) = tapped(&run, &["wire-in", "wire-out"], &["--limit", "300", "--port", "1024"]);
    assert_eq!((told["written"].as_u64(), all.len()), (Some(300), 300), "{told}");
    for (point, comment) in &all {
        assert!(comment.contains(":1024 "), "{comment}");
        if point == "wire-in" {
            assert!(comment.contains(" side=nic shard=0 port="), "{comment}");
        } else {
            assert_eq!(point, "wire-out");
            assert!(comment.starts_with("outcome=transmit "), "{comment}");
        }
    }
    let ins = all.iter().filter(|(point, _)| point == "wire-in").count();
    assert!((100..=200).contains(&ins), "{ins} came in and {} left", 300 - ins);
    // What outside opens is dropped, at the host.
    let (told, drops) = tapped(&run, &["drop"], &["--limit", "20", "--seconds", "5"]);
    assert!(!drops.is_empty(), "{told}");
    for (point, comment) in &drops {
        assert_eq!(point, "drop");
        assert!(!comment.contains("outcome=transmit") && comment.contains("flow="), "{comment}");
    }
    let (told, _) = tapped(&run, &["drop"], &["--net", "192.168.99.0/24", "--seconds", "1"]);
    assert_eq!(told["written"], 0, "{told}");
    // Whoever goes away ends the tap, and the run goes on.
    let other = run.room.join("other");
    let mut command = cora();
    command.arg("tap").arg(run.room.join("socket")).args(["punt", "--seconds", "60", "--out"]);
    let mut waits = command.arg(&other).spawn().unwrap();
    assert!(wait_until(SOON, || other.exists()), "the tap does not begin");
    let short = json!({ "command": "tap", "file": "/dev/null", "points": ["punt"], "seconds": 1 });
    let answer = run.ask_for(&short);
    assert!(answer["error"].as_str().is_some_and(|why| why.contains("under way")), "{answer}");
    waits.kill().unwrap();
    waits.wait().unwrap();
    assert!(wait_until(SOON, || run.ask_for(&short)["error"].is_null()), "it goes on");
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.log);
}
