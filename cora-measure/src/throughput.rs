//! Packets a second that both halves handle together, in memory, on a core each and never asleep;
//! and the part of its core's time that each of them needs.
//!
//! The NIC's side takes frames from memory as fast as it can, and counts packets that leave. Both
//! sides' loops are those of a run. First every flow comes once, a burst at a time, so that each
//! has moved before the next burst comes: ownership is settled. Then each line of standard input
//! asks for a pass; a number on it is the least duration in milliseconds.
//!
//! A core that is taken away from a side while it is timed says nothing about the program. So a
//! pass reports the time in which its threads were ready without a core; a caller can leave such a
//! pass out.

use std::hint::spin_loop;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::{Apart, Supply, Worker};
use cora_runtime::exec::burst::BURST;
use serde::Serialize;

use crate::in_memory::{self, CountingNic, NicEnd, Patience, Told, Untimed, on_a_core_each};
use crate::traffic::Traffic;

/// Duration of a pass, which repeats its traffic, unless a line asks for another one.
const PASS: Duration = Duration::from_millis(300);
/// Interval between looks of the host, between passes.
const NAP: Duration = Duration::from_millis(1);
/// Empty looks after a burst until its flows have moved: some microseconds.
const SETTLED: u32 = 500;

/// The result of a pass. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Pass {
    packets: u64,
    /// From the first packet that came in to the last one handled.
    ns: u64,
    /// The NIC's time, less its waits for room on the ring.
    nic_busy_ns: u64,
    /// The host's time with something to do.
    host_busy_ns: u64,
    /// Packets that the NIC handled alone.
    at_nic: u64,
    /// Packets with handlers that began at the NIC and were rolled back.
    punts: u64,
    /// Packets that went to the host as they came.
    passed_on: u64,
    /// Packets that waited for a flow that moved.
    held: u64,
    /// Flows that moved to the NIC.
    offloads: u64,
    /// Packets that left.
    left: u64,
    /// Time in which either thread was ready without a core; not known everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    robbed_ns: Option<u64>,
}

/// Settles every flow, and runs a pass per line of standard input.
pub(crate) fn run<A: App>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
) -> Result<(), RunError> {
    let between = in_memory::between::<A>(supply)?;
    // No packets come: the host may sleep.
    let resting = Apart::new(AtomicBool::new(false));
    on_a_core_each(
        |told| serve(in_memory::worker::<A>(&between, supply, configurations)?, told, &resting.0),
        |told| {
            let nic = Nic::<A> { end: in_memory::nic(&between, supply, traffic, told)? };
            passes(nic, warm, &resting.0)
        },
    )
}

/// Runs the host's loop until the other side ends.
fn serve<A: App>(mut worker: Worker<A>, told: &Told, resting: &AtomicBool) -> Result<(), RunError> {
    while !told.is_over() {
        if worker.poll()? {
            told.tell(&worker);
        } else if resting.load(Ordering::Relaxed) {
            thread::sleep(NAP);
        } else {
            spin_loop();
        }
    }
    Ok(())
}

/// Settles ownership, and answers lines.
fn passes<A: App>(mut nic: Nic<'_, A>, warm: usize, resting: &AtomicBool) -> Result<(), RunError> {
    let failed = |cause| RunError::System { what: "standard input and output", cause };
    let mut out = std::io::stdout();
    nic.settle_flows()?;
    resting.store(true, Ordering::Relaxed);
    writeln!(out, "ready").map_err(failed)?;
    for line in std::io::stdin().lock().lines() {
        let asked = line.map_err(failed)?.trim().parse().map_or(PASS, Duration::from_millis);
        resting.store(false, Ordering::Relaxed);
        let before = nic.account();
        let start = Instant::now();
        while start.elapsed() < asked && !nic.end.out.told.is_over() {
            nic.feed(warm)?;
        }
        nic.drain()?;
        resting.store(true, Ordering::Relaxed);
        let ns = start.elapsed().as_nanos() as u64;
        let pass = nic.account().since(before, ns);
        let json = serde_json::to_string(&pass).unwrap_or_default();
        writeln!(out, "{json}").map_err(failed)?;
    }
    Ok(())
}

impl Pass {
    /// Returns the difference of two accounts of everything, `ns` apart. In both, `nic_busy_ns`
    /// holds the NIC's waits.
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

/// The NIC's side.
struct Nic<'a, A: App> {
    end: CountingNic<'a, A>,
}

impl<A: App> Nic<'_, A> {
    /// Returns the totals so far, with waits of the NIC in the place of its busy time.
    fn account(&self) -> Pass {
        let NicEnd { half, wire, out, .. } = &self.end;
        let report = &half.report;
        Pass {
            packets: wire.packets,
            ns: 0,
            nic_busy_ns: out.waited.as_nanos() as u64,
            host_busy_ns: out.told.busy_ns(),
            at_nic: report.packets,
            punts: report.punts,
            passed_on: report.passed_on,
            held: report.held,
            offloads: report.offloads,
            left: out.left,
            robbed_ns: out.told.robbed_ns(),
        }
    }

    /// Feeds everything once, a burst at a time, and lets the flows of each burst move.
    fn settle_flows(&mut self) -> Result<(), RunError> {
        self.settle()?;
        while self.goes_on() {
            self.burst()?;
            self.settle()?;
        }
        Ok(())
    }

    /// Feeds the frames from number `from` on, as fast as they are taken.
    fn feed(&mut self, from: usize) -> Result<(), RunError> {
        self.end.wire.begin(from);
        while self.goes_on() {
            self.burst()?;
        }
        Ok(())
    }

    /// Returns whether the pass goes on.
    fn goes_on(&self) -> bool {
        !self.end.wire.is_over() && !self.end.out.told.is_over()
    }

    /// Handles a burst, and earlier messages of the host. Waits because the NIC holds too many
    /// packets are counted.
    fn burst(&mut self) -> Result<(), RunError> {
        if !self.end.half.takes_packets() {
            let start = Instant::now();
            while !self.end.half.takes_packets() && !self.end.step(&Untimed)? {}
            self.end.out.waited += start.elapsed();
        }
        self.end.wire.open = BURST as u64;
        self.end.step(&Untimed)?;
        self.end.wire.open = 0;
        Ok(())
    }

    /// Handles the host's messages until none has come for a while.
    fn settle(&mut self) -> Result<(), RunError> {
        let mut empty = 0;
        let host = self.end.out.told;
        while empty < SETTLED && !host.is_over() {
            let all = host.packets() == self.at_host();
            empty = if self.end.step(&Untimed)? || !all { 0 } else { empty + 1 };
            spin_loop();
        }
        Ok(())
    }

    /// Waits until the host has handled everything.
    fn drain(&mut self) -> Result<(), RunError> {
        let mut patience = Patience::default();
        let host = self.end.out.told;
        while !host.is_over() {
            let done = host.packets() == self.at_host();
            if !self.end.step(&Untimed)? {
                if done && self.end.half.is_drained() {
                    break;
                }
                patience.wait();
            }
        }
        Ok(())
    }

    /// Returns the packets that went to the host.
    const fn at_host(&self) -> u64 {
        self.end.half.report.passed_on + self.end.half.report.punts
    }
}
