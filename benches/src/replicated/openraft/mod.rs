//! openraft: three nodes in one process, on one thread of tokio, that call each other; logs and
//! state machines are maps in memory. Nothing is encoded, and the client calls the leader.
//!
//! | module | concept |
//! | --- | --- |
//! | `log` | a node's log |
//! | `machine` | a node's state machine |
//! | `network` | calls between nodes |

mod log;
mod machine;
mod network;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead as _, Error, Result, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cora_measure::ProcessTime;
use openraft::{Config, Raft};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::load::put;
use super::memory::Pass;
use super::outstanding::Took;
use log::Log;
use machine::Machine;
use network::Network;

/// The argument that makes this program these nodes.
pub(crate) const PEER: &str = "--replicated-openraft";
/// Nodes.
const NODES: u64 = 3;
/// They have a leader after this time at most.
const READY: Duration = Duration::from_secs(20);

/// A put.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl fmt::Display for Put {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "put of {} bytes", self.name.len() + self.value.len())
    }
}

openraft::declare_raft_types!(
    /// Numbered nodes without addresses, and puts that are answered by nothing.
    pub(crate) Types: D = Put, R = (), Node = openraft::EmptyNode
);

type Node = Raft<Types, Machine>;

/// Is these nodes: a pass per line of standard input, `WINDOW COUNT`.
pub(crate) fn serve() -> Result<()> {
    let (sender, lines) = unbounded_channel();
    // Nodes go on while nobody asks.
    drop(std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    }));
    let runtime = Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(passes(lines))
}

async fn passes(mut lines: UnboundedReceiver<String>) -> Result<()> {
    let nodes = cluster().await?;
    println!("ready");
    let mut next = 0;
    while let Some(line) = lines.recv().await {
        let Some((window, count)) = line.split_once(' ') else { continue };
        let number = |word: &str| word.parse::<u64>().map_err(Error::other);
        let pass = pass(&nodes[0], number(window)?, number(count)?, &mut next).await?;
        let json = serde_json::to_string(&pass)?;
        writeln!(std::io::stdout(), "{json}")?;
    }
    Ok(())
}

/// Three nodes, of which the first leads.
async fn cluster() -> Result<Vec<Node>> {
    // Intervals as in openraft's own benchmark, which waits longer than by default before another
    // node tries to lead.
    let config = Config {
        election_timeout_min: 200,
        election_timeout_max: 2_000,
        purge_batch_size: 1_024,
        max_payload_entries: 1_024,
        ..Config::default()
    };
    let config = Arc::new(config.validate().map_err(Error::other)?);
    let network = Network::default();
    let mut nodes = Vec::new();
    for id in 0..NODES {
        let (log, machine) = (Log::default(), Machine::default());
        let node = Raft::new(id, config.clone(), network.clone(), log, machine).await;
        nodes.push(node.map_err(Error::other)?);
    }
    network.joins(&nodes);
    let members: BTreeSet<u64> = (0..NODES).collect();
    nodes[0].initialize(members).await.map_err(Error::other)?;
    let waited = nodes[0].wait(Some(READY)).current_leader(0, "the first node leads").await;
    waited.map_err(Error::other)?;
    Ok(nodes)
}

/// Puts `count` values, by `window` clients that wait for their answers.
async fn pass(leader: &Node, window: u64, count: u64, next: &mut u64) -> Result<Pass> {
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    let clients: Vec<_> = (0..window)
        .map(|client| {
            let numbers = (*next + client..*next + count).step_by(window as usize);
            tokio::spawn(client_of(leader.clone(), numbers))
        })
        .collect();
    *next += count;
    let mut took = Took::default();
    for client in clients {
        took.join(client.await.map_err(Error::other)??);
    }
    let (ns, cpu_ns) = (start.elapsed().as_nanos() as u64, cpu.elapsed().as_nanos() as u64);
    let [p50_ns, p99_ns] = took.percentiles().map(|took| took.as_nanos() as u64);
    let answers = took.count();
    Ok(Pass { answers, ns, cpu_ns, p50_ns, p99_ns, lengths: BTreeMap::new() })
}

async fn client_of(leader: Node, numbers: impl Iterator<Item = u64>) -> Result<Took> {
    let mut took = Took::default();
    for number in numbers {
        let (name, value) = put(number);
        let asked = Instant::now();
        let put = Put { name: name.to_vec(), value: value.to_vec() };
        leader.client_write(put).await.map_err(Error::other)?;
        took.add(asked.elapsed());
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All nodes end with the same content, and the leader's log was cut.
    #[test]
    fn puts_are_in_the_maps_of_all_nodes() {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let nodes = cluster().await.expect("a leader");
            let mut next = 0;
            let pass = pass(&nodes[0], 16, 7_000, &mut next).await.expect("it is stored");
            assert_eq!((pass.answers, next), (7_000, 7_000));
            let (name, value) = put(6_999);
            for node in &nodes {
                // The membership and the leader's first entry are in front of them.
                let wait = node.wait(Some(READY));
                wait.applied_index_at_least(Some(7_000), "all").await.expect("it keeps up");
                let content = node.with_state_machine(move |machine: &mut Machine| {
                    let content = machine.content();
                    Box::pin(async move { (content.len(), content.get(&name[..]).cloned()) })
                });
                let content = content.await.expect("it runs");
                assert_eq!(content, (1_000, Some(value.to_vec())));
            }
        });
    }
}
