//! Functions that run because time passes: hooks and timers.

use serde::{Deserialize, Serialize};

use super::{Graph, HandlerNode};

/// A timer. It runs where hooks run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerNode {
    /// Nanoseconds of packet time between two runs.
    pub period_ns: u64,
    /// Its function, with the states of its parameters after the tick.
    #[serde(flatten)]
    pub node: HandlerNode,
}

/// The hook that runs when an entry of a state expires. It runs where all states are: at the host,
/// unless the NIC runs everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookNode {
    /// The state whose entries it is about.
    pub state: String,
    /// Its function, with the states of its parameters after the entry.
    #[serde(flatten)]
    pub node: HandlerNode,
}

impl Graph {
    /// The functions of hooks and timers.
    pub fn timed(&self) -> impl Iterator<Item = &HandlerNode> {
        let hooks = self.hooks.iter().map(|hook| &hook.node);
        hooks.chain(self.timers.iter().map(|timer| &timer.node))
    }
}
