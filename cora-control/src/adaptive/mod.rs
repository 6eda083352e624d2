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
//! | `settings` | bounds and expected costs |
//! | `digest` | an observation, as it is logged |
//! | `decision`, `reason` | a decision, and its reasons in words |
//! | `rates` | the work of a side between two reports |
//! | `forecast` | forecast of a load |
//! | `pressure` | overload of a side |
//! | `coefficients` | learned costs of packets and moves |
//! | `flows` | known flows, their rates and sides |
//! | `budget` | budget of moves |
//! | `choose` | choice of the flows that move |
//! | `admission` | flows that the host offers by itself |
//! | `fallback` | times in which the plan alone decides |
//! | `decider` | all of it in sequence |
//!
//! # Bounds
//!
//! 1. A flow goes to the NIC once per [`rest_ns`](Settings::rest_ns) at most, and not within it
//!    after it came back. So the controller's orders move no flow more than twice in that time: 8
//!    times a second by default. The host's own offers keep the same rest (in packet time). Moves
//!    that a flow's own punts force are not bounded by it, but each doubles the flow's rest.
//! 2. A flow stays at the NIC for [`stay_ns`](Settings::stay_ns) at least before its recall.
//! 3. Orders to move are no more than [`moves`](Settings::moves) per millisecond, beside a bucket
//!    of two milliseconds.
//! 4. By the controller's orders, a flow takes another's place only if it earns
//!    [`better`](Settings::better) times as much. The bounds on both rates favour the flow that is
//!    there.
//! 5. While the NIC is full and has time, the sides exchange flows by themselves. The host offers
//!    flows above a packet rate (exact counts, no samples), and the NIC evicts one that is idle for
//!    long ([`pace`](Admitted::pace), [`idle`](Admitted::idle)). The controller sets both by the
//!    number of moves. The first bound holds for these flows, too; the second does not.
//!
//! `cora-sim` checks the first three in virtual time, with faults, on both halves.

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

/// Seed of the numbers of keys.
const SEED: u64 = 0x0066_6c6f_7773;

/// Returns the number of the flow with this key, in either direction: an even one.
pub fn flow_id(key: &impl Key) -> FlowId {
    flow_of(direction_id(key))
}

/// Returns the number with the direction in its last bit: each side counts directions apart.
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
    /// Time of the NIC's latest report that was taken in.
    nic_time: Option<u64>,
    log: Option<Log>,
}

impl<K: Key> Adaptive<K> {
    /// Creates a controller without observations.
    pub fn new(settings: Settings) -> Self {
        Self {
            decider: Decider::new(settings),
            keys: HashMap::with_hasher(RandomState::with_seeds(5, 6, 7, 8)),
            nic_time: None,
            log: None,
        }
    }

    /// Adds a log of all observations and decisions.
    #[must_use]
    pub fn with_log(mut self, to: impl Write + Send + 'static) -> Self {
        self.log = Some(Log::begin(Box::new(to), self.decider.settings()));
        self
    }

    /// Returns the decider.
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
        // The NIC's talkers follow its load, one by one.
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
