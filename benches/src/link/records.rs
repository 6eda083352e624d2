//! Records that the link carries there and back: both ends turn as relay and agent do.

use std::collections::VecDeque;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cora_host::RunError;
use cora_host::parts::{Party, Turns, Watch, Wire, link_settings};
use cora_link::mirror::Broken;
use cora_link::{Destination, End, Heard};

use super::Took;
use super::veth::Pair;

/// The kind of all records.
const KIND: u16 = 1;
/// Most bytes of records that wait at the answering end.
const MOST: usize = 1 << 20;
/// A link that carries nothing for so long is broken.
const LOST: Duration = Duration::from_secs(2);

/// The end that sends records first.
struct Asks {
    end: End,
    record: Vec<u8>,
    pushed: u64,
    /// Records that may have been pushed by now.
    may: u64,
    back: Back,
    /// Those of which the last step knew.
    seen: u64,
}

/// Counts records that came back.
struct Back(u64);

impl Destination for Back {
    fn frames(&mut self, _: usize) -> u64 {
        u64::MAX
    }

    fn take(&mut self, _: u16, _: &[u8]) {
        self.0 += 1;
    }
}

impl Party for Asks {
    fn hear(&mut self, frame: &[u8], now: u64) -> std::result::Result<(), RunError> {
        let heard = self.end.receive(frame, &mut self.back, now);
        heard.map(drop).map_err(|fault| Broken::from(fault).into())
    }

    fn step(
        &mut self,
        now: u64,
        send: &mut dyn FnMut(&[u8]) -> bool,
    ) -> std::result::Result<bool, RunError> {
        let before = (self.pushed, self.seen);
        while self.pushed < self.may && self.end.push(KIND, &[&self.record]).is_ok() {
            self.pushed += 1;
        }
        self.end.transmit(&mut self.back, now, &mut |frame| send(frame));
        self.seen = self.back.0;
        Ok((self.pushed, self.seen) != before)
    }

    fn due(&self, _: u64) -> u64 {
        self.end.due()
    }

    fn has_nothing(&mut self) -> std::result::Result<bool, RunError> {
        Ok(true)
    }
}

/// The end that sends them back.
struct Answers {
    end: End,
    waiting: Waiting,
}

/// Records that wait for room on the link.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    lengths: VecDeque<usize>,
    /// Bytes of those that were sent.
    sent: usize,
}

impl Destination for Waiting {
    fn frames(&mut self, bytes: usize) -> u64 {
        (MOST.saturating_sub(self.bytes.len()) / bytes) as u64
    }

    fn take(&mut self, _: u16, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.lengths.push_back(record.len());
    }
}

impl Party for Answers {
    fn hear(&mut self, frame: &[u8], now: u64) -> std::result::Result<(), RunError> {
        let Self { end, waiting } = self;
        let heard = end.receive(frame, waiting, now).map_err(Broken::from)?;
        if let Heard::Call(number, _) = heard {
            end.accept(number, number, now);
        }
        Ok(())
    }

    fn step(
        &mut self,
        now: u64,
        send: &mut dyn FnMut(&[u8]) -> bool,
    ) -> std::result::Result<bool, RunError> {
        let Self { end, waiting: Waiting { bytes, lengths, sent } } = self;
        let before = *sent;
        while let Some(length) = lengths.front() {
            if end.push(KIND, &[&bytes[*sent..*sent + length]]).is_err() {
                break;
            }
            *sent += length;
            lengths.pop_front();
        }
        let any = *sent > before;
        if lengths.is_empty() {
            bytes.clear();
            *sent = 0;
        }
        end.transmit(&mut self.waiting, now, &mut |frame| send(frame));
        Ok(any)
    }

    fn due(&self, _: u64) -> u64 {
        self.end.due()
    }

    fn has_nothing(&mut self) -> std::result::Result<bool, RunError> {
        Ok(true)
    }
}

/// The turns of an end, and its rests.
struct Turning(Turns, Watch);

impl Turning {
    fn over(wire: &Wire) -> Result<Self> {
        Ok(Self(Turns::new(), Watch::over(wire).map_err(Error::other)?))
    }

    fn turn(&mut self, wire: &mut Wire, party: &mut impl Party) -> Result<()> {
        let Self(turns, watch) = self;
        let busy = wire.turn(party, turns.now());
        let rested = busy.and_then(|busy| turns.rest(busy, party, &watch.rest(None)));
        rested.map_err(Error::other)
    }
}

fn answer(wire: &mut Wire, over: &AtomicBool) -> Result<()> {
    let end = End::answerer(wire.addresses(), link_settings(wire.mtu()));
    let (mut answers, mut turns) =
        (Answers { end, waiting: Waiting::default() }, Turning::over(wire)?);
    while !over.load(Ordering::Acquire) {
        turns.turn(wire, &mut answers)?;
    }
    Ok(())
}

/// Begins a session with the next number.
fn call(wire: &mut Wire, number: &mut u64, bytes: usize) -> Result<(Asks, Turning)> {
    let mut end = End::caller(wire.addresses(), link_settings(wire.mtu()));
    *number += 1;
    end.call(*number, &[]);
    let record = vec![7; bytes];
    let mut asks = Asks { end, record, pushed: 0, may: 0, back: Back(0), seen: 0 };
    let (mut turns, begun) = (Turning::over(wire)?, Instant::now());
    while !asks.end.is_open() {
        turns.turn(wire, &mut asks)?;
        if begun.elapsed() > LOST {
            return Err(Error::other("the other end does not answer"));
        }
    }
    Ok((asks, turns))
}

/// Sends records of so many bytes for `time`, as many as the link takes.
pub(super) fn throughput(
    pair: &mut Pair,
    number: &mut u64,
    bytes: usize,
    time: Duration,
) -> Result<Took> {
    let ask = |wire: &mut Wire| {
        let (mut asks, mut turns) = call(wire, number, bytes)?;
        asks.may = u64::MAX;
        let begun = Instant::now();
        while begun.elapsed() < time {
            turns.turn(wire, &mut asks)?;
        }
        // Frames that were sent again count, too.
        Ok((asks.back.0, asks.end.counts().sent))
    };
    pair.time(ask, answer)
}

/// Sends one record after the other; returns the time of each there and back, in ns.
pub(super) fn round_trips(
    pair: &mut Pair,
    number: &mut u64,
    bytes: usize,
    count: usize,
) -> Result<Vec<f64>> {
    let ask = |wire: &mut Wire| {
        let (mut asks, mut turns) = call(wire, number, bytes)?;
        let mut round_trip = || {
            let begun = Instant::now();
            asks.may += 1;
            while asks.back.0 < asks.may {
                turns.turn(wire, &mut asks)?;
                if begun.elapsed() > LOST {
                    return Err(Error::other("a record was lost"));
                }
            }
            Ok(begun.elapsed().as_nanos() as f64)
        };
        (0..count).map(|_| round_trip()).collect()
    };
    pair.run(ask, answer).map(|(times, _)| times)
}
