//! A NIC half that takes frames from the wire, tells the host of each, and then sends it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{JoinHandle, spawn, yield_now};

use cora_runtime::link::message::Kind;
use cora_runtime::link::region::{NicStatus, Region, generation};
use cora_runtime::link::ring::{Consumer, Producer};

use super::numbered::{LONGEST, PLAN, Reads, Writes, pop, push};

/// The NIC half.
#[derive(Debug)]
pub(super) struct Nic {
    file: &'static [AtomicU64],
    region: Region,
    wire: Reads,
    back: Reads,
    punt: Writes,
    out: Writes,
    /// The last message from the host.
    pub(super) heard: Option<u64>,
    /// Records that it took.
    records: u64,
}

impl Nic {
    /// Attaches to the current region in this file.
    pub(super) fn attach(file: &'static [AtomicU64]) -> Result<Self, String> {
        let generation = generation::current(file);
        let region = Region::attach(generation::place(file, generation), PLAN);
        let region = region.map_err(|error| format!("the NIC half has no region: {error}"))?;
        region.set_nic_status(NicStatus::Ready);
        let rings = region.rings();
        let (wire, back) = (Consumer::new(rings.wire_in), Consumer::new(rings.back));
        let (punt, out) = (Producer::new(rings.punt), Producer::new(rings.wire_out));
        Ok(Self { file, region, wire, back, punt, out, heard: None, records: 0 })
    }

    /// Notes a record. A host half beats before it says anything.
    fn note(&mut self) -> Result<(), String> {
        self.records += 1;
        if self.region.host_heartbeat() == 1 {
            Ok(())
        } else {
            Err("the NIC half hears the host half, but not its heartbeat".to_owned())
        }
    }

    fn hear(&mut self) -> Result<(), String> {
        while let Some(number) = pop(&mut self.back)? {
            if self.heard.is_some_and(|heard| number != heard + 1) {
                return Err(format!("the NIC half hears {number} after {:?}", self.heard));
            }
            self.heard = Some(number);
            self.note()?;
        }
        self.back.release();
        Ok(())
    }

    /// Hears the host, and takes at most so many frames.
    pub(super) fn step(&mut self, most: u64) -> Result<(), String> {
        if generation::is_followed(self.file, self.region.identity().generation) {
            self.hear()?;
            let Self { heard, records, .. } = *self;
            *self = Self { heard, records, ..Self::attach(self.file)? };
            return Ok(());
        }
        self.hear()?;
        let mut taken = Vec::new();
        for _ in 0..most {
            let room = [LONGEST].repeat(taken.len() + 1);
            if !self.punt.has_room_for(&room) || !self.out.has_room_for(&room) {
                break;
            }
            let Some(number) = pop(&mut self.wire)? else { break };
            self.note()?;
            taken.push(number);
        }
        self.wire.release();
        for number in &taken {
            let is_said = push(&mut self.punt, Kind::Punt, *number);
            if !is_said || !push(&mut self.out, Kind::Frame, *number) {
                return Err("a ring has less room than it said".to_owned());
            }
        }
        self.punt.publish();
        self.out.publish();
        self.region.nic_beats(self.region.nic_heartbeat() + 1);
        Ok(())
    }
}

/// A NIC half that runs in turn with the rest, or whenever it likes.
#[derive(Debug)]
pub(super) enum Runs {
    InTurn(Box<Nic>),
    Apart(Arc<AtomicBool>, Option<JoinHandle<Result<u64, String>>>),
}

impl Runs {
    pub(super) fn in_turn(nic: Nic) -> Self {
        Self::InTurn(Box::new(nic))
    }

    /// In a thread of its own.
    pub(super) fn apart(mut nic: Nic) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        let thread = spawn(move || {
            while !told.load(Relaxed) {
                nic.step(6)?;
                // There may be fewer processors than threads.
                yield_now();
            }
            Ok(nic.records)
        });
        Self::Apart(ends, Some(thread))
    }

    /// Runs a step of at most so many frames, if it runs in turn.
    pub(super) fn step(&mut self, most: u64) -> Result<(), String> {
        match self {
            Self::InTurn(nic) => nic.step(most),
            // It ends by itself only if something is wrong.
            Self::Apart(_, Some(thread)) if thread.is_finished() => self.end().map(|_| ()),
            Self::Apart(..) => Ok(()),
        }
    }

    /// Ends it between two steps; returns how many records it took.
    pub(super) fn end(&mut self) -> Result<u64, String> {
        match self {
            Self::InTurn(nic) => Ok(nic.records),
            Self::Apart(ends, thread) => {
                ends.store(true, Relaxed);
                let ended = thread.take().map(JoinHandle::join);
                ended.unwrap_or(Ok(Ok(0))).unwrap_or(Err("the NIC half panicked".to_owned()))
            }
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        // A caller that needs the outcome has ended it before.
        drop(self.end());
    }
}
