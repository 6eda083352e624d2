//! `cargo xtask demo`: real traffic through the NAT, split across an emulated NIC and the host.
//! With `--card` the NIC half is on an emulated card with a kernel of its own, joined to the host
//! by Ethernet.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cora_traffic::{Mode, Summary, readdress, real};

use crate::{cargo, command, need, target};

pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let on_card = match words {
        [] => false,
        [word] if word == "--card" => true,
        _ => return Err("usage: cargo xtask demo [--card]".to_owned()),
    };
    need::nic_target()?;
    need::programs(false)?;
    if on_card {
        need::emulated_linux()?;
    }
    let directory = target("demo");
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let captured = traffic(&directory)?;

    eprintln!("\n== The NAT, built for this host and for the NIC's machine");
    // The host half in the profile that compiles fastest; the emulator is slow enough for a NIC
    // half that is optimised.
    let mut build = cargo(&["build", "--package", "nat", "--features", "nat/nic"]);
    crate::run(build.env("CORA_NIC_PROFILE", "release"))?;

    if on_card {
        build_for_card()?;
    }

    eprintln!("\n== Once on the host alone, to learn where the NAT puts each flow");
    let learnt = directory.join("learnt.pcap");
    crate::run(nat("off", &captured, &learnt).stdout(Stdio::null()))?;
    let input = directory.join("in.pcap");
    let replies = send_replies_there(&captured, &learnt, &input)
        .map_err(|error| format!("replies can't be readdressed: {error}"))?;
    eprintln!("{replies} replies now go to the NAT's own address");

    let output = directory.join("out.pcap");
    if on_card {
        eprintln!("\n== The NAT, split between a card with a kernel of its own and this host");
        let mut nat = nat("card:ethernet", &input, &output);
        crate::run(nat.arg("--card-program").arg(card_program()))?;
    } else {
        eprintln!("\n== The NAT, split between an emulated aarch64 NIC and this host");
        crate::run(&mut nat("emulated", &input, &output))?;
    }
    eprintln!("what left: {}", output.display());
    Ok(())
}

/// Builds the NAT for the card, and fetches a card.
fn build_for_card() -> Result<(), String> {
    eprintln!("\n== The NAT, built for the card");
    let words = ["--target", need::LINUX_ON_NIC, "--package", "nat", "--features", "nat/nic"];
    let mut build = cargo(&["build"]);
    crate::run(build.args(words).env("CORA_NIC_PROFILE", "release"))?;
    eprintln!("\n== An emulated card: what is missing is fetched");
    crate::run(&mut cargo(&["cora", "doctor", "--fetch-card"]))
}

fn card_program() -> PathBuf {
    target(&format!("{}/debug/nat", need::LINUX_ON_NIC))
}

/// Captures traffic, and names its kind.
fn traffic(directory: &Path) -> Result<PathBuf, String> {
    eprintln!("== Traffic between two network namespaces");
    let traffic = real(directory).map_err(|error| error.to_string())?;
    match &traffic.mode {
        Mode::Real { lacking } => lacking.iter().for_each(|what| eprintln!("({what})")),
        Mode::Generated { why } => eprintln!("GENERATED traffic, not real: {why}"),
    }
    let capture = traffic.captures.into_iter().next().ok_or("no capture was made")?;
    let file = File::open(&capture).map_err(|error| error.to_string())?;
    let summary = Summary::of(BufReader::new(file)).map_err(|error| error.to_string())?;
    eprintln!("{}: {summary}", capture.display());
    Ok(capture)
}

fn nat(nic: &str, input: &Path, output: &Path) -> Command {
    let mut command = command(&target("debug/nat").display().to_string(), &["run", "--nic", nic]);
    command.arg("--in").arg(input).arg("--out").arg(output);
    command
}

fn send_replies_there(
    captured: &Path,
    learnt: &Path,
    input: &Path,
) -> Result<u64, cora_traffic::TrafficError> {
    let read = |path| File::open(path).map(BufReader::new);
    readdress(read(captured)?, read(learnt)?, BufWriter::new(File::create(input)?))
}
