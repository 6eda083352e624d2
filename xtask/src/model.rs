//! `cargo xtask model`: predictions of the performance model beside measurements. Builds the
//! programs under each plan, calibrates this machine, and lets `cora-bench` compare.

use std::path::Path;

use crate::{cargo, command, run as run_command, target};

/// The programs that are predicted and measured.
const PROGRAMS: [&str; 7] =
    ["firewall", "nat", "balancer", "heavy-hitter", "policer", "port-scan", "connection-limiter"];
/// Does nothing, with no state that could be dealt.
const IDLE: &str = "parsed-chain";

/// A plan's name, and its statement.
const PLANS: [(&str, &str); 4] = [
    ("host-only", "[plan]\nuse = \"host-only\"\n"),
    ("nic-only", "[plan]\nuse = \"nic-only\"\n"),
    ("half", "[plan]\nuse = \"split\"\nnic-share = 0.5\n"),
    (DEALT, "[plan]\nuse = \"dealt\"\n"),
];
const DEALT: &str = "dealt";

/// Compares; `words` go to the measuring program.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("model");
    let programs = room.join("programs");
    for (plan, statement) in PLANS {
        let idle = (plan != DEALT).then_some(IDLE);
        let names: Vec<&str> = PROGRAMS.into_iter().chain(idle).collect();
        build(&room, &programs.join(plan), statement, &names)?;
    }
    let mut bench = cargo(&["build", "--release", "--package", "cora-bench"]);
    bench.args(["--package", "cargo-cora", "--package", "cora-counter"]);
    run_command(bench.env("CARGO_TARGET_DIR", &room).env("CORA_BENCH_DPDK", "none"))?;
    let built = room.join("release");
    let profile = programs.join("this-machine.toml");
    let quick = words.iter().any(|word| word == "--quick");
    // In a hurry, or where nothing is measured, memory is as it was the last time.
    // How the halves run together is fitted anew.
    let again = words.iter().any(|word| word == "--again");
    if !((quick || again) && profile.is_file()) {
        let calibrate = built.join("cargo-cora").display().to_string();
        let mut calibrate = command(&calibrate, &["calibrate", "--out"]);
        calibrate.arg(&profile).args(quick.then_some("--quick"));
        run_command(&mut calibrate)?;
    }
    let mut bench = command(&built.join("cora-bench").display().to_string(), &[]);
    bench.args(words).arg("--model").arg(&programs).arg("--nic").arg(&profile);
    bench.arg("--counter").arg(built.join("libcora_counter.so"));
    run_command(&mut bench)
}

/// These programs under a plan, both halves for this machine, in `to`.
fn build(room: &Path, to: &Path, statement: &str, programs: &[&str]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    std::fs::create_dir_all(to).map_err(failed)?;
    let plan = to.join("plan.toml");
    // A newer file would have everything built again.
    if std::fs::read_to_string(&plan).ok().as_deref() != Some(statement) {
        std::fs::write(&plan, statement).map_err(failed)?;
    }
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    for program in programs {
        build.args(["--package", program]);
    }
    // A plan is built into a program: those of each plan have a room of their own, or each run
    // would build all of them again.
    build.env("CORA_PLAN", &plan).env("CORA_SKIP_NIC", "1");
    let own = room.join(to.file_name().unwrap_or_default());
    run_command(build.env("CARGO_TARGET_DIR", &own))?;
    for program in programs {
        let from = own.join("release").join(program);
        std::fs::copy(&from, to.join(program)).map_err(failed)?;
    }
    Ok(())
}
