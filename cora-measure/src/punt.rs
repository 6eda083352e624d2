//! Round trip of a punt: both halves on a core each, never asleep. A packet goes from the NIC to
//! the host's handlers and comes back as the packet that leaves.
//!
//! Packets come one at a time, so that none waits for another. Behind each, both sides have time to
//! move its flow: if the host handled a flow's first packet, the NIC owns the flow when the second
//! one comes. Both sides' loops are those of a run.

use std::hint::spin_loop;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::{Supply, Worker};
use serde_json::json;

use crate::in_memory::{self, CountingNic, Patience, Told, Untimed, on_a_core_each};
use crate::traffic::Traffic;

/// Empty looks at the ring after a packet until its flow has moved: some microseconds.
const SETTLED: u32 = 500;
/// A packet that is not back by then was dropped.
const LOST: Duration = Duration::from_secs(1);

/// Round trips that ended in a packet that left, in ns.
#[derive(Debug, Default)]
struct Ways {
    /// Of packets that the host owned.
    passed_on: Vec<u64>,
    /// Of packets with handlers that had begun at the NIC.
    punted: Vec<u64>,
}

/// Runs one pass over the traffic. Returns the result after the first `warm` packets, as JSON.
/// Those touch memory for the first time: the first lap of a ring, the first entries of a table.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
) -> Result<String, RunError> {
    let between = in_memory::between::<A>(supply)?;
    let ways = on_a_core_each(
        |told| serve(in_memory::worker::<A>(&between, supply, configurations)?, told),
        |told| Nic::<A> { end: in_memory::nic(&between, supply, traffic, told)? }.run(warm),
    )?;
    Ok(json!({ "punted": summary(ways.punted), "passed_on": summary(ways.passed_on) }).to_string())
}

/// Runs the host's loop until the other side ends.
fn serve<A: App>(mut worker: Worker<A>, told: &Told) -> Result<(), RunError> {
    let mut patience = Patience::default();
    while !told.is_over() {
        if worker.poll()? {
            patience = Patience::default();
        } else {
            patience.wait();
        }
    }
    Ok(())
}

/// The NIC's side.
struct Nic<'a, A: App> {
    end: CountingNic<'a, A>,
}

impl<A: App> Nic<'_, A> {
    fn run(mut self, warm: usize) -> Result<Ways, RunError> {
        let mut ways = Ways::default();
        self.settle()?;
        while !self.end.wire.is_over() && !self.end.out.told.is_over() {
            let number = self.end.wire.at();
            let (punts, passed_on) = (self.end.half.report.punts, self.end.half.report.passed_on);
            let took = self.way()?.filter(|_| number >= warm);
            if let Some(took) = took.map(|took| took.as_nanos() as u64) {
                if self.end.half.report.punts > punts {
                    ways.punted.push(took);
                } else if self.end.half.report.passed_on > passed_on {
                    ways.passed_on.push(took);
                }
            }
            self.settle()?;
        }
        Ok(ways)
    }

    /// Handles the next packet. Returns the time until one left; `None` if it was dropped.
    fn way(&mut self) -> Result<Option<Duration>, RunError> {
        let left = self.end.out.left;
        let mut patience = Patience::default();
        self.end.wire.open = 1;
        let start = Instant::now();
        while self.end.out.left == left {
            if !self.end.step(&Untimed)? {
                patience.wait();
                if patience.is_long() && start.elapsed() > LOST {
                    return Ok(None);
                }
            }
        }
        Ok(Some(start.elapsed()))
    }

    /// Handles the host's messages until none has come for a while.
    fn settle(&mut self) -> Result<(), RunError> {
        let mut empty = 0;
        while empty < SETTLED {
            empty = if self.end.step(&Untimed)? { 0 } else { empty + 1 };
            spin_loop();
        }
        Ok(())
    }
}

/// Returns the number and the percentiles of the round trips.
fn summary(mut ways: Vec<u64>) -> serde_json::Value {
    ways.sort_unstable();
    let at = |percent: usize| ways.get(ways.len().saturating_sub(1) * percent / 100);
    json!({ "count": ways.len(), "p50": at(50), "p99": at(99), "max": at(100) })
}
