//! Several nodes of a program with messages, in one thread of one process: host halves without a
//! NIC, each with a configuration of its own, which pass each other datagrams in memory; and a
//! client of them.
//!
//! The client's questions are the frames of a capture. First come some that are only there to
//! make the nodes ready. Then each line of standard input, `WINDOW COUNT`, asks for a pass: so many
//! questions, of which so many are outstanding. It is answered by a line of JSON. Processor time is
//! that of the whole process: nodes, their threads, and the client.
//!
//! | module | concept |
//! | --- | --- |
//! | `network` | datagrams between nodes |
//! | `client` | the questions |

mod client;
mod network;

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::packet::{Meta, Port};
use cora_host::parts::{Direct, Door, Pages, Services, Supply, configure};
use cora_host::{Inside, RunError};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::link::payload::Parked;
use cora_runtime::steering::Deal;
use serde::Serialize;

use crate::thread_time::ProcessTime;
use crate::traffic::{Traffic, reading};
use client::Client;
use network::Network;

/// From one question that makes nodes ready to the next.
const APART: Duration = Duration::from_millis(10);
/// Without an answer for so long, some question is lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// The nodes' time goes on by this at most from one turn to the next (ns): a process that gets no
/// processor for a while is no reason to elect another leader.
const STEP: u64 = 1_000_000;

/// Why nodes can't be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodesError {
    #[error("{nodes} nodes and {configurations} configurations: say --config once for each --node")]
    Configurations { nodes: usize, configurations: usize },
    #[error("`{0}` is no pass: say how many questions are outstanding, and how many are asked")]
    NoPass(String),
    #[error("the capture has no more questions: this pass needs {0}")]
    OutOfQuestions(u64),
    #[error("{0} questions have no answer within {seconds} s", seconds = PATIENCE.as_secs())]
    NoAnswer(u64),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What to run.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The capture of questions, and how many of them make the nodes ready.
    pub(crate) input: &'a Path,
    pub(crate) warm: usize,
    pub(crate) nodes: Vec<SocketAddrV4>,
    /// One of each node.
    pub(crate) configurations: Vec<(String, PathBuf)>,
}

/// The result of a pass. Times are in nanoseconds.
#[derive(Debug, Serialize)]
struct Pass {
    answers: u64,
    ns: u64,
    cpu_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    /// Answers by the length of their frames.
    lengths: BTreeMap<usize, u64>,
}

/// Makes the nodes ready, and runs a pass per line of standard input.
pub(crate) fn run<A: App>(request: Request<'_>) -> Result<(), NodesError> {
    let Request { input, warm, nodes, configurations } = request;
    if nodes.len() != configurations.len() {
        let (nodes, configurations) = (nodes.len(), configurations.len());
        return Err(NodesError::Configurations { nodes, configurations });
    }
    let questions = Traffic::load(input, reading::<A>(Inside::default()))?.frames();
    let mut nodes = Nodes::<A>::new(nodes, &configurations, questions)?;
    nodes.make_ready(warm)?;
    let failed = |cause| RunError::System { what: "standard input and output", cause };
    let mut output = std::io::stdout();
    writeln!(output, "ready").map_err(failed)?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(failed)?;
        let asked = line.split_once(' ').and_then(|(window, count)| {
            Some((window.parse().ok().filter(|it| *it > 0)?, count.parse().ok()?))
        });
        let (window, count) = asked.ok_or(NodesError::NoPass(line))?;
        let pass = nodes.pass(window, count)?;
        let json = serde_json::to_string(&pass).unwrap_or_default();
        writeln!(output, "{json}").map_err(failed)?;
    }
    Ok(())
}

/// The nodes, and what is between them.
struct Nodes<A: App> {
    halves: Vec<HostHalf<A>>,
    network: Network,
    client: Client,
    door: Door,
    buffer: Vec<u8>,
    /// Datagrams so far.
    datagrams: u64,
    /// The nodes' time, and when it was read.
    now: u64,
    read: Instant,
}

impl<A: App> Nodes<A> {
    fn new(
        nodes: Vec<SocketAddrV4>,
        configurations: &[(String, PathBuf)],
        questions: Vec<Vec<u8>>,
    ) -> Result<Self, RunError> {
        let supply = Supply { seed: 1, pages: Pages::default(), resident: true };
        let mut services = Services::default();
        let mut half = |configuration: &(String, PathBuf)| {
            let mut app = supply.app::<A>(HostHalf::bytes)?;
            configure(&mut app, std::slice::from_ref(configuration))?;
            services = Services::of(&mut app);
            let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
            HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)
        };
        Ok(Self {
            halves: configurations.iter().map(&mut half).collect::<Result<_, _>>()?,
            network: Network::between(nodes),
            client: Client::of(questions),
            door: Door::new(supply.seed, Deal::even(1), &services),
            buffer: vec![0; BURST_BYTES],
            datagrams: 0,
            now: Duration::from_secs(1).as_nanos() as u64,
            read: Instant::now(),
        })
    }

    /// Asks the first questions, some time apart.
    fn make_ready(&mut self, warm: usize) -> Result<(), NodesError> {
        for _ in 0..warm {
            let question = self.client.next();
            self.network.carry(&question.ok_or(NodesError::OutOfQuestions(warm as u64))?);
            let due = self.now + APART.as_nanos() as u64;
            while self.now < due {
                self.turn()?;
            }
        }
        Ok(())
    }

    /// Asks `count` questions, `window` of them at a time.
    fn pass(&mut self, window: u64, count: u64) -> Result<Pass, NodesError> {
        self.network.lengths.clear();
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let mut heard = start;
        self.read = start;
        while self.client.answers() < count {
            let now = self.read.duration_since(start).as_nanos() as u64;
            let out = |()| NodesError::OutOfQuestions(count);
            while let Some(question) = self.client.ask(now, window, count).map_err(out)? {
                self.network.carry(&question);
            }
            let before = self.network.answers;
            self.turn()?;
            let answers = self.network.answers - before;
            // The clock is read once in a turn: questions and answers are both a turn older.
            self.client.answered(self.read.duration_since(start).as_nanos() as u64, answers);
            if answers > 0 {
                heard = self.read;
            } else if self.read.duration_since(heard) > PATIENCE {
                return Err(NodesError::NoAnswer(count - self.client.answers()));
            }
        }
        let (ns, cpu_ns) = (start.elapsed().as_nanos() as u64, cpu.elapsed().as_nanos() as u64);
        let (answers, [p50_ns, p99_ns]) = (self.client.answers(), self.client.end());
        let lengths = std::mem::take(&mut self.network.lengths);
        Ok(Pass { answers, ns, cpu_ns, p50_ns, p99_ns, lengths })
    }

    /// Each node handles a burst of what came, or learns what time it is.
    fn turn(&mut self) -> Result<(), RunError> {
        let read = Instant::now();
        self.now += (read.duration_since(self.read).as_nanos() as u64).min(STEP);
        self.read = read;
        let now = self.now;
        for (node, half) in self.halves.iter_mut().enumerate() {
            let mut frames = BurstBuffer::new(&mut self.buffer);
            let mut burst = Burst::new();
            while !burst.is_full() {
                let Some(room) = frames.room() else { break };
                let Some(length) = self.network.queues[node].take(room) else { break };
                self.datagrams += 1;
                let stamp = stamp_of(now, self.datagrams);
                let (_, stamp) = self.door.steer::<A>(stamp, &mut room[..length]);
                // The loop's condition ensures room.
                burst.push_roomy(stamp, frames.keep(length));
            }
            let network = &mut self.network;
            let mut out = Direct::new(|_: &Stamp, _: Port, frame: &[u8]| network.carry(frame));
            if burst.is_empty() {
                half.pass_time(now, &mut out);
            } else {
                half.burst(&mut burst, &mut out)?;
            }
        }
        Ok(())
    }
}

/// The stamp of a datagram that comes now.
fn stamp_of(now: u64, number: u64) -> Stamp {
    let meta = Meta { time: now, now, port: Port::INSIDE, ..Meta::default() };
    Stamp { meta, number, horizon: now, egress: Port::INSIDE, parked: Parked::NONE, missing: 0 }
}
