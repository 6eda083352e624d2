//! # client: TATP and SmallBank against nodes that run `transactions`
//!
//! It gives rows their first content, does so many jobs with many transactions under way at a time,
//! reads all rows, and checks the history: strictly serialisable, each version with one writer, and
//! money neither made nor lost.
//!
//! | module | contents |
//! | --- | --- |
//! | `options` | the words of the command line |
//! | `workload`, `tatp`, `smallbank` | jobs |
//! | `engine` | clients that do them; `network` is their socket |
//! | `history`, `checker`, `verdict` | committed transactions, and their check |
//! | `figures`, `random` | numbers of a run, and numbers that look random |

mod checker;
mod engine;
mod figures;
mod history;
mod network;
mod options;
mod random;
#[cfg(test)]
mod simulation;
mod smallbank;
mod tatp;
mod verdict;
mod workload;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use engine::Engine;
use figures::{Count, Figures};
use network::Network;
use options::{Benchmark, HELP, Options};
use random::Random;
use smallbank::SmallBank;
use tatp::Tatp;
use verdict::Verdict;
use workload::{Job, Workload, load, read_all};

/// Time between two lines of progress.
const TELL: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let ran = Options::read(words.into_iter()).and_then(|options| run(&options));
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}; --help has all words");
            ExitCode::from(2)
        }
    }
}

/// Runs a benchmark. Returns whether all checks hold.
fn run(options: &Options) -> Result<bool, String> {
    match options.benchmark {
        Benchmark::Tatp => run_on(&Tatp { subscribers: options.rows }, options),
        Benchmark::SmallBank => run_on(&SmallBank { accounts: options.rows }, options),
    }
}

fn run_on(workload: &dyn Workload, options: &Options) -> Result<bool, String> {
    let mut network = Network::new(options.nodes.clone())?;
    // Of other runs, no client has the same number.
    let first = RandomState::new().build_hasher().finish() & !0xff_ffff;
    let (nodes, clients) = (options.nodes.len(), options.clients as usize);
    let give_up = options.give_up * 1_000_000_000;
    let mut engine = Engine::new(workload, nodes, clients, first, give_up, Random(options.seed));

    let rows = workload.rows(&mut Random(options.seed));
    do_all("rows get their first content", load(&rows), &mut network, &mut engine)?;
    if engine.figures.unknown > 0 {
        return Err("nodes do not answer: rows have no first content".to_owned());
    }
    let before = engine.sum();
    (engine.money, engine.measures) = (0, true);

    let mut left = options.transactions;
    let mut jobs = |random: &mut Random| {
        left = left.checked_sub(1)?;
        Some(workload.job(random))
    };
    let start = Instant::now();
    let mut tell = progress("jobs", options.transactions);
    network.run(&mut engine, &mut jobs, &mut tell)?;
    let took = start.elapsed();
    let mut figures = std::mem::take(&mut engine.figures);

    let rows = engine.history.rows();
    do_all("rows are read", read_all(&rows), &mut network, &mut engine)?;
    print!("\n{}", figures.table(workload.kinds(), took));
    let verdict = Verdict::of(workload, &engine, before);
    print!("\n{verdict}");
    Ok(verdict.holds())
}

/// Does these jobs.
fn do_all(
    what: &str,
    jobs: Vec<Job>,
    network: &mut Network,
    engine: &mut Engine<'_>,
) -> Result<(), String> {
    let mut tell = progress(what, jobs.len() as u64);
    let mut jobs = jobs.into_iter();
    network.run(engine, &mut |_| jobs.next(), &mut tell)
}

/// Tells how far it is, each second.
fn progress(what: &str, of: u64) -> impl FnMut(&Engine<'_>) {
    let (mut last, mut before) = (Instant::now(), 0);
    move |engine| {
        let Figures { again, .. } = engine.figures;
        let done = engine.figures.done();
        if last.elapsed() >= TELL || done == of {
            let second = (done - before) as f64 / last.elapsed().as_secs_f64().max(1e-9);
            let [done, of, again] = [done, of, again].map(Count);
            eprintln!("{what}: {done} of {of}, {second:.0} a second, {again} datagrams again");
            (last, before) = (Instant::now(), engine.figures.done());
        }
    }
}
