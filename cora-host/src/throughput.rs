//! How many packets a second both halves handle together, in memory, on a core each and never asleep; and how much
//! of its core's time each of them needs for that.
//!
//! The NIC's side takes frames from memory as fast as it can, and counts what leaves. It does what the run loop of
//! `cora-nic` does between the two; the host's loop is that of a run. First every flow comes once, a burst at a
//! time, so that each has moved before the next burst comes: ownership is settled. Then each line of standard
//! input asks for a pass.
//!
//! A core that is taken away from a side while it is timed says nothing about the program. So a pass tells for how
//! long its threads were ready and waited for a core; whoever asks can leave such a pass out.

use std::hint::spin_loop;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::message::{MAX_MESSAGE, Message, Stamp};
use cora_core::migration::burst::{BURST_BYTES, Frames};
use cora_core::migration::nic::Wire;
use cora_core::migration::{Burst, HostHalf, NicHalf, Outbox, ProtocolError};
use cora_core::region::{HashSeed, Identity, Region, RegionLayout};
use cora_core::ring::{Consumer, Producer, PushError, SharedMemory};
use rustix::io::Errno;
use serde::Serialize;

use crate::apart::Apart;
use crate::bench::Traffic;
use crate::pair::RING_BYTES;
use crate::punts::{Cores, Patience};
use crate::run::configure;
use crate::supply::Supply;
use crate::worker::Worker;
use crate::{RunError, map};

/// A pass repeats its traffic until it took so long.
const PASS: Duration = Duration::from_millis(300);
/// Messages taken from the host between two bursts from the wire, as in `cora-nic`.
const BACK_BURST: usize = 64;
/// Between passes the host looks this often whether there is anything.
const NAP: Duration = Duration::from_millis(1);
/// Empty looks behind a burst until the flows in it have moved: some microseconds.
const SETTLED: u32 = 500;

/// What a pass came to. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Pass {
    packets: u64,
    /// From the first packet that came in to the last one handled.
    ns: u64,
    /// The NIC's time, less what it waited for room on the ring.
    nic_busy_ns: u64,
    /// The host's time with something to do.
    host_busy_ns: u64,
    /// Packets that the NIC handled alone.
    at_nic: u64,
    /// Packets whose handlers began at the NIC and were taken back.
    punts: u64,
    /// Packets that went to the host as they came.
    passed_on: u64,
    /// Packets that waited for a flow that moved.
    held: u64,
    /// Flows that moved to the NIC.
    offloads: u64,
    /// Packets that left.
    left: u64,
    /// How long either thread was ready and had no core; not known everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    robbed_ns: Option<u64>,
}

/// What the host's thread tells of itself.
#[derive(Debug, Default)]
struct Told {
    /// Packets that it handled.
    packets: AtomicU64,
    busy_ns: AtomicU64,
    /// It ended, or should.
    ended: AtomicBool,
    /// Its number at the kernel.
    thread: AtomicU64,
    /// Nobody feeds: it may sleep.
    resting: AtomicBool,
}

/// Loads, lets every flow settle, and runs a pass per line of standard input.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
) -> Result<(), RunError> {
    let system = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
    let layout = RegionLayout::new(RING_BYTES);
    let layout = layout.unwrap_or_else(|_| unreachable!("powers of two are sizes of rings"));
    let (_file, words) = map::shared_memory(layout.bytes()).map_err(system)?;
    let identity = Identity { plan: A::PLAN.hash, generation: 1, seed: HashSeed(supply.seed) };
    let region = Region::create(words, &layout, identity).map_err(RunError::Region)?;
    let cores = Cores::of_this_process();
    let told = Apart::new(Told::default());
    thread::scope(|scope| {
        let host = scope.spawn(|| {
            cores.stay_on(1);
            let served = serve::<A>(&region, supply, configurations, &told.0);
            // Whoever waits for this side waits in vain.
            told.0.ended.store(true, Ordering::Relaxed);
            served
        });
        cores.stay_on(0);
        let passes = Nic::<A>::new(&region, supply, &told.0)
            .and_then(|nic| passes(nic, traffic, warm, &told.0));
        told.0.ended.store(true, Ordering::Relaxed);
        let served = host.join().unwrap_or(Err(RunError::RingToNic));
        served.and(passes)
    })
}

/// The host's half, until the other says that it is over.
fn serve<A: App>(
    region: &Region,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    told: &Told,
) -> Result<(), RunError> {
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    told.thread.store(u64::from(thread.unsigned_abs()), Ordering::Relaxed);
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    let configured = configure(&mut app, configurations)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, true).map_err(RunError::Memory)?;
    let mut worker = Worker::new(half, &region.rings());
    worker.begin(&configured);
    while !told.ended.load(Ordering::Relaxed) {
        if worker.poll()? {
            told.busy_ns.store(worker.half.report.busy_ns, Ordering::Relaxed);
            told.packets.store(worker.half.report.packets, Ordering::Release);
        } else if told.resting.load(Ordering::Relaxed) {
            thread::sleep(NAP);
        } else {
            spin_loop();
        }
    }
    Ok(())
}

/// Settles ownership, and answers lines.
fn passes<A: App>(
    mut nic: Nic<'_, A>,
    traffic: &Traffic,
    warm: usize,
    told: &Told,
) -> Result<(), RunError> {
    let failed = |cause| RunError::System { what: "standard input and output", cause };
    let mut out = std::io::stdout();
    nic.settle_flows(traffic)?;
    told.resting.store(true, Ordering::Relaxed);
    writeln!(out, "ready").map_err(failed)?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(failed)?;
        told.resting.store(false, Ordering::Relaxed);
        let before = nic.account(told);
        let start = Instant::now();
        while start.elapsed() < PASS && !told.ended.load(Ordering::Relaxed) {
            nic.feed(traffic, warm)?;
        }
        nic.drain(told)?;
        told.resting.store(true, Ordering::Relaxed);
        let ns = start.elapsed().as_nanos() as u64;
        let pass = nic.account(told).since(before, ns);
        let json = serde_json::to_string(&pass).unwrap_or_default();
        writeln!(out, "{json}").map_err(failed)?;
    }
    Ok(())
}

impl Pass {
    /// What happened between two accounts of everything, `ns` apart: in `nic_busy_ns` both hold what the NIC waited.
    fn since(self, before: Self, ns: u64) -> Self {
        Self {
            packets: self.packets - before.packets,
            ns,
            nic_busy_ns: ns.saturating_sub(self.nic_busy_ns - before.nic_busy_ns),
            host_busy_ns: self.host_busy_ns - before.host_busy_ns,
            at_nic: self.at_nic - before.at_nic,
            punts: self.punts - before.punts,
            passed_on: self.passed_on - before.passed_on,
            held: self.held - before.held,
            offloads: self.offloads - before.offloads,
            left: self.left - before.left,
            robbed_ns: self.robbed_ns.zip(before.robbed_ns).map(|(now, then)| now - then),
        }
    }
}

/// How long a thread was ready and waited for a core, as the kernel counts (`proc_pid_schedstat(5)`).
pub(crate) fn robbed(thread: &str) -> Option<u64> {
    let told = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    told.split_whitespace().nth(1)?.parse().ok()
}

/// The NIC's half.
struct Nic<'a, A: App> {
    half: NicHalf<A>,
    out: Out<'a>,
    back: Consumer<SharedMemory>,
    message: Vec<u8>,
    buffer: Vec<u8>,
    /// Packets that came in.
    packets: u64,
    /// What the latest pass over the traffic adds to the time of its frames.
    later: u64,
    /// Time of the latest packet.
    now: u64,
}

/// Where the NIC's messages and packets go: the latter are counted.
struct Out<'a> {
    punt: Producer<SharedMemory>,
    left: u64,
    waited: Duration,
    broken: bool,
    told: &'a Told,
}

impl Out<'_> {
    #[inline(never)]
    fn push(&mut self, kind: u16, parts: &[&[u8]]) -> bool {
        let first = self.punt.push(kind, parts);
        if !matches!(first, Err(PushError::Full)) {
            return first.is_ok();
        }
        let start = Instant::now();
        self.punt.publish();
        let mut patience = Patience::default();
        let pushed = loop {
            match self.punt.push(kind, parts) {
                Err(PushError::Full) if !self.told.ended.load(Ordering::Relaxed) => patience.wait(),
                last => break last.is_ok(),
            }
        };
        self.waited += start.elapsed();
        pushed
    }
}

impl Outbox for Out<'_> {
    #[inline]
    fn send(&mut self, message: &Message<'_>) {
        self.broken |= !message.encode(|kind, parts| self.push(kind, parts));
    }
}

impl Wire for Out<'_> {
    #[inline]
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {
        self.left += 1;
    }
}

impl<'a, A: App> Nic<'a, A> {
    fn new(region: &Region, supply: Supply, told: &'a Told) -> Result<Self, RunError> {
        let mut app = supply.app::<A>(NicHalf::bytes)?;
        let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
        let rings = region.rings();
        let punt = Producer::new(rings.punt);
        Ok(Self {
            half: NicHalf::create(app, &mut memory).map_err(RunError::Memory)?,
            out: Out { punt, left: 0, waited: Duration::ZERO, broken: false, told },
            back: Consumer::new(rings.back),
            message: vec![0; MAX_MESSAGE],
            buffer: vec![0; BURST_BYTES],
            packets: 0,
            later: 0,
            now: 0,
        })
    }

    /// All that happened so far; in the place of what was busy, what was waited.
    fn account(&self, told: &Told) -> Pass {
        let report = &self.half.report;
        let host = told.thread.load(Ordering::Relaxed);
        let robbed = robbed("thread-self").zip(robbed(&format!("self/task/{host}")));
        Pass {
            packets: self.packets,
            ns: 0,
            nic_busy_ns: self.out.waited.as_nanos() as u64,
            host_busy_ns: told.busy_ns.load(Ordering::Relaxed),
            at_nic: report.packets,
            punts: report.punts,
            passed_on: report.passed_on,
            held: report.held,
            offloads: report.offloads,
            left: self.out.left,
            robbed_ns: robbed.map(|(nic, host)| nic + host),
        }
    }

    /// Everything once, a burst at a time, and behind each burst what its flows need to move.
    fn settle_flows(&mut self, traffic: &Traffic) -> Result<(), RunError> {
        self.settle()?;
        self.pass(traffic, 0, Self::settle)
    }

    /// The frames from number `from` on, as fast as they are taken.
    fn feed(&mut self, traffic: &Traffic, from: usize) -> Result<(), RunError> {
        self.pass(traffic, from, |nic| nic.read_back().map(drop))
    }

    /// A pass over the frames; `between` bursts it is seen to what the host sent.
    fn pass(
        &mut self,
        traffic: &Traffic,
        from: usize,
        between: impl Fn(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut pass = traffic.pass(from);
        let mut buffer = std::mem::take(&mut self.buffer);
        while !pass.is_over() && !self.out.told.ended.load(Ordering::Relaxed) {
            between(self)?;
            if !self.half.takes_packets() {
                let start = Instant::now();
                while !self.half.takes_packets() && !self.read_back()? {}
                self.out.waited += start.elapsed();
                continue;
            }
            let mut frames = Frames::new(&mut buffer);
            let mut burst = Burst::new();
            while !burst.is_full() {
                let (now, later) = (&mut self.now, self.later);
                let received = pass.receive(&mut frames, |mut stamp, frame| {
                    // Time goes on from pass to pass.
                    for time in [&mut stamp.meta.time, &mut stamp.meta.now, &mut stamp.horizon] {
                        *time += later;
                    }
                    *now = stamp.meta.now;
                    // There is room: the loop's condition.
                    burst.push(stamp, frame);
                });
                if !received {
                    break;
                }
            }
            self.packets += burst.len() as u64;
            self.half.burst(&mut burst, &mut self.out);
            self.out.punt.publish();
            if self.out.broken {
                return Err(RunError::RingToNic);
            }
        }
        self.buffer = buffer;
        // The first frame of the next pass follows the last one of this.
        self.later = self.now.saturating_sub(traffic.begins(from));
        Ok(())
    }

    /// Handles what comes from the host until nothing has come for a while.
    fn settle(&mut self) -> Result<(), RunError> {
        let mut empty = 0;
        let host = self.out.told;
        while empty < SETTLED && !host.ended.load(Ordering::Relaxed) {
            let all = host.packets.load(Ordering::Acquire) == self.at_host();
            empty = if self.read_back()? || !all { 0 } else { empty + 1 };
            spin_loop();
        }
        Ok(())
    }

    /// Waits until the host has handled everything.
    fn drain(&mut self, told: &Told) -> Result<(), RunError> {
        let mut patience = Patience::default();
        while !told.ended.load(Ordering::Relaxed) {
            let done = told.packets.load(Ordering::Acquire) == self.at_host();
            if !self.read_back()? {
                if done && self.half.is_drained() {
                    break;
                }
                patience.wait();
            }
        }
        Ok(())
    }

    /// Packets that went to the host.
    const fn at_host(&self) -> u64 {
        self.half.report.passed_on + self.half.report.punts
    }

    /// Handles some of what the host sent; whether there was anything.
    fn read_back(&mut self) -> Result<bool, RunError> {
        if self.back.is_empty()? {
            return Ok(false);
        }
        for _ in 0..BACK_BURST {
            let Some(popped) = self.back.pop(&mut self.message)? else { break };
            let bytes = self.message.get(..popped.len).unwrap_or_default();
            let undecodable = ProtocolError::Undecodable(popped.kind);
            let message = Message::decode(popped.kind, bytes).ok_or(undecodable)?;
            self.half.message(&message, &mut self.out)?;
        }
        self.back.release();
        self.out.punt.publish();
        if self.out.broken { Err(RunError::RingToNic) } else { Ok(true) }
    }
}
