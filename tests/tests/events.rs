//! Events of a live run: what happened in it, whatever its log has of that.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::Stdio;

use cora_tests::live_run::{Live, SOON, kill_half};
use cora_tests::process::{run as run_command, wait_until};
use cora_tests::workshop::cora;
use serde_json::{Value, json};

/// Fifty connections, which say something all the time.
const ENDLESS: &str = "inside=mem:flows=50;size=60,outside=mem:flows=1;size=60";

/// Ports of a run that has nothing to do, and does not end: nobody sends anything to the outside.
fn idle() -> String {
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    format!("inside=mem:flows=5;size=60;count=100,outside=udp:{free}")
}

/// All events that are kept, page by page, and the number of those that were missed.
fn events(run: &Live) -> (Vec<Value>, u64) {
    let (mut all, mut after, mut missed) = (Vec::new(), 0, 0);
    loop {
        let page = run.ask_for(&json!({ "command": "events", "after": after }));
        assert_eq!(page["schema"], "cora-events/1", "{page}");
        missed += page["missed"].as_u64().unwrap();
        after = page["next"].as_u64().unwrap();
        let events = page["events"].as_array().unwrap();
        if events.is_empty() {
            return (all, missed);
        }
        all.extend_from_slice(events);
    }
}

/// Whether there is an event of this level and part with these words.
fn has(run: &Live, level: &str, part: &str, words: &str) -> bool {
    let is_it = |event: &Value| {
        let text = event["text"].as_str().unwrap_or_default();
        event["level"] == level && event["part"] == part && text.contains(words)
    };
    events(run).0.iter().any(is_it)
}

#[track_caller]
fn comes(run: &Live, level: &str, part: &str, words: &str) {
    let came = wait_until(SOON, || has(run, level, part, words));
    assert!(came, "{level} {part}: {words}: {:#?}", events(run).0);
}

#[test]
fn starts_deaths_and_versions_are_events_although_the_log_has_nothing() {
    let words = ["--log", "off", "--config", "Rule=rules.csv"];
    let (mut command, room, place) = Live::command("stateful-firewall", &idle(), &words);
    fs::write(room.join("rules.csv"), "").unwrap();
    let run = Live { child: command.spawn().unwrap(), room, place }.ready();
    comes(&run, "debug", "nic", "a NIC process starts in the region of generation 1");
    comes(&run, "debug", "host", "a host process starts in the region of generation 1");
    comes(&run, "debug", "run", "`stateful-firewall` works as split, with version 1");
    fs::write(run.room.join("rules.csv"), "destination,allow\n203.0.113.1,false\n").unwrap();
    assert_eq!(run.ask("configure")["version"], 2);
    comes(&run, "info", "configuration", "version 2 is in force: Rule changed");
    run.ask("log moves=error");
    comes(&run, "info", "control", "levels of the log are changed: moves=error");
    kill_half(&run, "__nic");
    comes(&run, "warn", "nic", "the NIC process ended");
    comes(&run, "debug", "run", "both halves work again");
    let (all, missed) = events(&run);
    let numbers: Vec<_> = all.iter().map(|event| event["number"].as_u64().unwrap()).collect();
    assert_eq!((numbers, missed), ((1..=all.len() as u64).collect(), 0), "no gap");
    let times: Vec<_> = all.iter().map(|event| event["time"].as_u64().unwrap()).collect();
    assert!(times[0] > 1_700_000_000_000, "{times:?}");
    // The command prints the same.
    let socket = run.room.join("socket");
    let shown = run_command(cora().arg("events").arg(&socket), SOON).well("events").stdout;
    assert_eq!(shown.lines().count(), all.len(), "{shown}");
    assert!(shown.contains("Z info  configuration: version 2 is in force"), "{shown}");
    let mut command = cora();
    command.arg("events").arg(&socket).args(["--last", "2", "--json"]);
    let page = run_command(&mut command, SOON).well("events").json();
    assert_eq!(page["next"], all.len());
    let report = run.finish();
    assert_eq!((report.code, report.log.as_str()), (Some(0), ""), "the log is off");
}

#[test]
fn orders_of_an_operator_are_events_with_what_they_did() {
    let run = Live::start("firewall", ENDLESS, &[]);
    let there = || run.ask("tables")["tables"]["Connection"]["entries"] == 50;
    assert!(wait_until(SOON, there), "{}", run.ask("tables"));
    let removed = run.ask_for(&json!({ "command": "delete", "filter": {}, "all": true }));
    let removed = removed["removed"].as_u64().unwrap_or_else(|| panic!("{removed}"));
    comes(&run, "info", "control", &format!("an operator removed {removed} entries"));
    run.ask_for(&json!({ "command": "move", "to": "host", "filter": {}, "all": true }));
    comes(&run, "info", "control", " flows to the host: ");
    let file = run.room.join("taken.pcapng");
    run.ask_for(&json!({ "command": "tap", "file": file, "points": ["wire-in"], "limit": 1 }));
    comes(&run, "info", "control", "a tap of wire-in begins, to ");
    comes(&run, "info", "control", "taken.pcapng ends: it has 1 records, and missed 0");
    let file = json!({ "command": "tap", "file": "taken.pcapng", "points": ["wire-in"] });
    assert!(run.ask_for(&file)["error"].to_string().contains("a whole path"));
    comes(&run, "info", "control", "a tap ends or is refused: `file` is a whole path");
    assert_eq!(run.finish().code, Some(0));
}

#[test]
fn who_follows_hears_each_event_once_also_over_an_upgrade() {
    let Some(run) = Live::quiet("keeper", &[]) else { return };
    comes(&run, "debug", "run", "`keeper` works");
    let before = events(&run).0.len();
    let mut command = cora();
    command.arg("events").arg(run.room.join("socket")).args(["--follow", "--last", "1", "--json"]);
    let mut follows = command.stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(follows.stdout.take().unwrap());
    assert_eq!(run.ask("upgrade")["upgrades"], 0);
    let mut lines = stdout.lines();
    let mut heard = Vec::new();
    while !heard.iter().any(|event: &Value| event["text"].to_string().contains("has taken over")) {
        let page: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(page["missed"], 0, "{page}");
        heard.extend_from_slice(page["events"].as_array().unwrap());
    }
    follows.kill().unwrap();
    follows.wait().unwrap();
    let numbers: Vec<_> = heard.iter().map(|event| event["number"].as_u64().unwrap()).collect();
    let last = *numbers.last().unwrap();
    assert_eq!(numbers, (before as u64..=last).collect::<Vec<_>>(), "{heard:#?}");
    let texts: Vec<_> = heard.iter().map(|event| event["text"].as_str().unwrap()).collect();
    let at = |words: &str| texts.iter().position(|text| text.contains(words));
    let takes = at(" takes over: all halves end first");
    assert!(takes.is_some() && takes < at("a NIC process starts"), "{texts:#?}");
    let (all, missed) = events(&run);
    assert_eq!((all[0]["number"].as_u64(), missed), (Some(1), 0), "the program before left them");
    assert_eq!(run.finish().code, Some(0));
}
