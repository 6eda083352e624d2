//! The simulator as a program: `cora-sim chaos --seconds N --seed S [--runs N] [--json]`, or
//! `cora-sim replay SEED`; the same of messages between flows with `cora-sim messages` and
//! `cora-sim replay-messages`, and of the link with `cora-sim link` and `cora-sim replay-link`.
#![forbid(unsafe_code)]

mod link_words;

use std::fmt;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cora_sim::chaos::{self, Limits, Summary};
use cora_sim::runtime::{FAULTS, Ran};
use cora_sim::tell_runs;
use serde_json::{Map, Value, json};

const USAGE: &str =
    "usage: cora-sim chaos|messages|link [--seconds N] [--runs N] [--seed S] [--json]
       cora-sim replay|replay-messages|replay-link SEED";

/// Simulations of one kind.
#[derive(Clone, Copy)]
struct Simulations {
    one: fn(u64) -> Result<Ran, String>,
    /// The option of `cargo xtask chaos` that has them.
    option: &'static str,
}

const ALL: Simulations = Simulations { one: chaos::one, option: "" };
const MESSAGES: Simulations = Simulations { one: chaos::one_with_messages, option: "--messages " };

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.split_first() {
        Some((&"chaos", rest)) => chaos(rest, ALL),
        Some((&"messages", rest)) => chaos(rest, MESSAGES),
        Some((&"replay", [seed])) => replay(seed, ALL),
        Some((&"replay-messages", [seed])) => replay(seed, MESSAGES),
        Some((&"link", rest)) => link_words::chaos(rest),
        Some((&"replay-link", [seed])) => link_words::replay(seed),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn number(word: Option<&&str>, of: &str) -> Result<u64, String> {
    let word = word.ok_or_else(|| format!("{of} wants a number behind it\n{USAGE}"))?;
    word.parse().map_err(|_| format!("`{word}` is not a number, which {of} wants\n{USAGE}"))
}

/// The options behind a command.
struct Options {
    limits: Limits,
    /// The first seed of a simulation. Starts with different `--seed` use disjoint ones.
    first: u64,
    seed: u64,
    as_json: bool,
}

impl Options {
    fn of(words: &[&str]) -> Result<Self, String> {
        let (mut seconds, mut runs, mut seed, mut as_json) = (None, None, 1, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--seconds" => seconds = Some(number(words.next(), word)?),
                "--runs" => runs = Some(number(words.next(), word)?),
                "--seed" => seed = number(words.next(), word)?,
                "--json" => as_json = true,
                _ => return Err(format!("`{word}` is not known\n{USAGE}")),
            }
        }
        let seconds = seconds.unwrap_or(if runs.is_some() { u64::MAX >> 1 } else { 10 });
        let limits = Limits { time: Duration::from_secs(seconds), runs: runs.unwrap_or(u64::MAX) };
        Ok(Self { limits, first: seed << 32, seed, as_json })
    }
}

/// Runs simulations with a line of progress on a terminal. Returns their outcome, and the seconds
/// that they took.
fn watched<T>(run: impl FnOnce(&(dyn Fn(fmt::Arguments<'_>) + Sync)) -> T) -> (T, f64) {
    let begun = Instant::now();
    let terminal = std::io::stderr().is_terminal();
    // The outcome tells the panic.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = run(&|line| {
        if terminal {
            eprint!("\r{line}");
            std::io::stderr().flush().ok();
        }
    });
    if terminal {
        eprint!("\r{:60}\r", "");
    }
    (outcome, begun.elapsed().as_secs_f64())
}

fn chaos(words: &[&str], of: Simulations) -> Result<bool, String> {
    let Options { limits, first, seed, as_json } = Options::of(words)?;
    let (summary, seconds) = watched(|tell| {
        chaos::many(of.one, first, limits, |runs, violated| {
            tell(format_args!("{runs} runs, {violated} violations"));
        })
    });
    if as_json {
        say(format_args!("{}", report(&summary, seed, seconds)));
    } else {
        tell(&summary, seconds, of);
    }
    Ok(summary.violated == 0)
}

fn report(summary: &Summary, seed: u64, seconds: f64) -> Value {
    let counts = FAULTS.iter().zip(summary.faults.counts());
    let faults: Map<String, Value> =
        counts.map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    let violations: Vec<Value> = summary
        .violations
        .iter()
        .map(|violation| json!({ "seed": violation.seed, "what": violation.what }))
        .collect();
    json!({
        "seed": seed,
        "seconds": seconds,
        "runs": summary.runs,
        "packets": summary.packets,
        "moves": summary.moves,
        "messages": summary.messages,
        "lost": summary.lost,
        "faults": faults,
        "violated": summary.violated,
        "violations": violations,
    })
}

fn tell(summary: &Summary, seconds: f64, of: Simulations) {
    let Summary { runs, packets, moves, messages, lost, faults, violated, violations } = summary;
    let rate = f64::from(u32::try_from(*runs).unwrap_or(u32::MAX)) / seconds;
    say(format_args!(
        "{runs} runs in {seconds:.1} s ({rate:.0}/s): {packets} packets, {messages} messages, {moves} moves"
    ));
    say(format_args!("faults: {faults}; {lost} packets and messages lost with a dead side"));
    say(format_args!("violations: {violated}"));
    for violation in violations {
        say(format_args!("  seed {}: {}", violation.seed, violation.what));
        say(format_args!("    again: cargo xtask chaos {}--replay {}", of.option, violation.seed));
    }
}

fn replay(seed: &str, of: Simulations) -> Result<bool, String> {
    tell_runs();
    match (of.one)(number(Some(&seed), "replay")?) {
        Ok(ran) => {
            say(format_args!("seed {seed} holds: {} packets, {} moves", ran.packets, ran.moves));
            say(format_args!("faults: {}", ran.faults));
            Ok(true)
        }
        Err(what) => {
            say(format_args!("seed {seed}: {what}"));
            Ok(false)
        }
    }
}

/// Prints a line to standard output. A reader that closes the pipe (`| head`) is not a failure.
fn say(line: fmt::Arguments<'_>) {
    if let Err(error) = writeln!(std::io::stdout(), "{line}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprintln!("standard output: {error}");
    }
}
