//! The cost of a branch misprediction: packets of two protocols in random order, against the same
//! packets by turns.
//!
//! Both take the same instructions, and no predictor knows a random order: it mispredicts every
//! other branch on the protocol. By turns none is, where a predictor remembers as much as a
//! packet's branches. So the difference is what they cost, among the work of other packets.

use std::io::Result;
use std::path::Path;

use super::child::Program;
use super::counts::MIXED;
use super::program::Plan;
use super::traffic::{Capture, Order};

/// As many as are in the nearest caches.
const FLOWS: u64 = 512;

/// Programs that handle packets of two protocols.
#[derive(Debug)]
pub(crate) struct Branches {
    drawn: Program,
    by_turns: Program,
}

impl Branches {
    /// Starts them.
    pub(crate) fn new(room: &Path, packets: u64) -> Result<Self> {
        let start = |order| {
            let capture = Capture::mixed(room, FLOWS, packets, order)?;
            Program::start(Plan::NicOnly, "nic", &capture)
        };
        Ok(Self { drawn: start(Order::Drawn)?, by_turns: start(Order::ByTurns)? })
    }

    /// A round: nanoseconds of a branch that was foretold wrongly, never less than nothing.
    pub(crate) fn round(&mut self) -> Result<f64> {
        Ok(((self.drawn.packet()? - self.by_turns.packet()?) / MIXED).max(0.0))
    }
}
