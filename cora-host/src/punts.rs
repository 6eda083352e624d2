//! How long a punt takes: both halves on a core each, and never asleep; a packet's way from the NIC's hands
//! to the host's handlers and back, as what leaves.
//!
//! Packets come one at a time, so that none waits for another. Behind each, both sides have time to move its
//! flow: a flow whose first packet the host handled is the NIC's when the second one comes. The host's loop
//! is that of a run; the NIC's does what that of `cora-nic` does with one packet.

use std::hint::spin_loop;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::message::{MAX_MESSAGE, Message, Stamp};
use cora_core::migration::burst::{BURST_BYTES, Frames};
use cora_core::migration::nic::Wire;
use cora_core::migration::{Burst, HostHalf, NicHalf, Outbox, ProtocolError};
use cora_core::region::{HashSeed, Identity, Region, RegionLayout};
use cora_core::ring::{Consumer, Producer, SharedMemory};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;

use crate::bench::Traffic;
use crate::pair::RING_BYTES;
use crate::run::configure;
use crate::supply::Supply;
use crate::worker::Worker;
use crate::{RunError, map};

/// Empty looks at the ring behind a packet until its flow has moved: some microseconds.
const SETTLED: u32 = 500;
/// A packet that is not back by then was dropped.
const LOST: Duration = Duration::from_secs(1);
/// Empty looks before the core is given away: there may be but one.
const SPINS: u32 = 1 << 14;

/// Ways that ended in a packet that left, in ns.
#[derive(Debug, Default)]
struct Ways {
    /// Of packets that the host owned.
    passed_on: Vec<u64>,
    /// Of packets whose handlers had begun at the NIC.
    punted: Vec<u64>,
}

/// One pass over the traffic; what came of it behind the first `warm` packets, as JSON. Those meet memory that
/// nobody has touched: the first lap of a ring, the first entries of a table.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
) -> Result<String, RunError> {
    let system = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
    let layout = RegionLayout::new(RING_BYTES);
    let layout = layout.unwrap_or_else(|_| unreachable!("powers of two are sizes of rings"));
    let (_file, words) = map::shared_memory(layout.bytes()).map_err(system)?;
    let identity = Identity { plan: A::PLAN.hash, generation: 1, seed: HashSeed(supply.seed) };
    let region = Region::create(words, &layout, identity).map_err(RunError::Region)?;
    let cores = Cores::of_this_process();
    let ended = AtomicBool::new(false);
    let ways = thread::scope(|scope| {
        let host = scope.spawn(|| {
            cores.stay_on(1);
            let served = serve::<A>(&region, supply, configurations, &ended);
            // Whoever waits for this side waits in vain.
            ended.store(true, Ordering::Relaxed);
            served
        });
        cores.stay_on(0);
        let ways = Nic::<A>::new(&region, supply).and_then(|nic| nic.run(traffic, warm, &ended));
        ended.store(true, Ordering::Relaxed);
        let served = host.join().unwrap_or(Err(RunError::RingToNic));
        served.and(ways)
    })?;
    Ok(json!({ "punted": summary(ways.punted), "passed_on": summary(ways.passed_on) }).to_string())
}

/// The host's half, until the other says that it is over.
fn serve<A: App>(
    region: &Region,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    ended: &AtomicBool,
) -> Result<(), RunError> {
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    let configured = configure(&mut app, configurations)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, true).map_err(RunError::Memory)?;
    let mut worker = Worker::new(half, &region.rings());
    worker.begin(&configured);
    let mut patience = Patience::default();
    while !ended.load(Ordering::Relaxed) {
        if worker.poll()? {
            patience = Patience::default();
        } else {
            patience.wait();
        }
    }
    Ok(())
}

/// The NIC's half.
struct Nic<A: App> {
    half: NicHalf<A>,
    out: Out,
    back: Consumer<SharedMemory>,
    message: Vec<u8>,
}

/// Where the NIC's messages and packets go: the latter are counted.
struct Out {
    punt: Producer<SharedMemory>,
    left: u64,
    broken: bool,
}

impl Outbox for Out {
    fn send(&mut self, message: &Message<'_>) {
        // One packet at a time does not fill the ring.
        self.broken |= message.encode(|kind, parts| self.punt.push(kind, parts)).is_err();
    }
}

impl Wire for Out {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {
        self.left += 1;
    }
}

impl<A: App> Nic<A> {
    fn new(region: &Region, supply: Supply) -> Result<Self, RunError> {
        let mut app = supply.app::<A>(NicHalf::bytes)?;
        let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
        let rings = region.rings();
        Ok(Self {
            half: NicHalf::create(app, &mut memory).map_err(RunError::Memory)?,
            out: Out { punt: Producer::new(rings.punt), left: 0, broken: false },
            back: Consumer::new(rings.back),
            message: vec![0; MAX_MESSAGE],
        })
    }

    fn run(mut self, traffic: &Traffic, warm: usize, ended: &AtomicBool) -> Result<Ways, RunError> {
        let mut buffer = vec![0; BURST_BYTES];
        let (mut pass, mut ways) = (traffic.pass(0), Ways::default());
        let mut number = 0;
        self.settle()?;
        while !pass.is_over() && !ended.load(Ordering::Relaxed) {
            let mut frame = None;
            pass.receive(&mut Frames::new(&mut buffer), |stamp, bytes| {
                frame = Some((stamp, bytes));
            });
            let Some((stamp, frame)) = frame else { break };
            let (punts, passed_on) = (self.half.report.punts, self.half.report.passed_on);
            let took = self.way(stamp, frame)?.filter(|_| number >= warm);
            number += 1;
            if let Some(took) = took.map(|took| took.as_nanos() as u64) {
                if self.half.report.punts > punts {
                    ways.punted.push(took);
                } else if self.half.report.passed_on > passed_on {
                    ways.passed_on.push(took);
                }
            }
            self.settle()?;
        }
        Ok(ways)
    }

    /// Handles a packet; how long it took until one left. `None`: it was dropped.
    fn way(&mut self, stamp: Stamp, frame: &mut [u8]) -> Result<Option<Duration>, RunError> {
        let left = self.out.left;
        let mut patience = Patience::default();
        let start = Instant::now();
        let mut burst = Burst::new();
        // There is room for one.
        burst.push(stamp, frame);
        self.half.burst(&mut burst, &mut self.out);
        self.out.punt.publish();
        while self.out.left == left {
            if !self.read_back()? {
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
            empty = if self.read_back()? { 0 } else { empty + 1 };
            spin_loop();
        }
        Ok(())
    }

    /// Handles the host's next message; whether there was one.
    fn read_back(&mut self) -> Result<bool, RunError> {
        let Some(popped) = self.back.pop(&mut self.message)? else { return Ok(false) };
        let bytes = self.message.get(..popped.len).unwrap_or_default();
        let undecodable = ProtocolError::Undecodable(popped.kind);
        let message = Message::decode(popped.kind, bytes).ok_or(undecodable)?;
        self.half.message(&message, &mut self.out)?;
        self.back.release();
        self.out.punt.publish();
        if self.out.broken { Err(RunError::RingToNic) } else { Ok(true) }
    }
}

/// How many ways, and how long they were.
fn summary(mut ways: Vec<u64>) -> serde_json::Value {
    ways.sort_unstable();
    let at = |percent: usize| ways.get(ways.len().saturating_sub(1) * percent / 100);
    json!({ "count": ways.len(), "p50": at(50), "p99": at(99), "max": at(100) })
}

/// A wait for the other side.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        if self.is_long() { thread::yield_now() } else { spin_loop() }
    }

    const fn is_long(&self) -> bool {
        self.0.is_multiple_of(SPINS)
    }
}

/// The cores that this process may use.
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    pub(crate) fn of_this_process() -> Self {
        let set = sched_getaffinity(None).unwrap_or_default();
        Self((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
    }

    /// Keeps this thread to one of them, counted around.
    pub(crate) fn stay_on(&self, number: usize) {
        let mut one = CpuSet::new();
        if let Some(core) = number.checked_rem(self.0.len()).and_then(|at| self.0.get(at)) {
            one.set(*core);
        }
        // Where it is not allowed, the scheduler decides: longer times, not wrong ones.
        let _ignored = sched_setaffinity(None, &one);
    }
}
