//! The output of `cargo cora new` works unchanged, outside of any workspace: its workflow, and each
//! line of its page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::process::run;
use cora_tests::tell;
use cora_tests::workshop::{cora, emulator, root, target};

const LIMIT: Duration = Duration::from_mins(20);

/// A new package in a directory outside of any workspace; removed in the end.
struct New(PathBuf);

impl New {
    fn package(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("cora-new-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory for temporary files");
        let made = run(cora().current_dir(&directory).args(["new", name]), LIMIT).well("new");
        assert!(made.stderr.contains("try: cd"), "{}", made.stderr);
        Self(directory.join(name))
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the words behind `cargo cora` of each command on its page.
    fn commands(&self) -> Vec<Vec<String>> {
        let page = self.file("src/main.rs");
        let commands = page.split('`').filter_map(|quoted| quoted.strip_prefix("cargo cora "));
        commands.map(|words| words.split(' ').map(str::to_owned).collect()).collect()
    }
}

impl New {
    /// Runs each step of its workflow, but for those that install something.
    fn passes_its_workflow(&self) {
        // The workflow knows the usual place alone.
        symlink(target(), self.0.join("target")).expect("nothing was built yet");
        let workflow = self.file(".github/workflows/ci.yml");
        let lines = workflow.lines().filter_map(|line| line.trim().strip_prefix("run: "));
        let steps: Vec<&str> = lines
            .filter(|step| step.starts_with("cargo ") || step.starts_with("target/debug/"))
            .collect();
        assert_eq!(steps.len(), 4, "{workflow}");
        for step in steps {
            if let (true, Err(why)) = (step.contains("--nic emulated"), emulator()) {
                tell(&format!("`{step}` is left out: {why}"));
                continue;
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", step]).current_dir(&self.0).env("CARGO_TARGET_DIR", target());
            shell.env_remove("CORA_PLAN").env_remove("CORA_SKIP_NIC");
            let ended = run(&mut shell, LIMIT).well(step);
            if step == "cargo test" {
                assert!(ended.stdout.contains("1 passed"), "{}", ended.stdout);
            }
            if step.starts_with("cargo ") {
                assert!(!ended.stderr.contains("warning"), "{step}: {}", ended.stderr);
            } else {
                let told = ended.json();
                assert_eq!(told["outcomes"]["too-many"], 50, "{step}: {told}");
            }
        }
    }
}

impl Drop for New {
    fn drop(&mut self) {
        let directory = self.0.parent().unwrap_or(&self.0);
        if let Err(error) = fs::remove_dir_all(directory) {
            eprintln!("{}: {error}", directory.display());
        }
    }
}

fn table(text: &str) -> toml::Table {
    text.parse().unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_new_package_passes_its_test_and_runs() {
    let new = New::package("first-nf");
    new.passes_its_workflow();
    let commands = new.commands();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for words in commands {
        let ran = run(cora().current_dir(&new.0).args(&words).arg("--json"), LIMIT);
        let told = ran.well(&words.join(" ")).json();
        assert_eq!(told["outcomes"]["transmit"], 150, "{told}");
        assert_eq!(told["outcomes"]["too-many"], 50, "{told}");
        assert!(new.0.join("out.pcap").is_file(), "{words:?}");
    }
}

#[test]
fn a_new_package_is_built_as_the_examples_are() {
    let template = |name: &str| {
        let path = root().join("cargo-cora/src/new").join(name);
        table(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    let read = |path: &Path| table(&fs::read_to_string(path).expect("a file of the repository"));
    let (ours, new) = (read(&root().join("Cargo.toml")), template("profiles.txt"));
    assert_eq!(new["profile"]["release"], ours["profile"]["release"]);
    let (ours, new) = (read(&root().join("rust-toolchain.toml")), template("toolchain.txt"));
    for key in ["channel", "targets"] {
        assert_eq!(new["toolchain"][key], ours["toolchain"][key], "{key}");
    }
}
