//! `cargo xtask adapt`: whether moving flows while traffic changes pays. Builds an example for this
//! machine under a plan that splits, and lets `cora-bench` compare controllers on it.

use crate::{cargo, command, run as run_command, target};

/// The programs that have their flows moved.
const PROGRAM: &str = "firewall";

/// Compares; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("adapt");
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.args(["--package", PROGRAM, "--package", "cora-bench"]);
    build.env("CORA_PLAN", "split").env("CORA_SKIP_NIC", "1").env("CORA_BENCH_DPDK", "none");
    run_command(build.env("CARGO_TARGET_DIR", &room))?;
    let programs = room.join("release");
    let mut bench = command(&programs.join("cora-bench").display().to_string(), &[]);
    bench.args(words).arg("--adapt").arg(programs.join(PROGRAM));
    run_command(bench.arg("--page").arg(room.join("adapt.html")))
}
