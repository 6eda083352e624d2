//! What light messages wait for beside heavy ones, by the code that ships, in virtual time: 95 of
//! 100 take 2 µs, the others 34 or 71 µs (iPipe's range), on one core that nothing interrupts.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::message::{FlowOf, Flows};
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::state::Reach;
use cora_core::verdict::{Done, Verdict};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::classes::Limits;
use cora_runtime::exec::burst::BURST;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::link::message::{Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;

use super::many::memory;
use crate::figure::Figure;

/// What messages of each class take (ns), and how many of 1,000 there are.
const COSTS: [u64; 3] = [2_000, 34_000, 71_000];
const PARTS: [u64; 3] = [950, 25, 25];
/// The part of its time that the core works.
const LOADS: [f64; 2] = [0.7, 0.9];
/// How much less the light messages' tail is to be than first come, first served.
const GOAL: f64 = 4.0;
/// A class with a longer tail waits; a round of those takes so long (ns).
const LIMITS: Limits = Limits { tail: 20_000, round: 5_000, mean: u64::MAX };

thread_local! {
    /// The virtual time (ns).
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// The times of the messages so far.
    static TIMES: Cell<Option<Times>> = const { Cell::new(None) };
}

/// The times that the light messages, and all, took (ns).
#[derive(Debug, Default)]
struct Times {
    light: Vec<u64>,
    all: Vec<u64>,
}

/// The program: messages whose first byte says their class, each a flow of its own.
#[derive(Debug)]
struct Waits;

by_hand!([] Waits, by FlowOf<Waits>, {} and {});

impl Waits {
    fn of(packet: &Packet<'_>) -> u8 {
        packet.frame().first().copied().unwrap_or(0)
    }
}

impl Flows for Waits {
    fn flow(_: &Packet<'_>) -> Option<(u8, [u64; 5])> {
        None
    }
}

impl App for Waits {
    const NAME: &'static str = "waits";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::NicOnly);
    const SENDS: bool = true;
    const MESSAGES: bool = true;

    fn taker(packet: &Packet<'_>) -> Option<u8> {
        Some(Self::of(packet))
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        let class = Self::of(packet);
        let done = NOW.get() + COSTS[usize::from(class)];
        NOW.set(done);
        let mut times = TIMES.take().unwrap_or_default();
        let took = done - packet.now();
        times.all.push(took);
        if class == 0 {
            times.light.push(took);
        }
        TIMES.set(Some(times));
        Done
    }
}

/// Nothing but the virtual time.
#[derive(Debug)]
struct Ends;

impl PeerOutbox for Ends {
    fn send(&mut self, _: &Message<'_>) {}

    fn now_ns(&self) -> u64 {
        NOW.get()
    }
}

impl Wire for Ends {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {}
}

/// Numbers between 0 and 1 that anyone can draw again.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn next(&mut self) -> f64 {
        self.bits() as f64 / (1_u64 << 53) as f64
    }
}

/// The times and classes of messages that come at random, for this load.
fn arrivals(load: f64, count: usize) -> VecDeque<(u64, u8)> {
    let mean: u64 = COSTS.iter().zip(PARTS).map(|(cost, part)| cost * part).sum();
    let apart = mean as f64 / 1_000.0 / load;
    let (mut random, mut now) = (Random(42), Duration::ZERO);
    let one = |_| {
        now += Duration::from_secs_f64(-apart * (1.0 - random.next()).ln() / 1e9);
        let drawn = random.bits() % 1_000;
        let class = if drawn < PARTS[0] { 0 } else { 1 + u8::from(drawn >= PARTS[0] + PARTS[1]) };
        (now.as_nanos() as u64, class)
    };
    (0..count).map(one).collect()
}

/// Handles all of them.
fn handle(mut arrivals: VecDeque<(u64, u8)>, limits: Limits) -> Times {
    let mut app = Waits::new(&mut memory(Waits::MEMORY)).expect("there is memory");
    let bytes = NicHalf::<Waits>::bytes(&mut app);
    let mut half = NicHalf::create(app, &mut memory(bytes)).expect("there is memory");
    half.limit_classes(limits);
    NOW.set(0);
    TIMES.set(None);
    while half.has_mail() || !arrivals.is_empty() {
        let mut frames = [[0_u8; 60]; BURST];
        let mut burst = Burst::new();
        let mut free = frames.iter_mut();
        while half.takes_packets()
            && let Some((now, class)) = arrivals.front().copied().filter(|it| it.0 <= NOW.get())
            && let Some(frame) = free.next()
        {
            arrivals.pop_front();
            frame[0] = class;
            let meta = Meta { time: now, now, port: Port(0), ..Meta::default() };
            let (egress, parked, missing) = (Port(1), Parked::NONE, 0);
            burst.push(Stamp { meta, number: now, horizon: now, egress, parked, missing }, frame);
        }
        if burst.is_empty() && !half.has_mail() {
            NOW.set(arrivals.front().map_or(0, |next| next.0));
            continue;
        }
        half.burst(&mut burst, &mut Ends);
    }
    TIMES.take().unwrap_or_default()
}

/// The time that 99 of 100 did not exceed (µs).
fn p99(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() * 99 / 100).copied().unwrap_or(0) as f64 / 1e3
}

/// Measures both ways to serve the same messages.
pub(super) fn run(quick: bool, tell: &mut dyn FnMut(Figure)) {
    let count = if quick { 100_000 } else { 1_000_000 };
    for load in LOADS {
        let all = arrivals(load, count);
        let [hybrid, alone] = [LIMITS, Limits::NONE].map(|limits| handle(all.clone(), limits));
        let goal = if load >= 0.9 { GOAL } else { 0.0 };
        for (what, cora, baseline, goal) in
            [("light", hybrid.light, alone.light, goal), ("all", hybrid.all, alone.all, 0.0)]
        {
            let name = format!("messages/p99 of {what} at load {load}");
            let [cora, baseline] = [cora, baseline].map(p99);
            let first = "first come, first served";
            tell(Figure::of_counts(name, cora, baseline, first, "µs", goal));
        }
    }
}
