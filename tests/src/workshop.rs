//! Programs, built by cargo, as a user would build them.
//!
//! - Programs of the workspace, under the plans that they state, share the target directory and the
//!   profile of the tests. Their dependencies are compiled once. One build makes all of them.
//! - Under other plans they are built one plan after the other, because cargo keeps one plan of a
//!   program only.
//! - Packages outside of the workspace have a target directory of their own.
//!
//! Host halves are built with overflow checks and assertions, and without optimisation: this takes
//! a fifth of the time. Their NIC halves have the release profile, because an emulator runs them.

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
pub const EXAMPLES: [&str; 20] = [
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
    "gateway",
    "vxlan",
    "syn-proxy",
    "stateful-firewall",
    "heavy-prefixes",
    "chain",
    "carrier-nat",
    "dns-guard",
    "gtp-gateway",
    "ids",
];

/// The examples for messages of applications: those that take them in place of packets, and
/// `token`, which reads them in packets.
pub const OF_MESSAGES: [&str; 8] =
    ["transactions", "analytics", "replicated-kv", "cache", "token", "sensors", "mica", "btree"];

/// The examples with counts of instructions, beside equivalent loops by hand.
pub const FIRST: [&str; 4] = ["firewall", "nat", "heavy-hitter", "balancer"];

/// Programs that are no examples: `tests/programs` and two of `benches/programs`.
pub const WRITTEN_FOR_TESTS: [&str; 25] = [
    "alarms",
    "crowd",
    "meters",
    "ledger",
    "leases",
    "border",
    "fragments",
    "junction",
    "tenants",
    "keeper",
    "panics",
    "quotas",
    "subscribers",
    "syn-limiter",
    "edges",
    "tenant-rate",
    "rst-injector",
    "sni-filter",
    "rtt-meter",
    "parcels",
    "shelves",
    "health-lb",
    "echoes",
    "empty-chain",
    "punt-each",
];

/// The package of `cargo cora`, which is in the same build.
const COMMAND: &str = "cargo-cora";

/// Features of all programs, besides their NIC halves: the in-memory measurement, and random moves.
const FEATURES: [&str; 1] = ["cora/measure"];

/// Returns whether the run is full (`CORA_TESTS=all`) or quick (a few minutes).
///
/// # Panics
/// If the variable has another value.
pub fn is_full() -> bool {
    match std::env::var("CORA_TESTS").as_deref() {
        Ok("all") => true,
        Ok("quick") | Err(_) => false,
        Ok(other) => panic!("CORA_TESTS={other}: say all, or quick"),
    }
}

/// The number in this variable of the environment.
///
/// # Panics
/// If it has another value.
pub fn variable(name: &str, otherwise: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Programs by their names.
pub type Programs = BTreeMap<String, PathBuf>;

/// Returns the plan of a program that runs on the host alone. A quick run has only the split build,
/// and turns its NIC off.
pub fn plan_of_host_alone() -> &'static str {
    if is_full() { "host-only" } else { "split" }
}

/// Upper bound on a build from scratch on a slow machine.
const BUILD: Duration = Duration::from_mins(30);

/// Returns the root of the repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Returns the target directory of the running test.
pub fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let target = test.ancestors().nth(3).map(Path::to_owned);
    target.unwrap_or_else(|| root().join("target"))
}

/// Returns the directory in the target directory for the files of the tests.
fn own() -> PathBuf {
    target().join("tests")
}

/// Returns an empty directory in there.
pub fn room(name: &str) -> PathBuf {
    let room = own().join("rooms").join(name);
    let _was_there = std::fs::remove_dir_all(&room);
    if let Err(error) = std::fs::create_dir_all(&room) {
        panic!("{}: {error}", room.display());
    }
    room
}

/// Locks the workshop for one build, from `cargo build` until the copy of the program: the next
/// build may overwrite it.
fn lock() -> File {
    let path = own().join("workshop.lock");
    let made = std::fs::create_dir_all(own()).and_then(|()| File::create(&path));
    let locked = made.and_then(|file| file.lock().map(|()| file));
    locked.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns cargo, at the root.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target()).env_remove("CORA_PLAN");
    cargo.env("CORA_NIC_PROFILE", "release");
    cargo
}

/// Returns cargo for packages outside of the workspace. Their programs may have names of programs
/// in the workspace.
pub fn cargo_outside() -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_TARGET_DIR", own());
    cargo
}

/// Runs this build to its end, without keeping its output.
pub fn build(cargo: &mut Command) -> Ended {
    let lock = lock();
    let ended = process::run(cargo, BUILD);
    drop(lock);
    ended
}

/// Runs this build, copies its programs to `tests/programs/<shelf>` in the target directory, and
/// returns their paths by name.
fn shelve(cargo: &mut Command, shelf: &str) -> Programs {
    let lock = lock();
    let ended = process::run(cargo.arg("--message-format=json-render-diagnostics"), BUILD);
    assert!(!ended.stderr.contains("warning: unused"), "{}", ended.stderr);
    // Messages on standard output are for programs.
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

/// Runs `cargo build` with these words, for programs that need a build unlike the tests' own.
pub fn programs(words: &[&str], plan: Option<&Path>, shelf: &str) -> Programs {
    let mut cargo = cargo();
    cargo.arg("build").args(words).envs(plan.map(|plan| ("CORA_PLAN", plan)));
    shelve(&mut cargo, shelf)
}

/// Returns the program of this name under the plan that it states, with its NIC half.
///
/// # Panics
/// If the name is neither an example nor one of [`WRITTEN_FOR_TESTS`].
pub fn program(name: &str) -> &'static Path {
    static BUILT: OnceLock<Programs> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let names =
            EXAMPLES.into_iter().chain(OF_MESSAGES).chain(WRITTEN_FOR_TESTS).chain([COMMAND]);
        once_in_a_run("stated", &names.collect::<Vec<_>>(), |missing| {
            shelve(&mut with_nic_halves(missing), "stated");
        })
    });
    built.get(name).unwrap_or_else(|| panic!("no program {name} in the workspace"))
}

/// Returns programs of the workspace under `plan`, with their NIC halves, by name. All of them
/// state the plan `split`.
pub fn under(plan: &Path, names: &[&str]) -> Programs {
    if plan == Path::new("split") {
        return names.iter().map(|name| ((*name).to_owned(), program(name).to_owned())).collect();
    }
    let stem = plan.file_stem().unwrap_or_default().to_string_lossy();
    once_in_a_run(&stem, names, |missing| {
        shelve(with_nic_halves(missing).env("CORA_PLAN", plan), &stem);
    })
}

/// Returns `cargo build` for these packages, with the features that the tests need.
fn with_nic_halves(names: &[&str]) -> Command {
    let mut cargo = cargo();
    cargo.arg("build").args(names.iter().flat_map(|name| ["--package", name]));
    let programs = names.iter().filter(|name| **name != COMMAND);
    let halves = programs.map(|name| format!("{name}/nic"));
    let features: Vec<String> = FEATURES.map(str::to_owned).into_iter().chain(halves).collect();
    cargo.args(["--features", &features.join(",")]);
    cargo
}

/// Returns the programs of these names on a shelf, and makes the missing ones once per run of all
/// tests, named by `CORA_TEST_RUN`. Without that variable cargo runs each time.
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

/// Returns the program of this name for an emulated card, which is ready to boot; the error says
/// why tests of cards are skipped. The parts of a card are fetched, if these tests are required.
///
/// # Panics
/// If the program is not one of [`FIRST`], or if there is no card although one is required.
#[expect(clippy::panic_in_result_fn, reason = "a test that must not be left out fails")]
pub fn card(name: &str) -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<Programs, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let fetch: &[&str] = if required() { &["--fetch-card"] } else { &[] };
        let looked = cora().args(["doctor", "--json"]).args(fetch).output();
        let found = looked.ok().and_then(|it| serde_json::from_slice::<Value>(&it.stdout).ok());
        let is_there = found.is_some_and(|found| {
            let mut findings = found["findings"].as_array().into_iter().flatten();
            findings.any(|it| it["what"] == "emulated card" && it["state"] == "ok")
        });
        if !is_there {
            assert!(!required(), "no emulated card, and CORA_REQUIRE_EMULATED=1");
            return Err("SKIPPED card: cargo cora doctor --fetch-card brings what it needs".into());
        }
        Ok(once_in_a_run("card", &FIRST, |missing| {
            let mut cargo = cargo();
            cargo.args(["build", "--target", LINUX_ON_NIC]).env(LINKER.0, LINKER.1);
            cargo.args(missing.iter().flat_map(|name| ["--package", name]));
            let halves: Vec<String> = missing.iter().map(|name| format!("{name}/nic")).collect();
            shelve(cargo.args(["--features", &halves.join(",")]), "card");
        }))
    });
    let card = |programs: &'static Programs| {
        let card = programs.get(name).map(PathBuf::as_path);
        card.unwrap_or_else(|| panic!("no card is built for {name}"))
    };
    built.as_ref().map(card).map_err(Clone::clone)
}

/// Programs that are attached at an agent, and one that wants to harm others there.
const CONFINED: [&str; 3] = ["echoes", "cache", "attacker"];

/// Returns the static program of this name, under the plan that it states.
///
/// # Panics
/// If it is none of those that tests attach.
pub fn confined(name: &str) -> &'static Path {
    static BUILT: OnceLock<Programs> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        once_in_a_run("confined", &CONFINED, |missing| {
            let mut cargo = cargo();
            cargo.args(["build", "--target", STATIC.0]).env(STATIC.1, "rust-lld");
            cargo.args(missing.iter().flat_map(|name| ["--package", name]));
            // The NIC halves there are native.
            shelve(cargo.env("CORA_SKIP_NIC", "1"), "confined");
        })
    });
    built.get(name).unwrap_or_else(|| panic!("no static program {name}"))
}

/// Static programs for this machine, and Cargo's variable for their linker.
const STATIC: (&str, &str) = if cfg!(target_arch = "aarch64") {
    (LINUX_ON_NIC, LINKER.0)
} else {
    ("x86_64-unknown-linux-musl", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER")
};

/// Linux on the NIC's machine, and Cargo's variable for its linker.
const LINUX_ON_NIC: &str = "aarch64-unknown-linux-musl";
const LINKER: (&str, &str) = ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");

/// Builds a shared library that programs in other languages load.
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

/// Returns the path of the NIC half of a program.
pub fn nic_half(program: &Path) -> PathBuf {
    program.with_added_extension("nic")
}

/// The profiles of a standalone package, as `cargo cora new` writes them: all of these packages
/// have the same build.
const PROFILES: &str = include_str!("../../cargo-cora/src/new/profiles.txt");

/// Returns the source of an example in one file: modules inline, tests left out. If its handlers
/// are in a library, so that it has two roots, they become one.
fn in_one_file(example: &str) -> String {
    let source = root().join("examples").join(example).join("src");
    let read = |name: &str| {
        let path = source.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut main = read("main.rs");
    if source.join("lib.rs").is_file() {
        let library = read("lib.rs").replace(OF_A_LIBRARY, "");
        let app = format!("\ncora::app!({example}::");
        let (head, chain) = main.split_once(&app).unwrap_or_else(|| panic!("{example}: no {app}"));
        let head = head.lines().filter(|line| !line.starts_with("//!"));
        let head: String = head.flat_map(|line| [line, "\n"]).collect();
        main = format!("{head}{}\ncora::app!({chain}", without_page(&library));
    }
    let mut whole = String::new();
    for line in main.replace("#[cfg(test)]\nmod tests;\n", "").split_inclusive('\n') {
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

/// What leaves `std` out of a library at the NIC.
const OF_A_LIBRARY: &str = "#![cfg_attr(target_os = \"none\", no_std)]\n";

/// Removes the comment at the head of a root.
fn without_page(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("//!")).collect()
}

/// Builds an example in a package of that name, with these changes, under the plan `split`.
pub fn changed(name: &str, example: &str, changes: &[(&str, &str)]) -> PathBuf {
    let mut source = in_one_file(example);
    for (from, to) in changes {
        assert!(source.contains(from), "{example} has no `{from}` any more");
        source = source.replace(from, to);
    }
    host_half(&package(name, &source), Path::new("split"), name)
}

/// Makes a package around a program, as `cargo cora new` does.
pub fn package(name: &str, program: &str) -> PathBuf {
    let package = room(&format!("package-{name}"));
    let cora = root().display();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [features]\nnic = []\n\n[dependencies]\ncora = {{ path = \"{cora}\" }}\n\n[build-dependencies]\n\
         cora = {{ path = \"{cora}\", default-features = false, features = [\"build\"] }}\n{PROFILES}"
    );
    // The workspace's versions, so that cargo fetches nothing new.
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

/// Builds such a package with the development profile, and returns the output.
pub fn told(package: &Path) -> Ended {
    let mut cargo = cargo_outside();
    cargo.arg("build").arg("--manifest-path").arg(package.join("Cargo.toml"));
    build(&mut cargo)
}

/// Builds the program of such a package under `plan`: its host half alone.
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

/// Returns the names of the packages in a package's dependency tree, itself among them.
///
/// # Panics
/// If cargo makes no tree of it.
pub fn linked(package: &str, target: Option<&str>, edges: &str) -> BTreeSet<String> {
    let mut tree = cargo();
    tree.args(["tree", "--offline", "--prefix", "none", "--format", "{p}"]);
    tree.args(["--package", package, "--edges", edges]);
    tree.args(target.iter().flat_map(|target| ["--target", target]));
    let tree = process::run(&mut tree, BUILD).well("cargo tree").stdout;
    tree.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
}

/// Returns the program of `cargo cora`.
pub fn cargo_cora() -> &'static Path {
    program(COMMAND)
}

/// Returns the command `cargo cora`.
pub fn cora() -> Command {
    let mut command = Command::new(cargo_cora());
    command.arg("cora").current_dir(root()).env("CARGO_TARGET_DIR", target());
    command
}

/// Returns whether tests of the emulated NIC are required.
pub fn required() -> bool {
    std::env::var_os("CORA_REQUIRE_EMULATED").is_some_and(|value| value == "1")
}

/// Returns the path of qemu-aarch64; the error says why tests of the emulated NIC are skipped.
///
/// # Panics
///
/// If there is none, although `CORA_REQUIRE_EMULATED=1` requires one.
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
