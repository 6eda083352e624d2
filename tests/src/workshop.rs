//! Programs, built as a user would: by cargo.
//!
//! - Those of the workspace, under the plans that they state themselves, share the target directory
//!   and the profile of the tests: what they are made of is compiled once. One build makes all of
//!   them.
//! - The same under other plans are built one plan after the other, since cargo keeps a program
//!   under one plan only.
//! - Packages outside of the workspace have a target directory of their own.
//!
//! Host halves are built with checks of arithmetic and assertions, and without optimisation: they
//! compile in a fifth of the time. Their NIC halves are those of a release, which an emulator has
//! time for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::executable;
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

/// The examples whose instructions are counted, beside loops by hand that do the same.
pub const FIRST: [&str; 4] = ["firewall", "nat", "heavy-hitter", "balancer"];

/// Programs that are no examples: `tests/programs` and two of `benches/programs`.
pub const WRITTEN_FOR_TESTS: [&str; 10] = [
    "ledger",
    "fragments",
    "keeper",
    "panics",
    "quotas",
    "subscribers",
    "syn-limiter",
    "edges",
    "empty-chain",
    "punt-each",
];

/// The package of `cargo cora`, which is built with them.
const COMMAND: &str = "cargo-cora";

/// What all of them are built with, beside their NIC halves: what measures a program in memory, and
/// moves by chance.
const FEATURES: [&str; 1] = ["cora/measure"];

/// Whether all that there is to test is tested (`CORA_TESTS=all`), or what a run of some minutes
/// has time for.
///
/// # Panics
/// When the variable says something else.
pub fn is_full() -> bool {
    match std::env::var("CORA_TESTS").as_deref() {
        Ok("all") => true,
        Ok("quick") | Err(_) => false,
        Ok(other) => panic!("CORA_TESTS={other}: say all, or quick"),
    }
}

/// Programs by their names.
pub type Programs = BTreeMap<String, PathBuf>;

/// The plan that a program is built under to run on the host alone: in a run of some minutes it is
/// the one build that there is, which splits, and its NIC is off then.
pub fn plan_of_host_alone() -> &'static str {
    if is_full() { "host-only" } else { "split" }
}

/// A build from nothing, on a slow machine.
const BUILD: Duration = Duration::from_mins(30);

/// The root of the repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The target directory that the running test was built in.
pub fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let target = test.ancestors().nth(3).map(Path::to_owned);
    target.unwrap_or_else(|| root().join("target"))
}

/// What tests make of their own, in there.
fn own() -> PathBuf {
    target().join("tests")
}

/// An empty directory in there.
pub fn room(name: &str) -> PathBuf {
    let room = own().join("rooms").join(name);
    let _was_there = std::fs::remove_dir_all(&room);
    if let Err(error) = std::fs::create_dir_all(&room) {
        panic!("{}: {error}", room.display());
    }
    room
}

/// The workshop is for one build at a time, from `cargo build` until the program is copied aside:
/// the next one may overwrite it.
fn lock() -> File {
    let path = own().join("workshop.lock");
    let made = std::fs::create_dir_all(own()).and_then(|()| File::create(&path));
    let locked = made.and_then(|file| file.lock().map(|()| file));
    locked.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Cargo, at the root.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target()).env_remove("CORA_PLAN");
    cargo.env("CORA_NIC_PROFILE", "release");
    cargo
}

/// Cargo for packages outside of the workspace, whose programs may be called as those within.
pub fn cargo_outside() -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_TARGET_DIR", own());
    cargo
}

/// Builds with this command to its end, without keeping what it makes.
pub fn build(cargo: &mut Command) -> Ended {
    let lock = lock();
    let ended = process::run(cargo, BUILD);
    drop(lock);
    ended
}

/// Builds with this command, copies the programs that come of it to `tests/programs/<shelf>` in the
/// target directory, and gives their paths by their names.
fn shelve(cargo: &mut Command, shelf: &str) -> Programs {
    let lock = lock();
    let ended = process::run(cargo.arg("--message-format=json-render-diagnostics"), BUILD);
    assert!(!ended.stderr.contains("warning: unused"), "{}", ended.stderr);
    // Its messages on standard output are for programs.
    assert_eq!(ended.code, Some(0), "{cargo:?}\n{}", ended.stderr);
    let shelf = own().join("programs").join(shelf);
    let copied = executables(&ended.stdout).into_iter().map(|built| {
        let copy = shelf.join(&built.name);
        executable::copy(&built.host, &copy);
        if let Some(nic) = &built.nic {
            executable::copy(nic, &nic_half(&copy));
        }
        (built.name, copy)
    });
    let copied = copied.collect();
    drop(lock);
    copied
}

/// `cargo build` with these words, for programs that are not built as the tests' own are.
pub fn programs(words: &[&str], plan: Option<&Path>, shelf: &str) -> Programs {
    let mut cargo = cargo();
    cargo.arg("build").args(words).envs(plan.map(|plan| ("CORA_PLAN", plan)));
    shelve(&mut cargo, shelf)
}

/// The program of this name under the plan that it states, with its NIC half.
///
/// # Panics
/// When there is none: it is an example, or one of [`WRITTEN_FOR_TESTS`].
pub fn program(name: &str) -> &'static Path {
    static BUILT: OnceLock<Programs> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let names = EXAMPLES.into_iter().chain(WRITTEN_FOR_TESTS).chain([COMMAND]);
        once_in_a_run("stated", &names.collect::<Vec<_>>(), |missing| {
            shelve(&mut with_nic_halves(missing), "stated");
        })
    });
    built.get(name).unwrap_or_else(|| panic!("no program {name} in the workspace"))
}

/// Programs of the workspace under `plan`, with their NIC halves, by name. `split` is the plan that
/// all of them state.
pub fn under(plan: &Path, names: &[&str]) -> Programs {
    if plan == Path::new("split") {
        return names.iter().map(|name| ((*name).to_owned(), program(name).to_owned())).collect();
    }
    let stem = plan.file_stem().unwrap_or_default().to_string_lossy();
    once_in_a_run(&stem, names, |missing| {
        shelve(with_nic_halves(missing).env("CORA_PLAN", plan), &stem);
    })
}

/// `cargo build` of these packages, with what the tests need of each.
fn with_nic_halves(names: &[&str]) -> Command {
    let mut cargo = cargo();
    cargo.arg("build").args(names.iter().flat_map(|name| ["--package", name]));
    let programs = names.iter().filter(|name| **name != COMMAND);
    let halves = programs.map(|name| format!("{name}/nic"));
    let features: Vec<String> = FEATURES.map(str::to_owned).into_iter().chain(halves).collect();
    cargo.args(["--features", &features.join(",")]);
    cargo
}

/// The programs of these names on a shelf; those that were not put there yet in this run of all
/// tests, which `CORA_TEST_RUN` names, are made. Without that variable cargo is asked each time.
fn once_in_a_run(shelf: &str, names: &[&str], make: impl Fn(&[&str])) -> Programs {
    let directory = own().join("programs").join(shelf);
    let stamp = |name: &str| directory.join(format!("{name}.run"));
    let this_run = std::env::var("CORA_TEST_RUN").ok();
    let is_made =
        |name: &str| this_run.is_some() && std::fs::read_to_string(stamp(name)).ok() == this_run;
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_made(name)).collect();
    if !missing.is_empty() {
        make(&missing);
    }
    for name in missing {
        let said = this_run.as_ref().map_or(Ok(()), |run| std::fs::write(stamp(name), run));
        said.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    names.iter().map(|name| ((*name).to_owned(), directory.join(name))).collect()
}

/// A library that programs in other languages load: the file that comes of a package of that kind.
pub fn library(package: &str) -> PathBuf {
    let mut command = cargo();
    command.args(["build", "--release", "--package", package]);
    let _built = build(&mut command).well(package);
    target().join("release").join(format!("lib{}.so", package.replace('-', "_")))
}

/// A program that cargo built.
struct Built {
    name: String,
    host: PathBuf,
    /// The NIC half that the host half carries.
    nic: Option<PathBuf>,
}

fn executables(messages: &str) -> Vec<Built> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let messages: Vec<Value> = messages.collect();
    let nic = |package: &Value| {
        let ran = |message: &&Value| {
            message["reason"] == "build-script-executed" && message["package_id"] == *package
        };
        let out = messages.iter().find(ran)?["out_dir"].as_str()?;
        Some(Path::new(out).join("nic-image")).filter(|image| image.is_file())
    };
    let programs = messages.iter().filter(|message| message["target"]["kind"][0] == "bin");
    let program = |message: &Value| {
        let name = message["target"]["name"].as_str()?.to_owned();
        let host = message["executable"].as_str()?.into();
        Some(Built { name, host, nic: nic(&message["package_id"]) })
    };
    programs.filter_map(program).collect()
}

/// Where the NIC half stands of a program that was built with one.
pub fn nic_half(program: &Path) -> PathBuf {
    program.with_added_extension("nic")
}

/// What a package has that stands alone, as `cargo cora new` writes it: all of these are built in
/// the same way.
const PROFILES: &str = include_str!("../../cargo-cora/src/new/profiles.txt");

/// The source of an example in one file: its modules stand inline, its tests are left out.
fn in_one_file(example: &str) -> String {
    let source = root().join("examples").join(example).join("src");
    let read = |name: &str| {
        let path = source.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut whole = String::new();
    for line in read("main.rs").replace("#[cfg(test)]\nmod tests;\n", "").split_inclusive('\n') {
        match line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(";\n")) {
            Some(name) => {
                let text = read(&format!("{name}.rs"));
                whole.extend(["mod ", name, " {\n", &text, "}\n"]);
            }
            None => whole.push_str(line),
        }
    }
    whole
}

/// An example in a package of that name, with these changes, under the plan that splits.
pub fn changed(name: &str, example: &str, changes: &[(&str, &str)]) -> PathBuf {
    let mut source = in_one_file(example);
    for (from, to) in changes {
        assert!(source.contains(from), "{example} has no `{from}` any more");
        source = source.replace(from, to);
    }
    host_half(&package(name, &source), Path::new("split"), name)
}

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
    let mut cargo = cargo_outside();
    cargo.arg("build").arg("--manifest-path").arg(package.join("Cargo.toml"));
    build(&mut cargo)
}

/// The program of such a package under `plan`: its host half alone.
pub fn host_half(package: &Path, plan: &Path, shelf: &str) -> PathBuf {
    outside(package, plan, &[], shelf)
}

fn outside(package: &Path, plan: &Path, words: &[&str], shelf: &str) -> PathBuf {
    let mut cargo = cargo_outside();
    cargo.arg("build").args(words).arg("--manifest-path").arg(package.join("Cargo.toml"));
    let built = shelve(cargo.env("CORA_PLAN", plan), shelf);
    assert_eq!(built.len(), 1, "{built:?}");
    built.into_values().collect()
}

/// The names of the packages in a package's dependency tree, itself among them.
///
/// # Panics
/// When cargo makes no tree of it.
pub fn linked(package: &str, target: Option<&str>, edges: &str) -> BTreeSet<String> {
    let mut tree = cargo();
    tree.args(["tree", "--offline", "--prefix", "none", "--format", "{p}"]);
    tree.args(["--package", package, "--edges", edges]);
    tree.args(target.iter().flat_map(|target| ["--target", target]));
    let tree = process::run(&mut tree, BUILD).well("cargo tree").stdout;
    tree.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
}

/// The program of `cargo cora`.
pub fn cargo_cora() -> &'static Path {
    program(COMMAND)
}

/// The command `cargo cora`.
pub fn cora() -> Command {
    let mut command = Command::new(cargo_cora());
    command.arg("cora").current_dir(root()).env("CARGO_TARGET_DIR", target());
    command
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
