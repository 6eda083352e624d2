//! The controller: it keeps the NIC busy but never overloaded, with the flows that save the host
//! most.
//!
//! ```text
//! Observation ─ Digest ─→ rates ─→ coefficients ─→ fallback
//!                           └────→ forecast ─→ pressure ─┐
//!                 flows ────────────────────────────────→ choose, admission ─→ Decision ─ Order…
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | `settings` | what it is held to |
//! | `digest` | an observation, as it is logged |
//! | `decision`, `reason` | what was decided, and why, in words |
//! | `rates` | what a side did between two tellings |
//! | `forecast` | where a load is going |
//! | `pressure` | whether a side has too much to do |
//! | `coefficients` | what packets and moves cost, learned |
//! | `flows` | which flows there are, with how many packets, where |
//! | `budget` | how much may move |
//! | `choose` | which flows move |
//! | `admission` | which flows the host offers by itself |
//! | `fallback` | when the plan alone decides |
//! | `decider` | all of it in a row |
//!
//! # Bounds
//!
//! 1. A flow goes to the NIC once per [`rest_ns`](Settings::rest_ns) at most, and not within it
//!    after it came back; so by the controller's orders no flow moves more than twice in that time:
//!    8 times a second as it is set. The host's own offers keep the same rest (in the time of
//!    packets). Moves that a flow's own punts force are not bounded by it, but each doubles the
//!    flow's rest.
//! 2. A flow stays at the NIC for [`stay_ns`](Settings::stay_ns) at least before it is recalled.
//! 3. Orders to move are no more than [`moves`](Settings::moves) per millisecond, beside a bucket
//!    of two milliseconds.
//! 4. By the controller's orders, a flow takes another's place only when it earns
//!    [`better`](Settings::better) times as much, by bounds on both rates that are in favour of the
//!    one that is there.
//! 5. While the NIC is full and has time, the sides exchange flows by themselves: the host offers
//!    those with so many packets in a time (exact counts, no samples), and the NIC gives up one
//!    that had none for long ([`pace`](Admitted::pace), [`idle`](Admitted::idle)). The controller
//!    says how many and how long, by how much that moves; the first bound holds for these flows,
//!    too, the second does not.
//!
//! `cora-sim` holds the first three in virtual time, with faults, on both halves.

mod admission;
mod budget;
mod choose;
mod coefficients;
mod decider;
mod decision;
mod digest;
mod fallback;
mod flows;
mod forecast;
mod number;
mod pressure;
mod rates;
mod reason;
mod settings;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use ahash::RandomState;
use cora_core::hash::flow_hash;
use cora_core::key::Key;
use cora_runtime::ownership::Order;

pub use decider::{Decider, Utilisation};
pub use decision::{Action, Decision};
use digest::flow_of;
pub use digest::{Digest, FlowId, SideReport};
pub use settings::{Admitted, Costs, Settings, WITHIN};

use super::log::Log;
use super::{Controller, Drift, Observation};

/// Makes numbers of keys.
const SEED: u64 = 0x0066_6c6f_7773;

/// The number of the flow with this key, whichever of its directions it is: an even one.
pub fn flow_id(key: &impl Key) -> FlowId {
    flow_of(direction_id(key))
}

/// Likewise, with the direction in its last bit: each side counts the directions of a flow apart.
fn direction_id(key: &impl Key) -> FlowId {
    let own = flow_hash(&key.words(), SEED);
    let reply = key.reply().map_or(own, |reply| flow_hash(&reply.words(), SEED));
    flow_of(own.min(reply)) | u64::from(reply < own)
}

/// The controller, for flows with keys `K`.
pub struct Adaptive<K> {
    decider: Decider,
    /// Keys of the flows that the decider knows.
    keys: HashMap<FlowId, K, RandomState>,
    /// What the NIC told at this time was taken in.
    nic_time: Option<u64>,
    log: Option<Log>,
}

impl<K: Key> Adaptive<K> {
    /// One that has seen nothing.
    pub fn new(settings: Settings) -> Self {
        Self {
            decider: Decider::new(settings),
            keys: HashMap::with_hasher(RandomState::with_seeds(5, 6, 7, 8)),
            nic_time: None,
            log: None,
        }
    }

    /// The same, with a log of all that it sees and decides.
    #[must_use]
    pub fn with_log(mut self, to: impl Write + Send + 'static) -> Self {
        self.log = Some(Log::begin(Box::new(to), self.decider.settings()));
        self
    }

    /// What decides.
    pub const fn decider(&self) -> &Decider {
        &self.decider
    }

    fn digest(&mut self, seen: &Observation<K>, keys: &mut Vec<(FlowId, K)>) -> Digest {
        let mut id = |key: &K| {
            let id = direction_id(key);
            keys.push((flow_of(id), *key));
            id
        };
        let weighs_flows = self.decider.weighs_flows();
        let mut side = |seen: &super::Seen<K>| {
            let talkers = if weighs_flows { &seen.talkers[..] } else { &[] };
            seen.load.map(|load| SideReport::new(&load, talkers, &mut id))
        };
        let host = side(&seen.host).unwrap_or_default();
        let mut nic = side(&seen.nic);
        // Its talkers come behind its load, one by one.
        let whole = |load: &cora_runtime::link::message::Load| {
            seen.nic.talkers.len() as u64 >= load.talkers
        };
        let fresh = seen.nic.load.filter(whole).map(|load| load.time);
        if fresh.is_none() || fresh == self.nic_time {
            nic = None;
        } else {
            self.nic_time = fresh;
        }
        let moved =
            seen.moved.iter().map(|moved| (flow_of(id(&moved.flow)), moved.to_nic)).collect();
        Digest { host, nic, moved }
    }

    fn order(&self, action: &Action) -> Option<Order<K>> {
        Some(match action {
            Action::Admit(admitted) => Order::Admit((*admitted).into()),
            Action::Offer(flow) => Order::Offer(*self.keys.get(flow)?),
            Action::Recall(flow) => Order::Recall(*self.keys.get(flow)?),
        })
    }
}

impl<K: Key> Controller<K> for Adaptive<K> {
    fn period(&self) -> Duration {
        Duration::from_nanos(self.decider.period())
    }

    fn decide(&mut self, seen: &Observation<K>) -> Vec<Order<K>> {
        let mut keys = Vec::with_capacity(128);
        let digest = self.digest(seen, &mut keys);
        let decision = self.decider.decide(&digest);
        for (flow, key) in keys {
            if !self.keys.contains_key(&flow) && self.decider.knows(flow) {
                self.keys.insert(flow, key);
            }
        }
        let orders = decision.actions.iter().filter_map(|action| self.order(action)).collect();
        if let Some(log) = &mut self.log {
            let keys = &self.keys;
            log.period(&digest, &decision, |flow| keys.get(&flow).map(|key| format!("{key:?}")));
        }
        for flow in self.decider.forgotten() {
            self.keys.remove(&flow);
        }
        orders
    }

    fn utilisation(&self) -> Option<Utilisation> {
        Some(self.decider.utilisation())
    }

    fn drift(&self) -> Option<Drift> {
        let Settings { expected, predicted, .. } = *self.decider.settings();
        Some(Drift { learned: self.decider.costs(), expected, predicted })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.log.take().map_or(Ok(()), Log::end)
    }
}

impl<K> fmt::Debug for Adaptive<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive").field("decider", &self.decider).finish_non_exhaustive()
    }
}
