//! The ring against DPDK's `rte_ring`: elements of a line, one producer, one consumer. DPDK has two
//! interfaces, copying in and out as Cora's ring does, and in place: both run, and the better one
//! is the baseline.

use super::pair;
use super::queue::{RECORDS, Receive, Send, content, cora, expected, sum};
use crate::dpdk::{Consumer, Element, Environment, Producer};
use crate::figure::Figure;
use crate::turns::{Turns, take_timed};

/// Most elements copied at once.
const BATCH: usize = 32;

/// An end that copies.
#[derive(Debug)]
struct Copying<End>(End);

/// An end that works in place.
#[derive(Debug)]
struct InPlace<End>(End);

/// Measures throughput and round trips.
pub(crate) fn run(environment: Environment, quick: bool, tell: &mut dyn FnMut(Figure)) {
    let turns = if quick { 15 } else { 151 };
    for (batch, goal) in [(32, 1.2), (1, 1.0)] {
        if throughput(environment, batch, goal, turns, tell).is_none() {
            return eprintln!("rte_ring can't be made, its rows lack");
        }
    }
    if round_trips(environment, turns, tell).is_none() {
        eprintln!("rte_ring can't be made, its round trip lacks");
    }
}

fn best([copying, in_place]: [Turns; 2]) -> (&'static str, Turns) {
    if copying.median() < in_place.median() {
        ("rte_ring", copying)
    } else {
        ("rte_ring in place", in_place)
    }
}

fn throughput(
    environment: Environment,
    batch: usize,
    goal: f64,
    turns: usize,
    tell: &mut dyn FnMut(Figure),
) -> Option<()> {
    const COUNT: u64 = 60_000;
    let (mut sender, mut receiver) = cora::<7>();
    let (mut sender_2, mut receiver_2) = cora::<8>();
    let ring = |kind: &str| environment.ring(&format!("{kind}-{batch}"), RECORDS as u32);
    let (mut push, mut pop) = ring("copied").map(|(p, c)| (Copying(p), Copying(c)))?;
    let (mut write, mut read) = ring("in-place").map(|(p, c)| (InPlace(p), InPlace(c)))?;
    let [one_line, two_lines, copying, in_place] = take_timed(
        turns,
        [
            &mut || pair::transfer(&mut sender, &mut receiver, batch, COUNT),
            &mut || pair::transfer(&mut sender_2, &mut receiver_2, batch, COUNT),
            &mut || pair::transfer(&mut push, &mut pop, batch, COUNT),
            &mut || pair::transfer(&mut write, &mut read, batch, COUNT),
        ],
    );
    let (name, best) = best([copying, in_place]);
    for (cora, what) in [(one_line, "64-byte records"), (two_lines, "64-byte payloads")] {
        let figure = format!("ring/{what}, batch {batch}, rte_ring");
        tell(Figure::of_times(figure, &cora, &best, name, goal).into_rates());
    }
    Some(())
}

fn round_trips(environment: Environment, turns: usize, tell: &mut dyn FnMut(Figure)) -> Option<()> {
    const COUNT: u64 = 3_000;
    let (mut there, mut back) = (cora::<7>(), cora::<7>());
    let ring = |name: &str| environment.ring(name, RECORDS as u32);
    let copied = |name: &str| ring(name).map(|(p, c)| (Copying(p), Copying(c)));
    let placed = |name: &str| ring(name).map(|(p, c)| (InPlace(p), InPlace(c)));
    let (mut copied_there, mut copied_back) = (copied("copied-there")?, copied("copied-back")?);
    let (mut placed_there, mut placed_back) = (placed("placed-there")?, placed("placed-back")?);
    let [cora, copying, in_place] = take_timed(
        turns,
        [
            &mut || pair::round_trip(&mut there, &mut back, COUNT),
            &mut || pair::round_trip(&mut copied_there, &mut copied_back, COUNT),
            &mut || pair::round_trip(&mut placed_there, &mut placed_back, COUNT),
        ],
    );
    let (name, best) = best([copying, in_place]);
    tell(Figure::of_times("ring/round trip, rte_ring".into(), &cora, &best, name, 1.0 / 0.75));
    Some(())
}

fn element(number: u64) -> Element {
    content(number)
}

impl Send for Copying<Producer> {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        let mut elements = [[0; 8]; BATCH];
        let elements = &mut elements[..batch.min(BATCH)];
        for (number, place) in (from..).zip(&mut *elements) {
            *place = element(number);
        }
        self.0.push(elements)
    }
}

impl Receive for Copying<Consumer> {
    fn receive(&mut self, batch: usize, total: &mut u64) -> usize {
        let mut elements = [[0; 8]; BATCH];
        let received = self.0.pop(&mut elements[..batch.min(BATCH)]);
        for element in &elements[..received] {
            *total = total.wrapping_add(sum(element));
        }
        received
    }

    fn expected(&self, count: u64) -> u64 {
        expected(count, size_of::<Element>() as u64 / 8)
    }
}

impl Send for InPlace<Producer> {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        self.0.write(batch, |at| element(from + at as u64))
    }
}

impl Receive for InPlace<Consumer> {
    fn receive(&mut self, batch: usize, total: &mut u64) -> usize {
        self.0.read(batch, |element| *total = total.wrapping_add(sum(element)))
    }

    fn expected(&self, count: u64) -> u64 {
        expected(count, size_of::<Element>() as u64 / 8)
    }
}
