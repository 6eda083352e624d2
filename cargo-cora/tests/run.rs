//! `cargo cora run`, with a package that only prints its arguments: the view of the build, the view
//! of the program, and the exit code.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const MANIFEST: &str =
    "[package]\nname = \"parrot\"\nedition = \"2024\"\n[features]\nnic = []\n[workspace]\n";
const BUILD: &str = r#"fn main() {
    println!("cargo::rerun-if-env-changed=CORA_PLAN");
    println!("cargo::rustc-env=SEEN={}", std::env::var("CORA_PLAN").unwrap_or_default());
}"#;
const MAIN: &str = r#"fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!("{} | plan {} | nic {}", words.join(" "), env!("SEEN"), cfg!(feature = "nic"));
    std::process::exit(7);
}"#;

fn parrot() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    fs::create_dir(directory.path().join("src")).unwrap();
    write("Cargo.toml", MANIFEST);
    write("build.rs", BUILD);
    write("src/main.rs", MAIN);
    write("in.pcap", "");
    write("my-plan.toml", "");
    directory
}

fn run(directory: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-cora"))
        .args(["run", "./", "--profile", "dev", "--in", "in.pcap"])
        .args(words.split_whitespace())
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env_remove("CORA_PLAN")
        .output()
        .unwrap()
}

#[test]
fn the_program_takes_over() {
    let directory = parrot();
    let said = |words: &str| {
        let output = run(directory.path(), words);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said("--nic off"), "run --nic off --in in.pcap | plan  | nic false\n");
    assert_eq!(
        said("--nic emulated --plan split --json --out o"),
        "run --nic emulated --in in.pcap --out o --json | plan split | nic true\n"
    );
    let plan = directory.path().canonicalize().unwrap().join("my-plan.toml");
    assert_eq!(
        said("--nic native --plan my-plan.toml --inside 10.0.0.0/8"),
        format!(
            "run --nic native --in in.pcap --inside 10.0.0.0/8 | plan {} | nic false\n",
            plan.display()
        )
    );
}

#[test]
fn a_build_that_fails_is_a_failure() {
    let directory = parrot();
    fs::write(directory.path().join("src/main.rs"), "fn main() { does_not_exist() }").unwrap();
    let output = run(directory.path(), "--nic off");
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("does_not_exist"), "rustc's own message is shown: {complaint}");
    assert!(complaint.contains("the build failed"), "{complaint}");
    assert!(output.stdout.is_empty());
}
