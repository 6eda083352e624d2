//! What a controller sees of both sides, and what it is asked.

use std::io;
use std::time::Duration;

use cora_runtime::link::message::Load;
use cora_runtime::ownership::Order;
use cora_runtime::telemetry::Talker;

use crate::Drift;
use crate::adaptive::Utilisation;

/// What is known of one side's load.
#[derive(Clone, Debug)]
pub struct Seen<K> {
    /// Counts since the beginning, and how full it is; `None` when it told nothing yet.
    pub load: Option<Load>,
    /// The flows with most packets of late, sampled one in
    /// [`SAMPLED`](cora_runtime::telemetry::SAMPLED), in no order.
    pub talkers: Vec<Talker<K>>,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self { load: None, talkers: Vec::new() }
    }
}

/// What is known of both sides' load.
#[derive(Clone, Debug)]
pub struct Observation<K> {
    /// The host, now.
    pub host: Seen<K>,
    /// The NIC, as it told last.
    pub nic: Seen<K>,
    /// Flows that changed sides since the last observation, in order, as far as that is known.
    pub moved: Vec<Move<K>>,
}

/// A flow changed sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move<K> {
    /// Its group key.
    pub flow: K,
    /// To the NIC, or back.
    pub to_nic: bool,
}

/// Decides which flows move.
pub trait Controller<K> {
    /// After which time it wants to be asked next, and how often loads are told from now on.
    fn period(&self) -> Duration;

    /// What should be done, by what is seen.
    fn decide(&mut self, seen: &Observation<K>) -> Vec<Order<K>>;

    /// How much the sides have to do, for somebody who watches; `None` if it doesn't know.
    fn utilisation(&self) -> Option<Utilisation> {
        None
    }

    /// What things cost, against what was expected; `None` if it learns nothing.
    fn drift(&self) -> Option<Drift> {
        None
    }

    /// The run ends. An error when a log could not be written.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
