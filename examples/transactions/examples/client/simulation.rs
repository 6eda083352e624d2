//! The checker finds faults: clients against nodes in one process, which are the program's own
//! handlers, over a network that loses, repeats and delays datagrams. A node with a fault calls the
//! same handlers wrongly.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;

use cora::datagram;
use cora::prelude::*;
use cora::testing::{self, TestOutbox, TestTable};
use transactions::nodes::Nodes;
use transactions::row::{Lock, Row};
use transactions::session::Session;
use transactions::wire::{Outcome, Said, Step};
use transactions::{Do, Event, coordinator, participant, receive};

use crate::engine::{Engine, Jobs, Sent};
use crate::random::Random;
use crate::smallbank::SmallBank;
use crate::tatp::Tatp;
use crate::verdict::Verdict;
use crate::workload::{Workload, load, read_all};

const MILLISECOND: u64 = 1_000_000;
const NODES: usize = 2;

/// A node's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    /// It locks a row, whatever version the client has read.
    LocksAnyVersion,
    /// It finds that a row is as it was read, whatever its version.
    FindsAllTheSame,
    /// It forgets the lock of another transaction.
    ForgetsLocks,
    /// It commits a change, and then the same change once more.
    CommitsTwice,
}

fn address_of_node(at: usize) -> SocketAddr {
    ([10, 0, 0, 1 + at as u8], 7000).into()
}

fn address_of_client() -> SocketAddr {
    ([10, 0, 1, 1], 5000).into()
}

/// A node: its tables, and its outbox.
struct Node {
    nodes: Nodes,
    rows: TestTable<Row>,
    sessions: TestTable<Session>,
    out: TestOutbox,
    fault: Fault,
}

/// A message or a datagram as a frame, with its port.
type Frame = (Port, Vec<u8>);

impl Node {
    fn new(at: usize, fault: Fault) -> Self {
        let line = |node| {
            let word = if node == at { "own" } else { "node" };
            format!("{word} {}\n", address_of_node(node))
        };
        let text: String = (0..NODES).map(line).collect();
        let nodes = Nodes::configure(&text).expect("a list of nodes");
        let (rows, sessions) = (testing::table(), testing::table());
        Self { nodes, rows, sessions, out: testing::outbox(), fault }
    }

    /// Handles a frame, and all messages inside that it leads to. Returns datagrams, and messages
    /// that are due later.
    fn handle(&mut self, now: u64, frame: Frame) -> Vec<Frame> {
        let (mut waiting, mut out) = (VecDeque::from([frame]), Vec::new());
        while let Some(frame) = waiting.pop_front() {
            for sent in self.handle_one(now, &frame) {
                let is_late = matches!(testing::message(&sent), Some(Event::Late { .. }));
                if is_inside(&sent) && !is_late {
                    waiting.push_back(sent);
                } else {
                    out.push(sent);
                }
            }
        }
        out
    }

    fn handle_one(&mut self, now: u64, frame: &Frame) -> Vec<Frame> {
        let (port, mut bytes) = frame.clone();
        let envelope =
            Envelope::of(&Packet::new(&mut bytes, Meta { now, port, ..Meta::default() }));
        self.out.clear();
        self.out.begin(&envelope);
        if !is_inside(frame) {
            let said = testing::message::<Said>(frame).expect("nobody sends anything else");
            let out = &self.out;
            let _ended = receive(said, &envelope, &mut out.messages(), &mut out.messages());
            return testing::sent(out);
        }
        if let Some(asked) = testing::message::<Do>(frame) {
            return self.take(asked);
        }
        let event = testing::message::<Event>(frame).expect("there are no others");
        let (out, sessions) = (&self.out, &mut self.sessions);
        let (mut steps, mut events) = (out.messages(), out.messages());
        let mut outcomes = out.messages();
        let _ended =
            coordinator(event, &envelope, sessions, &mut steps, &mut events, &mut outcomes);
        testing::sent(out)
    }

    /// A step for a row, taken wrongly if this node has a fault.
    fn take(&mut self, mut asked: Do) -> Vec<Frame> {
        let is_here = self.nodes.other(asked.row).is_none();
        let before = self.rows.get(&asked.row).copied().filter(|_| is_here);
        if let Some(row) = before {
            match (self.fault, &mut asked.step) {
                (Fault::LocksAnyVersion, Step::Lock { version } | Step::Commit { version, .. })
                | (Fault::FindsAllTheSame, Step::Check { version }) => *version = row.version,
                (Fault::ForgetsLocks, Step::Lock { .. } | Step::Take) => {
                    if let Some(row) = self.rows.get_mut(&asked.row) {
                        row.lock = Lock::Free;
                    }
                }
                _ => {}
            }
        }
        let (row, by, from, step) = (asked.row, asked.by, asked.from, asked.step);
        let sent = self.call(asked);
        if let (Fault::CommitsTwice, Step::Commit { version, value }, true) =
            (self.fault, step, is_here)
            && before.is_some_and(|row| row.version == version && row.lock != Lock::Free)
        {
            self.call(Do { row, by, from, step: Step::Take });
            let step = Step::Commit { version: version + 1, value };
            self.call(Do { row, by, from, step });
        }
        sent
    }

    fn call(&mut self, asked: Do) -> Vec<Frame> {
        let (out, rows) = (&self.out, &mut self.rows);
        let (mut events, mut datagrams) = (out.messages(), out.messages());
        let _ended = participant(asked, &self.nodes, rows, &mut events, &mut datagrams);
        testing::sent(out)
    }
}

/// Whether it is a message between handlers.
fn is_inside((port, _): &Frame) -> bool {
    *port != Port::INSIDE
}

/// A frame: the time at which it comes, its number, the node, its port, and its bytes. Past all
/// nodes is the client.
type UnderWay = (u64, u64, usize, u8, Vec<u8>);

/// Nodes, and the frames between them.
struct Simulation {
    now: u64,
    nodes: Vec<Node>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    number: u64,
    random: Random,
    /// Of a hundred datagrams, how many are lost, and how many come twice.
    lost: u64,
}

impl Simulation {
    fn new(fault: Fault, seed: u64, lost: u64) -> Self {
        let nodes = (0..NODES).map(|at| Node::new(at, fault)).collect();
        let random = Random(seed);
        Self { now: 1, nodes, under_way: BinaryHeap::new(), number: 0, random, lost }
    }

    /// A datagram to a node or to the client.
    fn post(&mut self, to: usize, (port, frame): &Frame) {
        let lost = self.lost;
        for is_again in [false, true] {
            let comes = if is_again { lost } else { 100 - lost };
            if self.random.below(100) >= comes {
                continue;
            }
            let mut delay = self.random.below(2 * MILLISECOND);
            if is_again {
                // Long after its transaction is over.
                delay *= 100;
            }
            self.add(delay, to, port.0, frame);
        }
    }

    fn add(&mut self, delay: u64, to: usize, port: u8, frame: &[u8]) {
        self.number += 1;
        let frame = (self.now + delay, self.number, to, port, frame.to_vec());
        self.under_way.push(Reverse(frame));
    }

    /// Posts a node's frames.
    fn post_all(&mut self, from: usize, frames: Vec<Frame>) {
        for frame in frames {
            if is_inside(&frame) {
                let delay = 20 * MILLISECOND + self.random.below(MILLISECOND);
                self.add(delay, from, frame.0.0, &frame.1);
                continue;
            }
            let mut bytes = frame.1.clone();
            let flow = Packet::new(&mut bytes, Meta::default()).flow().expect("a datagram");
            let is_of = |at: &usize| Address::from(address_of_node(*at).ip()) == flow.destination;
            let to = (0..NODES).find(is_of).unwrap_or(NODES);
            self.post(to, &frame);
        }
    }

    fn say(&mut self, sent: &mut Vec<Sent>) {
        for (node, said) in sent.drain(..) {
            let mut bytes = [0; 2048];
            let length = datagram::write(&said, &mut bytes).expect("there is room");
            let frame = testing::udp(address_of_client(), address_of_node(node), &bytes[..length]);
            self.post(node, &(Port::INSIDE, frame));
        }
    }

    /// Does all jobs.
    fn run(&mut self, engine: &mut Engine<'_>, jobs: &mut Jobs<'_>) {
        let mut sent = Vec::new();
        engine.begin(self.now, jobs);
        while !engine.is_done() {
            let next = self.under_way.peek().map_or(u64::MAX, |Reverse(next)| next.0);
            if engine.next_due().is_some_and(|due| due <= next) {
                self.now = self.now.max(engine.next_due().unwrap_or(0));
                engine.due(self.now, jobs, &mut sent);
                self.say(&mut sent);
                continue;
            }
            let Reverse((at, _, to, port, frame)) = self.under_way.pop().expect("clients wait");
            self.now = self.now.max(at);
            let frame = (Port(port), frame);
            if let Some(node) = self.nodes.get_mut(to) {
                let frames = node.handle(self.now, frame);
                self.post_all(to, frames);
            } else if let Some(outcome) = testing::message::<Outcome>(&frame) {
                engine.hear(self.now, &outcome, jobs, &mut sent);
                self.say(&mut sent);
            }
        }
    }
}

/// A run of so many jobs, and its violations in words.
fn run(
    workload: &dyn Workload,
    fault: Fault,
    seed: u64,
    lost: u64,
    give_up: u64,
) -> (bool, String, u64) {
    let mut simulation = Simulation::new(fault, seed, lost);
    let mut engine = Engine::new(workload, NODES, 12, 1 << 32, 60_000 * MILLISECOND, Random(seed));
    let rows = workload.rows(&mut Random(seed));
    let mut jobs = load(&rows).into_iter();
    simulation.run(&mut engine, &mut |_| jobs.next());
    let before = engine.sum();
    (engine.money, engine.measures) = (0, true);
    engine.give_up_after(give_up);
    let mut left = JOBS;
    simulation.run(&mut engine, &mut |random| {
        left = left.checked_sub(1)?;
        Some(workload.job(random))
    });
    let unknown = engine.figures.unknown;
    assert_eq!(engine.figures.done() + unknown, JOBS, "each job has an end");
    engine.give_up_after(60_000 * MILLISECOND);
    let mut jobs = read_all(&engine.history.rows()).into_iter();
    simulation.run(&mut engine, &mut |_| jobs.next());
    let verdict = Verdict::of(workload, &engine, before);
    (verdict.holds(), verdict.to_string(), unknown)
}

/// Jobs of a run.
const JOBS: u64 = 1500;
const BANK: SmallBank = SmallBank { accounts: 30 };
const NETWORK: Tatp = Tatp { subscribers: 12 };
const LONG: u64 = 60_000 * MILLISECOND;

#[test]
fn a_history_of_the_program_is_right_whatever_the_network_does() {
    for seed in 1..=2 {
        for lost in [0, 10] {
            for workload in [&BANK as &dyn Workload, &NETWORK] {
                let (holds, words, unknown) = run(workload, Fault::Nothing, seed, lost, LONG);
                assert!(holds && unknown == 0, "seed {seed}, {lost} % lost: {words}");
            }
        }
    }
}

#[test]
fn transactions_of_unknown_end_are_no_violations() {
    let mut all = 0;
    for seed in 1..=3 {
        let (holds, words, unknown) = run(&BANK, Fault::Nothing, seed, 10, 130 * MILLISECOND);
        assert!(holds, "seed {seed}: {words}");
        all += unknown;
    }
    assert!(all > 3, "{all} are unknown");
}

/// The violations of a bank on nodes with this fault.
fn found(fault: Fault) -> String {
    let (holds, words, _) = run(&BANK, fault, 5, 2, LONG);
    assert!(!holds, "{fault:?}: {words}");
    words
}

#[test]
fn a_lock_that_is_granted_for_another_version_is_found() {
    let words = found(Fault::LocksAnyVersion);
    assert!(words.contains("was asked for"), "{words}");
}

#[test]
fn a_row_that_changed_after_it_was_read_is_found() {
    let words = found(Fault::FindsAllTheSame);
    assert!(words.contains("each must stand behind the one before"), "{words}");
}

#[test]
fn a_lock_that_is_forgotten_is_found() {
    let words = found(Fault::ForgetsLocks);
    assert!(words.contains("both wrote version"), "{words}");
    assert!(words.contains("money was made or lost"), "{words}");
}

#[test]
fn a_commit_that_is_done_twice_is_found() {
    let words = found(Fault::CommitsTwice);
    assert!(words.contains("were written by nobody"), "{words}");
}
