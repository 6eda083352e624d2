//! `cargo xtask bench`: builds the examples for the host alone, and one program of both halves;
//! measures them and their parts against named peers, and draws the figures. To count the
//! NIC half's instructions, it builds the examples for aarch64, too. `--only` builds what its
//! figures need.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, command, migration, need, root, run as run_command, target};

/// In memory there is no NIC: the code that a packet runs through is measured. The examples, each
/// of them on several shards,
const EXAMPLES: [&str; 20] = [
    "firewall",
    "stateful-firewall",
    "connection-limiter",
    "policer",
    "port-scan",
    "flow-monitor",
    "heavy-hitter",
    "heavy-prefixes",
    "ids",
    "nat",
    "carrier-nat",
    "nat64",
    "balancer",
    "chain",
    "syn-proxy",
    "dns-guard",
    "bridge",
    "vxlan",
    "gtp-gateway",
    "gateway",
];
/// and four of them beside loops by hand, with chains that do nothing.
const BY_HAND: [&str; 4] = ["firewall", "nat", "balancer", "heavy-hitter"];
const EMPTY: [&str; 3] = ["empty-chain", "parsed-chain", "headers-chain"];
const BENCH: &str = "cora-bench";
const BOTH_HALVES: &str = "punt-each";

/// The programs whose halves share buckets.
const DEALT: [&str; 2] = ["firewall", "nat"];
/// The program with its NIC half behind a link.
const LINKED: [&str; 1] = ["firewall"];
/// The figures of those, and of shards.
const ADDITIVE: &str = "additive";
const LINK: &str = "link";
const SHARDS: &str = "shards";
/// The example that has a server by hand beside it, and its figures.
const SERVED: [&str; 1] = ["transactions"];
const PARTICIPANT: &str = "participant";
/// The example before memcached, and its figures.
const CACHE: [&str; 1] = ["cache"];
/// The program of many tenants, and its figures.
const ATTACHED: [&str; 1] = ["echoes"];
const TENANTS: &str = "tenants";
/// The example with regions, and its figures.
const STORE: [&str; 1] = ["mica"];
const ACTIVE: &str = "active";
/// Parts that are measured without any program.
const PARTS: [&str; 3] = ["ring", "table", "messages"];
/// The example with other replicated stores beside it, and its figures.
const REPLICATED_KV: &str = "replicated-kv";
const REPLICATED: &str = "replicated";

/// A group of figures, and the programs that they need.
type Group = (&'static str, &'static [&'static str]);

/// Measures; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    if migration::is_of_objects(words) {
        return migration::run(words);
    }
    let dpdk = need::peers().unwrap_or_else(|| "none".to_owned());
    let room = target("bench");
    let only = words.iter().skip_while(|word| *word != "--only").nth(1).map_or("", String::as_str);
    let each = || only.split(',');
    let needs = |group: &str| each().any(|only| only.starts_with(group) || group.starts_with(only));
    let are_of =
        |groups: &[&str]| each().all(|only| groups.iter().any(|group| only.starts_with(group)));
    let alone = [ADDITIVE, LINK, PARTICIPANT, CACHE[0], TENANTS, ACTIVE];
    let without: Vec<&str> = alone.into_iter().chain(PARTS).collect();
    let needs_none = are_of(&without);
    let all_but_others: Vec<&str> = without.into_iter().chain([SHARDS, REPLICATED]).collect();
    let needs_others = !are_of(&all_but_others);
    let attached = needs(TENANTS).then(|| need::static_programs(&ATTACHED)).transpose()?;
    // Before the others: the same packages have another plan then.
    let mut others = Vec::new();
    let plans: [(&str, &[Group]); 4] = [
        ("fetched", &[(ACTIVE, &STORE)]),
        ("dealt", &[(ADDITIVE, &DEALT)]),
        ("split", &[(LINK, &LINKED), (REPLICATED, &[REPLICATED_KV]), (ACTIVE, &STORE)]),
        ("nic-only", &[(PARTICIPANT, &SERVED), (CACHE[0], &CACHE)]),
    ];
    for (plan, groups) in plans {
        let wanted = groups.iter().filter(|(group, _)| needs(group));
        let programs: Vec<&str> = wanted.flat_map(|(_, programs)| *programs).copied().collect();
        if !programs.is_empty() {
            others.push((plan, under(plan, &programs, &room)?));
        }
    }
    let mut host_alone = build("host-only", &room);
    let of_shards = EXAMPLES.iter().filter(|_| needs(SHARDS));
    let by_hand = BY_HAND.iter().chain(&EMPTY).filter(|_| needs_others);
    let replicated = [REPLICATED_KV].into_iter().filter(|_| needs(REPLICATED));
    let packages = of_shards.chain(by_hand).copied().chain(replicated);
    for package in [BENCH].into_iter().chain(packages) {
        host_alone.args(["--package", package]);
    }
    run_command(host_alone.env("CORA_BENCH_DPDK", dpdk))?;
    let programs = room.join("release");
    let mut bench = command(&programs.join(BENCH).display().to_string(), &[]);
    bench.args(words).arg("--page").arg(room.join("bench.html"));
    for (plan, directory) in others {
        bench.arg(format!("--{plan}")).arg(directory);
    }
    if let Some(directory) = attached {
        bench.arg("--confined").arg(directory);
    }
    if !needs_none {
        bench.arg("--programs").arg(&programs);
    }
    if needs_others {
        let mut split = build("split", &room);
        run_command(split.args(["--package", BOTH_HALVES]))?;
        match nic_programs(&room) {
            Ok(()) => {
                let (nic, plugin) = (room.join(need::LINUX_ON_NIC), "libcora_counter.so");
                bench.arg("--nic-programs").arg(nic.join("release"));
                bench.arg("--counter").arg(programs.join(plugin));
            }
            Err(why) => eprintln!("instructions/*/nic left out: {why}"),
        }
    }
    // Tables of all contestants on pages of the same size: Cora asks for huge ones by itself.
    run_command(bench.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"))
}

/// Programs under this plan, in a directory of their own: cargo keeps one plan of each.
fn under(plan: &str, packages: &[&str], room: &Path) -> Result<PathBuf, String> {
    let mut built = build(plan, room);
    for package in packages {
        built.args(["--package", package]);
    }
    run_command(&mut built)?;
    let own = room.join(plan);
    let copied = packages.iter().try_for_each(|program| {
        std::fs::create_dir_all(&own)?;
        std::fs::copy(room.join("release").join(program), own.join(program)).map(drop)
    });
    copied.map_err(|error| format!("{}: {error}", own.display()))?;
    Ok(own)
}

/// The counter of instructions, and the programs that it counts, which are for the NIC's machine.
fn nic_programs(room: &Path) -> Result<(), String> {
    need::emulated_linux()?;
    let mut counter = cargo(&["build", "--release", "--package", "cora-counter"]);
    run_command(counter.env("CARGO_TARGET_DIR", room))?;
    let mut examples = build("nic-only", room);
    for package in [BENCH].iter().chain(&BY_HAND) {
        examples.args(["--package", package]);
    }
    run_command(examples.args(["--target", need::LINUX_ON_NIC]))
}

/// A build without an image for the emulator: the halves are code for this machine.
fn build(plan: &str, room: &Path) -> Command {
    let of_store = root().join("examples/mica/fetched.toml").display().to_string();
    let plan = if plan == "fetched" { &of_store } else { plan };
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.env("CORA_PLAN", plan).env("CORA_SKIP_NIC", "1").env("CARGO_TARGET_DIR", room);
    build
}
