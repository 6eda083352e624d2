//! `cargo xtask lab`: real programs through Cora, and through the kernel in its place.

use crate::{cargo, command, need, run as run_command, target};

/// The network functions that the kernel can be as well.
const FUNCTIONS: [&str; 6] = ["firewall", "nat", "balancer", "gateway", "policer", "port-scan"];

/// Builds the lab and the examples, and starts it with these words.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    need::lab()?;
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.args(["--package", "cora-lab"]);
    for function in FUNCTIONS {
        build.args(["--package", function]);
    }
    run_command(&mut build)?;
    let built = |name: &str| target("release").join(name).display().to_string();
    let mut lab = command(&built("cora-lab"), &[]);
    lab.args(words);
    lab.args(FUNCTIONS.map(|function| format!("{function}={}", built(function))));
    run_command(&mut lab)
}
