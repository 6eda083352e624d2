//! The command as it is typed: exit codes, and the place of its output.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::process::{Command, Output};

/// Runs `cargo cora …`, as Cargo would call it, in the workspace.
fn cora(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("cora");
    command.args(line.split_whitespace()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// It complains about usage: code 2, with this in the complaint and nothing on standard output.
fn refuses(line: &str, complaint: &str) {
    let output = cora(line);
    assert_eq!(output.status.code(), Some(2), "`{line}`: {}", stderr(&output));
    assert!(stderr(&output).contains(complaint), "`{line}`: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "`{line}`");
}

#[test]
fn help_is_a_result() {
    for line in ["--help", "run --help", "help graph", "--version"] {
        let output = cora(line);
        assert!(output.status.success(), "`{line}`");
        assert!(stdout(&output).contains("cora"), "`{line}`");
    }
}

#[test]
fn works_without_cargo_in_front() {
    let program = env!("CARGO_BIN_EXE_cargo-cora");
    let output = Command::new(program).arg("explain").output().unwrap();
    assert!(output.status.success() && stdout(&output).contains("CORA0001"));
}

#[test]
fn usage_errors_end_with_two() {
    refuses("", "Usage");
    refuses("rum", "run");
    refuses("rnu nat", "'run'");
    refuses("run", "--in FILE, or --live PORTS");
    refuses("run nat --nic off", "--in");
    refuses("run nat --in a.pcap --control c.sock --seconds 1", "--seconds is for live runs");
    refuses("run nat --live inside=tap:a,outside=tap:b --in a.pcap", "--in and --live");
    refuses("run nat --file nowhere.toml", "nowhere.toml");
    refuses("run nat --nic maybe --in a.pcap", "off, emulated, native");
    refuses("run nat --nic off --in a.pcap --outt b", "--out");
    refuses("graph nat --format png", "json, dot, mermaid, svg");
    refuses("compare a.pcap", "<B>");
    refuses("explain CORA0001 CORA0002", "unexpected");
}

#[test]
fn unknown_plans_and_packages_are_usage_errors() {
    refuses("run nat --nic off --in Cargo.toml --plan splitt", "`split`");
    refuses("graph nat --format json --plan nowhere.toml", "nowhere.toml");
    refuses("graph nta --format json", "did you mean `nat`?");
    refuses("run nta --nic off --in Cargo.toml", "did you mean `nat`?");
    refuses("run ./nowhere --nic off --in Cargo.toml", "there is no Cargo.toml in `./nowhere`");
}

#[test]
fn a_bundle_is_written_whatever_can_not_be_had() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("help.tar.gz");
    let shown = file.display();
    let output = cora(&format!("doctor --bundle {shown} --package nta --control nowhere.sock"));
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("doctor.json          the same for scripts\n"), "{told}");
    assert!(told.contains("package/plan.json") && told.contains("did you mean `nat`?"), "{told}");
    assert!(told.contains("(missing: nowhere.sock: No such file"), "{told}");
    assert!(told.ends_with(&format!("written to {shown}\n")), "{told}");
    // The magic number of gzip.
    assert!(std::fs::read(&file).unwrap().starts_with(&[0x1f, 0x8b]));
    let nowhere = cora("doctor --bundle nowhere/help.tar.gz");
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(stderr(&nowhere).contains("`nowhere/help.tar.gz` can't be written"));
    refuses("doctor --control a.sock", "--bundle");
    refuses("doctor --bundle a.tar.gz --json", "--json");
}

#[test]
fn a_capture_that_is_not_there_fails_before_the_build() {
    let output = cora("run nat --nic off --in nowhere.pcap");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nowhere.pcap"));
}

#[test]
fn every_code_is_explained() {
    let list = stdout(&cora("explain"));
    let codes: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(codes.len() >= 30, "{} codes", codes.len());
    for code in codes {
        let output = cora(&format!("explain {code}"));
        let text = stdout(&output);
        assert!(output.status.success(), "{code}");
        assert!(text.starts_with(code), "{text}");
        for part in ["why:", "cure:", "\n    "] {
            assert!(text.contains(part), "{code} has {part:?}: {text}");
        }
    }
}

#[test]
fn codes_are_read_as_people_write_them() {
    for code in ["CORA0001", "cora1", "1"] {
        assert!(stdout(&cora(&format!("explain {code}"))).starts_with("CORA0001"), "{code}");
    }
    refuses("explain E0001", "CORA0007");
    refuses("explain CORA9999", "there is no CORA9999");
}

#[test]
fn graphs_come_in_every_format() {
    for (format, begins) in
        [("json", "{"), ("dot", "digraph"), ("mermaid", "---\ntitle"), ("svg", "<svg")]
    {
        let output = cora(&format!("graph firewall --format {format}"));
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        let text = stdout(&output);
        assert!(text.starts_with(begins) && text.contains("Connection"), "{format}: {text}");
    }
    let by_path = cora("graph ../examples/firewall --format json");
    assert_eq!(stdout(&by_path), stdout(&cora("graph firewall --format json")));
}
