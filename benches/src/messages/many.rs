//! A program of 64 handlers, each with a number of its own, and its NIC half.

use std::time::Instant;

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::{HeaderKey, Key};
use cora_core::message::{
    Envelope, FlowOf, Flows, Message as Sent, Taken, key_of, receive, sent_id,
};
use cora_core::outbox::Outbox;
use cora_core::packet::{Headers, Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Line, Memory, Reach};
use cora_core::verdict::{Done, Drop, Reason, Verdict, reasons};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::classes::Limits;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::link::message::{Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;

use super::{ACTORS, AT_ONCE};

/// Number of an actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number(pub(super) u64);

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

/// To the handler with this number: its key, and what it adds.
#[derive(Clone, Copy, Debug)]
struct Add<const N: u8>([u64; 2]);

impl<const N: u8> Plain for Add<N> {
    const SIZE: usize = 16;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        <[u64; 2]>::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl<const N: u8> Sent for Add<N> {
    const NAME: &'static str = "Add";
    type Key = Number;
    const KEYED: bool = true;
    const ID: u32 = N as u32;
    fn key(&self) -> Number {
        Number(self.0[0])
    }
}

impl<const N: u8> Taken for Add<N> {}

/// Calls `$call!` with all numbers of handlers.
macro_rules! all {
    ($call:ident) => {
        $call!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
            31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63)
    };
}

/// The program.
#[derive(Debug)]
struct Many {
    sums: [u64; ACTORS],
}

by_hand!([] Many, by FlowOf<Many>, {} and { sums: [0; ACTORS] });

impl Flows for Many {
    fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])> {
        macro_rules! keys {
            ($($number:literal)*) => {
                match sent_id(packet)? {
                    $($number => key_of::<Add<$number>>(packet)?,)*
                    _ => return None,
                }
            };
        }
        let key: Number = all!(keys);
        Some((0, key.words()))
    }
}

impl Many {
    #[inline(always)]
    fn add<const N: u8>(&mut self, packet: &Packet<'_>) -> Verdict {
        let Add::<N>([_, by]) = receive(packet).or(Err(reasons::Malformed))?;
        self.sums[usize::from(N)] += by;
        Done
    }
}

impl App for Many {
    const NAME: &'static str = "many";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::NicOnly);
    const SENDS: bool = true;
    const MESSAGES: bool = true;

    #[inline(always)]
    fn taker(packet: &Packet<'_>) -> Option<u8> {
        sent_id(packet).map(|id| id as u8)
    }

    #[inline(always)]
    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
        out.begin(&Envelope::of(packet));
        macro_rules! handlers {
            ($($number:literal)*) => {
                match sent_id(packet) {
                    $(Some($number) => return self.add::<$number>(packet),)*
                    Some(_) => return Drop(reasons::Malformed),
                    None => {}
                }
            };
        }
        all!(handlers);
        // What came at the wire: a message to each.
        macro_rules! sends {
            ($($number:literal)*) => {
                $(out.messages::<Add<$number>>().send(Add([$number, 1]))?;)*
            };
        }
        all!(sends);
        Done
    }
}

/// Nobody is at the other ends. It has the time, unless messages are not timed.
#[derive(Debug)]
struct Ends {
    since: Instant,
}

impl PeerOutbox for Ends {
    fn send(&mut self, _: &Message<'_>) {}

    #[inline]
    fn now_ns(&self) -> u64 {
        self.since.elapsed().as_nanos() as u64
    }
}

impl Wire for Ends {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {}
}

/// How messages are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Each waits in the mailbox of its class.
    Waiting,
    /// First come, first served, with bookkeeping.
    AtOnce,
    /// Without bookkeeping.
    Untimed,
}

/// The half, and its ends.
pub(super) struct Pair {
    half: NicHalf<Many>,
    ends: Ends,
    now: u64,
}

impl Pair {
    pub(super) fn new(how: How) -> Self {
        let mut app = Many::new(&mut memory(Many::MEMORY)).expect("there is memory");
        let bytes = NicHalf::<Many>::bytes(&mut app);
        let mut half = NicHalf::create(app, &mut memory(bytes)).expect("there is memory");
        let tail = match how {
            How::Waiting => 0,
            How::AtOnce => u64::MAX - 1,
            How::Untimed => u64::MAX,
        };
        half.limit_classes(Limits { tail, round: 1_000_000, mean: u64::MAX });
        Self { half, ends: Ends { since: Instant::now() }, now: 0 }
    }

    /// Bursts that send messages to all, each with the round behind it. Returns the number of
    /// messages.
    pub(super) fn run(&mut self, bursts: usize) -> u64 {
        let before = self.sum();
        for _ in 0..bursts {
            let mut frames = [[0_u8; 60]; AT_ONCE];
            let mut burst = Burst::new();
            for frame in &mut frames {
                self.now += 10;
                let meta = Meta { time: self.now, now: self.now, port: Port(0), ..Meta::default() };
                let (number, horizon) = (self.now, self.now);
                let (egress, parked, missing) = (Port(1), Parked::NONE, 0);
                burst.push(Stamp { meta, number, horizon, egress, parked, missing }, frame);
            }
            self.half.burst(&mut burst, &mut self.ends);
        }
        while self.half.has_mail() {
            self.half.round(&mut self.ends);
        }
        let all = (bursts * AT_ONCE * ACTORS) as u64;
        assert_eq!(self.sum() - before, all, "each message is handled once");
        all
    }

    fn sum(&mut self) -> u64 {
        self.half.engine().app().sums.iter().sum()
    }
}

/// Memory of at least `bytes` bytes, never given back.
pub(super) fn memory(bytes: usize) -> Memory {
    Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 32].leak())
}
