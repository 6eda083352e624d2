//! The contents of each channel: the messages that were sent and not handled yet, in order.
//!
//! A channel leads from the wire or a flow to a flow. Delayed messages are channels of their own,
//! one for each half that sent them: they wait where they were sent. Of two, the one comes first
//! that was sent first, unless it is due later. A message without a key has no order.

use std::collections::{BTreeMap, VecDeque};

use cora_core::message::{SENT, delay_of};
use cora_core::packet::{Meta, Packet};

use super::recorded::flow_of;
use super::{FlowWords, Run};
use crate::apps::SimApp;

/// Whence a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    Wire,
    Flow(FlowWords),
    /// The run with this number, of a message without a key.
    Run(usize),
    /// A flow, by a delayed message from this half.
    Delayed(FlowWords, u32),
}

/// A message that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) frame: Vec<u8>,
    /// When it is due (ns).
    pub(super) due: u64,
    /// Whether it is a delayed one.
    pub(super) delayed: bool,
    /// The run that sent it, by number, and the half.
    pub(super) sent_in: usize,
    pub(super) half: u32,
}

/// All channels, by receiver and sender.
#[derive(Debug, Default)]
pub(super) struct Channels {
    all: BTreeMap<(Option<FlowWords>, From), VecDeque<Waiting>>,
}

impl Channels {
    /// A packet comes at the wire.
    pub(super) fn comes<A: SimApp>(&mut self, meta: Meta, frame: &[u8]) {
        let mut bytes = frame.to_vec();
        let flow = flow_of::<A>(&Packet::new(&mut bytes, meta));
        let frame = frame.to_vec();
        let waiting = Waiting { frame, due: meta.now, delayed: false, sent_in: 0, half: 0 };
        self.all.entry((flow, From::Wire)).or_default().push_back(waiting);
    }

    /// A run with this number sent its messages.
    pub(super) fn sent<A: SimApp>(&mut self, number: usize, run: &Run) {
        let messages = run.result.sends.iter().filter(|(port, _)| *port == SENT);
        for (port, frame) in messages {
            let delay = delay_of(frame);
            let from = match run.flow {
                None => From::Run(number),
                Some(flow) if delay > 0 => From::Delayed(flow, run.half),
                Some(flow) => From::Flow(flow),
            };
            let mut bytes = frame.clone();
            let meta = Meta { port: *port, ..run.meta };
            let to = flow_of::<A>(&Packet::new(&mut bytes, meta));
            let due = run.meta.now.saturating_add(delay);
            let (frame, half) = (frame.clone(), run.half);
            let waiting = Waiting { frame, due, delayed: delay > 0, sent_in: number, half };
            self.all.entry((to, from)).or_default().push_back(waiting);
        }
    }

    /// Takes the message that a run handled out of its channel. Those before it can't come any
    /// more: they go to `overtaken`. `None`: nobody sent it, or it was handled before, or overtaken
    /// by another one.
    pub(super) fn take(&mut self, run: &Run, overtaken: &mut Vec<Waiting>) -> Option<Waiting> {
        let from_wire = run.meta.port != SENT;
        let channels = self.all.iter_mut();
        let channels = channels
            .filter(|((to, from), _)| *to == run.flow && matches!(from, From::Wire) == from_wire);
        let places = channels.filter_map(|(_, channel)| {
            Some((channel.iter().position(|it| it.frame == run.frame)?, channel))
        });
        let (at, channel) = places.min_by_key(|(at, _)| *at)?;
        let taken = channel.remove(at)?;
        // Without a key, each is a flow of its own.
        if run.flow.is_some() {
            let mut number = 0;
            channel.retain(|it| {
                number += 1;
                let is_before = number <= at && (!taken.delayed || it.due <= taken.due);
                overtaken.extend(is_before.then(|| it.clone()));
                !is_before
            });
        }
        Some(taken)
    }

    /// Those that nobody handled; `true` if from the wire.
    pub(super) fn left(&self) -> impl Iterator<Item = (bool, &Waiting)> {
        let all = self.all.iter();
        all.flat_map(|((_, from), channel)| channel.iter().map(|it| (*from == From::Wire, it)))
    }
}
