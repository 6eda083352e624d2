//! What moves between the sides, and what outlives one.

use super::States;
use crate::key::PacketKey;

/// Flows that move with their entries, and states that outlive their side.
pub trait Transfer: States {
    /// Key of ownership and of steering to shards: the coarsest key of the states that travel.
    type Group: PacketKey + Send;
    /// Whether any of its states is durable.
    const DURABLE: bool = false;
    /// The numbers of its durable singletons: the host keeps a replica of each.
    const KEPT: &'static [usize] = &[];
    /// Names of the host's non-durable states that entries of flows depend on. They are lost when
    /// the host half ends, and all flows with them: the next lease would give the port of an old
    /// session to another one.
    const RESTS_ON: &'static [&'static str] = &[];
}
