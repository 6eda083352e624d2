//! Programs, built as a user would: by cargo, in a target directory of their own, so that whatever
//! stands in the user's is left alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::process::{self, Ended};

/// The examples.
pub const EXAMPLES: [&str; 16] = [
    "firewall",
    "nat",
    "heavy-hitter",
    "balancer",
    "policer",
    "port-scan",
    "connection-limiter",
    "flow-monitor",
    "nat64",
    "bridge",
    "vxlan",
    "syn-proxy",
    "stateful-firewall",
    "heavy-prefixes",
    "chain",
    "carrier-nat",
];

/// Those whose instructions are counted, beside loops by hand that do the same; a run of all tests has no time to
/// build every example for each of its questions, unless [everything](is_full) is asked for.
pub const FIRST: [&str; 4] = ["firewall", "nat", "heavy-hitter", "balancer"];

/// Whether the oracle is to try all that it can (`CORA_ORACLE=full`).
///
/// # Panics
/// When the variable says something else.
pub fn is_full() -> bool {
    match std::env::var("CORA_ORACLE").as_deref() {
        Ok("full") => true,
        Ok(other) => panic!("CORA_ORACLE={other}: say full, or leave it out"),
        Err(_) => false,
    }
}

/// Whether there is time for few builds and few ways of this program alone.
pub fn is_later(name: &str) -> bool {
    EXAMPLES.contains(&name) && !FIRST.contains(&name) && !is_full()
}

/// The plan that a program is built under to run on the host alone: the later examples have one build that splits, whose
/// NIC is off then.
pub fn plan_of_host_alone(name: &str) -> &'static str {
    if is_later(name) { "split" } else { "host-only" }
}

/// The examples that are built under a plan for the host alone.
pub fn built_for_host_alone() -> Vec<&'static str> {
    EXAMPLES.into_iter().filter(|name| !is_later(name)).collect()
}

/// A build from nothing, on a slow machine.
const BUILD: Duration = Duration::from_mins(30);

/// The root of the repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A target directory within the one that the running test was built in.
pub fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let target = test.ancestors().nth(3).map(Path::to_owned);
    target.unwrap_or_else(|| root().join("target")).join("tests")
}

/// An empty directory in there.
pub fn room(name: &str) -> PathBuf {
    let room = target().join("rooms").join(name);
    let _was_there = std::fs::remove_dir_all(&room);
    if let Err(error) = std::fs::create_dir_all(&room) {
        panic!("{}: {error}", room.display());
    }
    room
}

/// The workshop is for one build at a time, from `cargo build` until the program is copied aside: the
/// next one may overwrite it.
fn lock() -> File {
    let path = target().join("workshop.lock");
    let made = std::fs::create_dir_all(target()).and_then(|()| File::create(&path));
    let locked = made.and_then(|file| file.lock().map(|()| file));
    locked.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Cargo, at the root, building into the workshop.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target()).env_remove("CORA_PLAN");
    cargo
}

/// Runs `cargo build` with these words to its end, without keeping what it makes.
pub fn build(words: &[&str], plan: Option<&Path>) -> Ended {
    let lock = lock();
    let ended = process::run(&mut building(words, plan), BUILD);
    drop(lock);
    ended
}

/// Makes the NIC halves of these examples, as a release has them, and of the host halves only what that takes: build
/// scripts run, nothing is linked. They are in `<target>/nic/aarch64-unknown-none/release` then.
pub fn nic_halves(names: &[&str]) -> Ended {
    let lock = lock();
    let mut check = cargo();
    check.args(["check", "--release", "--features", "nic"]);
    for name in names {
        check.args(["--package", name]);
    }
    let ended = process::run(&mut check, BUILD);
    drop(lock);
    ended
}

/// Builds with these words, copies the programs that come of it to `<target>/programs/<shelf>`, and
/// gives their paths by their names.
pub fn programs(words: &[&str], plan: Option<&Path>, shelf: &str) -> BTreeMap<String, PathBuf> {
    let lock = lock();
    let mut command = building(words, plan);
    let ended = process::run(command.arg("--message-format=json-render-diagnostics"), BUILD);
    assert!(!ended.stderr.contains("warning: unused"), "{}", ended.stderr);
    // Its messages on standard output are for programs.
    assert_eq!(ended.code, Some(0), "cargo build {}\n{}", words.join(" "), ended.stderr);
    let shelf = target().join("programs").join(shelf);
    let copied = executables(&ended.stdout).into_iter().map(|(name, built)| {
        let copy = shelf.join(&name);
        put(&built, &copy);
        (name, copy)
    });
    let copied = copied.collect();
    drop(lock);
    copied
}

/// A library that programs in other languages load: the file that comes of a package of that kind.
pub fn library(package: &str) -> PathBuf {
    let _built = build(&["--release", "--package", package], None).well(package);
    target().join("release").join(format!("lib{}.so", package.replace('-', "_")))
}

fn building(words: &[&str], plan: Option<&Path>) -> Command {
    let mut command = cargo();
    command.arg("build").args(words);
    if let Some(plan) = plan {
        command.env("CORA_PLAN", plan);
    }
    command
}

fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = messages.filter(|message| message["target"]["kind"][0] == "bin");
    let program = |message: Value| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, message["executable"].as_str()?.into()))
    };
    programs.filter_map(program).collect()
}

/// Copies a program; where it replaces one that still runs, that one keeps its file.
fn put(from: &Path, to: &Path) {
    let directory = to.parent().unwrap_or(to);
    let fresh = to.with_extension("new");
    let done = std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::copy(from, &fresh))
        .and_then(|_| std::fs::rename(&fresh, to));
    if let Err(error) = done {
        panic!("{} to {}: {error}", from.display(), to.display());
    }
}

/// What a package has that stands alone, as `cargo cora new` writes it: all of these are built in the same way.
const PROFILES: &str = include_str!("../../cargo-cora/src/new/profiles.txt");

/// A package of its own around a program, as `cargo cora new` makes one.
pub fn package(name: &str, program: &str) -> PathBuf {
    let package = room(&format!("package-{name}"));
    let cora = root().display();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [features]\nnic = []\n\n[dependencies]\ncora = {{ path = \"{cora}\" }}\n\n[build-dependencies]\n\
         cora = {{ path = \"{cora}\", default-features = false, features = [\"build\"] }}\n{PROFILES}"
    );
    // The workspace's versions, so that nothing new has to be fetched.
    let locked = std::fs::read_to_string(root().join("Cargo.lock")).unwrap_or_default();
    let files = [
        ("Cargo.toml", manifest.as_str()),
        ("Cargo.lock", &locked),
        ("build.rs", "fn main() { cora::build() }\n"),
        ("src/main.rs", program),
    ];
    for (name, text) in files {
        let path = package.join(name);
        let directory = path.parent().unwrap_or(&package);
        let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    package
}

/// What building such a package says, in development.
pub fn told(package: &Path) -> Ended {
    build(&["--manifest-path", &package.join("Cargo.toml").display().to_string()], None)
}

/// The program of such a package under `plan`, with its NIC half, from a debug build.
pub fn halves(package: &Path, plan: &Path, shelf: &str) -> PathBuf {
    let manifest = package.join("Cargo.toml").display().to_string();
    let built = programs(&["--features", "nic", "--manifest-path", &manifest], Some(plan), shelf);
    assert_eq!(built.len(), 1, "{built:?}");
    built.into_values().collect()
}

/// The program of `cargo cora`.
pub fn cargo_cora() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let words = ["--profile", "checked", "--package", "cargo-cora"];
        let built = programs(&words, None, "checked-tools").remove("cargo-cora");
        built.unwrap_or_else(|| panic!("no program cargo-cora"))
    })
}

/// The command `cargo cora`.
pub fn cora() -> Command {
    let mut command = Command::new(cargo_cora());
    command.arg("cora").current_dir(root()).env("CARGO_TARGET_DIR", target());
    command
}

/// Examples under `plan`, with their NIC halves, by name: with checks of arithmetic and assertions, and no link-time
/// optimiser, which a question about results would wait for in vain.
///
/// Several tests ask for the same ones under plans in turn, and cargo keeps a program under one plan only. So what was
/// built once in a run of all tests, which `CORA_TEST_RUN` names, is not built again in it.
pub fn checked(names: &[&str], plan: &Path) -> BTreeMap<String, PathBuf> {
    let stem = plan.file_stem().unwrap_or_default().to_string_lossy();
    let shelf = format!("checked-{stem}");
    let directory = target().join("programs").join(&shelf);
    let stamp = |name: &str| directory.join(format!("{name}.run"));
    let this_run = std::env::var("CORA_TEST_RUN").ok();
    let is_built =
        |name: &str| this_run.is_some() && std::fs::read_to_string(stamp(name)).ok() == this_run;
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_built(name)).collect();
    if !missing.is_empty() {
        let packages = missing.iter().flat_map(|name| ["--package", name]);
        let words: Vec<&str> =
            ["--profile", "checked", "--features", "nic"].into_iter().chain(packages).collect();
        let built = programs(&words, Some(plan), &shelf);
        assert_eq!(built.len(), missing.len(), "{built:?}");
    }
    for name in missing {
        let said = this_run.as_ref().map_or(Ok(()), |run| std::fs::write(stamp(name), run));
        said.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    names.iter().map(|name| ((*name).to_owned(), directory.join(name))).collect()
}

/// Whether tests of the emulated NIC must not be left out.
pub fn required() -> bool {
    std::env::var_os("CORA_REQUIRE_EMULATED").is_some_and(|value| value == "1")
}

/// Where qemu-aarch64 is; the error says why tests of the emulated NIC are left out.
///
/// # Panics
///
/// When there is none, although `CORA_REQUIRE_EMULATED=1` says that there has to be.
#[expect(clippy::panic_in_result_fn, reason = "a test that must not be left out fails")]
pub fn emulator() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["qemu-aarch64", "qemu-aarch64-static"];
    let found = std::env::split_paths(&path)
        .flat_map(|directory| names.map(|name| directory.join(name)))
        .find(|candidate| candidate.is_file());
    assert!(found.is_some() || !required(), "no qemu-aarch64 in PATH, and CORA_REQUIRE_EMULATED=1");
    found.ok_or_else(|| {
        "SKIPPED emulated: no qemu-aarch64 in PATH (cargo xtask test installs it)".into()
    })
}
