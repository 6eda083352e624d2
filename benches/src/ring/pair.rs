//! Two threads at work together, and the time of the slower one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use std::{hint, thread};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::queue::{Receive, Send};

/// Empty polls before a yield: two threads may share one core, on a busy machine.
const SPINS: u32 = 256;

/// A wait for the other thread.
#[derive(Debug, Default)]
pub(super) struct Patience(u32);

impl Patience {
    pub(super) fn wait(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(SPINS) { thread::yield_now() } else { hint::spin_loop() }
    }
}

/// Pins this thread to one of these cores, modulo their number. Two threads on one core would
/// measure each other's caches, and spin in vain.
pub(crate) fn stay_on(core: usize, cores: &CpuSet) {
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)).collect();
    let mut one = CpuSet::new();
    if let Some(core) = core.checked_rem(cores.len()) {
        one.set(cores[core]);
    }
    // Without permission the scheduler decides: worse figures, not wrong ones.
    let _ignored = sched_setaffinity(None, &one);
}

/// Starts two threads together; returns the time until both have ended, in ns.
pub(super) fn together(here: impl FnOnce(), there: impl FnOnce() + std::marker::Send) -> f64 {
    let cores = sched_getaffinity(None).unwrap_or_default();
    let (ready, go) = (AtomicBool::new(false), AtomicBool::new(false));
    let wait = |flag: &AtomicBool| {
        let mut patience = Patience::default();
        while !flag.load(Ordering::Acquire) {
            patience.wait();
        }
    };
    stay_on(0, &cores);
    let took = thread::scope(|scope| {
        let other = scope.spawn(|| {
            stay_on(1, &cores);
            ready.store(true, Ordering::Release);
            wait(&go);
            there();
            Instant::now()
        });
        wait(&ready);
        let start = Instant::now();
        go.store(true, Ordering::Release);
        here();
        let ended = Instant::now();
        let other = other.join().expect("the other thread ends well");
        (ended.max(other) - start).as_nanos() as f64
    });
    let _ignored = sched_setaffinity(None, &cores);
    took
}

/// Sends `count` records one way; returns ns per record.
pub(super) fn transfer(
    sender: &mut impl Send,
    receiver: &mut impl Receive,
    batch: usize,
    count: u64,
) -> f64 {
    together(|| send(sender, 0, batch, count), || receive_all(receiver, batch, count))
        / count as f64
}

/// Receives `count` records, which must be the sent ones.
pub(super) fn receive_all(receiver: &mut impl Receive, batch: usize, count: u64) {
    let expected = receiver.expected(count);
    let (mut received, mut sum, mut patience) = (0, 0, Patience::default());
    while received < count {
        match receiver.receive(batch, &mut sum) {
            0 => patience.wait(),
            some => received += some as u64,
        }
    }
    assert_eq!(sum, expected, "what was sent");
}

/// Sends `count` records, numbered from `from` on.
pub(super) fn send(sender: &mut impl Send, from: u64, batch: usize, count: u64) {
    let (mut sent, mut patience) = (0, Patience::default());
    while sent < count {
        match sender.send(from + sent, batch.min((count - sent) as usize)) {
            0 => patience.wait(),
            some => sent += some as u64,
        }
    }
}

fn receive(receiver: &mut impl Receive, sum: &mut u64) {
    let mut patience = Patience::default();
    while receiver.receive(1, sum) == 0 {
        patience.wait();
    }
}

/// Sends one record there and one back, `count` times; returns ns per round.
pub(super) fn round_trip<S: Send, R: Receive>(
    (sender, receiver): &mut (S, R),
    (answering, hearing): &mut (S, R),
    count: u64,
) -> f64 {
    together(|| ask(sender, hearing, count), || answer(receiver, answering, count)) / count as f64
}

/// Sends `count` records, and waits for the answer to each.
pub(super) fn ask(sender: &mut impl Send, hearing: &mut impl Receive, count: u64) {
    let expected = hearing.expected(count);
    let mut sum = 0;
    for number in 0..count {
        send(sender, number, 1, 1);
        sender.rest();
        receive(hearing, &mut sum);
    }
    assert_eq!(sum, expected, "what was answered");
}

/// Answers `count` records, each at its arrival.
pub(super) fn answer(receiver: &mut impl Receive, answering: &mut impl Send, count: u64) {
    let expected = receiver.expected(count);
    let mut sum = 0;
    for number in 0..count {
        receive(receiver, &mut sum);
        send(answering, number, 1, 1);
        answering.rest();
    }
    assert_eq!(sum, expected, "what was asked");
}

/// Sends one record there and one back over Cora's ring, `count` times; returns the ns of each.
pub(crate) fn each_round_trip(count: u64) -> Vec<f64> {
    let (mut sender, mut receiver) = super::queue::cora::<7>();
    let (mut answering, mut hearing) = super::queue::cora::<7>();
    let mut rounds = Vec::with_capacity(count as usize);
    let here = || {
        let mut sum = 0;
        for number in 0..count {
            let start = Instant::now();
            send(&mut sender, number, 1, 1);
            sender.rest();
            receive(&mut hearing, &mut sum);
            rounds.push(start.elapsed().as_nanos() as f64);
        }
        assert_eq!(sum, hearing.expected(count), "what was answered");
    };
    let there = || answer(&mut receiver, &mut answering, count);
    together(here, there);
    rounds
}

/// A word on a line pair of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Word(pub(super) AtomicU64);

/// Measures the lower bound of a round trip here: a number there on one line, and back on another.
pub(super) fn bare_round_trip(count: u64) -> f64 {
    let (ask, answer) = (Word::default(), Word::default());
    let wait = |word: &Word, number: u64| {
        let mut patience = Patience::default();
        while word.0.load(Ordering::Acquire) != number {
            patience.wait();
        }
    };
    let here = || {
        for number in 1..=count {
            ask.0.store(number, Ordering::Release);
            wait(&answer, number);
        }
    };
    let there = || {
        for number in 1..=count {
            wait(&ask, number);
            answer.0.store(number, Ordering::Release);
        }
    };
    together(here, there) / count as f64
}
