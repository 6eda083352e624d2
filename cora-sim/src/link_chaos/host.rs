//! The host: a supervisor with the wire, and a host half.

use std::sync::atomic::AtomicU64;

use cora_runtime::link::message::Kind;
use cora_runtime::link::region::{NicStatus, Region};
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};

use super::numbered::{Reads, Writes, make, pop, push};

/// Notes and frames that came to the host, and are checked.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The last numbers that came as notes, and that left.
    pub(super) noted: Option<u64>,
    pub(super) left: Option<u64>,
    /// Frames that left.
    pub(super) out: u64,
    /// Notes that came.
    pub(super) notes: u64,
}

impl Seen {
    fn note(&mut self, punt: &mut Reads) -> Result<(), String> {
        while let Some(number) = pop(punt)? {
            if self.noted.is_some_and(|noted| number <= noted) {
                return Err(format!("note {number} comes after {:?}", self.noted));
            }
            self.noted = Some(number);
            self.notes += 1;
        }
        punt.release();
        Ok(())
    }

    /// Takes the frames that left: their notes are there.
    fn drain(&mut self, punt: &mut Reads, wire_out: &mut Reads) -> Result<(), String> {
        while let Some(number) = pop(wire_out)? {
            self.note(punt)?;
            if self.noted < Some(number) {
                return Err(format!("{number} left before its note: {:?}", self.noted));
            }
            if self.left >= Some(number) {
                return Err(format!("{number} left after {:?}", self.left));
            }
            self.left = Some(number);
            self.out += 1;
        }
        wire_out.release();
        self.note(punt)
    }
}

/// Rings of the region before.
#[derive(Debug)]
struct Before {
    punt: Reads,
    wire_out: Reads,
    wire_in: SharedMemory,
}

/// The host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) file: &'static [AtomicU64],
    region: Region,
    wire_in: Writes,
    wire_out: Reads,
    punt: Reads,
    back: Writes,
    /// Frames that the wire has to feed in again.
    first: Vec<u64>,
    pub(super) fed: u64,
    pub(super) said: u64,
    pub(super) seen: Seen,
    /// Until the NIC half has left it.
    before: Option<Before>,
}

impl Host {
    pub(super) fn new(file: &'static [AtomicU64]) -> Result<Self, String> {
        let region = make(file, 1)?;
        let rings = region.rings();
        Ok(Self {
            file,
            region,
            wire_in: Producer::new(rings.wire_in),
            wire_out: Consumer::new(rings.wire_out),
            punt: Consumer::new(rings.punt),
            back: Producer::new(rings.back),
            first: Vec::new(),
            fed: 0,
            said: 0,
            seen: Seen::default(),
            before: None,
        })
    }

    fn is_there(&self) -> bool {
        self.region.nic_status() == Some(NicStatus::Ready)
    }

    /// Whether the NIC half is in the host's region.
    pub(super) fn is_joined(&self) -> bool {
        self.is_there() && self.before.is_none()
    }

    /// Takes all that came. Feeds at most so many frames, and none from number `until` on.
    pub(super) fn step(&mut self, most: u64, until: u64) -> Result<(), String> {
        if let Some(mut before) = self.before.take() {
            // Asked first: all that the NIC half said in the old region is there then.
            let is_there = self.is_there();
            self.seen.drain(&mut before.punt, &mut before.wire_out)?;
            if is_there {
                return self.feed_again(before.wire_in);
            }
            self.before = Some(before);
            return Ok(());
        }
        if !self.is_there() {
            return Ok(());
        }
        self.region.host_beats(1);
        self.seen.drain(&mut self.punt, &mut self.wire_out)?;
        for _ in 0..most {
            let again = self.first.first().copied();
            let number = again.unwrap_or(self.fed);
            if number >= until || !push(&mut self.wire_in, Kind::Frame, number) {
                break;
            }
            match again {
                Some(_) => drop(self.first.remove(0)),
                None => self.fed += 1,
            }
        }
        self.wire_in.publish();
        while self.said < until && push(&mut self.back, Kind::Send, self.said) {
            self.said += 1;
        }
        self.back.publish();
        Ok(())
    }

    /// Frames that the NIC left unread are fed in again.
    fn feed_again(&mut self, wire_in: SharedMemory) -> Result<(), String> {
        let mut rest = Consumer::new(wire_in);
        let mut unread = Vec::new();
        while let Some(number) = pop(&mut rest)? {
            unread.push(number);
        }
        unread.append(&mut self.first);
        self.first = unread;
        Ok(())
    }

    /// A half died: the next region.
    pub(super) fn succeed(&mut self) -> Result<(), String> {
        let before = self.region.rings();
        self.region = make(self.file, self.region.identity().generation + 1)?;
        let rings = self.region.rings();
        (self.wire_in, self.back) = (Producer::new(rings.wire_in), Producer::new(rings.back));
        (self.punt, self.wire_out) = (Consumer::new(rings.punt), Consumer::new(rings.wire_out));
        // The next half knows of the old rings only where they were read.
        let (punt, wire_out) = (Consumer::new(before.punt), Consumer::new(before.wire_out));
        self.before = Some(Before { punt, wire_out, wire_in: before.wire_in });
        Ok(())
    }

    /// The NIC half is gone with its card: takes all that it said, and feeds the rest in again.
    pub(super) fn succeed_alone(&mut self) -> Result<(), String> {
        self.succeed()?;
        let Some(Before { mut punt, mut wire_out, wire_in }) = self.before.take() else {
            return Ok(());
        };
        self.seen.drain(&mut punt, &mut wire_out)?;
        self.feed_again(wire_in)
    }
}
