//! Classes of messages between flows that move: whatever waits in mailboxes, each message is
//! handled once, and a flow gets another one's messages in the order in which they were sent.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::{HeaderKey, Key, PacketKey as _};
use cora_core::message::{
    Envelope, FlowOf, Flows, Message as Sent, Taken, datagram_port, key_of, read_short, receive,
    sent_id,
};
use cora_core::outbox::Outbox;
use cora_core::packet::{Headers, Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Keyed, Line, Memory, Place, Reach, Table};
use cora_core::verdict::{Done, Drop, Reason, Stop, Verdict, reasons};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::classes::{Limits, Planted};
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::ownership::Order;

/// Flows: those that send have the numbers from 0 on, those that get messages from 100 on, and
/// those that hear of them from 200 on.
const SENDERS: u64 = 4;
const RECEIVERS: u64 = 3;
const FIRST_RECEIVER: u64 = 100;
const FIRST_HEARER: u64 = 200;
/// Bytes of the NIC's hold queue.
const HELD: usize = 1 << 18;
/// The costs of a light message and of a heavy one (ns), and the tail that is not to be passed.
const LIGHT: u64 = 500;
const HEAVY: u64 = 20_000;
const LIMITS: Limits = Limits { tail: 10_000, round: 5_000, mean: u64::MAX };
/// And a mean that the NIC can't keep: flows go to the host all the time.
const BUSY: Limits = Limits { mean: 2_000, ..LIMITS };

/// What handlers saw, whichever side they ran at.
#[derive(Debug, Default)]
struct Seen {
    /// The clock (ns).
    now: u64,
    /// Per pair of flows: the number of the next message.
    next: BTreeMap<(u64, u64), u64>,
    /// Messages that came, and those that were not the next one.
    came: u64,
    amiss: u64,
    /// The heavy ones, and the last light one before each, by number of handling.
    heavy: u64,
}

thread_local! {
    static SEEN: RefCell<Seen> = RefCell::default();
}

/// Notes that a message came from `from` to `to`, and its cost.
fn came(from: u64, to: u64, number: u64, cost: u64) {
    SEEN.with_borrow_mut(|seen| {
        seen.now += cost;
        seen.came += 1;
        seen.heavy += u64::from(cost == HEAVY);
        let next = seen.next.entry((from, to)).or_default();
        seen.amiss += u64::from(*next != number);
        *next = number + 1;
    });
}

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

/// Words as plain data.
macro_rules! plain {
    ($name:ident, $words:literal) => {
        impl Plain for $name {
            const SIZE: usize = $words * 8;
            fn put(&self, out: &mut [u8]) {
                self.0.put(out);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                <[u64; $words]>::get(bytes).map(Self)
            }
            fn describe(&self, to: &mut dyn Describe) {
                self.0.describe(to);
            }
        }
    };
}

macro_rules! message {
    ($name:ident, $words:literal) => {
        #[derive(Clone, Copy, Debug)]
        struct $name([u64; $words]);
        plain!($name, $words);
        impl Sent for $name {
            const NAME: &'static str = stringify!($name);
            type Key = Number;
            const KEYED: bool = true;
            fn key(&self) -> Number {
                Number(self.0[0])
            }
            fn of_datagram(datagram: &[u8]) -> Result<Self, Reason> {
                read_short(datagram)
            }
        }
        impl Taken for $name {}
    };
}

macro_rules! keyed {
    ($name:ident, $words:literal) => {
        #[derive(Clone, Copy, Debug)]
        struct $name([u64; $words]);
        plain!($name, $words);
        impl Keyed for $name {
            type Key = Number;
            type Scope = cora_core::state::table::scope::Everywhere;
            type Held = Self;
            const NAME: &'static str = stringify!($name);
            const CAPACITY: u32 = 16;
            const IDLE: u64 = u64::MAX / 2;
            const REPLY: bool = false;
        }
    };
}

// The sender, the receiver, and whether a heavy message is sent.
message!(Go, 3);
// A receiver, or a hearer: its number, the sender's, and the number of the message among those from
// the one to the other.
message!(Note, 3);
message!(Heavy, 3);
message!(Heard, 3);
// A datagram that is heavy itself: its flow, and its number there.
message!(Work, 2);
// How many messages it sent to each.
keyed!(Sender, 3);
// How many came, and how many hearers were told.
keyed!(Receiver, 3);

/// Senders and receivers.
#[derive(Debug)]
struct Notes {
    senders: Table<Sender>,
    receivers: Table<Receiver>,
}

by_hand!([] Notes, by FlowOf<Notes>, {
    Place::Travels => senders: Table<Sender>,
    Place::Travels => receivers: Table<Receiver>,
});

/// The port of datagrams that are heavy themselves.
const WORKS: u16 = 8;

impl Notes {
    /// The number of the message that a packet is or carries.
    fn message(packet: &Packet<'_>) -> Option<u8> {
        match sent_id(packet) {
            Some(id) if id == Note::ID => Some(1),
            Some(id) if id == Heavy::ID => Some(2),
            Some(id) if id == Heard::ID => Some(3),
            Some(_) => None,
            None => datagram_port(packet).map(|port| if port == WORKS { 4 } else { 0 }),
        }
    }

    /// A message that a receiver gets. Now and then it goes to the host, or ends its flow there.
    fn receive<R: Reach>(
        &mut self,
        [to, from, number]: [u64; 3],
        cost: u64,
        out: &Outbox,
    ) -> Verdict {
        let at_nic = R::PLACES.is_some();
        if at_nic && (number * 5 + from + to) % 41 == 3 {
            return Err(Stop::punt());
        }
        let receiver = self.receivers.get_or_insert(Number(to), Receiver([0; 3]))?;
        receiver.0[0] += 1;
        let told = receiver.0[0] % 3 == 0;
        if told {
            out.messages::<Heard>().send(Heard([FIRST_HEARER, to, number_to(to)]))?;
        }
        if (number + to) % 23 == 5 {
            self.receivers.remove(&Number(to));
        }
        came(from, to, number, cost);
        Done
    }
}

thread_local! {
    /// How many messages each receiver sent.
    static TOLD: RefCell<BTreeMap<u64, u64>> = RefCell::default();
}

/// The number of the next message of this receiver, which may forget its state.
fn number_to(receiver: u64) -> u64 {
    TOLD.with_borrow_mut(|told| {
        let number = told.entry(receiver).or_default();
        *number += 1;
        *number - 1
    })
}

impl Flows for Notes {
    fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])> {
        let key = match Self::message(packet)? {
            0 => key_of::<Go>(packet),
            1 => key_of::<Note>(packet),
            2 => key_of::<Heavy>(packet),
            3 => key_of::<Heard>(packet),
            _ => key_of::<Work>(packet),
        };
        key.map(|key| (0, key.words()))
    }
}

impl App for Notes {
    const NAME: &'static str = "notes";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Split);
    const SENDS: bool = true;
    const MESSAGES: bool = true;

    fn taker(packet: &Packet<'_>) -> Option<u8> {
        Self::message(packet)
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
        out.begin(&Envelope::of(packet));
        match Self::message(packet) {
            Some(0) => {}
            Some(1) => {
                let Note(note) = receive(packet).or(Err(reasons::Malformed))?;
                return self.receive::<R>(note, LIGHT, out);
            }
            Some(2) => {
                let Heavy(note) = receive(packet).or(Err(reasons::Malformed))?;
                return self.receive::<R>(note, HEAVY, out);
            }
            Some(3) => {
                let Heard([to, from, number]) = receive(packet).or(Err(reasons::Malformed))?;
                self.receivers.get_or_insert(Number(to), Receiver([0; 3]))?;
                came(from, to, number, LIGHT);
                return Done;
            }
            Some(_) => {
                let Work([to, number]) = receive(packet).or(Err(reasons::Malformed))?;
                self.senders.get_or_insert(Number(to), Sender([0; 3]))?;
                came(u64::MAX, to, number, HEAVY);
                return Done;
            }
            None => return Drop(reasons::Malformed),
        }
        let Ok(Go([from, to, heavy])) = receive(packet) else { return Drop(reasons::Malformed) };
        let sender = self.senders.get_or_insert(Number(from), Sender([0; 3]))?;
        let sent = sender.0.get_mut((to - FIRST_RECEIVER) as usize).ok_or(reasons::Malformed)?;
        let note = [to, from, *sent];
        *sent += 1;
        if heavy > 0 {
            out.messages::<Heavy>().send(Heavy(note))?;
        } else {
            out.messages::<Note>().send(Note(note))?;
        }
        SEEN.with_borrow_mut(|seen| seen.now += LIGHT);
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

    fn now_ns(&self) -> u64 {
        SEEN.with_borrow(|seen| seen.now)
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

/// Both halves, and the rings between them.
struct Pair {
    nic: NicHalf<Notes>,
    host: HostHalf<Notes>,
    punt: Ring,
    back: Ring,
    now: u64,
}

impl Pair {
    fn new(limits: Limits) -> Self {
        SEEN.take();
        TOLD.take();
        let app = || Notes::new(&mut memory(Notes::MEMORY)).expect("there is memory");
        let (mut nic, mut host) = (app(), app());
        let of_nic = NicHalf::<Notes>::bytes_to_hold(&mut nic, HELD);
        let of_host = HostHalf::<Notes>::bytes(&mut host);
        let held = &mut memory(of_nic);
        let mut nic = NicHalf::create_to_hold(nic, held, HELD).expect("there is memory");
        let host = HostHalf::create(host, &mut memory(of_host), true);
        let mut host = host.expect("there is memory");
        nic.limit_classes(limits);
        host.limit_classes(limits);
        Self { nic, host, punt: Ring::default(), back: Ring::default(), now: 0 }
    }

    /// A datagram comes in at the wire.
    fn comes(&mut self, port: u16, words: &[u64]) {
        self.now += 10;
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut bytes = datagram(port, &words);
        let meta = Meta { time: self.now, now: self.now, port: Port(0), ..Meta::default() };
        let (number, horizon) = (self.now, self.now);
        let stamp =
            Stamp { meta, number, horizon, egress: Port(1), parked: Parked::NONE, missing: 0 };
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
        self.host.round(&mut self.back);
        if self.host.is_handing_over() {
            self.host.hand_over(1, &mut self.back).expect("in order");
        }
    }

    /// The NIC handles the host's next messages.
    fn nic(&mut self, messages: usize) {
        for _ in 0..messages {
            let Some((kind, bytes)) = self.back.0.pop_front() else { break };
            let message = Message::decode(kind, &bytes).expect("a message");
            self.nic.message(&message, &mut self.punt).expect("in order");
        }
        self.nic.round(&mut self.punt);
        if self.nic.is_handing_over() {
            self.nic.hand_over(1, &mut self.punt);
        }
    }

    /// Whether nothing is on its way any more, in the end.
    fn settles(&mut self) -> bool {
        for _ in 0..10_000 {
            self.host(64);
            self.nic(64);
            let quiet = self.punt.0.is_empty() && self.back.0.is_empty();
            if quiet && self.host.is_drained() && self.nic.is_drained() {
                return true;
            }
        }
        false
    }
}

/// Memory of at least `bytes` bytes, never given back.
fn memory(bytes: usize) -> Memory {
    Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 32].leak())
}

fn datagram(port: u16, data: &[u8]) -> Vec<u8> {
    let total = 28 + data.len();
    let mut frame = vec![0_u8; 14 + total];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&(total as u16).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 198, 51, 100, 1]);
    let sum = cora_core::packet::checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..38].copy_from_slice(&[0, 7, 0, port as u8]);
    frame[38..40].copy_from_slice(&(8 + data.len() as u16).to_be_bytes());
    frame[42..].copy_from_slice(data);
    frame
}

/// The key of a flow, of a sender or a receiver.
fn flow(number: u64) -> FlowOf<Notes> {
    let mut bytes = datagram(7, &[number.to_le_bytes(), [0; 8], [0; 8]].concat());
    FlowOf::of_packet(&Packet::new(&mut bytes, Meta::default())).expect("it has one")
}

/// What came of a run: messages that were sent and came, those out of order, flows that moved,
/// steps after which messages waited at the NIC and at the host, messages that were dropped, and
/// whether something is still on its way.
#[derive(Debug, Default)]
struct Outcome {
    sent: u64,
    came: u64,
    amiss: u64,
    moved: u64,
    waited: [u64; 2],
    lost: u64,
    stuck: bool,
}

fn run(seed: u64, limits: Limits, planted: Option<Planted>) -> Outcome {
    let mut random = Random(seed);
    let mut pair = Pair::new(limits);
    if let Some(mistake) = planted {
        pair.nic.plant(mistake);
        pair.host.plant(mistake);
    }
    let mut outcome = Outcome::default();
    let mut works = [0; SENDERS as usize];
    for _ in 0..if cfg!(miri) { 60 } else { 2_000 } {
        match random.below(12) {
            0..=2 => {
                let to = FIRST_RECEIVER + random.below(RECEIVERS);
                let heavy = u64::from(random.below(3) == 0);
                pair.comes(7, &[random.below(SENDERS), to, heavy]);
                outcome.sent += 1;
            }
            3 => {
                let to = random.below(SENDERS);
                let number = &mut works[to as usize];
                pair.comes(WORKS, &[to, *number]);
                *number += 1;
                outcome.sent += 1;
            }
            4 | 5 => pair.host(random.below(12) as usize),
            6 | 7 => pair.nic(random.below(12) as usize),
            _ => {
                let all = [random.below(SENDERS), FIRST_RECEIVER + random.below(RECEIVERS)];
                let flow = flow(all[random.below(2) as usize]);
                let order =
                    if random.below(4) == 0 { Order::Recall(flow) } else { Order::Offer(flow) };
                pair.host.follow(&order, &mut pair.back);
            }
        }
        outcome.waited[0] += u64::from(pair.nic.has_mail());
        outcome.waited[1] += u64::from(pair.host.has_mail());
    }
    outcome.stuck = !pair.settles();
    outcome.sent += TOLD.with_borrow(|told| told.values().sum::<u64>());
    SEEN.with_borrow(|seen| (outcome.came, outcome.amiss) = (seen.came, seen.amiss));
    outcome.moved = pair.nic.report.released;
    for outcomes in [&pair.nic.engine().outcomes, &pair.host.engine().outcomes] {
        outcomes.each(&mut |name, count| outcome.lost += if name == "done" { 0 } else { count });
    }
    outcome
}

/// How many runs of a test.
const RUNS: u64 = if cfg!(miri) { 2 } else { 40 };

#[test]
fn each_message_is_handled_once_and_in_order_whatever_waits_and_moves() {
    let (mut moved, mut waited) = ([0; 2], [0; 2]);
    for (seed, limits) in (1..=RUNS).flat_map(|seed| [(seed, LIMITS), (seed, BUSY)]) {
        let outcome = run(seed, limits, None);
        assert_eq!(
            (outcome.amiss, outcome.lost, outcome.stuck),
            (0, 0, false),
            "seed {seed}: {outcome:?}"
        );
        assert_eq!(outcome.came, outcome.sent, "seed {seed}: {outcome:?}");
        moved[usize::from(limits == BUSY)] += outcome.moved;
        waited = [waited[0] + outcome.waited[0], waited[1] + outcome.waited[1]];
    }
    assert!(cfg!(miri) || moved[0] > 2_500 && moved[1] > moved[0], "{moved:?}");
    assert!(cfg!(miri) || waited.iter().all(|steps| *steps > 1_000), "{waited:?}");
}

#[test]
#[cfg_attr(miri, ignore = "needs many runs")]
fn mailboxes_that_the_order_of_flows_ignores_are_noticed() {
    for mistake in [Planted::ForgetsFlows, Planted::LeavesMail] {
        let wrong = (1..=RUNS).filter(|seed| run(*seed, LIMITS, Some(mistake)).amiss > 0).count();
        assert!(wrong > 0, "{mistake:?}");
    }
}
