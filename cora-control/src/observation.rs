//! Observations of both sides, and the interface of a controller.

use std::io;
use std::time::Duration;

use cora_runtime::link::message::Load;
use cora_runtime::ownership::Order;
use cora_runtime::telemetry::Talker;

use crate::Drift;
use crate::adaptive::Utilisation;

/// The known load of one side.
#[derive(Clone, Debug)]
pub struct Seen<K> {
    /// Counts since the beginning, and occupancy; `None` before the first report.
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

/// The known load of both sides.
#[derive(Clone, Debug)]
pub struct Observation<K> {
    /// The host, now.
    pub host: Seen<K>,
    /// The NIC, as of its last report.
    pub nic: Seen<K>,
    /// Flows that changed sides since the last observation, in order, as far as known.
    pub moved: Vec<Move<K>>,
}

/// A flow's change of sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move<K> {
    /// Its group key.
    pub flow: K,
    /// Whether it went to the NIC, or came back.
    pub to_nic: bool,
}

/// Decides which flows move.
pub trait Controller<K> {
    /// Returns the time until its next decision, which is also the interval of load reports.
    fn period(&self) -> Duration;

    /// Returns the orders for this observation.
    fn decide(&mut self, seen: &Observation<K>) -> Vec<Order<K>>;

    /// Returns the utilisation of both sides, for display; `None` if unknown.
    fn utilisation(&self) -> Option<Utilisation> {
        None
    }

    /// Returns the learned and the expected costs; `None` if it learns nothing.
    fn drift(&self) -> Option<Drift> {
        None
    }

    /// Ends the run. Fails if a log could not be written.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
