//! The programs of README and tutorial equal the ones that are built, tested, and run on both
//! sides.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cora_tests::process::run;
use cora_tests::workshop::{emulator, program, room, root};
use cora_tests::{captures, tell};
use cora_traffic::Profile;

const RUN: Duration = Duration::from_mins(2);

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the piece of source behind `<!-- kind: name -->` on a page.
fn shown(page: &str, kind: &str, name: &str) -> String {
    let text = read(page);
    let mark = format!("<!-- {kind}: {name} -->\n```rust\n");
    let (_, behind) = text.split_once(&mark).unwrap_or_else(|| panic!("{page} has no {mark}"));
    behind.split_once("```").unwrap().0.to_owned()
}

/// Returns a source without crate comments, test attributes, and blank lines at its ends.
fn program_alone(source: &str) -> String {
    let (program, _tests) = source.split_once("#[cfg(test)]").unwrap_or((source, ""));
    let lines = program.lines().filter(|line| !line.starts_with("//!"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn owned((a, b): (&str, &str)) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

/// Runs on a capture, and returns the outcomes and the final state.
fn outcomes(name: &str, nic: &str, capture: &Path) -> (serde_json::Value, Vec<u8>) {
    let state = capture.with_extension(format!("{nic}.state"));
    let mut command = Command::new(program(name));
    command.args(["run", "--json", "--nic", nic, "--in"]).arg(capture);
    command.arg("--state-out").arg(&state);
    let ended = run(&mut command, RUN).well(&format!("{name} --nic {nic}"));
    (ended.json()["outcomes"].clone(), std::fs::read(&state).unwrap())
}

/// Asserts that both sides agree with the host alone.
fn agrees_everywhere(name: &str) -> serde_json::Value {
    let capture = room(&format!("readme-{name}")).join("flood.pcap");
    captures::generate(Profile::Flood, 3, 6_000, 600, &capture);
    let expected = outcomes(name, "off", &capture);
    assert_eq!(outcomes(name, "native", &capture), expected, "{name} split, native");
    match emulator() {
        Ok(_) => {
            assert_eq!(outcomes(name, "emulated", &capture), expected, "{name} split, emulated");
        }
        Err(why) => tell(&why),
    }
    expected.0
}

#[test]
fn the_readmes_program_is_the_example() {
    let shown = shown("README.md", "program", "firewall");
    let lines = shown.lines().filter(|line| !line.trim().is_empty()).count();
    assert!((15..=45).contains(&lines), "{lines} lines");
    // The page has in one file what the example has as a library and a program.
    let [library, program] =
        ["lib", "main"].map(|name| read(&format!("examples/firewall/src/{name}.rs")));
    let (head, app) = program_alone(&program).split_once("\n\n").map(owned).unwrap();
    let (_no_std, library) = program_alone(&library).split_once("\n\n").map(owned).unwrap();
    let app = app.replace("firewall::", "");
    assert_eq!(shown.trim(), format!("{head}\n\n{library}\n\n{app}"));
    let outcomes = agrees_everywhere("firewall");
    assert!(outcomes["transmit"].as_u64() > Some(0), "{outcomes}");
}

#[test]
fn the_tutorials_program_is_of_less_than_sixty_lines_and_does_what_it_says() {
    let shown_program = shown("docs/tutorial.md", "program", "syn-limiter");
    assert!(shown_program.lines().count() < 60, "{} lines", shown_program.lines().count());
    let source = read("tests/programs/syn-limiter/src/main.rs");
    assert_eq!(shown_program.trim(), program_alone(&source));
    assert!(source.ends_with(&shown("docs/tutorial.md", "test", "syn-limiter")), "its unit test");
    let outcomes = agrees_everywhere("syn-limiter");
    assert!(outcomes["too-many-syns"].as_u64() > Some(0), "{outcomes}");
}
