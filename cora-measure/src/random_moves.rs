//! Random moves, to test that results depend on no schedule.

use std::time::Duration;

use cora_control::{Controller, Observation};
use cora_core::hash::flow_hash;
use cora_host::{AnyController, NamedController};
use cora_runtime::ownership::{Admission, Order};
use cora_runtime::telemetry::Talker;

/// Remembered flows, so that flows with few packets move as well.
const REMEMBERED: usize = 512;
/// Most remembered flows that are moved at a time.
const AT_A_TIME: u64 = 12;

/// Returns the controller of `run --moves random:SEED`.
pub(crate) const fn random_moves<K: Copy + Send + 'static>() -> NamedController<K> {
    NamedController { name: "random", argument: "SEED", make }
}

fn make<K: Copy + Send + 'static>(seed: &str) -> Result<AnyController<K>, String> {
    match seed.parse() {
        Ok(seed) => Ok(Box::new(RandomMoves::new(seed))),
        Err(_) => Err("SEED is a whole number, for example random:7".to_owned()),
    }
}

/// Moves flows to and fro, the busy ones most, and changes the admission all the time.
#[derive(Debug)]
struct RandomMoves<K> {
    seed: u64,
    drawn: u64,
    remembered: Vec<K>,
}

impl<K: Copy> RandomMoves<K> {
    const fn new(seed: u64) -> Self {
        Self { seed, drawn: 0, remembered: Vec::new() }
    }

    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.drawn += 1;
        flow_hash(&[self.drawn, 0, 0, 0, 0], self.seed) % end
    }

    /// Returns about one in `most` of the flows, or more.
    fn some(&mut self, talkers: &[Talker<K>], most: u64) -> Vec<K> {
        let one_in = 1 + self.below(most);
        let chosen = talkers.iter().filter(|_| self.below(one_in) == 0);
        chosen.map(|talker| talker.key).collect()
    }

    /// Remembers each, in the place of an earlier one once all places are taken.
    fn remember(&mut self, talkers: &[Talker<K>]) {
        for talker in talkers {
            if self.remembered.len() < REMEMBERED {
                self.remembered.push(talker.key);
            } else {
                let place = self.below(REMEMBERED as u64) as usize;
                self.remembered[place] = talker.key;
            }
        }
    }

    /// Returns a flow that was seen once; it need not be there any more.
    fn remembered(&mut self) -> Option<K> {
        let place = self.below(self.remembered.len().max(1) as u64) as usize;
        self.remembered.get(place).copied()
    }

    /// Returns an admission, from no offers to an offer of every flow at its first packet.
    fn admission(&mut self) -> Admission {
        let share = self.below(1025) as u16;
        let after = 1 + self.below(6) as u32;
        let rest = [0, 0, 1_000_000, 100_000_000][self.below(4) as usize];
        let most = [u32::MAX, u32::MAX, 4096, 64][self.below(4) as usize];
        let pace = [0, 0, 100_000, 10_000_000][self.below(4) as usize];
        let idle = [0, 1, 100_000][self.below(3) as usize];
        Admission { share, after, rest, most, pace, idle }
    }
}

impl<K: Copy> Controller<K> for RandomMoves<K> {
    fn period(&self) -> Duration {
        Duration::from_micros(200)
    }

    fn decide(&mut self, seen: &Observation<K>) -> Vec<Order<K>> {
        let mut orders = Vec::new();
        if self.below(8) == 0 {
            orders.push(Order::Admit(self.admission()));
        }
        orders.extend(self.some(&seen.nic.talkers, 16).into_iter().map(Order::Recall));
        orders.extend(self.some(&seen.host.talkers, 2).into_iter().map(Order::Offer));
        self.remember(&seen.nic.talkers);
        self.remember(&seen.host.talkers);
        for _ in 0..self.below(AT_A_TIME) {
            // Flows also come back by themselves, when they punt.
            let to_nic = self.below(4) != 0;
            let order = if to_nic { Order::Offer } else { Order::Recall };
            orders.extend(self.remembered().map(order));
        }
        orders
    }
}
