//! The example `replicated-kv` beside openraft in memory and etcd on a memory file system:
//! committed writes per second of processor time, as they come out.
//!
//! A client has some puts outstanding, and asks the next one when one is stored. Names and values
//! have the greatest length that the example takes. What counts as processor time is
//!
//! - in memory, that of a whole process: three nodes and their client, with all threads;
//! - over the loopback, that of the servers' processes and of the kernel on their account. The
//!   client is another process, and is left out. What the kernel does for a datagram on its way
//!   in, it does on the sender's account.
//!
//! The contestants do not do the same. openraft's nodes call each other with values in memory,
//! where Cora's write datagrams, and have no names of clients to tell repeats. Cora's nodes write
//! sorted tables, here to memory, without waiting for a disk; openraft's have a map, which is
//! copied for a snapshot. etcd does more: it has all on its disk before it answers, which is
//! memory here, keeps all revisions of a name, and has leases, watches and access rights.
//!
//! | module | concept |
//! | --- | --- |
//! | `load` | what is written |
//! | `wire` | the example's datagrams |
//! | `outstanding` | puts without an answer, and what answers took |
//! | `client` | who asks the example's nodes over UDP |
//! | `nodes` | the example's nodes as processes |
//! | `memory` | contestants in one process |
//! | `openraft`, `etcd` | the peers |
//! | `served` | servers' processes, and their time |
//! | `measured` | what a contestant did |

mod client;
mod etcd;
mod load;
mod measured;
mod memory;
mod nodes;
mod openraft;
mod outstanding;
mod served;
mod wire;

use std::collections::BTreeMap;
use std::io::Result;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::figure::Figure;
use crate::program::Program;
use client::Client;
use load::WINDOWS;
use measured::{Measured, Row, cpu_per_write};
use nodes::{Room, free_ports};
use outstanding::Took;
use served::Served;

pub(crate) use openraft::serve as serve_openraft;

/// The prefix of these figures.
pub(crate) const NAME: &str = "replicated";

/// The contestants.
const IN_MEMORY: &str = "cora, in memory";
const OPENRAFT: &str = "openraft, in memory";
const HOST_ONLY: &str = "cora, loopback, host-only";
const SPLIT: &str = "cora, loopback, split";
const ETCD: &str = "etcd, loopback";
/// In the order of the rows.
const ALL: [&str; 5] = [IN_MEMORY, OPENRAFT, HOST_ONLY, SPLIT, ETCD];

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Plan {
    rounds: usize,
    /// Puts of a pass in memory.
    count: usize,
    /// Time of a turn over the loopback.
    time: Duration,
}

/// The turns of each contestant with each window.
type Turns = BTreeMap<(&'static str, usize), Vec<Measured>>;

/// Measures all of it, with programs for the host alone and with a NIC half.
pub(crate) fn run(
    host_only: &Path,
    split: &Path,
    quick: bool,
    json: bool,
    tell: &mut dyn FnMut(Figure),
) -> Result<()> {
    let plan = if quick {
        Plan { rounds: 3, count: 20_000, time: Duration::from_millis(900) }
    } else {
        Plan { rounds: 7, count: 60_000, time: Duration::from_secs(2) }
    };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    eprintln!("{NAME}: clients and servers share the processors; load {}", load.trim());
    let mut turns = Turns::new();
    in_memory(host_only, plan, &mut turns)?;
    let etcd = etcd::is_here().map_err(|why| eprintln!("SKIPPED {NAME}/etcd: {why}")).is_ok();
    for round in 1..=plan.rounds {
        eprintln!("{NAME}: over the loopback, round {round} of {}", plan.rounds);
        over_loopback(HOST_ONLY, host_only, plan, &mut turns)?;
        over_loopback(SPLIT, split, plan, &mut turns)?;
        if etcd {
            let mut members = etcd::Members::start()?;
            for window in WINDOWS {
                let turn = members.turn(window, plan.time)?;
                turns.entry((ETCD, window)).or_default().push(turn);
            }
        }
    }
    for (name, window) in ALL.into_iter().flat_map(|name| WINDOWS.map(|window| (name, window))) {
        if let Some(turns) = turns.get(&(name, window)) {
            println!("{}", Row::of(&format!("{NAME}/{name}"), window, turns).line(json));
        }
    }
    for (cora, peer) in [(IN_MEMORY, OPENRAFT), (HOST_ONLY, ETCD), (SPLIT, ETCD)] {
        for window in WINDOWS {
            let (Some(ours), Some(theirs)) =
                (turns.get(&(cora, window)), turns.get(&(peer, window)))
            else {
                continue;
            };
            let [ours, theirs] = [ours, theirs].map(|turns| cpu_per_write(turns));
            let name = format!("{NAME}/writes per CPU-second, {cora}, {window} outstanding");
            tell(Figure::of_times(name, &ours, &theirs, peer, 0.0).into_thousands());
        }
    }
    Ok(())
}

/// The contestants in memory, in turns.
fn in_memory(programs: &Path, plan: Plan, turns: &mut Turns) -> Result<()> {
    // The first round does not count.
    let passes = WINDOWS.map(|window| (window, plan.count)).repeat(plan.rounds + 1);
    let mut nodes = memory::Nodes::start(programs, &passes)?;
    let mut peer = Command::new(std::env::current_exe()?);
    let mut peer = Program::of(peer.arg(openraft::PEER))?;
    for round in 0..=plan.rounds {
        eprintln!("{NAME}: in memory, round {round} of {}", plan.rounds);
        for window in WINDOWS {
            let took = [
                (IN_MEMORY, nodes.pass(window, plan.count)?),
                (OPENRAFT, memory::pass(&mut peer, window, plan.count)?),
            ];
            for (name, took) in took.into_iter().filter(|_| round > 0) {
                turns.entry((name, window)).or_default().push(took);
            }
        }
    }
    Ok(())
}

/// The example's nodes as processes, for one turn with each window.
fn over_loopback(name: &'static str, programs: &Path, plan: Plan, turns: &mut Turns) -> Result<()> {
    let (room, nodes) = (Room::new("loopback")?, free_ports()?);
    let mut served = nodes::start(&nodes::program(programs)?, &room, &nodes)?;
    let mut client = Client::of(nodes.to_vec())?;
    for window in WINDOWS {
        let measured = turn(&mut served, plan.time, |time| client.run(window, time))?;
        turns.entry((name, window)).or_default().push(measured);
    }
    // The room is removed behind the servers.
    drop(served);
    Ok(())
}

/// A turn, behind a third of its time that does not count.
fn turn(
    served: &mut Served,
    time: Duration,
    mut run: impl FnMut(Duration) -> Result<Took>,
) -> Result<Measured> {
    drop(run(time / 3)?);
    let (start, before) = (Instant::now(), served.cpu()?);
    let mut took = run(time)?;
    let cpu = served.cpu()?.saturating_sub(before);
    let wall = start.elapsed();
    let [p50, p99] = took.percentiles();
    Ok(Measured { writes: took.count(), cpu, wall, p50, p99 })
}
