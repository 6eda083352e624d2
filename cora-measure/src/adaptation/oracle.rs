//! A controller that knows the traffic: when a phase begins, its most popular flows go to the NIC,
//! and all others back.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use cora_control::{Controller, Observation};
use cora_runtime::ownership::Order;

use super::trace::Trace;

/// Flows exchanged at a time: no more can be on their way.
const AT_ONCE: usize = 16;
/// Times of repeated offers in a phase (ns after its begin): the NIC may have had no place for a
/// flow when it was offered.
const REPEATS: [u64; 3] = [3_000_000, 8_000_000, 50_000_000];

/// Knows the busiest flows of each phase.
#[derive(Debug)]
pub(super) struct Oracle<K> {
    /// Begin of each phase to come, and its flows at the NIC.
    phases: VecDeque<(u64, Vec<u32>)>,
    /// Keys of all flows.
    keys: Vec<K>,
    /// Flows that belong to the NIC now.
    now: BTreeSet<u32>,
    /// Times when they are offered once more.
    again: VecDeque<u64>,
    queue: VecDeque<Order<K>>,
}

impl<K: Copy> Oracle<K> {
    pub(super) fn new(trace: &Trace, room: u32, keys: &[K]) -> Self {
        let phases = trace.popular(room as usize).into_iter();
        Self {
            phases: phases.map(|(begins, flows)| (begins, flows.to_vec())).collect(),
            keys: keys.to_vec(),
            now: BTreeSet::new(),
            again: VecDeque::new(),
            queue: VecDeque::new(),
        }
    }

    fn offer(&mut self, flows: impl IntoIterator<Item = u32>) {
        let keys = &self.keys;
        self.queue.extend(flows.into_iter().map(|flow| Order::Offer(keys[flow as usize])));
    }

    /// Orders the exchange flow by flow, recalls before offers, so that there is room.
    fn exchange(&mut self, begins: u64, next: Vec<u32>) {
        let next: BTreeSet<u32> = next.into_iter().collect();
        let mut going: VecDeque<u32> = self.now.difference(&next).copied().collect();
        let coming: Vec<u32> = next.difference(&self.now).copied().collect();
        self.queue.clear();
        for flow in coming {
            if let Some(leaves) = going.pop_front() {
                self.queue.push_back(Order::Recall(self.keys[leaves as usize]));
            }
            self.offer([flow]);
        }
        let keys = &self.keys;
        self.queue.extend(going.into_iter().map(|flow| Order::Recall(keys[flow as usize])));
        self.now = next;
        self.again = REPEATS.iter().map(|after| begins + after).collect();
    }
}

impl<K: Copy + std::fmt::Debug> Controller<K> for Oracle<K> {
    fn period(&self) -> Duration {
        // The period is short while flows move.
        Duration::from_micros(if self.queue.is_empty() { 500 } else { 50 })
    }

    fn decide(&mut self, seen: &Observation<K>) -> Vec<Order<K>> {
        let Some(time) = seen.host.load.map(|load| load.time) else { return Vec::new() };
        if self.phases.front().is_some_and(|(begins, _)| *begins <= time)
            && let Some((begins, flows)) = self.phases.pop_front()
        {
            self.exchange(begins, flows);
        }
        if self.queue.is_empty() && self.again.front().is_some_and(|again| *again <= time) {
            self.again.pop_front();
            self.offer(self.now.clone());
        }
        let some = self.queue.len().min(2 * AT_ONCE);
        self.queue.drain(..some).collect()
    }
}

#[cfg(test)]
mod tests {
    use cora_control::Seen;
    use cora_runtime::link::message::Load;

    use super::super::trace::Phase;
    use super::*;

    #[test]
    fn flows_that_stay_popular_stay_and_all_others_change_places() {
        let phase = Phase { lasts: 1_000, mpps: 1.0, skew: 1.0, hot: 1, crowd: 0.0 };
        let phases = [phase, Phase { skew: 0.5, ..phase }, Phase { hot: 2, ..phase }];
        let trace = Trace::new(&phases, 50, 1);
        let keys: Vec<u32> = (0..50).collect();
        let mut oracle = Oracle::new(&trace, 8, &keys);
        let mut at = |time| {
            let load = Some(Load { time, ..Load::default() });
            let host = Seen { load, talkers: Vec::new() };
            oracle.decide(&Observation { host, nic: Seen::default(), moved: Vec::new() })
        };
        let begins = trace.begins();
        assert!(at(0).is_empty());
        assert_eq!(at(begins[0]).len(), 8, "nobody is there yet");
        assert!(at(begins[1]).is_empty(), "another skew, but the same flows");
        let orders = at(begins[2]);
        let recalls = orders.iter().filter(|order| matches!(order, Order::Recall(_))).count();
        assert_eq!(recalls * 2, orders.len(), "as many leave as come");
        assert!(recalls > 4, "few are popular in both");
    }
}
