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
fn a_new_package_takes_the_checkout_by_its_whole_path_with_the_versions_there() {
    let directory = tempfile::tempdir().unwrap();
    // As somebody in the checkout would name it.
    let to = directory.path().join("my-nf");
    let made = cora(Path::new(CHECKOUT), &["new", to.to_str().unwrap(), "--cora", "."]);
    assert!(made.status.success(), "{made:?}");
    let manifest = fs::read_to_string(to.join("Cargo.toml")).unwrap();
    let whole = Path::new(CHECKOUT).canonicalize().unwrap();
    assert_eq!(manifest.matches(&format!("path = {whole:?}")).count(), 2, "{manifest}");
    let lock = |package: &Path| fs::read_to_string(package.join("Cargo.lock")).unwrap();
    assert_eq!(lock(&to), lock(&whole));
}

#[test]
fn a_part_of_a_workspace_has_neither_profiles_nor_versions_nor_a_workflow_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("Cargo.toml"), "[workspace]\nmembers = [\"in/*\"]\n").unwrap();
    for (name, stands_alone) in [("in/part", false), ("apart", true)] {
        let made = cora(directory.path(), &["new", name]);
        assert!(made.status.success(), "{made:?}");
        let package = directory.path().join(name);
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        assert_eq!(manifest.contains("[workspace]"), stands_alone, "{manifest}");
        assert_eq!(manifest.contains("[profile.release]"), stands_alone, "{manifest}");
        assert_eq!(package.join("Cargo.lock").is_file(), stands_alone, "{name}");
        let workflow = package.join(".github/workflows/ci.yml");
        assert_eq!(workflow.is_file(), stands_alone, "{name}");
    }
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
    for name in ["My-NF", "9lives", "a b", "ä", "dir/Bad", "fn", "main"] {
        let refused = cora(directory.path(), &["new", name]);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none(), "{name}");
    }
}
