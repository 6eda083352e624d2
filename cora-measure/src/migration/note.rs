//! Moves as the NIC's side sees them, noted in a tally while there is one.

use std::collections::HashMap;
use std::time::Instant;

use ahash::RandomState;
use cora_core::key::Key;
use cora_runtime::link::message::{Message, Ownership};

use super::tally::Tally;

/// Notes of the NIC's side.
pub(super) struct Note {
    pub(super) tally: Option<Tally>,
    /// Origin of the times in the tally.
    pub(super) zero: Instant,
    /// The number of each flow, by the words of its group key. Lookups are part of the measured
    /// time, so the hash is quick.
    numbers: HashMap<[u64; 5], u32, RandomState>,
}

impl Note {
    /// Creates notes for flows with these group keys, numbered in their order.
    pub(super) fn new(groups: &[impl Key]) -> Self {
        let mut numbers = HashMap::with_hasher(RandomState::with_seed(0));
        numbers.extend(groups.iter().zip(0..).map(|(key, number)| (key.words(), number)));
        Self { tally: None, zero: Instant::now(), numbers }
    }

    fn now(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }

    /// Notes that the packets with these numbers left.
    pub(super) fn left(&mut self, gone: &[u64]) {
        if let Some(tally) = self.tally.as_mut().filter(|_| !gone.is_empty()) {
            let now = self.zero.elapsed().as_nanos() as u64;
            for number in gone {
                tally.left(*number, now);
            }
        }
    }

    /// Notes a message from the host, before the NIC handles it.
    pub(super) fn message<K: Key>(&mut self, message: &Message<'_>) {
        if self.tally.is_none() {
            return;
        }
        let now = self.now();
        let Some(tally) = &mut self.tally else { return };
        let number = |group| Some(*self.numbers.get(&K::get(group)?.words())?);
        match *message {
            Message::Ownership(Ownership::Offer { ticket, group, .. }) => {
                if let Some(flow) = number(group) {
                    tally.offered(ticket, flow, now);
                }
            }
            Message::Ownership(Ownership::Recall { group }) => {
                if let Some(flow) = number(group) {
                    tally.recalled(flow);
                }
            }
            Message::Ownership(Ownership::Transfer { ticket, entries }) => {
                tally.transfer(ticket, entries, now);
            }
            Message::Ownership(Ownership::Entry { piece, .. }) => tally.entry(piece.len(), now),
            Message::Ownership(Ownership::Withdraw { ticket }) => tally.end_of(ticket, None),
            _ => {}
        }
    }

    /// Notes that the NIC has handled the message, which may complete a flow's arrival.
    pub(super) fn arrival(&mut self) {
        let now = self.tally.as_ref().is_some_and(Tally::is_whole).then(|| self.now());
        if let Some((tally, now)) = self.tally.as_mut().zip(now) {
            tally.arrived(now);
        }
    }
}
