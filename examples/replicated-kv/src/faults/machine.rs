//! A node of the test: the program's handlers, its states, and tables in a map.

use std::collections::{BTreeMap, VecDeque};

use cora::prelude::*;
use cora::testing::{self, TestObjects, TestOutbox, TestTable};

use super::{Draw, GROUP, MICROSECOND};
use crate::acceptor::{Log, Slot, TWO_VALUES};
use crate::leader::{Proposal, Replica};
use crate::learner::{self, Learn, Memory, Stage};
use crate::memtable::{self, Line};
use crate::nodes::Nodes;
use crate::replica::{self, Wake};
use crate::shelf::{self, Answered, Change, Counted, Kept};
use crate::tables::{Back, Disk};
use crate::wire::{Answer, CHOSEN, Command, Datagram, Said};

/// A frame, and the port where it comes or leaves.
type Frame = (Port, Vec<u8>);

/// Tables in a map.
#[derive(Default)]
struct Mapped(BTreeMap<Vec<u8>, Vec<u8>>);

impl Kept for Mapped {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, shelf::Failed> {
        Ok(self.0.get(key).cloned())
    }

    fn change(&mut self, changes: Vec<Change>, _: bool) -> Result<(), shelf::Failed> {
        for (key, value) in changes {
            match value {
                Some(value) => self.0.insert(key, value),
                None => self.0.remove(&key),
            };
        }
        Ok(())
    }
}

/// A message inside that comes later.
pub(super) struct Sent {
    pub(super) frame: Frame,
    pub(super) delay: u64,
    /// It goes from one half to the other.
    pub(super) crosses: bool,
}

pub(super) struct Machine {
    number: usize,
    pub(super) life: u64,
    nodes: Nodes,
    logs: TestTable<Log>,
    slots: TestTable<Slot>,
    replicas: TestTable<Replica>,
    proposals: TestTable<Proposal>,
    memories: TestTable<Memory>,
    lines: TestObjects<Line>,
    out: TestOutbox,
    tables: Mapped,
    counted: Counted,
    /// When the last one crossed.
    crossed: u64,
}

impl Machine {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            life: 0,
            nodes: Nodes::configure(&format!("me {number}")).expect("a node"),
            logs: testing::table(),
            slots: testing::table(),
            replicas: testing::table(),
            proposals: testing::table(),
            memories: testing::table(),
            lines: testing::objects(&GROUP),
            out: testing::outbox(),
            tables: Mapped::default(),
            counted: Counted::new(),
            crossed: 0,
        }
    }

    /// State that is not durable is lost.
    pub(super) fn dies(&mut self) {
        self.life += 1;
        self.replicas = testing::table();
        self.proposals = testing::table();
        self.lines = testing::objects(&GROUP);
        if self.life.is_multiple_of(3) {
            // The memtable alone is lost.
            return;
        }
        self.memories = testing::table();
        if self.life.is_multiple_of(2) {
            // The host's half: its handler's counts are lost, too.
            self.counted = Counted::new();
        }
    }

    /// All is lost but the tables.
    pub(super) fn loses_its_log(&mut self) {
        self.dies();
        self.memories = testing::table();
        self.logs = testing::table();
        self.slots = testing::table();
    }

    /// It forgets its promise: the planted bug.
    pub(super) fn forgets(&mut self) {
        if let Some(log) = self.logs.get_mut(&GROUP) {
            log.promised = 0;
        }
    }

    /// When a message crosses that leaves at this time: behind all earlier ones.
    pub(super) fn crosses_at(&mut self, time: u64, draw: &mut Draw) -> u64 {
        let time = (time + draw.below(200 * MICROSECOND)).max(self.crossed + 1);
        self.crossed = time;
        time
    }

    /// A message comes now.
    fn begin(&mut self, now: u64, frame: &Frame) {
        testing::at(&mut self.logs, now);
        testing::at(&mut self.slots, now);
        testing::at(&mut self.replicas, now);
        testing::at(&mut self.proposals, now);
        testing::at(&mut self.memories, now);
        self.slots.enter_scope(Some(GROUP));
        self.proposals.enter_scope(Some(GROUP));
        testing::of_flow(&mut self.lines, &GROUP, now);
        self.out.clear();
        self.out.begin(&envelope(now, frame));
    }

    /// Handles a message and those it causes at once. Returns datagrams, and later messages.
    pub(super) fn handle(
        &mut self,
        now: u64,
        frame: Frame,
        found: &mut Option<String>,
    ) -> (Vec<Vec<u8>>, Vec<Sent>) {
        let (mut datagrams, mut later) = (Vec::new(), Vec::new());
        let mut open = VecDeque::from([frame]);
        while let Some(frame) = open.pop_front() {
            self.begin(now, &frame);
            let verdict = self.dispatch(now, &frame);
            if verdict == Drop(TWO_VALUES) {
                *found = Some(format!("node {}: {}", self.number, TWO_VALUES.name()));
            }
            for frame in testing::sent(&self.out) {
                let crosses = is::<Disk>(&frame) || is::<Back>(&frame);
                let is_inside = crosses || is::<Learn>(&frame) || is::<Wake>(&frame);
                let delay = testing::delay(&frame).as_nanos() as u64;
                if !is_inside {
                    datagrams.push(frame.1);
                } else if crosses || delay > 0 {
                    later.push(Sent { frame, delay, crosses });
                } else {
                    open.push_back(frame);
                }
            }
        }
        (datagrams, later)
    }

    /// Calls the handler that takes it.
    fn dispatch(&mut self, now: u64, frame: &Frame) -> Verdict {
        let (envelope, out) = (envelope(now, frame), &self.out);
        let (mut datagrams, mut answers) = (out.messages(), out.messages());
        let (mut wakes, mut learns) = (out.messages(), out.messages());
        let (mut disks, mut backs) = (out.messages(), out.messages::<Back>());
        let Self { nodes, logs, slots, replicas, proposals, memories, lines, .. } = self;
        if let Some(message) = testing::message::<Learn>(frame) {
            return learner::learner(
                message,
                &envelope,
                logs,
                slots,
                proposals,
                memories,
                lines,
                &mut answers,
                &mut learns,
                &mut disks,
            );
        }
        if let Some(message) = testing::message::<Wake>(frame) {
            return replica::wake(
                message,
                &envelope,
                logs,
                slots,
                replicas,
                proposals,
                nodes,
                &mut datagrams,
                &mut wakes,
                &mut learns,
            );
        }
        if let Some(message) = testing::message::<Back>(frame) {
            return learner::kept(message, logs, memories, lines, &mut learns);
        }
        if let Some(Disk { shelf, ask }) = testing::message::<Disk>(frame) {
            let (tables, counted) = (&mut self.tables, &mut self.counted);
            let said = shelf::answer(tables, counted, shelf.group, &ask).expect("a map");
            match said {
                Answered::Client { to, number, said } => {
                    answers.send_to(to, Answer { group: shelf.group, number, said })?;
                }
                Answered::Group(said) => backs.send(Back { group: shelf.group, said })?,
                Answered::Nobody => {}
            }
            return Done;
        }
        let Some(message) = testing::message::<Datagram>(frame) else { return Drop(Malformed) };
        replica::replica(
            message,
            &envelope,
            logs,
            slots,
            replicas,
            proposals,
            nodes,
            &mut datagrams,
            &mut answers,
            &mut wakes,
            &mut learns,
        )
    }

    /// The command of a slot, if it and all before it are known as chosen.
    pub(super) fn chosen(&self, slot: u64) -> Option<Command> {
        self.logs.get(&GROUP).filter(|log| slot < log.chosen)?;
        self.slots.get(&slot).filter(|it| it.ballot == CHOSEN).map(|it| it.command)
    }

    /// The first slot of the log.
    pub(super) fn begin_of_log(&self) -> u64 {
        self.logs.get(&GROUP).map_or(1, |log| log.begin)
    }

    pub(super) fn applied(&mut self) -> u64 {
        self.memories.get(&GROUP).map_or(0, |memory| memory.applied)
    }

    /// The highest round that it promised.
    pub(super) fn round(&self) -> u64 {
        self.logs.get(&GROUP).map_or(0, |log| log.promised >> 8)
    }

    /// The slot up to which all is in its tables.
    pub(super) fn sealed(&self) -> u64 {
        self.memories.get(&GROUP).map_or(0, |memory| memory.flushed)
    }

    pub(super) fn stage(&self) -> Option<Stage> {
        self.memories.get(&GROUP).map(|memory| memory.stage)
    }

    /// All names with their values: of the tables, and of the memtable above them.
    pub(super) fn content(&mut self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let in_tables = self.tables.0.iter().filter(|(key, _)| key[0] == b'n');
        let mut content: BTreeMap<Vec<u8>, Vec<u8>> =
            in_tables.map(|(key, value)| (key[5..].to_vec(), value.clone())).collect();
        let Some(memory) = self.memories.get(&GROUP) else { return content };
        let mut line = memtable::from(&memory.list, &self.lines, b"");
        while let Some(it) = self.lines.get(line) {
            let name = memtable::name_of(it).to_vec();
            if it.head.is_gone {
                content.remove(&name);
            } else {
                content.insert(name, memtable::value_of(it).to_vec());
            }
            line = memtable::behind(&self.lines, line);
        }
        content
    }
}

/// The envelope of a message that comes now.
fn envelope(now: u64, (port, frame): &Frame) -> Envelope {
    let mut frame = frame.clone();
    Envelope::of(&Packet::new(&mut frame, Meta { time: now, now, port: *port, ..Meta::default() }))
}

/// Whether a frame is a message of this type, which stays inside.
fn is<M: Message>(frame: &Frame) -> bool {
    testing::message::<M>(frame).is_some()
}

/// An address and a port.
pub(super) type End = ([u8; 4], u16);

/// Both ends of a datagram.
pub(super) fn ends(frame: &[u8]) -> (End, End) {
    let mut frame = frame.to_vec();
    let packet = Packet::new(&mut frame, Meta::default());
    let flow = packet.five_tuple().expect("a datagram");
    let address = |address: Address| address.as_v4().expect("of version 4");
    ((address(flow.source), flow.source_port), (address(flow.destination), flow.destination_port))
}

/// The end that is this node.
pub(super) fn node(number: usize) -> End {
    ([127, 0, 0, 1], 7_001 + number as u16)
}

/// The node at this end.
pub(super) fn node_of((address, port): End) -> Option<usize> {
    (address[0] == 127).then(|| usize::from(port - 7_001))
}

/// The end that is this client.
pub(super) fn client(number: usize) -> End {
    ([10, 0, 0, 1], 40_000 + number as u16)
}

/// The client at this end.
pub(super) fn client_of((_, port): End) -> usize {
    usize::from(port - 40_000)
}

/// A datagram to the group.
pub(super) fn datagram(source: End, destination: End, said: Said) -> Vec<u8> {
    testing::udp(source, destination, &testing::written(&Datagram { group: GROUP, said }))
}
