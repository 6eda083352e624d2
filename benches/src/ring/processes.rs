//! The same ring between two processes that share a mapping, as a check of the two threads.
//!
//! The other process is this program again. It gets requests by one word of the mapping, and
//! answers by another.

use std::io::{Error, Result};
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cora_host::{inherited_memory, shared_memory};
use cora_runtime::link::ring::{CONTROL_WORDS, SharedMemory};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::pair::{Patience, answer, ask, receive_all, send, stay_on};
use super::queue::{RECORDS, Receive, Send, cora_in};

/// Words of a ring of one-line records.
const RING: usize = CONTROL_WORDS + RECORDS * 8;
/// Words between the request, the answer, and the rings: pairs of lines.
const APART: usize = 16;
/// Bytes of the mapping.
const BYTES: usize = 2 * (APART + RING) * size_of::<u64>();
/// The request to the other process, below the number of the turn.
const STREAM: u64 = 0;
const ROUNDS: u64 = 1;
const END: u64 = 2;
/// Time limit of an answer.
const LOST: Duration = Duration::from_secs(20);

/// The mapping of both processes.
struct Shared {
    question: &'static AtomicU64,
    /// Twice the number of the turn at its start, and one more at its end.
    answer: &'static AtomicU64,
    there: SharedMemory,
    back: SharedMemory,
}

/// This process's ends of both rings, and the other process.
pub(super) struct Processes<S, R> {
    shared: Shared,
    there: S,
    back: R,
    /// Number of turns so far.
    turns: u64,
    cores: CpuSet,
    peer: Child,
}

/// Starts the other process.
pub(super) fn start() -> Result<Processes<impl Send, impl Receive>> {
    let (file, words) = shared_memory(BYTES)?;
    let shared = Shared::of(words)?;
    // Otherwise `exec` closes it.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
    let mut peer = Command::new(std::env::current_exe()?);
    let peer = peer.args(["--ring-peer", &file.as_raw_fd().to_string()]).spawn()?;
    let ((there, _), (_, back)) = (cora_in::<7>(shared.there), cora_in::<7>(shared.back));
    let cores = sched_getaffinity(None).unwrap_or_default();
    Ok(Processes { shared, there, back, turns: 0, cores, peer })
}

/// Runs the other process: serves requests until the one to end.
pub(crate) fn peer(file: i32) -> Result<()> {
    let shared = Shared::of(inherited_memory(file, BYTES)?)?;
    let ((_, mut hearing), (mut answering, _)) =
        (cora_in::<7>(shared.there), cora_in::<7>(shared.back));
    stay_on(1, &sched_getaffinity(None).unwrap_or_default());
    for turn in 1.. {
        let asked = until(shared.question, |question| question >> 2 == turn)?;
        shared.answer.store(turn << 1, Ordering::Release);
        match asked & 3 {
            STREAM => receive_all(&mut hearing, super::BATCH, super::STREAMED),
            ROUNDS => answer(&mut hearing, &mut answering, super::ROUND_TRIPS),
            _ => break,
        }
        shared.answer.store(turn << 1 | 1, Ordering::Release);
    }
    Ok(())
}

impl<S: Send, R: Receive> Processes<S, R> {
    /// Sends records one way, in batches; returns ns per record.
    pub(super) fn stream(&mut self) -> f64 {
        let took = self.turn(STREAM, |sender, _| send(sender, 0, super::BATCH, super::STREAMED));
        took / super::STREAMED as f64
    }

    /// Sends one record there and one back, again and again; returns ns per round.
    pub(super) fn round_trips(&mut self) -> f64 {
        let took = self.turn(ROUNDS, |sender, hearing| ask(sender, hearing, super::ROUND_TRIPS));
        took / super::ROUND_TRIPS as f64
    }

    /// Sends one request, and runs `here` meanwhile; returns the time until both have ended, in ns.
    fn turn(&mut self, what: u64, here: impl FnOnce(&mut S, &mut R)) -> f64 {
        stay_on(0, &self.cores);
        self.turns += 1;
        self.shared.question.store(self.turns << 2 | what, Ordering::Release);
        let answered = |answer| {
            until(self.shared.answer, |said| said == answer).expect("the other process answers")
        };
        answered(self.turns << 1);
        let start = Instant::now();
        here(&mut self.there, &mut self.back);
        answered(self.turns << 1 | 1);
        let took = start.elapsed().as_nanos() as f64;
        let _ignored = sched_setaffinity(None, &self.cores);
        took
    }
}

impl<S, R> Drop for Processes<S, R> {
    fn drop(&mut self) {
        self.shared.question.store((self.turns + 1) << 2 | END, Ordering::Release);
        let _ended = self.peer.wait();
    }
}

impl Shared {
    /// Splits a mapping of [`BYTES`] bytes into its parts.
    fn of(words: &'static [AtomicU64]) -> Result<Self> {
        let (said, rings) = words.split_at(2 * APART);
        let (there, back) = rings.split_at(RING);
        let ring = |words| SharedMemory::new(words).ok_or_else(|| Error::other("no ring's size"));
        let (there, back) = (ring(there)?, ring(back)?);
        Ok(Self { question: &said[0], answer: &said[APART], there, back })
    }
}

/// Waits until a word satisfies `is_it`, and returns it.
fn until(word: &AtomicU64, is_it: impl Fn(u64) -> bool) -> Result<u64> {
    let (begun, mut patience) = (Instant::now(), Patience::default());
    loop {
        let said = word.load(Ordering::Acquire);
        if is_it(said) {
            return Ok(said);
        }
        if begun.elapsed() > LOST {
            return Err(Error::other("the other process says nothing"));
        }
        patience.wait();
    }
}
