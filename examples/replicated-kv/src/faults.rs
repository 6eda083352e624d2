//! Three nodes in one process, with a network that loses, repeats, delays and parts, and halves
//! that die: each slot has one chosen command, nodes agree about its effect, each write is done
//! once, and the clients' history is linearizable.
//!
//! The number of faults is that of `CORA_RKV_FAULTS`; a run says how many there were.

mod clients;
mod machine;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cora::prelude::*;
use cora::testing;

use crate::acceptor::KEEP;
use crate::history;
use crate::learner::Stage;
use crate::nodes::NODES;
use crate::wire::{Answer, Command, Datagram, Held, Name, Operation, Said, Value};
use clients::{CLIENTS, Client};
use machine::{Machine, Sent};

/// The Paxos group of all tests.
const GROUP: u32 = 7;
const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
/// How long a run has faults, and how long it has to settle (ns).
const TROUBLED: u64 = 6_000 * MILLISECOND;
const CALM: u64 = 4_000 * MILLISECOND;

/// Random numbers of a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Whether an event of so many in a thousand happens.
    fn happens(&mut self, in_thousand: u64) -> bool {
        self.below(1_000) < in_thousand
    }
}

/// A bug that a test plants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
    Nothing,
    /// Acceptors forget their promises.
    ForgottenPromise,
    /// Proposers do not adopt others' commands.
    NothingAdopted,
}

/// An event, due at its time.
enum Event {
    /// A datagram, to a node or a client.
    Datagram(Vec<u8>),
    /// A message inside a node, of this life.
    Inside {
        node: usize,
        life: u64,
        sent: Sent,
    },
    /// A client asks, or asks again.
    Ask {
        client: usize,
    },
    /// A node's volatile memory is lost.
    Dies,
    /// A node's log is lost, too. It must not vote any more, so this comes once.
    LosesLog,
    /// A node can't be reached.
    Parts,
    Heals,
}

/// Counts of a run.
#[derive(Clone, Copy, Default, Debug)]
struct Had {
    faults: u64,
    slots: u64,
    /// Ballots that somebody tried.
    rounds: u64,
    /// Slots up to which all is in the sorted tables.
    sealed: u64,
    answers: u64,
}

impl Had {
    const fn add(&mut self, other: Self) {
        self.faults += other.faults;
        self.slots += other.slots;
        self.rounds += other.rounds;
        self.sealed += other.sealed;
        self.answers += other.answers;
    }
}

struct World {
    now: u64,
    draw: Draw,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    due: BTreeMap<u64, Event>,
    numbered: u64,
    nodes: Vec<Machine>,
    clients: Vec<Client>,
    /// The node that nobody reaches.
    parted: Option<usize>,
    faults: u64,
    planted: Planted,
    /// Chosen commands, as of the first node that knew of each.
    chosen: BTreeMap<u64, Command>,
    /// Slots that each node was compared up to.
    compared: [u64; NODES],
    /// The first slot of each write.
    written: BTreeMap<(u64, u64), u64>,
    found: Option<String>,
}

impl World {
    fn new(seed: u64, planted: Planted) -> Self {
        let mut world = Self {
            now: MILLISECOND,
            draw: Draw(seed),
            events: BinaryHeap::new(),
            due: BTreeMap::new(),
            numbered: 0,
            nodes: (0..NODES).map(Machine::new).collect(),
            clients: (0..CLIENTS).map(Client::new).collect(),
            parted: None,
            faults: 0,
            planted,
            chosen: BTreeMap::new(),
            compared: [1; NODES],
            written: BTreeMap::new(),
            found: None,
        };
        for client in 0..CLIENTS {
            world.at(world.now + client as u64 * MILLISECOND, Event::Ask { client });
        }
        world.after(900, Event::Dies);
        world.after(1_300, Event::Parts);
        if seed.is_multiple_of(4) {
            world.after(6_000, Event::LosesLog);
        }
        world
    }

    fn is_troubled(&self) -> bool {
        self.now < TROUBLED
    }

    fn at(&mut self, time: u64, event: Event) {
        self.numbered += 1;
        self.events.push(Reverse((time, self.numbered)));
        self.due.insert(self.numbered, event);
    }

    /// At a time of up to so many milliseconds from now.
    fn after(&mut self, milliseconds: u64, event: Event) {
        let delay = 1 + self.draw.below(milliseconds * MILLISECOND);
        self.at(self.now + delay, event);
    }

    /// A datagram is under way. In trouble it may be lost, come late, or come twice.
    fn send(&mut self, frame: Vec<u8>) {
        let latency = 50 * MICROSECOND + self.draw.below(400 * MICROSECOND);
        let mut time = self.now + latency;
        if self.is_troubled() {
            if self.draw.happens(60) {
                self.faults += 1;
                return;
            }
            if self.draw.happens(40) {
                self.faults += 1;
                let most = if self.draw.happens(200) { 900 } else { 30 };
                time += self.draw.below(most) * MILLISECOND;
            }
            if self.draw.happens(40) {
                self.faults += 1;
                let again = time + self.draw.below(40 * MILLISECOND);
                self.at(again, Event::Datagram(frame.clone()));
            }
        }
        self.at(time, Event::Datagram(frame));
    }

    /// Runs to the end, or to the first violation.
    fn run(mut self) -> Result<Had, String> {
        while self.now < TROUBLED + CALM {
            let Some(Reverse((time, number))) = self.events.pop() else { break };
            let Some(event) = self.due.remove(&number) else { continue };
            self.now = time;
            self.happens(event);
            if let Some(found) = self.found {
                return Err(format!("at {} ms: {found}", time / MILLISECOND));
            }
        }
        self.ends()?;
        let slots = self.chosen.len() as u64;
        let rounds = self.nodes.iter().map(Machine::round).max().unwrap_or(0);
        let sealed = self.nodes.iter().map(Machine::sealed).min().unwrap_or(0);
        let answers = self.clients.iter().map(|client| client.events.len() as u64).sum();
        Ok(Had { faults: self.faults, slots, rounds, sealed, answers })
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Datagram(frame) => self.arrives(frame),
            Event::Inside { node, life, sent } => {
                // A message inside a half dies with it, or is at the other half.
                if life == self.nodes[node].life || sent.crosses && self.draw.happens(500) {
                    self.handle(node, sent.frame);
                }
            }
            Event::Ask { client } => {
                let (now, draw) = (self.now, &mut self.draw);
                let (frame, again) = self.clients[client].asks(now, draw);
                if let Some(frame) = frame {
                    self.send(frame);
                }
                self.at(again, Event::Ask { client });
            }
            Event::LosesLog if self.is_troubled() => {
                self.faults += 1;
                let node = self.draw.below(NODES as u64) as usize;
                self.nodes[node].loses_its_log();
            }
            Event::Dies if self.is_troubled() => {
                self.faults += 1;
                let node = self.draw.below(NODES as u64) as usize;
                self.nodes[node].dies();
                self.after(1_200, Event::Dies);
            }
            Event::Parts if self.is_troubled() => {
                self.faults += 1;
                self.parted = Some(self.draw.below(NODES as u64) as usize);
                self.after(700, Event::Heals);
            }
            Event::Heals => {
                self.parted = None;
                self.after(1_500, Event::Parts);
            }
            Event::Dies | Event::LosesLog | Event::Parts => {}
        }
    }

    fn arrives(&mut self, mut frame: Vec<u8>) {
        let (source, destination) = machine::ends(&frame);
        let is_parted = |end| self.parted.is_some_and(|node| machine::node_of(end) == Some(node));
        if is_parted(source) || is_parted(destination) {
            return;
        }
        let Some(node) = machine::node_of(destination) else {
            let answer = testing::message::<Answer>(&(Port::INSIDE, frame));
            let client = machine::client_of(destination);
            if let (Some(answer), Some(client)) = (answer, self.clients.get_mut(client)) {
                client.hears(self.now, &answer, &mut self.written, &mut self.found);
            }
            return;
        };
        if self.planted == Planted::NothingAdopted
            && let Some(datagram) = testing::message::<Datagram>(&(Port::INSIDE, frame.clone()))
            && let Said::Promised { from, ballot, first, until, end, .. } = datagram.said
        {
            let held = [Held::NONE; crate::wire::BATCH];
            let said = Said::Promised { from, ballot, first, until, end, held };
            frame = machine::datagram(source, destination, said);
        }
        self.handle(node, (Port::INSIDE, frame));
    }

    /// A node handles a message, and those it causes at once; then it is compared.
    fn handle(&mut self, node: usize, frame: (Port, Vec<u8>)) {
        if self.planted == Planted::ForgottenPromise && self.draw.happens(100) {
            self.nodes[node].forgets();
        }
        let (datagrams, inside) = self.nodes[node].handle(self.now, frame, &mut self.found);
        for frame in datagrams {
            self.send(frame);
        }
        for sent in inside {
            let life = self.nodes[node].life;
            let time = self.now + sent.delay.max(1);
            // Crossing messages stay in order.
            let time =
                if sent.crosses { self.nodes[node].crosses_at(time, &mut self.draw) } else { time };
            self.at(time, Event::Inside { node, life, sent });
        }
        self.compare(node);
    }

    /// The nodes know the same command as chosen.
    fn compare(&mut self, node: usize) {
        while let Some(command) = self.nodes[node].chosen(self.compared[node]) {
            let slot = self.compared[node];
            let known = *self.chosen.entry(slot).or_insert(command);
            if known != command {
                self.found = Some(format!("two values for slot {slot}: {known:?} and {command:?}"));
            }
            if matches!(command.operation, Operation::Put { .. } | Operation::Delete { .. }) {
                let first = self.written.entry((command.client, command.number)).or_insert(slot);
                *first = (*first).min(slot);
            }
            self.compared[node] += 1;
        }
        // It may have learned, and forgotten, the slots between.
        self.compared[node] = self.compared[node].max(self.nodes[node].begin_of_log());
    }

    /// In the end all clients are answered, and the nodes that keep up have the same.
    fn ends(&mut self) -> Result<(), String> {
        let waiting = self.clients.iter().filter(|client| client.waits()).count();
        if waiting > 0 {
            return Err(format!("{waiting} clients are not answered"));
        }
        let applied: Vec<u64> = self.nodes.iter_mut().map(Machine::applied).collect();
        let most = applied.iter().copied().max().unwrap_or(0);
        if applied.iter().filter(|it| **it == most).count() < 2 || most < 100 {
            return Err(format!("nodes do not keep up: {applied:?}"));
        }
        let expected = self.expected(most)?;
        for (node, _) in applied.iter().enumerate().filter(|(_, it)| **it == most) {
            let machine = &mut self.nodes[node];
            if machine.stage() != Some(Stage::Works) || machine.content() != expected {
                return Err(format!("node {node} has another content"));
            }
        }
        let events: Vec<_> = self.clients.iter().flat_map(|it| it.events.iter().cloned()).collect();
        let wrong = history::wrong(&events);
        if !wrong.is_empty() {
            return Err(format!("not linearizable: {wrong:?}"));
        }
        Ok(())
    }

    /// The result of all chosen commands, each write once.
    fn expected(&self, upto: u64) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, String> {
        let mut content = BTreeMap::new();
        for slot in 1..=upto {
            let command = self.chosen.get(&slot).ok_or("a slot is missing")?;
            if self.written.get(&(command.client, command.number)) != Some(&slot) {
                continue;
            }
            match command.operation {
                Operation::Put { name, value } => {
                    content.insert(name.to_vec(), value.to_vec());
                }
                Operation::Delete { name } => {
                    content.remove(&name.to_vec());
                }
                Operation::Nothing | Operation::Get { .. } => {}
            }
        }
        Ok(content)
    }
}

/// The number in the environment, for long runs.
fn faults(otherwise: u64) -> u64 {
    let said = std::env::var("CORA_RKV_FAULTS").ok();
    said.map_or(otherwise, |text| text.parse().expect("CORA_RKV_FAULTS is a number"))
}

#[test]
fn nodes_agree_whatever_fails() {
    let wanted = faults(6_000);
    let (mut had, mut seed) = (Had::default(), 0);
    while had.faults < wanted {
        seed += 1;
        match World::new(seed, Planted::Nothing).run() {
            Ok(more) => had.add(more),
            Err(found) => panic!("seed {seed}: {found}"),
        }
        if seed % 100 == 0 {
            println!("{seed} runs: {had:?}");
        }
    }
    println!("{seed} runs, and nothing wrong: {had:?}");
    assert!(had.slots > 200 * seed && had.answers > 150 * seed, "little was done: {had:?}");
    assert!(had.rounds > 2 * seed, "the leader seldom changes: {had:?}");
    assert!(had.sealed > 100 * seed, "the tables are little used: {had:?}");
}

#[test]
fn planted_bugs_are_found() {
    for planted in [Planted::ForgottenPromise, Planted::NothingAdopted] {
        let found = (1..=200).find_map(|seed| World::new(seed, planted).run().err());
        let found = found.unwrap_or_else(|| panic!("{planted:?} is not found"));
        println!("{planted:?}: {found}");
        assert!(
            found.contains("two values") || found.contains("two-values"),
            "{planted:?}: {found}"
        );
    }
}

/// Three nodes without faults, asked for the same a thousand times a second. Returns how many
/// commands each has applied, and the first slot of its log.
fn asked_for(operation: Operation, times: u64) -> Vec<(u64, u64)> {
    let mut nodes: Vec<Machine> = (0..NODES).map(Machine::new).collect();
    let mut due = BTreeMap::new();
    let (mut numbered, mut found) = (0, None);
    for number in 1..=times {
        let command = Command { client: 1, number, operation };
        let said = Said::Request { command };
        for node in 0..NODES {
            let frame = machine::datagram(machine::client(0), machine::node(node), said);
            due.insert((number * MILLISECOND, numbered), (node, (Port::INSIDE, frame)));
            numbered += 1;
        }
        while let Some(first) = due.first_entry()
            && first.key().0 < (number + 1) * MILLISECOND
        {
            let ((now, _), (node, frame)) = first.remove_entry();
            let (datagrams, later) = nodes[node].handle(now, frame, &mut found);
            let arrive = datagrams.into_iter().filter_map(|frame| {
                Some((now + 1, machine::node_of(machine::ends(&frame).1)?, (Port::INSIDE, frame)))
            });
            let inside = later.into_iter().map(|it| (now + it.delay.max(1), node, it.frame));
            for (time, node, frame) in arrive.chain(inside) {
                due.insert((time, numbered), (node, frame));
                numbered += 1;
            }
        }
    }
    assert_eq!(found, None);
    nodes.iter_mut().map(|node| (node.applied(), node.begin_of_log())).collect()
}

/// A group with one name, or with reads alone, has a short log, too.
#[test]
fn logs_stay_short_where_names_are_few() {
    let name = Name::of(b"one").expect("a short name");
    let value = Value::of(b"1").expect("a short value");
    for operation in [Operation::Put { name, value }, Operation::Get { name }] {
        for (applied, begin) in asked_for(operation, 6 * KEEP) {
            assert!(applied > 4 * KEEP, "{operation:?}: {applied} applied");
            assert!(begin + 3 * KEEP > applied, "{operation:?}: {begin} to {applied}");
        }
    }
}
