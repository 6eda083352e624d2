//! Messages between flows that move: each is handled once, and a flow gets another one's messages
//! in the order in which they were sent, however the rings between the halves are read.

use std::collections::VecDeque;

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::{HeaderKey, Key, PacketKey as _};
use cora_core::message::{
    Envelope, FlowOf, Flows, Message as Sent, SENT, Taken, datagram_port, key_of, read_short,
    receive, sent_id,
};
use cora_core::outbox::Outbox;
use cora_core::packet::{Headers, Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Keyed, Line, Memory, Place, Reach, Table};
use cora_core::verdict::{Done, Drop, Reason, Verdict, reasons};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::ownership::Order;

/// Senders and receivers: flows have these numbers.
const SENDERS: u64 = 4;
const RECEIVERS: u64 = 3;
/// Bytes of the NIC's hold queue.
const HELD: usize = 1 << 18;
/// A receiver's number is beyond all senders'.
const FIRST_RECEIVER: u64 = 100;

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

// The sender, and the receiver.
message!(Go, 2);
// The receiver, the sender, and the number of the note among those from the one to the other.
message!(Note, 3);
// How many notes it sent to each.
keyed!(Sender, 3);
// How many notes came from each, and how many were not the next one.
keyed!(Receiver, 5);

/// A sender notes in order, a receiver checks the order.
#[derive(Debug)]
struct Notes {
    senders: Table<Sender>,
    receivers: Table<Receiver>,
}

by_hand!([] Notes, by FlowOf<Notes>, {
    Place::Travels => senders: Table<Sender>,
    Place::Travels => receivers: Table<Receiver>,
});

impl Flows for Notes {
    fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])> {
        let key = match sent_id(packet) {
            Some(id) if id == Note::ID => key_of::<Note>(packet),
            Some(_) => None,
            None => datagram_port(packet).and_then(|_| key_of::<Go>(packet)),
        };
        key.map(|key| (0, key.words()))
    }
}

impl App for Notes {
    const NAME: &'static str = "notes";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Split);
    const SENDS: bool = true;
    const MESSAGES: bool = true;

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
        let envelope = Envelope::of(packet);
        if packet.port() == SENT {
            let Note([to, from, number]) = receive(packet).or(Err(reasons::Malformed))?;
            let receiver = self.receivers.get_or_insert(Number(to), Receiver([0; 5]))?;
            let came = receiver.0.get_mut(from as usize).ok_or(reasons::Malformed)?;
            let is_next = number == *came;
            *came = number + 1;
            receiver.0[4] += u64::from(!is_next);
            return Done;
        }
        let Ok(Go([from, to])) = receive(packet) else { return Drop(reasons::Malformed) };
        out.begin(&envelope);
        let sender = self.senders.get_or_insert(Number(from), Sender([0; 3]))?;
        let sent = sender.0.get_mut((to - FIRST_RECEIVER) as usize).ok_or(reasons::Malformed)?;
        out.messages::<Note>().send(Note([to, from, *sent]))?;
        *sent += 1;
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

/// Both halves, and the rings between them.
struct Pair {
    nic: NicHalf<Notes>,
    host: HostHalf<Notes>,
    punt: Ring,
    back: Ring,
    now: u64,
}

impl Pair {
    fn new() -> Self {
        let app = || Notes::new(&mut memory(Notes::MEMORY)).expect("there is memory");
        let (mut nic, mut host) = (app(), app());
        let of_nic = NicHalf::<Notes>::bytes_to_hold(&mut nic, HELD);
        let of_host = HostHalf::<Notes>::bytes(&mut host);
        Self {
            nic: NicHalf::create_to_hold(nic, &mut memory(of_nic), HELD).expect("there is memory"),
            host: HostHalf::create(host, &mut memory(of_host), true).expect("there is memory"),
            punt: Ring::default(),
            back: Ring::default(),
            now: 0,
        }
    }

    /// A datagram comes in at the wire.
    fn go(&mut self, from: u64, to: u64) {
        self.now += 10;
        let mut bytes = datagram(&[from.to_le_bytes(), to.to_le_bytes()].concat());
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
        if self.nic.is_handing_over() {
            self.nic.hand_over(1, &mut self.punt);
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

    /// Notes that came, and those that were not the next ones.
    fn came(&mut self) -> (u64, u64) {
        let (mut came, mut wrong) = (0, 0);
        for number in FIRST_RECEIVER..FIRST_RECEIVER + RECEIVERS {
            let at_nic = self.nic.engine().app().receivers.get(&Number(number)).copied();
            let at_host = self.host.engine().app().receivers.get(&Number(number)).copied();
            assert!(at_nic.is_none() || at_host.is_none(), "{number} is at one side");
            let Receiver([a, b, c, d, amiss]) = at_nic.or(at_host).unwrap_or(Receiver([0; 5]));
            came += a + b + c + d;
            wrong += amiss;
        }
        (came, wrong)
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
fn flow(number: u64) -> FlowOf<Notes> {
    let mut bytes = datagram(&[number.to_le_bytes(), [0; 8]].concat());
    FlowOf::of_packet(&Packet::new(&mut bytes, Meta::default())).expect("it has one")
}

#[test]
fn each_note_is_handled_once_and_in_order_whatever_moves() {
    let rounds = if cfg!(miri) { 3 } else { 60 };
    let (mut moved, mut crossed) = (0, 0);
    for seed in 1..=rounds {
        let mut random = Random(seed);
        let mut pair = Pair::new();
        let steps = if cfg!(miri) { 60 } else { 2_000 };
        let mut sent = 0;
        for _ in 0..steps {
            match random.below(8) {
                0..=2 => {
                    let to = FIRST_RECEIVER + random.below(RECEIVERS);
                    pair.go(random.below(SENDERS), to);
                    sent += 1;
                }
                3 | 4 => pair.host(random.below(4) as usize),
                5 | 6 => pair.nic(random.below(4) as usize),
                _ => {
                    let all = [random.below(SENDERS), FIRST_RECEIVER + random.below(RECEIVERS)];
                    let flow = flow(all[random.below(2) as usize]);
                    let order =
                        if random.below(2) == 0 { Order::Recall(flow) } else { Order::Offer(flow) };
                    pair.host.follow(&order, &mut pair.back);
                }
            }
        }
        pair.settle();
        let (came, wrong) = pair.came();
        assert_eq!((came, wrong), (sent, 0), "seed {seed}");
        let [nic, host] = [pair.nic.report, pair.host.report];
        assert_eq!(nic.messages + host.messages, sent, "seed {seed}");
        assert_eq!(nic.packets + host.packets, sent, "seed {seed}: packets and no messages");
        moved += nic.released;
        crossed += u64::from(host.messages > 0 && nic.messages > 0);
    }
    assert!(cfg!(miri) || (moved > 2_000 && crossed > rounds / 2), "{moved} moves, {crossed}");
}
