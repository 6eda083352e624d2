//! Steps that passed on the same inputs are not run again.
//!
//! When a step passes, its inputs' fingerprint is kept in `target/passed/`. A run of the tier
//! `quick` leaves the step out while the fingerprint is the same. `--all` and `--only` leave none
//! out. In an empty clone nothing has passed yet, so CI runs every step.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use crate::{command, names_in, need, output, root, target};

/// The files that decide how a step ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inputs {
    /// Not known, or changed by nearly every edit: the step runs each time.
    Any,
    /// These files and directories, and [`ALWAYS`].
    Only(&'static [&'static str]),
    /// Every file but those below these directories.
    Besides(&'static [&'static str]),
}

/// The inputs of every step: dependencies, profiles, lints, toolchain, and the steps themselves.
const ALWAYS: &[&str] = &["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo", "xtask"];

/// Directories that hold results.
const RESULTS: &[&str] = &["target", ".git"];

/// Variables of the environment that change which cases run, or how they are compiled.
const VARIABLES: &[&str] = &["CORA_TESTS", "PROPTEST_CASES", "RUSTFLAGS", "MIRIFLAGS"];

/// The fingerprint of a step's inputs; `None` where they are not known or can't be read.
pub(super) fn fingerprint(inputs: Inputs) -> Option<String> {
    let mut files = Files::default();
    let taken = match inputs {
        Inputs::Any => return None,
        Inputs::Only(paths) => ALWAYS.iter().chain(paths).try_for_each(|path| files.add(path, &[])),
        Inputs::Besides(left_out) => files.add("", left_out),
    };
    taken.ok()?;
    for tool in ["rustc", "rustup run nightly rustc"] {
        files.note(&version(tool));
    }
    files.note(&need::emulator().map(version).unwrap_or_default());
    for variable in VARIABLES {
        files.note(&std::env::var(variable).unwrap_or_default());
    }
    Some(format!("{:016x}", files.hash.finish()))
}

/// Whether the step passed on inputs of this fingerprint.
pub(super) fn passed(step: &str, fingerprint: &str) -> bool {
    fs::read_to_string(kept(step)).is_ok_and(|kept| kept == fingerprint)
}

/// Keeps that the step passed, or forgets that it ever did. A fingerprint that can't be kept costs
/// a run of the step.
pub(super) fn keep(step: &str, fingerprint: Option<&str>) {
    let path = kept(step);
    let kept = match fingerprint {
        Some(fingerprint) => {
            fs::create_dir_all(target("passed")).and_then(|()| fs::write(path, fingerprint))
        }
        None if path.exists() => fs::remove_file(path),
        None => Ok(()),
    };
    if let Err(error) = kept {
        eprintln!("the outcome of {step} is not kept: {error}");
    }
}

fn kept(step: &str) -> PathBuf {
    target("passed").join(step)
}

fn version(tool: &str) -> String {
    let mut words = tool.split(' ');
    let mut program = command(words.next().unwrap_or(tool), &[]);
    program.args(words).arg("--version");
    output(program).unwrap_or_default()
}

/// Files, hashed in the order of their names.
#[derive(Default)]
struct Files {
    hash: DefaultHasher,
}

impl Files {
    /// Adds a file, or what a directory holds, by its path from the root.
    fn add(&mut self, path: &str, left_out: &[&str]) -> io::Result<()> {
        if left_out.contains(&path) || RESULTS.iter().any(|name| Path::new(path).ends_with(name)) {
            return Ok(());
        }
        let found = root().join(path);
        if !found.is_dir() {
            self.note(path);
            return fs::read(&found).map(|bytes| self.bytes(&bytes));
        }
        names_in(&found)?.iter().try_for_each(|name| {
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            self.add(&below, left_out)
        })
    }

    fn note(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// With the length first: two texts differ from one text of both.
    fn bytes(&mut self, bytes: &[u8]) {
        self.hash.write_usize(bytes.len());
        self.hash.write(bytes);
    }
}

#[test]
fn a_fingerprint_tells_its_inputs_apart() {
    let of = |paths| fingerprint(Inputs::Only(paths));
    assert!(of(&["README.md"]).is_some());
    assert_eq!(of(&["README.md"]), of(&["README.md"]));
    assert_ne!(of(&["README.md"]), of(&["CHANGELOG.md"]));
    assert_ne!(of(&["docs"]), of(&["docs", "README.md"]));
    assert_eq!(of(&["no such file"]), None);
    assert_eq!(fingerprint(Inputs::Any), None);
}

#[test]
fn what_is_left_out_has_no_part_in_a_fingerprint() {
    let besides = |left_out: &'static [&str]| {
        let mut files = Files::default();
        files.add("docs", left_out).ok().map(|()| files.hash.finish())
    };
    assert!(besides(&[]).is_some());
    assert_ne!(besides(&[]), besides(&["docs/results"]));
    assert_eq!(besides(&["docs/results"]), besides(&["docs/results", "docs/results/tests.md"]));
}
