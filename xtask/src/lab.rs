//! `cargo xtask lab`: real programs through Cora, and through the kernel in its place.

use crate::{cargo, command, need, run as run_command, target};

/// The network functions that the kernel can be as well.
const FUNCTIONS: [&str; 6] = ["firewall", "nat", "balancer", "gateway", "policer", "port-scan"];

/// The part about programs before servers' sockets, and its programs.
const SOCKETS: &str = "sockets";
const ATTACHED: [&str; 3] = ["cache", "token", "echoes"];

/// Builds the lab and the examples, and starts it with these words.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    need::lab()?;
    let (only, words) = only(words)?;
    if only.as_deref() == Some(SOCKETS) {
        return sockets(&words);
    }
    let mut build = cargo(&["build", "--release", "--features", "cora/measure"]);
    build.args(["--package", "cora-lab"]);
    for function in FUNCTIONS {
        build.args(["--package", function]);
    }
    run_command(&mut build)?;
    let built = |name: &str| target("release").join(name).display().to_string();
    let mut lab = command(&built("cora-lab"), &[]);
    lab.args(&words);
    lab.args(FUNCTIONS.map(|function| format!("{function}={}", built(function))));
    run_command(&mut lab)
}

/// The word behind `--only`, and the other words.
fn only(words: &[String]) -> Result<(Option<String>, Vec<String>), String> {
    let mut rest = Vec::new();
    let (mut words, mut only) = (words.iter(), None);
    while let Some(word) = words.next() {
        if word != "--only" {
            rest.push(word.clone());
            continue;
        }
        match words.next().map(String::as_str) {
            Some(SOCKETS) => only = Some(SOCKETS.to_owned()),
            other => {
                let other = other.unwrap_or("nothing");
                return Err(format!("--only {other}: the lab has `{SOCKETS}` by itself"));
            }
        }
    }
    Ok((only, rest))
}

/// Programs before servers' sockets, and the servers without them.
fn sockets(words: &[String]) -> Result<(), String> {
    let attached = need::static_programs(&ATTACHED)?;
    let mut build = cargo(&["build", "--release", "--package", "cora-lab"]);
    run_command(build.args(["--package", "cargo-cora"]))?;
    let mut clients = cargo(&["build", "--release", "--package", "cache", "--example", "clients"]);
    run_command(clients.env("CORA_SKIP_NIC", "1"))?;
    let built = target("release");
    let mut lab = command(&built.join("cora-lab").display().to_string(), &[SOCKETS]);
    lab.args(words);
    lab.arg(format!("cargo-cora={}", built.join("cargo-cora").display()));
    lab.arg(format!("clients={}", built.join("examples/clients").display()));
    lab.args(ATTACHED.map(|name| format!("{name}={}", attached.join(name).display())));
    run_command(&mut lab)
}
