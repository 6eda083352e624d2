//! A card that this machine plays (`--card local`): an agent at the other end of a socket. Its link
//! and its mirrors are those of a card behind Ethernet; it needs neither an emulator nor
//! namespaces. `capture_kills` kills its agent.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::process::run;
use cora_tests::workshop::{program, room};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run that takes seconds.
const LIMIT: Duration = Duration::from_mins(1);
/// Packets of a capture.
const PACKETS: u64 = 5_000;

/// Runs a program with these words; returns its report and its final state.
fn finish(name: &str, room: &Path, words: &[&str]) -> (Value, Vec<u8>) {
    let state = room.join("state.json");
    let mut command = Command::new(program(name));
    command.args(["run", "--json", "--state-out"]).arg(&state).args(words).current_dir(room);
    let ended = run(&mut command, LIMIT).well("a run on a capture");
    assert_eq!(ended.stderr, "", "{words:?}");
    (ended.json(), fs::read(&state).unwrap())
}

#[test]
fn a_local_card_has_the_results_of_the_host_alone() {
    for name in ["firewall", "stateful-firewall"] {
        let room = room(&format!("card-local-{name}"));
        captures::generate(Profile::Mix, 7, PACKETS, PACKETS / 10, &room.join("in.pcap"));
        let text = "in = \"in.pcap\"\ncard = \"local\"\n";
        fs::write(room.join("run.toml"), text).unwrap();
        let (expected, whole) = finish(name, &room, &["--nic", "off", "--in", "in.pcap"]);
        let on_card = ["--nic", "card:ethernet", "--card", "local", "--in", "in.pcap"];
        for words in [&on_card[..], &["--file", "run.toml"]] {
            let (report, found) = finish(name, &room, words);
            assert_eq!(report["outcomes"], expected["outcomes"], "{words:?}");
            assert!(found == whole, "{words:?}: the states differ");
            assert_eq!(report["nic"], "card:ethernet");
            let packets = report["sides"]["nic"]["packets"].as_u64();
            assert!(packets > Some(PACKETS / 10), "{report:#}");
        }
        let (report, _) = finish(name, &room, &["--file", "run.toml", "--shards", "2"]);
        assert_eq!(report["outcomes"], expected["outcomes"], "two shards");
    }
}

#[test]
fn says_what_does_not_go_with_a_local_card() {
    let room = room("card-local-wrong");
    let text = "live = \"card\"\ncard = \"local\"\n";
    fs::write(room.join("run.toml"), text).unwrap();
    fs::write(room.join("off.toml"), "nic = \"off\"\nin = \"in.pcap\"\n").unwrap();
    fs::write(room.join("misspelt.toml"), "in = \"in.pcap\"\ncard = \"lokal\"\n").unwrap();
    for (words, why) in [
        (&["--file", "run.toml"][..], "--live card: say which card has the ports"),
        (&["--file", "off.toml", "--card", "local"], "--card is for --nic card:ethernet"),
        (
            &["--file", "misspelt.toml"],
            "misspelt.toml:2: card = \"lokal\": `lokal` is no IFACE,MAC",
        ),
    ] {
        let mut command = Command::new(program("firewall"));
        let ended = run(command.arg("run").args(words).current_dir(&room), LIMIT);
        assert!(ended.code == Some(2) && ended.stderr.contains(why), "{why}: {}", ended.stderr);
    }
}
