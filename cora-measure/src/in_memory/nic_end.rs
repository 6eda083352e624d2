//! The NIC's half at its end of the region, in the run loop of a NIC core.

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::Supply;
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::{Clock, Egress, Ends, Inbox, Ingress, NicLoop};

use super::Between;

/// The half, its ends, and its loop.
pub(crate) struct NicEnd<A: App, I, B, O> {
    pub(crate) half: NicHalf<A>,
    /// Source of packets.
    pub(crate) wire: I,
    /// Source of the host's messages.
    pub(crate) back: B,
    /// Sink of messages and packets.
    pub(crate) out: O,
    pub(crate) rounds: NicLoop<A>,
    buffer: Vec<u8>,
}

/// Reads no clock: a caller that times a step reads one around it.
pub(crate) struct Untimed;

impl Clock for Untimed {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl<A: App, I: Ingress, B: Inbox, O: Egress> NicEnd<A, I, B, O> {
    /// Creates a half that owns no flow.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn new(
        (supply, between): (Supply, &Between),
        (wire, back): (I, B),
        out: O,
    ) -> Result<Self, RunError> {
        let items = (A::ITEMS > 0).then(|| between.read_only());
        let mut app = supply.app_with::<A>(items, NicHalf::bytes)?;
        let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
        let half = NicHalf::create(app, &mut memory).map_err(RunError::Memory)?;
        let rounds = NicLoop::new();
        Ok(Self { half, wire, back, out, rounds, buffer: vec![0; BURST_BYTES] })
    }

    /// Runs a step of the loop. Returns whether there was anything to do.
    ///
    /// # Errors
    /// If a ring or a message is broken, or the host ended.
    pub(crate) fn step(&mut self, clock: &impl Clock) -> Result<bool, RunError> {
        let Self { half, wire, back, out, rounds, buffer } = self;
        Ok(rounds.step(half, Ends { wire, back, out }, buffer, clock)?)
    }
}
