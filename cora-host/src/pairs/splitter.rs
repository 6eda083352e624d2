//! The wire's end of several pairs: frames are read from a capture, steered, and what leaves is
//! written.
//!
//! It stands for what receive-side scaling does in a NIC: one thread deals frames out, and no pair
//! knows of another. Frames go out in rounds, a batch per pair at most, and what comes back is put
//! in the capture's order again round by round. Without a NIC a pair gives its frames back as it
//! got them, so all of the output is in that order. With one, packets of different pairs may leave
//! in another, as packets of different flows may at one pair; those of one pair never overtake each
//! other here.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use cora_core::key::Key;
use cora_core::packet::{MAX_FRAME, Packet};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::region::{self, Bell};
use cora_runtime::steering::Steering;

use super::batch::{Batch, FRAMES, Front};
use super::lane::{Lane, Mark, Returned, Steered};
use crate::RunError;
use crate::account::WireCounts;
use crate::futex::SharedFutex;
use crate::progress::Progress;
use crate::run::counts;
use crate::wire::{Sink, Source};

/// Rounds that the wire is ahead of what it waits for.
const AHEAD: usize = 4;

/// The wire's end of one pair.
struct End {
    to: SyncSender<Steered>,
    from: Receiver<Returned>,
    /// Frames of this round.
    filling: Batch,
    /// Batches to fill.
    empty: Vec<Batch>,
    /// What came back and is not written yet.
    back: VecDeque<Front>,
    /// What wakes the pair's host worker, where that sleeps by a bell.
    bell: Option<Bell<SharedFutex>>,
}

/// The wire.
pub(crate) struct Splitter {
    source: Source,
    sink: Sink,
    steering: Steering,
    ends: Vec<End>,
    /// The pairs that got a batch, as bits, in each round that is under way.
    rounds: VecDeque<u64>,
}

impl Splitter {
    /// The wire, and the ends of so many pairs.
    pub(crate) fn create(
        source: Source,
        sink: Sink,
        steering: Steering,
        pairs: usize,
    ) -> (Self, Vec<Lane>) {
        let (ends, lanes) = (0..pairs).map(|_| end()).unzip();
        (Self { source, sink, steering, ends, rounds: VecDeque::new() }, lanes)
    }

    /// From now on the pair's host worker is woken by this.
    pub(crate) fn set_bell(&mut self, pair: usize, bell: Bell<SharedFutex>) {
        if let Some(end) = self.ends.get_mut(pair) {
            end.bell = Some(bell);
        }
    }

    /// Deals all frames out and writes all that leaves.
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

    /// Puts a frame into the pair's batch.
    fn deal(&mut self, pair: usize, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        if !self.ends[pair].filling.push(stamp, frame) {
            // Whatever the others have so far goes too: a frame is never in a later round than one
            // behind it.
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

    /// Waits for the oldest round under way, and writes what came back.
    fn collect_round(&mut self) -> Result<(), RunError> {
        let Some(sent) = self.rounds.pop_front() else { return Ok(()) };
        for (_, end) in self.ends.iter_mut().enumerate().filter(|(pair, _)| sent >> pair & 1 == 1) {
            end.receive(Mark::Emptied)?;
        }
        self.write_back()
    }

    /// Tells the pairs that there are no more frames, and writes what still leaves.
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

    /// Writes all that came back: of what stands first of each pair, what came first.
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
    // A batch per round, and the end: sending never waits.
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

    /// Waits for what comes back, up to this mark.
    fn receive(&mut self, up_to: Mark) -> Result<(), RunError> {
        loop {
            // A pair that is gone has failed, and says why.
            let Returned { batch, mark } = self.from.recv().map_err(|_| RunError::Abandoned)?;
            self.back.push_back(Front::of(batch));
            if mark == up_to {
                return Ok(());
            }
        }
    }

    /// The number of the frame that stands first; batches in front that are written are kept to be
    /// filled.
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
