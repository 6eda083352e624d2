//! Clients of the replicated key-value store: they put and get, follow the leader, ask again, and
//! say how fast that was and whether their history is linearizable.
//!
//! Try it:  `cargo run --release -p replicated-kv --example client -- --nodes
//! 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 --operations 100000 --clients 16`

mod asker;
#[path = "../../src/history.rs"]
mod history;
#[expect(dead_code, reason = "nodes tell each other more")]
#[path = "../../src/wire.rs"]
mod wire;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use asker::{Client, Wanted};
use history::Event;

/// The options.
struct Asked {
    wanted: Wanted,
    operations: u64,
    clients: u64,
}

const HELP: &str = "client --nodes ADDRESS:PORT,ADDRESS:PORT,ADDRESS:PORT [--operations N] \
                    [--clients N] [--group N] [--names N] [--puts PERCENT]";

impl Asked {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut asked = Self { wanted: Wanted::new(Vec::new()), operations: 10_000, clients: 4 };
        while let Some(word) = words.next() {
            let value =
                words.next().ok_or_else(|| format!("{word}: a value is missing\n{HELP}"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{word} {value}: no number"));
            match word.as_str() {
                "--nodes" => {
                    let nodes = value.split(',').map(|node| {
                        node.parse().map_err(|_| format!("{node}: no address and port"))
                    });
                    asked.wanted.nodes = nodes.collect::<Result<_, _>>()?;
                }
                "--operations" => asked.operations = number()?,
                "--clients" => asked.clients = number()?.max(1),
                "--group" => {
                    asked.wanted.group =
                        u32::try_from(number()?).map_err(|_| "--group: too large")?;
                }
                "--names" => asked.wanted.names = number()?.max(1),
                "--puts" => asked.wanted.puts = number()?,
                _ => return Err(format!("{word}: there is no such option\n{HELP}")),
            }
        }
        if asked.wanted.nodes.is_empty() {
            return Err(format!("--nodes is missing\n{HELP}"));
        }
        Ok(asked)
    }
}

/// All clients' results.
struct Done {
    took: Vec<Duration>,
    events: Vec<Event>,
    again: u64,
    time: Duration,
}

fn operate(asked: &Asked) -> Result<Done, String> {
    let (begin, done) = (Instant::now(), AtomicU64::new(0));
    let clients = thread::scope(|scope| {
        let run = |at: u64| {
            let done = &done;
            scope.spawn(move || {
                let mut client = Client::new(&asked.wanted, at)?;
                while done.fetch_add(1, Ordering::Relaxed) < asked.operations {
                    client.operate()?;
                }
                Ok(client)
            })
        };
        let threads: Vec<_> = (0..asked.clients).map(run).collect();
        let ended = threads.into_iter().map(|it| it.join().map_err(|_| "a client panicked")?);
        ended.collect::<Result<Vec<Client>, String>>()
    })?;
    let time = begin.elapsed();
    let again = clients.iter().map(|client| client.again).sum();
    let mut took: Vec<Duration> = clients.iter().flat_map(|it| it.took.iter().copied()).collect();
    took.sort_unstable();
    let events = clients.into_iter().flat_map(|client| client.events).collect();
    Ok(Done { took, events, again, time })
}

fn main() -> ExitCode {
    let done = match Asked::read(std::env::args().skip(1)).and_then(|asked| operate(&asked)) {
        Ok(done) => done,
        Err(error) => {
            eprintln!("client: {error}");
            return ExitCode::FAILURE;
        }
    };
    let at = |part: usize| done.took.get(done.took.len() * part / 100).copied().unwrap_or_default();
    println!(
        "{} operations in {:.2} s: {:.0} a second, p50 {} us, p99 {} us, {} asked again",
        done.took.len(),
        done.time.as_secs_f64(),
        done.took.len() as f64 / done.time.as_secs_f64(),
        at(50).as_micros(),
        at(99).as_micros(),
        done.again
    );
    let wrong = history::wrong(&done.events);
    if wrong.is_empty() {
        println!("linearizable: yes");
        return ExitCode::SUCCESS;
    }
    let names: Vec<_> = wrong.iter().map(|name| String::from_utf8_lossy(name)).collect();
    println!("linearizable: no: {}", names.join(", "));
    ExitCode::FAILURE
}
