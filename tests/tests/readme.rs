//! The programs of the README and of the tutorial are built and run as they stand there.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::process::run;
use cora_tests::tell;
use cora_tests::workshop::{emulator, halves, package, root};
use cora_traffic::Profile;

const RUN: Duration = Duration::from_mins(2);

/// The pages with programs.
const PAGES: [&str; 2] = ["README.md", "docs/tutorial.md"];

/// The program behind `<!-- program: name -->`, with the tests behind `<!-- test: name -->`.
fn program(name: &str) -> String {
    let text = piece("program", name).unwrap_or_else(|| panic!("no page has the program {name}"));
    text + &piece("test", name).unwrap_or_default()
}

fn piece(kind: &str, name: &str) -> Option<String> {
    let mark = format!("<!-- {kind}: {name} -->\n```rust\n");
    PAGES.iter().find_map(|page| {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let (_, behind) = text.split_once(&mark)?;
        Some(behind.split_once("```").unwrap().0.to_owned())
    })
}

/// Builds both halves, under the plan.
fn build(package: &Path, name: &str, plan: &str) -> PathBuf {
    halves(package, Path::new(plan), &format!("readme-{name}-{plan}"))
}

/// Runs on a capture; the outcomes, and the final state.
fn outcomes(program: &Path, nic: &str, capture: &Path) -> (serde_json::Value, Vec<u8>) {
    let state = program.with_extension(format!("{nic}.state"));
    let mut command = Command::new(program);
    command
        .args(["run", "--json", "--nic", nic, "--in"])
        .arg(capture)
        .arg("--state-out")
        .arg(&state);
    let ended = run(&mut command, RUN).well(&format!("{} --nic {nic}", program.display()));
    (ended.json()["outcomes"].clone(), std::fs::read(&state).unwrap())
}

/// Both sides, under two plans, agree with the host alone.
fn agrees_everywhere(name: &str) -> serde_json::Value {
    let package = package(&format!("readme-{name}"), &program(name));
    let capture = package.join("flood.pcap");
    captures::generate(Profile::Flood, 3, 6_000, 600, &capture);
    let split = build(&package, name, "split");
    let host = build(&package, name, "host-only");
    let expected = outcomes(&host, "off", &capture);
    assert_eq!(outcomes(&split, "native", &capture), expected, "{name} split, native");
    match emulator() {
        Ok(_) => {
            assert_eq!(outcomes(&split, "emulated", &capture), expected, "{name} split, emulated");
        }
        Err(why) => tell(&why),
    }
    expected.0
}

#[test]
fn the_first_program_runs_on_both_sides() {
    let lines = program("firewall").lines().filter(|line| !line.trim().is_empty()).count();
    assert!((15..=30).contains(&lines), "{lines} lines");
    let outcomes = agrees_everywhere("firewall");
    assert!(outcomes["transmit"].as_u64() > Some(0), "{outcomes}");
}

#[test]
fn the_program_of_the_tutorial_runs_on_both_sides() {
    assert!(piece("program", "syn-limiter").unwrap().lines().count() < 60);
    let outcomes = agrees_everywhere("syn-limiter");
    assert!(outcomes["too-many-syns"].as_u64() > Some(0), "{outcomes}");
}
