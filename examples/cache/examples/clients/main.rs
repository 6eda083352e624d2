//! # clients: do readers of memcached see the newest writes?
//!
//! Clients read and write items, by UDP and TCP, each with one operation at a time. Each write has
//! a value of its own, so afterwards the history of every item can be checked: a value that a
//! client read must have been there at one moment of its question.
//!
//! | module | contents |
//! | --- | --- |
//! | `options` | the words of the command line |
//! | `client` | one client |
//! | `checker` | whether a history is linearizable |
//! | `random` | numbers that look random, and which items are asked for often |

mod checker;
mod client;
mod options;
mod random;
#[cfg(test)]
mod simulation;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::{Client, Seen, Shared};
use options::{HELP, Options};
use random::Ranks;

/// Time between two lines of progress.
const TELL: Duration = Duration::from_secs(1);
/// Most faults that are told.
const TOLD: usize = 5;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match Options::read(words.into_iter()).and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}; --help has all words");
            ExitCode::from(2)
        }
    }
}

/// Runs all clients, and tells of it. `false`: some of it is wrong.
fn run(options: &Options) -> Result<bool, String> {
    let run = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let shared = Shared {
        options,
        ranks: Ranks::new(options.items, options.skew),
        begun: Instant::now(),
        run: run as u64,
        count: AtomicU64::new(0),
    };
    let clients = (0..u64::from(options.clients)).map(|number| Client::new(&shared, number));
    let clients: Vec<Client<'_>> = clients.collect::<Result<_, _>>()?;
    let mut seen = Seen::default();
    thread::scope(|scope| {
        let running: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(|| client.run())).collect();
        while !running.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(TELL.min(Duration::from_millis(50)));
            tell(&shared);
        }
        for client in running {
            let its = client.join().map_err(|_| "a client panicked")?;
            seen.operations.extend(its.operations);
            seen.reads.extend(its.reads);
            seen.faults.extend(its.faults);
            seen.unanswered += its.unanswered;
        }
        Ok::<(), String>(())
    })?;
    let took = shared.begun.elapsed();
    eprintln!("\rchecking {} operations", seen.operations.len());
    Ok(report(options, seen, took))
}

/// Says how far they are, once a second.
fn tell(shared: &Shared<'_>) {
    static TOLD_AT: AtomicU64 = AtomicU64::new(0);
    let second = shared.begun.elapsed().as_secs();
    if TOLD_AT.swap(second, Ordering::Relaxed) != second {
        let (count, of) = (shared.count.load(Ordering::Relaxed), shared.options.operations);
        eprint!("\r{} of {of} operations", count.min(of));
    }
}

/// Prints the figures. `true`: all is right.
fn report(options: &Options, mut seen: Seen, took: Duration) -> bool {
    let writes = seen.operations.iter().filter(|it| it.is_write).count();
    let count = seen.operations.len();
    let faults = checker::check(&mut seen.operations);
    seen.reads.sort_unstable();
    let at = |part: f64| {
        let place = (seen.reads.len().saturating_sub(1) as f64 * part) as usize;
        f64::from(seen.reads.get(place).copied().unwrap_or(0)) / 1e3
    };
    let (median, tail) = (at(0.5), at(0.99));
    let rate = count as f64 / took.as_secs_f64();
    let (stale, senseless, unanswered) = (faults.len(), seen.faults.len(), seen.unanswered);
    for fault in faults.iter().take(TOLD) {
        eprintln!("wrong: {fault}");
    }
    for fault in seen.faults.iter().take(TOLD) {
        eprintln!("senseless: {fault}");
    }
    if options.json {
        println!(
            "{{\"operations\":{count},\"writes\":{writes},\"unanswered\":{unanswered},\
             \"items_wrong\":{stale},\"senseless\":{senseless},\"per_second\":{rate:.0},\
             \"read_p50_us\":{median:.1},\"read_p99_us\":{tail:.1}}}"
        );
    } else {
        println!("{count} operations, {writes} of them writes, {unanswered} without an answer");
        println!(
            "{rate:.0} a second; reads took {median:.1} us, and {tail:.1} us at the 99th of 100"
        );
        println!("{stale} items were read wrongly; {senseless} answers made no sense");
    }
    faults.is_empty() && seen.faults.is_empty()
}
