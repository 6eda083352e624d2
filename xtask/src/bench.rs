//! `cargo xtask bench`: builds the examples for the host alone, and what is measured of both halves; measures
//! them and their parts against named peers, and draws the figures.

use std::path::Path;
use std::process::Command;

use crate::{cargo, command, need, run as run_command, target};

/// In memory there is no NIC: what is measured is the code that a packet runs through.
const HOST_ALONE: [&str; 6] =
    ["cora-bench", "firewall", "nat", "balancer", "heavy-hitter", "empty-chain"];
const BOTH_HALVES: &str = "punt-each";

/// Measures; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let dpdk = need::peers().unwrap_or_else(|| "none".to_owned());
    let room = target("bench");
    let mut host_alone = build("host-only", &room);
    for package in HOST_ALONE {
        host_alone.args(["--package", package]);
    }
    run_command(host_alone.env("CORA_BENCH_DPDK", dpdk))?;
    run_command(build("split", &room).args(["--package", BOTH_HALVES]))?;
    let programs = room.join("release");
    let mut bench = command(&programs.join("cora-bench").display().to_string(), &[]);
    bench.args(words).arg("--programs").arg(&programs).arg("--page").arg(room.join("bench.html"));
    // Tables of all contestants on pages of the same size: Cora asks for huge ones by itself.
    run_command(bench.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"))
}

/// A build without an image for the emulator: the halves are code for this machine.
fn build(plan: &str, room: &Path) -> Command {
    let mut build = cargo(&["build", "--release"]);
    build.env("CORA_PLAN", plan).env("CORA_SKIP_NIC", "1").env("CARGO_TARGET_DIR", room);
    build
}
