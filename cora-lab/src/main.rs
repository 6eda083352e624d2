//! `cora-lab FUNCTION=PROGRAM…`: real programs through Cora's, and through the kernel in its place;
//! `cora-lab wires NAME=PROGRAM…`: frames a second. Needs root.

use std::io::Write as _;
use std::process::ExitCode;

use cora_lab::function::Function;
use cora_lab::limits::Limiter;
use cora_lab::middle::Ports;
use cora_lab::trial::{Request, run};
use cora_lab::verdict::{Agree, Table, to_json};

const USAGE: &str = "usage: cora-lab [--quick] [--json] [--ports tap|packet|xdp] [--seed N] [--out DIRECTORY] FUNCTION=PROGRAM…";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let done = if words.next_if(|word| word == "wires").is_some() {
        cora_lab::wires::command::wires(words).map(|()| true)
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
