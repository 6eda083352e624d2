//! `cargo xtask bench`: builds the examples for the host alone, and one program of both halves;
//! measures them and their parts against named peers, and draws the figures. To count the
//! NIC half's instructions, it builds the examples for aarch64, too.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, command, need, run as run_command, target};

/// In memory there is no NIC: the code that a packet runs through is measured.
const HOST_ALONE: [&str; 8] = [
    "cora-bench",
    "firewall",
    "nat",
    "balancer",
    "heavy-hitter",
    "empty-chain",
    "parsed-chain",
    "headers-chain",
];
const BOTH_HALVES: &str = "punt-each";
/// The programs that have their NIC half counted, beside loops by hand.
const COUNTED: [&str; 5] = ["cora-bench", "firewall", "nat", "balancer", "heavy-hitter"];

/// The programs whose halves share buckets.
const DEALT: [&str; 2] = ["firewall", "nat"];
/// The figures of those.
const ADDITIVE: &str = "additive";

/// Measures; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let dpdk = need::peers().unwrap_or_else(|| "none".to_owned());
    let room = target("bench");
    let dealt = dealt(&room)?;
    let only = words.iter().skip_while(|word| *word != "--only").nth(1);
    let needs_all = only.is_none_or(|only| !only.starts_with(ADDITIVE));
    let mut host_alone = build("host-only", &room);
    for package in HOST_ALONE.iter().filter(|package| needs_all || **package == HOST_ALONE[0]) {
        host_alone.args(["--package", package]);
    }
    run_command(host_alone.env("CORA_BENCH_DPDK", dpdk))?;
    let programs = room.join("release");
    let mut bench = command(&programs.join("cora-bench").display().to_string(), &[]);
    bench.args(words).arg("--dealt").arg(dealt).arg("--page").arg(room.join("bench.html"));
    if needs_all {
        let mut split = build("split", &room);
        run_command(split.args(["--package", BOTH_HALVES]))?;
        bench.arg("--programs").arg(&programs);
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

/// The programs under the plan `dealt`, in a directory of their own: cargo keeps one plan of each.
fn dealt(room: &Path) -> Result<PathBuf, String> {
    let mut built = build("dealt", room);
    for package in DEALT {
        built.args(["--package", package]);
    }
    run_command(&mut built)?;
    let own = room.join("dealt");
    let copied = DEALT.iter().try_for_each(|program| {
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
    for package in COUNTED {
        examples.args(["--package", package]);
    }
    run_command(examples.args(["--target", need::LINUX_ON_NIC]))
}

/// A build without an image for the emulator: the halves are code for this machine.
fn build(plan: &str, room: &Path) -> Command {
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.env("CORA_PLAN", plan).env("CORA_SKIP_NIC", "1").env("CARGO_TARGET_DIR", room);
    build
}
