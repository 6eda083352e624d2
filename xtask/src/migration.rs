//! `cargo xtask migrate-bench`: the cost of moving flows. Builds the programs and the command that
//! makes figures of their turns, and no more; both halves are code for this machine. With `--only
//! objects` (or as `cargo xtask bench --only objects`) it measures the move of objects alone.

use crate::{cargo, command, run as run_command, target};

/// Whether only the figures of objects are wanted.
pub(crate) fn is_of_objects(words: &[String]) -> bool {
    words.windows(2).any(|pair| pair == ["--only", "objects"])
}

/// Measures; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("bench");
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.args(["--package", "cora-bench", "--package", "memtable"]);
    if !is_of_objects(words) {
        build.args(["--package", "flow-record", "--package", "tenant"]);
    }
    // Each states its own plan.
    build.env_remove("CORA_PLAN").env("CORA_SKIP_NIC", "1");
    run_command(build.env("CARGO_TARGET_DIR", &room).env("CORA_BENCH_DPDK", "none"))?;
    let programs = room.join("release");
    let mut bench = command(&programs.join("cora-bench").display().to_string(), &[]);
    run_command(bench.args(words).arg("--moves").arg(&programs))
}
