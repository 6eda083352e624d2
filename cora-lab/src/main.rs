//! `cora-lab FUNCTION=PROGRAM…`: real programs through Cora's, and through the kernel in its place;
//! `cora-lab wires NAME=PROGRAM…`: frames a second; `cora-lab sockets NAME=PROGRAM…`: programs
//! before servers' sockets. Needs root.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use cora_lab::function::Function;
use cora_lab::limits::Limiter;
use cora_lab::middle::Ports;
use cora_lab::trial::{Request, run};
use cora_lab::verdict::{Agree, Table, to_json};

const USAGE: &str = "usage: cora-lab [--quick] [--json] [--ports tap|packet|xdp] [--seed N] [--out DIRECTORY] FUNCTION=PROGRAM…";

const USAGE_OF_SOCKETS: &str = "usage: cora-lab sockets [--quick] [--json] cargo-cora=FILE cache=FILE token=FILE echoes=FILE clients=FILE";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let mut is = |name: &str| words.next_if(|word| word == name).is_some();
    let done = if is("wires") {
        cora_lab::wires::command::wires(words).map(|()| true)
    } else if is("sockets") {
        sockets(words)
    } else {
        lab(words)
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Runs the trial. Returns whether nothing disagrees.
fn lab(words: impl Iterator<Item = String>) -> Result<bool, String> {
    let (request, json) = read(words)?;
    let rows = run(&request)?;
    let text = if json {
        to_json(&rows, request.ports.name(), request.seed).to_string()
    } else {
        Table(&rows).to_string()
    };
    writeln!(std::io::stdout(), "{text}").map_err(|error| format!("standard output: {error}"))?;
    Ok(rows.iter().all(|row| row.agree != Agree::No))
}

/// Tries programs before servers' sockets. Returns whether nothing disagrees.
fn sockets(words: impl Iterator<Item = String>) -> Result<bool, String> {
    let directory = std::env::temp_dir().join(format!("cora-sockets-{}", std::process::id()));
    let (mut programs, mut json, mut quick) = (BTreeMap::new(), false, false);
    for word in words {
        match (word.as_str(), word.split_once('=')) {
            ("--quick", _) => quick = true,
            ("--json", _) => json = true,
            (_, Some((name, path))) => drop(programs.insert(name.to_owned(), PathBuf::from(path))),
            _ => return Err(USAGE_OF_SOCKETS.to_owned()),
        }
    }
    let mut program = |name: &str| programs.remove(name).ok_or(USAGE_OF_SOCKETS);
    let request = cora_lab::sockets::Request {
        command: program("cargo-cora")?,
        cache: program("cache")?,
        token: program("token")?,
        echoes: program("echoes")?,
        clients: program("clients")?,
        quick,
        directory,
    };
    let rows = cora_lab::sockets::run(&request);
    let _removed = std::fs::remove_dir_all(&request.directory);
    let rows = rows?;
    let text = if json { to_json(&rows, "tap", 1).to_string() } else { Table(&rows).to_string() };
    writeln!(std::io::stdout(), "{text}").map_err(|error| format!("standard output: {error}"))?;
    Ok(rows.iter().all(|row| row.agree != Agree::No))
}

fn read(mut words: impl Iterator<Item = String>) -> Result<(Request, bool), String> {
    let mut json = false;
    let mut ports = None;
    let mut request = Request {
        programs: Vec::new(),
        limiters: Vec::new(),
        ports: Ports::Tap,
        seed: 1,
        rate_seconds: 5,
        directory: std::env::temp_dir().join(format!("cora-lab-{}", std::process::id())),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(USAGE);
        match word.as_str() {
            "--quick" => request.rate_seconds = 1,
            "--json" => json = true,
            "--ports" => ports = Some(value()?.parse()?),
            "--seed" => request.seed = value()?.parse().map_err(|_| USAGE)?,
            "--out" => request.directory = value()?.into(),
            other => program(&mut request, other)?,
        }
    }
    if request.programs.is_empty() && request.limiters.is_empty() {
        return Err(USAGE.to_owned());
    }
    request.ports = ports.unwrap_or_else(|| {
        let (ports, why_not_xdp) = Ports::usual();
        if let Some(why) = why_not_xdp {
            eprintln!("{why}");
        }
        ports
    });
    Ok((request, json))
}

/// Takes `NAME=PROGRAM`.
fn program(request: &mut Request, word: &str) -> Result<(), String> {
    let (name, path) = word.split_once('=').ok_or(USAGE)?;
    let function = Function::ALL.into_iter().find(|function| function.name() == name);
    let limiter = Limiter::ALL.into_iter().find(|limiter| limiter.name() == name);
    match (function, limiter) {
        (Some(function), _) => request.programs.push((function, path.into())),
        (None, Some(limiter)) => request.limiters.push((limiter, path.into())),
        (None, None) => return Err(format!("there is no function `{name}`")),
    }
    Ok(())
}
