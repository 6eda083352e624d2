//! Traffic for a controller: paced packets, most of them of a few popular flows, which change over
//! time.

use std::collections::BTreeMap;

use cora_core::key::{FiveTuple, protocol};
use cora_core::packet::{Meta, Port};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::payload::Parked;

use crate::apps::SimApp;
use crate::frames::{address, frame, op};
use crate::random::Random;
use crate::traffic::{Case, case};

/// Start of the arrivals (ns).
const BEGIN: u64 = 1_000_000;

/// Makes a case of `count` packets in `phases` phases. Each phase has its own popular flows, pace
/// and skew.
pub fn make<A: SimApp>(seed: u64, count: u32, phases: u32) -> Case {
    let mut source = Source::new(seed, A::WISHES.flows, count.div_ceil(phases));
    case::<A>(seed, count, |number, left| source.next(number, left))
}

struct Source {
    random: Random,
    now: u64,
    /// The flows' tuples, and their indices in order of popularity.
    tuples: Vec<FiveTuple>,
    ranks: Vec<usize>,
    /// Packets of a phase.
    phase: u32,
    /// Mean time between two packets (ns).
    distance: u64,
    skew: u32,
    /// One in this many packets reaches for host-only state.
    asks_in: u64,
}

impl Source {
    fn new(seed: u64, flows: u64, phase: u32) -> Self {
        let mut random = Random::new(seed ^ 0x686f_7400);
        let tuple = |flow: u64| FiveTuple {
            source: address([0, (flow % 8) as u8], true),
            destination: address([100, (flow % 3) as u8], false),
            source_port: 1000 + flow as u16,
            destination_port: 80,
            protocol: if flow.is_multiple_of(3) { protocol::TCP } else { protocol::UDP },
        };
        let asks_in = random.pick(&[100, 1_000, 10_000]);
        let (tuples, ranks) = ((0..flows).map(tuple).collect(), (0..flows as usize).collect());
        Self { random, now: BEGIN, tuples, ranks, phase, distance: 0, skew: 1, asks_in }
    }

    fn step(&mut self) {
        self.distance = self.random.pick(&[400, 800, 1_600, 3_200]);
        self.skew = self.random.pick(&[1, 2, 4, 8]);
        for at in (1..self.ranks.len()).rev() {
            self.ranks.swap(at, self.random.below(at as u64 + 1) as usize);
        }
    }

    /// Draws a rank below the number of flows: with more skew it is lower.
    fn rank(&mut self) -> usize {
        let flows = self.ranks.len() as u64;
        let drawn = (0..self.skew).map(|_| self.random.below(flows)).min();
        drawn.unwrap_or(0) as usize
    }

    fn next(&mut self, number: u32, left: &BTreeMap<u32, FiveTuple>) -> (Stamp, Vec<u8>) {
        if number.is_multiple_of(self.phase) {
            self.step();
        }
        self.now += 1 + self.random.below(2 * self.distance);
        let rank = self.rank();
        let flow = self.ranks[rank];
        let tuple = self.tuples[flow];
        let (tuple, port) = if self.random.once_in(3) {
            (left.get(&(flow as u32)).unwrap_or(&tuple).reversed(), Port::OUTSIDE)
        } else {
            (tuple, Port::INSIDE)
        };
        let asked = if self.random.once_in(self.asks_in) { op::ASK } else { op::NOTHING };
        let meta = Meta { time: self.now, now: self.now, port, ..Meta::default() };
        let stamp = Stamp {
            meta,
            number: u64::from(number),
            horizon: self.now,
            egress: port,
            parked: Parked::NONE,
            missing: 0,
        };
        (stamp, frame(&tuple, flow as u32, number, asked, 0))
    }
}
