//! `cargo xtask bench`: builds the examples for the host alone, measures them and their parts against
//! named peers, and draws the figures. To count the NIC half's instructions, it builds them for aarch64 too.

use std::path::Path;
use std::process::Command;

use crate::{cargo, command, need, run as run_command, target};

const EXAMPLES: [&str; 4] = ["firewall", "nat", "balancer", "heavy-hitter"];

/// Measures; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("bench");
    // In memory there is no NIC: what is measured is the code that a packet runs through.
    let mut build = build(&room, "host-only");
    run_command(build.env("CORA_SKIP_NIC", "1"))?;
    let programs = room.join("release");
    let mut bench = command(&programs.join("cora-bench").display().to_string(), &[]);
    bench.args(words).arg("--programs").arg(&programs).arg("--page").arg(room.join("bench.html"));
    match nic_programs(&room) {
        Ok(()) => {
            let (nic, plugin) = (room.join(need::LINUX_ON_NIC), "libcora_counter.so");
            bench.arg("--nic-programs").arg(nic.join("release"));
            bench.arg("--counter").arg(programs.join(plugin));
        }
        Err(why) => eprintln!("instructions/*/nic left out: {why}"),
    }
    // Tables of both contestants on pages of the same size: Cora asks for huge ones by itself.
    run_command(bench.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"))
}

/// What counts the NIC half's instructions, and what it counts: programs for the NIC's machine.
fn nic_programs(room: &Path) -> Result<(), String> {
    need::emulated_linux()?;
    let mut counter = cargo(&["build", "--release", "--package", "cora-counter"]);
    run_command(counter.env("CARGO_TARGET_DIR", room))?;
    run_command(build(room, "nic-only").args(["--target", need::LINUX_ON_NIC]))
}

/// Builds the measuring program and the examples under a plan that runs all of it on one side.
fn build(room: &Path, plan: &str) -> Command {
    let mut build = cargo(&["build", "--release", "--package", "cora-bench"]);
    for example in EXAMPLES {
        build.args(["--package", example]);
    }
    build.env("CORA_PLAN", plan).env("CARGO_TARGET_DIR", room);
    build
}
