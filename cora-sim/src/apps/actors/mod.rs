//! Flows that send each other messages: fan-out, fan-in, rows, delayed messages, messages without a
//! key and to the only one of a kind, and objects.
//!
//! ```text
//! wire ─► sender ─┬─► hearers of its own      hear from it alone: order counts
//!                 ├─► sums, the tally         hear from several: sums alone count
//!                 ├─► later ─► later …        delayed
//!                 ├─► loose                   without a key, anywhere
//!                 └─► peers ─► peers …        hear from several, and order counts
//! ```
//!
//! Without peers the program is settled: its results are those of the host alone. With them they
//! are those of some run one by one (`history`).

mod handlers;
mod messages;

use std::marker::PhantomData;
use std::time::Duration;

use cora_core::app::{App, Lifecycle, PlanFacts, Prefetch, States, Transaction, Transfer};
use cora_core::key::{Key as _, One, PacketKey as _};
use cora_core::message::{
    Envelope, FlowOf, Flows, Message, Peer, SENT, datagram_port, key_of, receive, sent_id,
};
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet};
use cora_core::plain::Plain as _;
use cora_core::state::table::NEVER;
use cora_core::state::{
    Described, Home, Id, Memory, ObjectState, Objects, OutOfMemory, Place, Reach, Stored, Table,
};
use cora_core::verdict::{Drop, Stop, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain};
use crate::traffic::Wishes;
use messages::{All, Go, Later, Loose, Sum, WORDS, Word};

/// Requests of a datagram.
pub mod request {
    /// Counts, and answers.
    pub const COUNT: u64 = 0;
    /// Words to hearers of its own.
    pub const FAN: u64 = 1;
    /// To each sum.
    pub const SUM: u64 = 2;
    /// To the tally.
    pub const ALL: u64 = 3;
    /// A message without a key.
    pub const LOOSE: u64 = 4;
    /// A delayed one, which sends itself again.
    pub const LATER: u64 = 5;
    /// Everything at once, at the host only.
    pub const PUNT: u64 = 6;
    /// The sender's entry ends.
    pub const END: u64 = 7;
    /// Words to peers.
    pub const PEER: u64 = 8;
    /// Many words to one peer.
    pub const MANY: u64 = 9;
    /// Heavy ones to a peer, between words.
    pub const MIXED: u64 = 10;
    /// Delayed ones to a peer.
    pub const ALARM: u64 = 11;
    /// Requests of a settled program.
    pub const SETTLED: u64 = 8;
    /// All requests.
    pub const REQUESTS: u64 = 12;
}

/// Number of flows that hear from the wire, and the numbers of the others.
pub const SENDERS: u64 = 6;
const HEARERS: u64 = 100;
const PEERS: u64 = 200;
const MOST_PEERS: u64 = 6;
const SUMS: u64 = 300;
const MOST_SUMS: u64 = 3;
const LATERS: u64 = 400;
/// The port of datagrams with messages.
pub const PORT: u16 = 7;

plain! {
    /// How many datagrams came, and in which order.
    struct Sender {
        count: u64,
        hash: u64,
    }
}
keyed!(Sender, u64, 16, false, idle NEVER);

plain! {
    /// The messages that a flow heard: their number, their sum, and a digest of their order. And
    /// its newest object.
    struct Hearer {
        count: u64,
        sum: u64,
        hash: u64,
        newest: Id<Node>,
        nodes: u64,
    }
}
keyed!(Hearer, u64, 64, false, idle NEVER);

plain! {
    /// The tally of all.
    struct Tally {
        count: u64,
        sum: u64,
    }
}
keyed!(Tally, One, 1, false, idle NEVER);

plain! {
    /// The head of an object: the next older one, and the value of its bytes.
    struct Node {
        older: Id<Node>,
        filled: u8,
    }
}

impl ObjectState for Node {
    const NAME: &'static str = "Node";
    const BYTES: usize = 1 << 20;
    const FLOWS: u32 = 64;
    const IDLE: u64 = NEVER;
}

/// The program.
#[derive(Debug)]
pub struct Actors<V> {
    senders: Wrapped<Sender>,
    hearers: Wrapped<Hearer>,
    tallies: Wrapped<Tally>,
    nodes: Objects<Node>,
    variant: PhantomData<V>,
}

/// The class of a message, by its handler.
fn class_of(packet: &Packet<'_>) -> Option<u8> {
    match sent_id(packet) {
        None => datagram_port(packet).filter(|port| *port == PORT).map(|_| 0),
        Some(id) if id == Word::ID => Some(1),
        Some(id) if id == Sum::ID => Some(2),
        Some(id) if id == All::ID => Some(3),
        Some(id) if id == Loose::ID => Some(4),
        Some(id) if id == Later::ID => Some(5),
        Some(_) => None,
    }
}

impl<V: Variant> Flows for Actors<V> {
    fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])> {
        let key = match class_of(packet)? {
            0 => key_of::<Go>(packet),
            1 => key_of::<Word>(packet),
            2 => key_of::<Sum>(packet),
            3 => return key_of::<All>(packet).map(|key| (1, key.words())),
            4 => None,
            _ => key_of::<Later>(packet),
        };
        key.map(|key| (0, key.words()))
    }
}

impl<V: Variant> States for Actors<V> {
    const PLACES: &'static [(&'static str, Place)] = &[
        ("Sender", Place::Travels),
        ("Hearer", Place::Travels),
        ("Tally", Place::Travels),
        ("Node", Place::Travels),
    ];
    const STATES: usize = 4;

    fn state(&mut self, number: usize) -> &mut dyn Home {
        let Self { senders, hearers, tallies, nodes, .. } = self;
        let states: [&mut dyn Home; 4] = [senders, hearers, tallies, nodes];
        states.into_iter().nth(number).expect("a state's number")
    }

    fn described(&mut self, number: usize) -> &mut dyn Described {
        let Self { senders, hearers, tallies, nodes, .. } = self;
        let states: [&mut dyn Described; 4] = [senders, hearers, tallies, nodes];
        states.into_iter().nth(number).expect("a state's number")
    }
}

impl<V: Variant> Lifecycle for Actors<V> {
    const MEMORY: usize = <Table<Sender> as Stored>::BYTES
        + <Table<Hearer> as Stored>::BYTES
        + <Table<Tally> as Stored>::BYTES
        + <Objects<Node> as Stored>::BYTES;
    const DELAYS: bool = true;

    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            senders: Wrapped::create::<V>(memory)?,
            hearers: Wrapped::create::<V>(memory)?,
            tallies: Wrapped::create::<V>(memory)?,
            nodes: <Objects<Node> as Stored>::create(memory)?,
            variant: PhantomData,
        })
    }
}

impl<V: Variant> Prefetch for Actors<V> {
    fn prefetch_owner(&self, number: u8) {
        self.senders.prefetch_owner(number);
        self.hearers.prefetch_owner(number);
        self.tallies.prefetch_owner(number);
    }
}

impl<V: Variant> Transaction for Actors<V> {}

impl<V: Variant> Transfer for Actors<V> {
    type Group = FlowOf<Self>;
}

impl<V: Variant> App for Actors<V> {
    const NAME: &'static str = "actors";
    const PLAN: PlanFacts = PlanFacts {
        nic_share: V::SHARE,
        offer_after: V::OFFER_AFTER,
        ..PlanFacts::by_hand(V::SIDES)
    };
    const SENDS: bool = true;
    const MESSAGES: bool = true;
    const TAKERS: &'static [&'static str] = &["go", "hear", "add", "tally", "let_loose", "later"];

    fn taker(packet: &Packet<'_>) -> Option<u8> {
        class_of(packet)
    }

    fn is_anywhere(packet: &Packet<'_>) -> bool {
        sent_id(packet) == Some(Loose::ID)
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
        let Some(class) = class_of(packet) else { return Drop(reasons::Malformed) };
        out.begin(&Envelope::of(packet));
        match class {
            0 => self.go::<R>(words::<Go>(packet)?.0, out),
            1 => self.hear::<R>(words::<Word>(packet)?.0, out),
            2 => self.add::<R>(words::<Sum>(packet)?.0, out),
            3 => self.tally(words::<All>(packet)?.0, out),
            4 => handlers::let_loose(words::<Loose>(packet)?.0, out),
            _ => self.later(words::<Later>(packet)?.0, out),
        }
    }
}

/// The message.
fn words<M: Message>(packet: &Packet<'_>) -> Result<M, Stop> {
    receive(packet).map_err(|_| reasons::Malformed.into())
}

/// How long a delayed message waits, by its id.
const fn delay(id: u64) -> Duration {
    Duration::from_nanos(1_000 + id % 7 * 4_000)
}

/// The frame of a datagram with these words.
#[must_use]
pub fn datagram(words: [u64; WORDS]) -> Vec<u8> {
    let contents: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    crate::frames::datagram(words[0] as u8, PORT, &contents)
}

impl<V: Variant> SimApp for Actors<V> {
    const WISHES: Wishes =
        Wishes { flows: SENDERS, hosts: 1, ops: &[], expires: false, crosses: false };
    /// A piece of an object.
    const LONGEST: usize = 1 << 11;
    /// Some packets come at one time, and some delayed messages are due between two of them.
    const STEPS: &'static [u64] = &[0, 0, 700, 3_000, 9_000, 40_000];

    fn refuse(&mut self, seed: u64) {
        self.senders.refuse(seed);
        self.hearers.refuse(!seed);
    }

    fn flows() -> Vec<FlowOf<Self>> {
        let hearers = (0..2 * SENDERS).map(|number| HEARERS + number);
        let peers = (0..MOST_PEERS).map(|number| PEERS + number);
        let sums = (0..MOST_SUMS).map(|number| SUMS + number);
        let laters = (0..SENDERS).map(|number| LATERS + number);
        let numbers = (0..SENDERS).chain(hearers).chain(peers).chain(sums).chain(laters);
        let of_number = |number: u64| {
            let mut frame = datagram([number, 0, 0, 0]);
            FlowOf::of_packet(&Packet::new(&mut frame, Meta::default())).expect("it has a key")
        };
        let mut tally = vec![0; 14 + Peer::SIZE + WORDS * 8];
        All::ID.put(&mut tally);
        let meta = Meta { port: SENT, ..Meta::default() };
        let tally = FlowOf::of_packet(&Packet::new(&mut tally, meta)).expect("it has a key");
        numbers.map(of_number).chain([tally]).collect()
    }
}
