//! A read-mostly state of a million places, 32 MB, and a sketch of 4 MB. Both sides construct them
//! in place, so no stack overflows; and every half judges by the same version.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::process::run;
use cora_tests::workshop::{program, room};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run, which takes some seconds, most of them to move versions.
const LIMIT: Duration = Duration::from_mins(3);
const PACKETS: u64 = 20_000;
const OTHERS: u32 = 50_000;

/// Returns subscribers: every second inside address of the capture with `bars`, and others.
fn subscribers(inside: &BTreeSet<String>, bars: &str) -> String {
    let mut text = String::new();
    for address in inside.iter().step_by(2) {
        writeln!(text, "{address} {bars}").expect("a string takes all");
    }
    for number in 0..OTHERS {
        let [_, b, c, d] = number.to_be_bytes();
        writeln!(text, "172.{}.{c}.{d} OPEN", 16 + b).expect("a string takes all");
    }
    text
}

fn outcomes(command: &mut Command) -> Value {
    let ended = run(command, LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
    report["outcomes"].clone()
}

fn command(nic: &str, capture: &Path, first: &Path) -> Command {
    let mut command = Command::new(program("subscribers"));
    command.args(["run", "--json", "--nic", nic, "--in"]).arg(capture);
    command.arg("--config").arg(format!("Subscribers={}", first.display()));
    command
}

#[test]
fn a_million_subscribers_are_the_same_at_every_half() {
    let room = room("large-states");
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 5, PACKETS, 700, &capture);
    let mut inside = BTreeSet::new();
    captures::each(&capture, |_, packet| {
        if let Ok(address) = packet.source() {
            inside.insert(address.to_string());
        }
    });
    let [barred, open] = ["barred", "open"].map(|bars| {
        let path = room.join(bars);
        fs::write(&path, subscribers(&inside, bars)).expect("it is ours");
        path
    });
    let host_alone = outcomes(&mut command("off", &capture, &barred));
    assert!(host_alone["barred"].as_u64() > Some(PACKETS / 20), "{host_alone}");
    assert!(host_alone["transmit"].as_u64() > Some(PACKETS / 20), "{host_alone}");
    let all_open = outcomes(&mut command("off", &capture, &open));
    assert_eq!(all_open["barred"], Value::Null, "{all_open}");
    for nic in ["native", "emulated"] {
        assert_eq!(outcomes(&mut command(nic, &capture, &barred)), host_alone, "{nic}");
    }
    // A version that arrives between two packets: 32,000 pieces.
    let change = format!("{}:Subscribers={}", PACKETS / 2, open.display());
    let changed = |nic: &str| outcomes(command(nic, &capture, &barred).args(["--change", &change]));
    let expected = changed("off");
    assert!(expected["barred"].as_u64() < host_alone["barred"].as_u64(), "{expected}");
    assert_eq!(changed("native"), expected);
}
