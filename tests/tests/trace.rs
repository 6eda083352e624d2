//! Packets of a live run are followed through the handlers of both sides, and the way of a packet
//! that does not come is told, while the run goes on.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use cora_tests::live_run::{Live, SOON};
use cora_tests::process::{run as run_command, wait_until};
use cora_tests::workshop::cora;
use serde_json::{Value, json};

/// Fifty connections, which say something all the time.
const ENDLESS: &str = "inside=mem:flows=50;size=60;rate=2000,outside=mem:flows=1;size=60;rate=10";
/// New connections all the time.
const NEW: &str = "inside=mem:flows=30000;size=60;rate=200,outside=mem:flows=1;size=60;rate=10";

fn traced(run: &Live, question: &Value) -> Vec<Value> {
    let answer = run.ask_for(question);
    assert!(answer["error"].is_null(), "{answer}");
    assert_eq!(answer["schema"], "cora-trace/1");
    answer["packets"].as_array().unwrap().clone()
}

fn runs(packet: &Value) -> Vec<(&str, &str)> {
    let runs = packet["runs"].as_array().unwrap();
    runs.iter().map(|run| (run["side"].as_str().unwrap(), run["ends"].as_str().unwrap())).collect()
}

#[test]
fn the_packets_that_come_are_followed_and_none_is_lost() {
    let run = Live::start("nat", NEW, &[]);
    let question = json!({ "command": "trace", "limit": 20, "net": "10.0.0.0/8", "seconds": 20 });
    let packets = traced(&run, &question);
    assert_eq!(packets.len(), 20, "{packets:?}");
    // Frames are made with the same addresses at either port.
    let from_inside = packets.iter().filter(|packet| packet["at"] == "inside");
    for packet in from_inside {
        assert_eq!(packet["length"], 60, "{packet}");
        let (first, last) = (runs(packet)[0], *runs(packet).last().unwrap());
        assert_eq!(first.0, "nic", "{packet}");
        assert!([("nic", "transmit"), ("host", "transmit")].contains(&last), "{packet}");
        let run = packet["runs"].as_array().unwrap().last().unwrap();
        let step = &run["handlers"][0];
        assert_eq!((&step["handler"], &step["ends"]), (&json!("nat"), &json!("transmit")));
        let states = step["states"].as_array().unwrap();
        assert!(states.contains(&json!("Session")), "{packet}");
        let entry = &run["entries"][0];
        let is_new = entry["is"] == "inserted";
        assert_eq!(is_new, states.contains(&json!("PortPool")), "{packet}");
        assert!(is_new || entry["is"] == "read", "{packet}");
        // It leaves as the entry says.
        let value = if is_new { &entry["after"] } else { &entry["before"] };
        let left = run["out"][0]["flow"].as_str().unwrap();
        let translated = format!("192.0.2.1:{}", value["public_port"]);
        assert!(left.contains(&translated), "{packet}");
    }
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{} {}", report.json, report.log);
    let outcomes = report.json["outcomes"].as_object().unwrap();
    let sum: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    assert_eq!(report.json["packets_in"].as_u64(), Some(sum), "{outcomes:?}");
}

/// Of a packet from outside that no entry waits for, the host says why it ends.
#[test]
fn a_packet_that_is_dropped_has_its_reason() {
    let run = Live::start("nat", ENDLESS, &[]);
    let question =
        json!({ "command": "trace", "limit": 3, "net": "10.0.0.0/8", "protocol": "sctp" });
    let nothing = run.ask_for(&json!({ "command": "trace", "limit": 0 }));
    assert!(nothing["error"].as_str().unwrap().contains("from 1 to 1000"), "{nothing}");
    let mut command = cora();
    command.arg("trace").arg(run.room.join("socket"));
    command.args(["udp", "198.51.100.7:53", ">", "192.0.2.1:9", "--at", "outside"]);
    let shown = run_command(&mut command, SOON).well("trace").stdout;
    for part in ["nic    punt", "host   nat: ", ": drop\n", "not-allowed\n"] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let question =
        json!({ "seconds": 1, "command": "trace", "limit": 3, "protocol": question["protocol"] });
    assert!(traced(&run, &question).is_empty());
    assert_eq!(run.finish().code, Some(0));
}

#[test]
fn a_packet_that_does_not_come_has_a_way_and_changes_nothing() {
    let run = Live::start("nat", ENDLESS, &[]);
    let at_nic = || run.ask("tables")["tables"]["Session"]["entries_at_nic"] == 50;
    assert!(wait_until(SOON, at_nic), "{}", run.ask("tables"));
    let shown = |line: &str| {
        let mut command = cora();
        command.arg("trace").arg(run.room.join("socket"));
        run_command(command.args(line.split(' ')), SOON).well("trace").stdout
    };
    for _ in 0..3 {
        let told = shown("tcp 10.77.0.1:4711 > 192.0.2.7:443 syn");
        for part in [
            "this packet: tcp 10.77.0.1:4711 > 192.0.2.7:443, 60 bytes, in at inside, shard 0",
            "nic    punt: the host has its flow, or the flow is new",
            "host   nat: Session, Public, Times, PortPool, Hosts: transmit",
            "inserted in Session: tcp 10.77.0.1:4711 > 192.0.2.7:443",
            "transmit, out at outside: tcp 192.0.2.1:",
        ] {
            assert!(told.contains(part), "{part} is not in\n{told}");
        }
    }
    assert_eq!(run.ask("tables")["tables"]["Session"]["entries"], 50);
    // A flow that the NIC has is handled there, with its own entry.
    let key = run.ask("flows")["entries"][0]["key"].as_str().unwrap().to_owned();
    let told = shown(&key);
    assert!(told.contains("  nic    nat: Session, Times: transmit\n"), "{told}");
    assert!(told.contains(&format!("read in Session: {key}")), "{told}");
    assert!(!told.contains("host"), "{told}");
    // An entry of a rehearsal is none of the next one's.
    let values = run.ask("values");
    assert_eq!(values["left_out"], json!(["PortPool"]), "{values}");
    assert!(values["values"]["Hosts"].is_object(), "{values}");
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{} {}", report.json, report.log);
}
