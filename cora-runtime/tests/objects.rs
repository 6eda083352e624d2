//! Objects of flows that move: whatever the halves do and whenever flows move, a flow's objects are
//! those of a run at one place, and ids find them.

use std::collections::VecDeque;

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::{HeaderKey, Key, PacketKey as _};
use cora_core::message::{
    FlowOf, Flows, Message as Sent, Taken, datagram_port, key_of, read_short, receive,
};
use cora_core::outbox::Outbox;
use cora_core::packet::{Headers, Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::NEVER;
use cora_core::state::{
    Home as _, Id, Keyed, Line, Memory, ObjectState, Objects, Place, Reach, Table,
};
use cora_core::verdict::{Done, Drop, Reason, Stop, Verdict, reasons};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::ownership::{Admission, Order};

/// Flows have these numbers.
const FLOWS: u64 = 5;
/// Bytes of the NIC's hold queue.
const HELD: usize = 1 << 20;

/// The number of a flow, which no headers tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Number(u64);

impl Plain for Number {
    const SIZE: usize = 8;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u64::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Key for Number {
    type Packed = Self;
    fn pack(&self) -> Self {
        *self
    }
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    fn reply(&self) -> Option<Self> {
        None
    }
}

impl HeaderKey for Number {
    fn of(_: &Headers<'_>) -> Result<Self, Reason> {
        Err(reasons::NoFlow)
    }
}

/// What is done to a list of objects: the flow, the kind, and a number.
#[derive(Clone, Copy, Debug)]
struct Go([u64; 3]);

/// A flow's list, newest first; its length, and how often it was not as it should be.
#[derive(Clone, Copy, Debug)]
struct List {
    newest: Id<Node>,
    length: u64,
    wrong: u64,
}

/// The head of an object: the next older one, and what all of its bytes are.
#[derive(Clone, Copy, Debug)]
struct Node {
    older: Id<Self>,
    filled: u8,
}

impl Plain for Go {
    const SIZE: usize = 24;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        <[u64; 3]>::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Sent for Go {
    const NAME: &'static str = "Go";
    type Key = Number;
    const KEYED: bool = true;
    fn key(&self) -> Number {
        Number(self.0[0])
    }
    fn of_datagram(datagram: &[u8]) -> Result<Self, Reason> {
        read_short(datagram)
    }
}

impl Taken for Go {}

impl Plain for List {
    const SIZE: usize = 24;
    fn put(&self, out: &mut [u8]) {
        self.newest.put(out);
        [self.length, self.wrong].put(out.get_mut(8..).unwrap_or_default());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let [length, wrong] = <[u64; 2]>::get(bytes.get(8..)?)?;
        Some(Self { newest: Id::get(bytes)?, length, wrong })
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.length.describe(to);
    }
}

impl Keyed for List {
    type Key = Number;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "List";
    const CAPACITY: u32 = 16;
    const IDLE: u64 = NEVER;
    const REPLY: bool = false;
}

impl Plain for Node {
    const SIZE: usize = 9;
    fn put(&self, out: &mut [u8]) {
        self.older.put(out);
        self.filled.put(out.get_mut(8..).unwrap_or_default());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { older: Id::get(bytes)?, filled: u8::get(bytes.get(8..)?)? })
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.filled.describe(to);
    }
}

impl ObjectState for Node {
    const NAME: &'static str = "Node";
    const BYTES: usize = 4 << 20;
    const FLOWS: u32 = 16;
    const IDLE: u64 = NEVER;
}

/// Lists of objects.
#[derive(Debug)]
struct Lists {
    lists: Table<List>,
    nodes: Objects<Node>,
}

by_hand!([] Lists, by FlowOf<Lists>, {
    Place::Travels => lists: Table<List>,
    Place::Travels => nodes: Objects<Node>,
});

impl Flows for Lists {
    fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])> {
        let key = datagram_port(packet).and_then(|_| key_of::<Go>(packet));
        key.map(|key| (0, key.words()))
    }
}

impl Lists {
    /// Adds an object of this length.
    fn add(list: &mut List, nodes: &mut Objects<Node>, number: u64) -> Result<(), Stop> {
        let filled = number as u8;
        let length = (number >> 8) as usize % [10, 300, 3_000, 9_000][number as usize % 4];
        let id = nodes.insert(Node { older: list.newest, filled }, length)?;
        nodes.get_mut(id).ok_or(reasons::NoSuchObject)?.bytes.fill(filled);
        list.newest = id;
        list.length += 1;
        Ok(())
    }

    /// Removes the newest object.
    fn drop_newest(list: &mut List, nodes: &mut Objects<Node>) {
        match nodes.remove(list.newest) {
            Some(Node { older, .. }) => {
                list.newest = older;
                list.length -= 1;
            }
            None => list.wrong += u64::from(list.length > 0),
        }
    }

    /// Fills some objects with another byte.
    fn fill(list: &mut List, nodes: &mut Objects<Node>, number: u64) {
        let mut id = list.newest;
        for step in 0..number % 9 {
            let Some(node) = nodes.get_mut(id) else {
                list.wrong += u64::from(step < list.length);
                return;
            };
            node.head.filled = (number + step) as u8;
            let filled = node.head.filled;
            node.bytes.fill(filled);
            id = node.head.older;
        }
    }

    /// Notes whether each object of the list is there and as it should be.
    fn look(list: &mut List, nodes: &Objects<Node>) {
        let (mut id, mut length) = (list.newest, 0);
        while let Some(node) = nodes.get(id) {
            list.wrong += u64::from(node.bytes.iter().any(|byte| *byte != node.head.filled));
            (id, length) = (node.head.older, length + 1);
        }
        list.wrong += u64::from(length != list.length || !id.is_none());
        list.wrong += u64::from(nodes.len() as u64 != length);
    }
}

impl App for Lists {
    const NAME: &'static str = "lists";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Split);
    const SENDS: bool = true;
    const MESSAGES: bool = true;

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        let Ok(Go([flow, kind, number])) = receive(packet) else {
            return Drop(reasons::Malformed);
        };
        self.nodes.enter_named(Some(Number(flow).words()));
        let none = List { newest: Id::NONE, length: 0, wrong: 0 };
        let list = self.lists.get_or_insert(Number(flow), none)?;
        match kind % 8 {
            0..=2 => Self::add(list, &mut self.nodes, number)?,
            3 => Self::drop_newest(list, &mut self.nodes),
            4 | 5 => Self::fill(list, &mut self.nodes, number),
            6 => Self::look(list, &self.nodes),
            _ => {
                Self::drop_newest(list, &mut self.nodes);
                Self::fill(list, &mut self.nodes, number);
                Self::add(list, &mut self.nodes, number)?;
                // The host runs all of it.
                if R::PLACES.is_some() && number % 4 == 0 {
                    return Err(Stop::punt());
                }
            }
        }
        Done
    }
}

/// A ring of encoded messages.
#[derive(Debug, Default)]
struct Ring(VecDeque<(u16, Vec<u8>)>);

impl HostOutbox for Ring {}

impl PeerOutbox for Ring {
    fn send(&mut self, message: &Message<'_>) {
        message.encode(|kind, parts| self.0.push_back((kind, parts.concat())));
    }
}

impl Wire for Ring {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {
        panic!("nothing leaves");
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

/// Both halves, and the rings between them; and a host that is alone, for comparison.
struct Pair {
    nic: NicHalf<Lists>,
    host: HostHalf<Lists>,
    alone: HostHalf<Lists>,
    punt: Ring,
    back: Ring,
    now: u64,
}

impl Pair {
    fn new() -> Self {
        let app = || Lists::new(&mut memory(Lists::MEMORY)).expect("there is memory");
        let (mut nic, mut host, mut alone) = (app(), app(), app());
        let of_nic = NicHalf::<Lists>::bytes_to_hold(&mut nic, HELD);
        let of_host = HostHalf::<Lists>::bytes(&mut host);
        let of_alone = HostHalf::<Lists>::bytes(&mut alone);
        Self {
            nic: NicHalf::create_to_hold(nic, &mut memory(of_nic), HELD).expect("there is memory"),
            host: HostHalf::create(host, &mut memory(of_host), true).expect("there is memory"),
            alone: HostHalf::create(alone, &mut memory(of_alone), false).expect("there is memory"),
            punt: Ring::default(),
            back: Ring::default(),
            now: 0,
        }
    }

    /// A datagram comes in at the wire.
    fn go(&mut self, flow: u64, kind: u64, number: u64) {
        while !self.nic.takes_packets() {
            self.host(8);
            self.nic(8);
        }
        self.now += 10;
        let words = [flow, kind, number].map(u64::to_le_bytes);
        let mut bytes = datagram(&words.concat());
        let meta = Meta { time: self.now, now: self.now, port: Port(0), ..Meta::default() };
        let (number, horizon) = (self.now, self.now);
        let stamp =
            Stamp { meta, number, horizon, egress: Port(1), parked: Parked::NONE, missing: 0 };
        let (mut same, mut burst) = (bytes.clone(), Burst::new());
        assert!(burst.push(stamp, &mut same));
        let mut alone = Ring::default();
        self.alone.burst(&mut burst, &mut alone).expect("in order");
        let mut burst = Burst::new();
        assert!(burst.push(stamp, &mut bytes));
        self.nic.burst(&mut burst, &mut self.punt);
    }

    /// The host handles the NIC's next messages.
    fn host(&mut self, messages: usize) {
        for _ in 0..messages {
            let Some((kind, mut bytes)) = self.punt.0.pop_front() else { break };
            if kind == Kind::Punt {
                let (stamp, frame) = Message::decode_frame(kind, &mut bytes).expect("a packet");
                let mut burst = Burst::new();
                assert!(burst.push(stamp, frame));
                self.host.burst(&mut burst, &mut self.back).expect("in order");
            } else {
                let message = Message::decode(kind, &bytes).expect("a message");
                self.host.message(&message, &mut self.back).expect("in order");
            }
        }
        if self.host.is_handing_over() {
            self.host.hand_over(messages.max(1) as u32, &mut self.back).expect("in order");
        }
    }

    /// The NIC handles the host's next messages.
    fn nic(&mut self, messages: usize) {
        for _ in 0..messages {
            let Some((kind, bytes)) = self.back.0.pop_front() else { break };
            let message = Message::decode(kind, &bytes).expect("a message");
            self.nic.message(&message, &mut self.punt).expect("in order");
        }
        if self.nic.is_handing_over() {
            self.nic.hand_over(messages.max(1) as u32, &mut self.punt);
        }
    }

    /// Nothing is on its way any more.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.host(64);
            self.nic(64);
            let quiet = self.punt.0.is_empty() && self.back.0.is_empty();
            if quiet && self.host.is_drained() && self.nic.is_drained() {
                return;
            }
        }
        panic!(
            "the halves never settle: {:?}, {:?}",
            self.host.is_drained(),
            self.nic.is_drained()
        );
    }

    /// What both halves have at the end, and what the one alone has.
    fn all(&mut self) -> [Vec<(usize, Vec<u8>)>; 2] {
        let now = self.now;
        let take = |app: &mut Lists| {
            let mut pieces = Vec::new();
            app.lists.export(now, &mut |piece| pieces.push((0, piece.to_vec())));
            app.nodes.export(now, &mut |piece| pieces.push((1, piece.to_vec())));
            pieces
        };
        let mut both = take(self.nic.engine().app());
        both.extend(take(self.host.engine().app()));
        let mut alone = take(self.alone.engine().app());
        both.sort();
        alone.sort();
        [both, alone]
    }

    /// How often a list was not as it should be.
    fn wrong(&mut self) -> u64 {
        let list = |number, app: &Lists| app.lists.get(&Number(number)).map_or(0, |it| it.wrong);
        let (nic, host) = (&mut self.nic, &mut self.host);
        let wrong = |number| list(number, nic.engine().app()) + list(number, host.engine().app());
        (0..FLOWS).map(wrong).sum()
    }
}

/// Memory of at least `bytes` bytes, never given back.
fn memory(bytes: usize) -> Memory {
    Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 32].leak())
}

fn datagram(data: &[u8]) -> Vec<u8> {
    let total = 28 + data.len();
    let mut frame = vec![0_u8; 14 + total];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&(total as u16).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 198, 51, 100, 1]);
    let sum = cora_core::packet::checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..38].copy_from_slice(&[0, 7, 0, 7]);
    frame[38..40].copy_from_slice(&(8 + data.len() as u16).to_be_bytes());
    frame[42..].copy_from_slice(data);
    frame
}

/// The key of a flow.
fn flow(number: u64) -> FlowOf<Lists> {
    let mut bytes = datagram(&[number, 0, 0].map(u64::to_le_bytes).concat());
    FlowOf::of_packet(&Packet::new(&mut bytes, Meta::default())).expect("it has one")
}

#[test]
fn objects_are_those_of_a_run_at_one_place_whatever_moves() {
    let rounds = if cfg!(miri) { 2 } else { 24 };
    let (mut moved, mut bytes, mut punts) = (0, 0, 0);
    for seed in 1..=rounds {
        let mut random = Random(seed);
        let mut pair = Pair::new();
        for _ in 0..if cfg!(miri) { 60 } else { 1_500 } {
            match random.below(8) {
                0..=2 => {
                    let (kind, number) = (random.below(8), random.below(1 << 40));
                    pair.go(random.below(FLOWS), kind, number);
                }
                3 | 4 => pair.host(random.below(9) as usize),
                5 | 6 => pair.nic(random.below(9) as usize),
                _ => {
                    let flow = flow(random.below(FLOWS));
                    let order =
                        if random.below(2) == 0 { Order::Recall(flow) } else { Order::Offer(flow) };
                    pair.host.follow(&order, &mut pair.back);
                }
            }
        }
        pair.settle();
        let [both, alone] = pair.all();
        assert!(both == alone, "seed {seed}: the states differ");
        assert_eq!(pair.wrong(), 0, "seed {seed}");
        let [nic, host] = [pair.nic.report, pair.host.report];
        moved += nic.released + nic.offloads;
        bytes += nic.moved_bytes + host.moved_bytes;
        punts += nic.punts;
        assert_eq!((nic.refused, host.refused), (0, 0), "seed {seed}");
    }
    let enough = moved > 500 && bytes > 5_000_000 && punts > 100;
    assert!(cfg!(miri) || enough, "{moved} moves, {bytes} bytes, {punts} punts");
}

/// Five lists need more than one side has. A NIC that has no room for one sends back what came of
/// it, be that a part of an object, and what comes behind.
#[test]
fn a_list_for_which_there_is_no_room_goes_back_whole() {
    const OBJECTS: u64 = if cfg!(miri) { 4 } else { 240 };
    let mut random = Random(77);
    let mut pair = Pair::new();
    // Objects are added at the host alone.
    pair.host.follow(&Order::Admit(Admission::NONE), &mut pair.back);
    for part in [0..3, 3..FLOWS] {
        for list in part.clone() {
            for _ in 0..OBJECTS {
                // One in two of up to 3,000 bytes, the other ones of up to 9,000.
                pair.go(list, 0, random.below(1 << 40) | 2);
                pair.settle();
            }
        }
        for list in part.filter(|list| *list < 3) {
            pair.host.follow(&Order::Offer(flow(list)), &mut pair.back);
            pair.settle();
        }
    }
    for _ in 0..if cfg!(miri) { 50 } else { 4_000 } {
        match random.below(8) {
            0 | 1 => {
                let kind = [4, 6][random.below(2) as usize];
                pair.go(random.below(FLOWS), kind, random.below(1 << 40));
            }
            2..=4 => pair.host(random.below(60) as usize),
            5 | 6 => pair.nic(random.below(60) as usize),
            _ => {
                let flow = flow(random.below(FLOWS));
                let order =
                    if random.below(3) == 0 { Order::Recall(flow) } else { Order::Offer(flow) };
                pair.host.follow(&order, &mut pair.back);
            }
        }
    }
    pair.settle();
    assert_eq!(pair.wrong(), 0);
    for list in 0..FLOWS {
        let at_nic = pair.nic.engine().app().lists.get(&Number(list)).map(|it| it.length);
        let at_host = pair.host.engine().app().lists.get(&Number(list)).map(|it| it.length);
        assert_eq!(at_nic.or(at_host), Some(OBJECTS), "list {list}");
    }
    let [nic, host] = [pair.nic.report, pair.host.report];
    let evicted = pair.host.counts().evicted + pair.nic.counts().evicted;
    assert_eq!((nic.refused, host.refused, evicted), (0, 0, 0));
    let told = format!("{} declined, {} bytes", nic.declined, nic.moved_bytes);
    assert!(cfg!(miri) || nic.declined > 10 && nic.moved_bytes > 20 << 20, "{told}");
}
