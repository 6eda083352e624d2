//! A new package has a name that fits, is not written over another, and is a program that Cora
//! reads.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cora(directory: &Path, line: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.current_dir(directory).args(line).output().unwrap()
}

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn a_new_package_is_a_program() {
    let directory = tempfile::tempdir().unwrap();
    let made = cora(directory.path(), &["new", "my-nf", "--cora", CHECKOUT]);
    assert!(made.status.success(), "{made:?}");
    let graph = cora(directory.path(), &["graph", "./my-nf", "--format", "mermaid"]);
    assert!(graph.status.success(), "{graph:?}");
    let picture = String::from_utf8(graph.stdout).unwrap();
    assert!(picture.contains("my_nf") && picture.contains("Seen"), "{picture}");
}

#[test]
fn a_new_package_builds() {
    let directory = tempfile::tempdir().unwrap();
    cora(directory.path(), &["new", "my-nf", "--cora", CHECKOUT]);
    let package = directory.path().join("my-nf");
    // The lock file of the checkout, so that the same versions are taken.
    fs::copy(Path::new(CHECKOUT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let check = Command::new(env!("CARGO"))
        .args(["check", "--quiet"])
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("new"))
        .current_dir(&package)
        .output()
        .unwrap();
    let complaints = String::from_utf8_lossy(&check.stderr);
    assert!(check.status.success() && complaints.is_empty(), "{complaints}");
}

#[test]
fn what_is_there_stays() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("taken")).unwrap();
    let refused = cora(directory.path(), &["new", "taken"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("`taken` exists already"));
}

#[test]
fn names_must_fit() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["My-NF", "9lives", "a b", "ä", "dir/Bad"] {
        let refused = cora(directory.path(), &["new", name]);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none(), "{name}");
    }
}
