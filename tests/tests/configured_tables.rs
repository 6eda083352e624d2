//! Configured tables: rows of TOML and CSV files, the same at every half, changed between two
//! packets, and their faults told all at once.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::process::run;
use cora_tests::workshop::{emulator, program, room};
use cora_tests::{captures, tell};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run, which takes a second.
const LIMIT: Duration = Duration::from_mins(1);
const PACKETS: u64 = 20_000;

/// A capture, and the files of the program `border` for it.
struct Border {
    room: PathBuf,
    capture: PathBuf,
}

impl Border {
    fn new(name: &str) -> Self {
        let room = room(name);
        let capture = room.join("in.pcap");
        captures::generate(Profile::Mix, 7, PACKETS, 700, &capture);
        let mut addresses = BTreeSet::new();
        captures::each(&capture, |_, packet| {
            addresses.extend(packet.inside_address().ok().map(|address| address.to_string()));
        });
        let border = Self { room, capture };
        let mut hosts = "address, packets, unlimited\n".to_owned();
        for (number, address) in addresses.iter().enumerate().filter(|(at, _)| at % 3 > 0) {
            let unlimited = if number % 5 == 0 { "true" } else { "" };
            writeln!(hosts, "{address}, {}, {unlimited}", number % 40).expect("a string takes all");
        }
        border.write("hosts", &hosts);
        let regions = "prefix,class\n0.0.0.0/0,far\n::/0,far\n".to_owned();
        let nets =
            (0..64).map(|net| format!("{}.0.0.0/6,near\n{}.128.0.0/9,far\n", net * 4, net * 4 + 1));
        border.write("regions", &(regions + &nets.collect::<String>()));
        let rules = "[[rule]]\nprotocol = \"udp\"\ndestination_port = \"0-500\"\nallow = false\n\n\
                     [[rule]]\ndestination = \"0.0.0.0/1\"\nallow = true\n\n\
                     [[rule]]\nprotocol = \"tcp\"\nallow = true\n";
        border.write("rules", rules);
        border.write("open", "allow\ntrue\n");
        border
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.room.join(name), text).expect("it is ours");
    }

    fn file(&self, state: &str, name: &str) -> String {
        format!("{state}={}", self.room.join(name).display())
    }

    fn command(&self, nic: &str) -> Command {
        let mut command = Command::new(program("border"));
        command.args(["run", "--json", "--nic", nic, "--in"]).arg(&self.capture);
        for (state, name) in [("Host", "hosts"), ("Region", "regions"), ("Rule", "rules")] {
            command.args(["--config", &self.file(state, name)]);
        }
        command
    }
}

/// Outcomes and final state of a run.
fn result(command: &mut Command, state: &Path) -> (Value, Value) {
    command.arg("--state-out").arg(state);
    let ended = run(command, LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let state = fs::read_to_string(state).expect("the state");
    (read(&ended.stdout)["outcomes"].clone(), read(&state))
}

#[test]
fn every_half_judges_by_the_same_rows() {
    let border = Border::new("configured-tables");
    let state = border.room.join("state.json");
    let (outcomes, expected) = result(&mut border.command("off"), &state);
    for outcome in ["transmit", "not-allowed", "over-the-quota"] {
        assert!(outcomes[outcome].as_u64() > Some(PACKETS / 100), "{outcomes}");
    }
    let change = format!("{}:{}", PACKETS / 2, border.file("Rule", "open"));
    let changed = |nic: &str| result(border.command(nic).args(["--change", &change]), &state);
    let after = changed("off");
    assert!(after.0["not-allowed"].as_u64() < outcomes["not-allowed"].as_u64(), "{}", after.0);
    let mut nics = vec!["native"];
    match emulator() {
        Ok(_) => nics.push("emulated"),
        Err(skipped) => tell(&skipped),
    }
    for nic in nics {
        let here = result(&mut border.command(nic), &state);
        assert_eq!(here, (outcomes.clone(), expected.clone()), "{nic}");
        assert_eq!(changed(nic), after, "{nic}, changed on the way");
        let mut moved = border.command(nic);
        moved.args(["--moves", "random:3", "--change", &change]);
        assert_eq!(result(&mut moved, &state), after, "{nic}, while flows move");
    }
    let shards = result(border.command("native").args(["--shards", "2"]), &state);
    assert_eq!(shards, (outcomes, expected), "two shards");
}

#[test]
fn all_faults_of_all_files_are_told_with_their_places() {
    let border = Border::new("configured-faults");
    border.write("hosts", "address, packets\n10.0.0.1, many\nhome, 5\n10.0.0.2,1\n10.0.0.2,2\n");
    border.write("regions", "[[region]]\nprefix = \"10.0.0.1/8\"\nclas = \"near\"\n");
    border.write("rules", "allow\nyes\n");
    let ended = run(&mut border.command("off"), LIMIT);
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    let told: Vec<&str> = ended.stderr.lines().collect();
    let expected = [
        "hosts:2:11: `packets`: \"many\": invalid digit found in string",
        "hosts:3:1: `address`: \"home\": invalid IP address syntax",
        "regions:1:1: `class`: nothing stands there",
        "regions:2:10: `prefix`: \"10.0.0.1/8\": bits behind the length are set: is it `10.0.0.0/8`?",
        "regions:3:1: unknown column `clas`: did you mean `class`?",
        "rules:2:1: `allow`: \"yes\": provided string was not `true` or `false`",
    ];
    assert_eq!(told.len(), expected.len(), "{}", ended.stderr);
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.ends_with(expected), "{told}\nwithout {expected}");
    }
    border.write("hosts", "address, packets\n10.0.0.2,1\n10.0.0.3,1\n10.0.0.2,2\n");
    let ended = run(&mut border.command("off"), LIMIT);
    let twice = "hosts:4:1: 10.0.0.2 has a row already, in line 2";
    assert!(ended.stderr.contains(twice), "{}", ended.stderr);
}
