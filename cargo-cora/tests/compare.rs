//! `cargo cora compare`: exit code, sentence, and object.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cora_core::packet::checksum;

fn compare(a: &Path, b: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.args(["cora", "compare"]).args([a, b]).args(more).output().unwrap()
}

/// A capture of UDP datagrams over IPv4, each given by its source port and its one octet.
fn capture(directory: &Path, name: &str, datagrams: &[(u16, u8)]) -> PathBuf {
    let mut bytes = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    for (number, &(port, octet)) in datagrams.iter().enumerate() {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1]);
        let sum = checksum::internet(&frame[14..]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(port.to_be_bytes());
        frame.extend([0, 53, 0, 9, 0, 0, octet]);
        let length = frame.len() as u32;
        for word in [1, number as u32, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(frame);
    }
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn flows_may_overtake_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let a = capture(directory.path(), "a", &[(1, 1), (2, 1), (1, 2)]);
    let b = capture(directory.path(), "b", &[(2, 1), (1, 1), (1, 2)]);
    let output = compare(&a, &b, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "the same 3 packets in 2 flows\n");
}

#[test]
fn packets_of_one_flow_may_not() {
    let directory = tempfile::tempdir().unwrap();
    let a = capture(directory.path(), "a", &[(1, 1), (2, 1), (1, 2)]);
    let b = capture(directory.path(), "b", &[(1, 2), (2, 1), (1, 1)]);
    let output = compare(&a, &b, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["equal"], false);
    assert_eq!(object["packets"], serde_json::json!([3, 3]));
    assert_eq!(object["differing"], 1);
    assert_eq!(object["differences"][0]["finding"], "other-order");
    assert_eq!(object["differences"][0]["packet"], 0);
}

#[test]
fn a_capture_that_is_none_fails() {
    let directory = tempfile::tempdir().unwrap();
    let a = capture(directory.path(), "a", &[(1, 1)]);
    let broken = directory.path().join("broken");
    fs::write(&broken, b"this is no capture at all, is it?").unwrap();
    for b in [broken, directory.path().join("nowhere")] {
        let output = compare(&a, &b, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains(b.to_str().unwrap()), "{complaint}");
    }
}
