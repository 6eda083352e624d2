//! The cost of lines that go from core to core, and nothing else: no record, no check, no copy. A
//! number goes there on each line, its line comes back, and two indices work as in any ring. This
//! rate is an upper bound for records with lines of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pair::Word;
use super::queue::{RECORDS, Receive, Send, apart, expected};

/// A line with one word in use.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line(AtomicU64);

#[derive(Debug)]
struct Shared {
    lines: [Line; RECORDS],
    head: Word,
    tail: Word,
}

/// One end: its position, and the last seen position of the other end.
#[derive(Debug)]
struct End {
    shared: Arc<Shared>,
    at: u64,
    other: u64,
}

/// Makes as many lines as the rings have.
pub(super) fn lines() -> (impl Send, impl Receive) {
    let lines = std::array::from_fn(|_| Line::default());
    let shared = Arc::new(Shared { lines, head: Word::default(), tail: Word::default() });
    let end = |shared| End { shared, at: 0, other: 0 };
    apart((end(Arc::clone(&shared)), end(shared)))
}

/// Returns the line at this position.
fn line(lines: &[Line; RECORDS], position: u64) -> &AtomicU64 {
    &lines[position as usize % RECORDS].0
}

impl Send for End {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        let Self { shared, at, other } = self;
        if *at + batch as u64 > *other + RECORDS as u64 {
            *other = shared.tail.0.load(Ordering::Acquire);
        }
        let room = *other + RECORDS as u64 - *at;
        let count = room.min(batch as u64);
        for number in 0..count {
            line(&shared.lines, *at + number).store(from + number, Ordering::Relaxed);
        }
        *at += count;
        if count > 0 {
            shared.head.0.store(*at, Ordering::Release);
        }
        count as usize
    }
}

impl Receive for End {
    fn receive(&mut self, batch: usize, sum: &mut u64) -> usize {
        let Self { shared, at, other } = self;
        if *other < *at + batch as u64 {
            *other = shared.head.0.load(Ordering::Acquire);
        }
        let count = (*other - *at).min(batch as u64);
        for number in 0..count {
            let word = line(&shared.lines, *at + number).load(Ordering::Relaxed);
            *sum = sum.wrapping_add(word);
        }
        *at += count;
        if count > 0 {
            shared.tail.0.store(*at, Ordering::Release);
        }
        count as usize
    }

    fn expected(&self, count: u64) -> u64 {
        expected(count, 1)
    }
}
