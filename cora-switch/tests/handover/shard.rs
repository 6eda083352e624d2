//! A model of a shard: it handles, holds or returns frames, and follows the protocol's records.

use std::collections::{BTreeMap, VecDeque};

use cora_core::bucket::{Bucket, BucketSet};
use cora_switch::{Epoch, Told};

/// A packet: its bucket, and its number within that, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Frame {
    pub(crate) bucket: Bucket,
    pub(crate) number: u8,
}

/// The state of a bucket: how many packets were handled, and the number of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct State {
    pub(crate) count: u8,
    pub(crate) last: u8,
}

/// An entry: a state is two, so it can be there in part.
pub(crate) type Entry = [u8; 3];

/// A record of an in-queue.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum In {
    Frame(Frame),
    Told(Told),
    Entry(Epoch, Entry),
}

/// A record of an out-queue.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Out {
    Output(Frame),
    Stray(Frame),
    Entry(Epoch, Entry),
    Gone(Epoch),
}

/// A packet was handled on this state.
#[derive(Debug)]
pub(crate) struct Handled {
    pub(crate) frame: Frame,
    pub(crate) before: State,
}

/// A move that the shard was told of.
type Moving = Option<(Epoch, BucketSet)>;

/// The shard.
#[derive(Clone, Debug, Hash, Default)]
pub(crate) struct Shard {
    pub(crate) is_up: bool,
    pub(crate) inbox: VecDeque<In>,
    pub(crate) outbox: VecDeque<Out>,
    pub(crate) owns: BucketSet,
    pub(crate) expects: Moving,
    leaving: Moving,
    pub(crate) held: VecDeque<Frame>,
    pub(crate) states: BTreeMap<Bucket, State>,
    /// Entries that came.
    pub(crate) arriving: Vec<Entry>,
}

impl Shard {
    pub(crate) fn begun() -> Self {
        Self { is_up: true, ..Self::default() }
    }

    /// Takes the next record.
    pub(crate) fn take(&mut self, forgets_held: bool) -> Result<Vec<Handled>, String> {
        match self.inbox.pop_front() {
            None => {}
            Some(In::Frame(frame)) => return Ok(self.frame(frame)),
            Some(In::Entry(epoch, entry)) => {
                if self.expects.is_none_or(|(expected, _)| expected != epoch) {
                    return Err(format!("an entry of move {epoch} is not expected"));
                }
                self.arriving.push(entry);
            }
            Some(In::Told(Told::Arrived { epoch })) => return self.arrived(epoch, forgets_held),
            Some(In::Told(told)) => self.told(told)?,
        }
        Ok(Vec::new())
    }

    fn frame(&mut self, frame: Frame) -> Vec<Handled> {
        if self.owns.has(frame.bucket) {
            return vec![self.handle(frame)];
        }
        if self.expects.is_some_and(|(_, buckets)| buckets.has(frame.bucket)) {
            self.held.push_back(frame);
        } else {
            self.outbox.push_back(Out::Stray(frame));
        }
        Vec::new()
    }

    fn handle(&mut self, frame: Frame) -> Handled {
        let state = self.states.entry(frame.bucket).or_default();
        let before = *state;
        *state = State { count: before.count + 1, last: frame.number };
        self.outbox.push_back(Out::Output(frame));
        Handled { frame, before }
    }

    fn told(&mut self, told: Told) -> Result<(), String> {
        match told {
            Told::Owns(buckets) => self.owns = buckets,
            Told::Leaving { epoch, buckets } => self.leaving = Some((epoch, buckets)),
            Told::Coming { epoch, buckets } => self.expects = Some((epoch, buckets)),
            Told::Stays { epoch, buckets } => self.stays(epoch, buckets),
            Told::Going { epoch } => return self.going(epoch),
            Told::Void { epoch } if self.expects.is_some_and(|(it, _)| it == epoch) => {
                self.arriving.clear();
            }
            told => return Err(format!("{told:?} is out of place")),
        }
        Ok(())
    }

    fn stays(&mut self, epoch: Epoch, stays: BucketSet) {
        for moving in [&mut self.leaving, &mut self.expects] {
            let without = moving.filter(|(it, _)| *it == epoch).map(|it| it.1.without(stays));
            *moving = without.filter(|rest| !rest.is_empty()).map(|rest| (epoch, rest)).or(*moving);
            if without.is_some_and(|rest| rest.is_empty()) {
                *moving = None;
            }
        }
        let is_held = |frame: &Frame| !stays.has(frame.bucket);
        let (held, stay): (_, VecDeque<_>) = self.held.iter().partition(|frame| is_held(frame));
        self.held = held;
        self.outbox.extend(stay.into_iter().map(Out::Stray));
    }

    fn going(&mut self, epoch: Epoch) -> Result<(), String> {
        let leaving = self.leaving.take().filter(|(it, _)| *it == epoch);
        let (_, buckets) = leaving.ok_or_else(|| format!("move {epoch} was never told of"))?;
        for bucket in buckets.iter() {
            let number = bucket.number() as u8;
            if let Some(State { count, last }) = self.states.remove(&bucket) {
                let entries = [[number, 0, count], [number, 1, last]];
                self.outbox.extend(entries.map(|entry| Out::Entry(epoch, entry)));
            }
        }
        self.owns = self.owns.without(buckets);
        self.outbox.push_back(Out::Gone(epoch));
        Ok(())
    }

    fn arrived(&mut self, epoch: Epoch, forgets_held: bool) -> Result<Vec<Handled>, String> {
        let expected = self.expects.take().filter(|(it, _)| *it == epoch);
        let (_, buckets) = expected.ok_or_else(|| format!("move {epoch} was not expected"))?;
        for [number, part, value] in self.arriving.drain(..) {
            let state = self.states.entry(Bucket::new(number)).or_default();
            *(if part == 0 { &mut state.count } else { &mut state.last }) = value;
        }
        self.owns = self.owns.or(buckets);
        let held = std::mem::take(&mut self.held);
        let held = held.into_iter().filter(|_| !forgets_held);
        Ok(held.map(|frame| self.handle(frame)).collect())
    }
}
