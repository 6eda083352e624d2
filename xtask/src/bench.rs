//! `cargo xtask bench`: builds the examples for the host alone, measures them and their parts against
//! named peers, and draws the figures.

use crate::{cargo, command, run as run_command, target};

const EXAMPLES: [&str; 4] = ["firewall", "nat", "balancer", "heavy-hitter"];

/// Measures; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("bench");
    let mut build = cargo(&["build", "--release", "--package", "cora-bench"]);
    for example in EXAMPLES {
        build.args(["--package", example]);
    }
    // In memory there is no NIC: what is measured is the code that a packet runs through.
    build.env("CORA_PLAN", "host-only").env("CORA_SKIP_NIC", "1").env("CARGO_TARGET_DIR", &room);
    run_command(&mut build)?;
    let programs = room.join("release");
    let mut bench = command(&programs.join("cora-bench").display().to_string(), &[]);
    bench.args(words).arg("--programs").arg(&programs).arg("--page").arg(room.join("bench.html"));
    // Tables of both contestants on pages of the same size: Cora asks for huge ones by itself.
    run_command(bench.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"))
}
