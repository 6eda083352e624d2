//! `cargo xtask wires`: frames a second from veth to veth, through the examples, DPDK's testpmd and
//! the kernel.

use crate::{cargo, command, examples, need, run as run_command, target};

/// Measured first, and in a hurry alone.
const FIRST: [&str; 4] = ["firewall", "nat", "heavy-hitter", "balancer"];

/// Builds the lab and the examples, and has it measure them; `--only NAME` measures one.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let (only, words) = only(words)?;
    let quick = words.iter().any(|word| word == "--quick");
    let mut names = examples().map_err(|cause| format!("examples/: {cause}"))?;
    names.retain(|name| {
        only.as_ref().map_or(!quick || FIRST.contains(&name.as_str()), |only| only == name)
    });
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    if names.is_empty() {
        return Err(format!("there is no example `{}`", only.unwrap_or_default()));
    }
    need::wires()?;
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.args(["--package", "cora-lab"]);
    for name in &names {
        build.args(["--package", name]);
    }
    run_command(&mut build)?;
    let built = |name: &str| target("release").join(name).display().to_string();
    let mut wires = command(&built("cora-lab"), &["wires"]);
    wires.args(words).args(names.iter().map(|name| format!("{name}={}", built(name))));
    run_command(&mut wires)
}

/// The example that is asked for, and the other words.
fn only(words: &[String]) -> Result<(Option<String>, Vec<String>), String> {
    let Some(at) = words.iter().position(|word| word == "--only") else {
        return Ok((None, words.to_vec()));
    };
    let name = words.get(at + 1).ok_or("--only wants the name of an example")?;
    let rest = words[..at].iter().chain(&words[at + 2..]).cloned().collect();
    Ok((Some(name.clone()), rest))
}
