//! How long a punt takes: both halves on a core each, and never asleep; a packet's way from the
//! NIC's hands to the host's handlers and back, as what leaves.
//!
//! Packets come one at a time, so that none waits for another. Behind each, both sides have time to
//! move its flow: a flow whose first packet the host handled is the NIC's when the second one
//! comes. The host's loop is that of a run; the NIC's does what that of `cora-nic` does with one
//! packet.

use std::hint::spin_loop;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::packet::Roomy;
use cora_host::RunError;
use cora_host::parts::{Supply, Worker};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::link::message::Stamp;
use serde_json::json;

use crate::in_memory::{self, NicEnd, Out, Patience, Told, on_a_core_each};
use crate::traffic::Traffic;

/// Empty looks at the ring behind a packet until its flow has moved: some microseconds.
const SETTLED: u32 = 500;
/// A packet that is not back by then was dropped.
const LOST: Duration = Duration::from_secs(1);

/// Ways that ended in a packet that left, in ns.
#[derive(Debug, Default)]
struct Ways {
    /// Of packets that the host owned.
    passed_on: Vec<u64>,
    /// Of packets whose handlers had begun at the NIC.
    punted: Vec<u64>,
}

/// One pass over the traffic; what came of it behind the first `warm` packets, as JSON. Those meet
/// memory that nobody has touched: the first lap of a ring, the first entries of a table.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
) -> Result<String, RunError> {
    let region = in_memory::region::<A>(supply)?;
    let ways = on_a_core_each(
        |told| serve(in_memory::worker::<A>(&region, supply, configurations)?, told),
        |told| {
            let end = NicEnd::new(&region, supply, |rings| Out::new(rings, told))?;
            Nic::<A> { end }.run(traffic, warm)
        },
    )?;
    Ok(json!({ "punted": summary(ways.punted), "passed_on": summary(ways.passed_on) }).to_string())
}

/// The host's loop, until the other side says that it is over.
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
    end: NicEnd<A, Out<'a, u64>>,
}

impl<A: App> Nic<'_, A> {
    fn run(mut self, traffic: &Traffic, warm: usize) -> Result<Ways, RunError> {
        let mut buffer = vec![0; BURST_BYTES];
        let (mut pass, mut ways) = (traffic.pass(0), Ways::default());
        let mut number = 0;
        self.settle()?;
        while !pass.is_over() && !self.end.out.told.is_over() {
            let mut frame = None;
            pass.receive(&mut BurstBuffer::new(&mut buffer), |stamp, bytes| {
                frame = Some((stamp, bytes));
            });
            let Some((stamp, frame)) = frame else { break };
            let (punts, passed_on) = (self.end.half.report.punts, self.end.half.report.passed_on);
            let took = self.way(stamp, frame)?.filter(|_| number >= warm);
            number += 1;
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

    /// Handles a packet; how long it took until one left. `None`: it was dropped.
    fn way(&mut self, stamp: Stamp, frame: Roomy<'_>) -> Result<Option<Duration>, RunError> {
        let left = self.end.out.left;
        let mut patience = Patience::default();
        let start = Instant::now();
        let mut burst = Burst::new();
        // There is room for one.
        burst.push_roomy(stamp, frame);
        self.end.half.burst(&mut burst, &mut self.end.out);
        self.end.out.publish()?;
        while self.end.out.left == left {
            if !self.end.answer(1)? {
                patience.wait();
                if patience.is_long() && start.elapsed() > LOST {
                    return Ok(None);
                }
            }
        }
        Ok(Some(start.elapsed()))
    }

    /// Handles what comes from the host until nothing has come for a while.
    fn settle(&mut self) -> Result<(), RunError> {
        let mut empty = 0;
        while empty < SETTLED {
            empty = if self.end.answer(1)? { 0 } else { empty + 1 };
            spin_loop();
        }
        Ok(())
    }
}

/// How many ways, and how long they were.
fn summary(mut ways: Vec<u64>) -> serde_json::Value {
    ways.sort_unstable();
    let at = |percent: usize| ways.get(ways.len().saturating_sub(1) * percent / 100);
    json!({ "count": ways.len(), "p50": at(50), "p99": at(99), "max": at(100) })
}
