//! The wire's end for several pairs: reads frames from a capture, steers them, and writes the
//! output.
//!
//! It models receive-side scaling in a NIC: one thread distributes the frames, and pairs don't know
//! each other. Frames are sent in rounds, with at most one batch per pair, and the output is sorted
//! into the capture's order round by round. Without a NIC a pair returns its frames in order, so
//! the whole output is in that order. With one, packets of different pairs may change their order,
//! like packets of different flows in one pair; packets of one pair never overtake each other here.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use cora_core::key::Key;
use cora_core::packet::{MAX_FRAME, Packet};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::region::{self, Bell};
use cora_runtime::steering::Steering;

use crate::RunError;
use crate::ingress::capture::{Sink, Source};
use crate::memory::futex::SharedFutex;
use crate::node::capture_run::counts;
use crate::node::merge::WireCounts;
use crate::node::pairs::batch::{Batch, FRAMES, Front};
use crate::node::pairs::lane::{Lane, Mark, Returned, Steered};
use crate::observe::progress::Progress;

/// Maximum number of rounds in progress.
const AHEAD: usize = 4;

/// The wire's end for one pair.
struct End {
    to: SyncSender<Steered>,
    from: Receiver<Returned>,
    /// Frames of the current round.
    filling: Batch,
    /// Empty batches.
    empty: Vec<Batch>,
    /// Returned batches that are not written yet.
    back: VecDeque<Front>,
    /// The bell that wakes the pair's host worker, if it has one.
    bell: Option<Bell<SharedFutex>>,
}

/// The wire.
pub(crate) struct Splitter {
    source: Source,
    sink: Sink,
    steering: Steering,
    ends: Vec<End>,
    /// For each round in progress, the pairs that got a batch, as bits.
    rounds: VecDeque<u64>,
}

impl Splitter {
    /// The wire, and the pairs' ends.
    pub(crate) fn create(
        source: Source,
        sink: Sink,
        steering: Steering,
        pairs: usize,
    ) -> (Self, Vec<Lane>) {
        let (ends, lanes) = (0..pairs).map(|_| end()).unzip();
        (Self { source, sink, steering, ends, rounds: VecDeque::new() }, lanes)
    }

    /// Sets the bell of the pair's host worker.
    pub(crate) fn set_bell(&mut self, pair: usize, bell: Bell<SharedFutex>) {
        if let Some(end) = self.ends.get_mut(pair) {
            end.bell = Some(bell);
        }
    }

    /// Distributes all frames and writes all output.
    pub(crate) fn run<K: Key>(mut self) -> Result<WireCounts, RunError> {
        let mut buffer = vec![0; MAX_FRAME];
        let mut progress = Progress::new();
        let mut dealt = 0;
        while let Some((stamp, length)) = self.source.next(&mut buffer)? {
            let frame = &mut buffer[..length];
            let pair = self.steering.of_packet::<K>(&Packet::new(frame, stamp.meta));
            self.deal(pair as usize, &stamp, frame)?;
            dealt += 1;
            if dealt == FRAMES * self.ends.len() {
                dealt = 0;
                self.send_round()?;
                progress.tell(self.source.packets, self.sink.packets);
            }
        }
        self.send_round()?;
        while !self.rounds.is_empty() {
            self.collect_round()?;
        }
        self.end()?;
        drop(progress);
        self.sink.finish()?;
        Ok(counts(&self.source, &self.sink))
    }

    /// Adds a frame to the pair's batch.
    fn deal(&mut self, pair: usize, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        if !self.ends[pair].filling.push(stamp, frame) {
            // Sends the other pairs' batches too: a frame is never in a later round than its
            // successor.
            self.send_round()?;
            self.ends[pair].filling.push(stamp, frame);
        }
        Ok(())
    }

    fn send_round(&mut self) -> Result<(), RunError> {
        let mut sent = 0;
        for (number, end) in self.ends.iter_mut().enumerate() {
            if !end.filling.is_empty() {
                let next = end.empty.pop().unwrap_or_else(Batch::new);
                let batch = std::mem::replace(&mut end.filling, next);
                end.send(Steered::Frames(batch))?;
                sent |= 1 << number;
            }
        }
        self.rounds.push_back(sent);
        if self.rounds.len() > AHEAD { self.collect_round() } else { Ok(()) }
    }

    /// Waits for the oldest round in progress, and writes its output.
    fn collect_round(&mut self) -> Result<(), RunError> {
        let Some(sent) = self.rounds.pop_front() else { return Ok(()) };
        for (_, end) in self.ends.iter_mut().enumerate().filter(|(pair, _)| sent >> pair & 1 == 1) {
            end.receive(Mark::Emptied)?;
        }
        self.write_back()
    }

    /// Signals the end to the pairs, and writes the remaining output.
    fn end(&mut self) -> Result<(), RunError> {
        let now = self.source.now();
        for end in &mut self.ends {
            end.send(Steered::End(now))?;
        }
        for end in &mut self.ends {
            end.receive(Mark::Last)?;
        }
        self.write_back()
    }

    /// Writes all returned frames: always the earliest among the pairs' first ones.
    fn write_back(&mut self) -> Result<(), RunError> {
        loop {
            let ends = self.ends.iter_mut().enumerate();
            let firsts = ends.filter_map(|(pair, end)| Some((end.first()?, pair)));
            let Some((_, pair)) = firsts.min() else { return Ok(()) };
            let Some(front) = self.ends[pair].back.front_mut() else { return Ok(()) };
            if let Some((stamp, frame)) = front.peek() {
                self.sink.write(stamp, frame)?;
            }
            front.pass();
        }
    }
}

fn end() -> (End, Lane) {
    // A batch per round, and the end: sending never blocks.
    let (to, steered) = sync_channel(AHEAD + 2);
    let (back, from) = channel();
    let (filling, empty, back_of) = (Batch::new(), Vec::new(), VecDeque::new());
    (End { to, from, filling, empty, back: back_of, bell: None }, Lane::new(steered, back))
}

impl End {
    fn send(&mut self, steered: Steered) -> Result<(), RunError> {
        self.to.send(steered).map_err(|_| RunError::Abandoned)?;
        if let Some(bell) = &self.bell {
            region::wake(bell);
        }
        Ok(())
    }

    /// Receives returned batches, up to this mark.
    fn receive(&mut self, up_to: Mark) -> Result<(), RunError> {
        loop {
            // A pair that disconnected has failed, and reports the cause.
            let Returned { batch, mark } = self.from.recv().map_err(|_| RunError::Abandoned)?;
            self.back.push_back(Front::of(batch));
            if mark == up_to {
                return Ok(());
            }
        }
    }

    /// The number of the pair's first frame. Emptied batches are kept for reuse.
    fn first(&mut self) -> Option<u64> {
        loop {
            let front = self.back.front()?;
            if let Some((stamp, _)) = front.peek() {
                return Some(stamp.number);
            }
            let written = self.back.pop_front()?;
            if self.empty.len() <= AHEAD {
                self.empty.push(written.into_empty());
            }
        }
    }
}
