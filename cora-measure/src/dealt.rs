//! Each half by itself, and both at once with the buckets dealt between them: whether a plan by
//! which each side receives its own buckets adds up what both can do.
//!
//! The flow table deals the frames before the clock starts, as hardware does. A first pass fills
//! the tables. Then each line of standard input asks for three more: the host half with all frames,
//! the NIC half with all frames, and both halves at once, each on a core with its own frames. Times
//! are of the threads' CPU clocks. In the third pass a half that is done begins again, so that both
//! are busy for all of it.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cora_core::app::App;
use cora_core::bucket::Bucket;
use cora_core::packet::Port;
use cora_host::RunError;
use cora_host::parts::{Direct, Supply, bytes_apart, configure};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::steering::Deal;
use cora_switch::{Abilities, Change, Emulated, Epoch, FlowTable as _, Operation, Rule, Shard};
use serde::Serialize;

use crate::ThreadTime;
use crate::cores::Cores;
use crate::in_memory::states_of_nic;
use crate::traffic::Traffic;

/// What a half did in a pass.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Pass {
    packets: u64,
    ns: u64,
    /// Packets that left.
    left: u64,
}

/// The answer to a line.
#[derive(Clone, Copy, Debug, Serialize)]
struct Answer {
    host_alone: Pass,
    nic_alone: Pass,
    host_beside: Pass,
    nic_beside: Pass,
    /// Packets that the flow table deals to each half.
    for_host: u64,
    for_nic: u64,
}

/// Frames, and how many at their beginning only fill the tables.
type Frames<'a> = (&'a Traffic, usize);

/// Where both threads meet.
struct Meeting {
    barrier: Barrier,
    /// Threads that have been through their frames.
    done: AtomicUsize,
}

/// Fills the tables, and answers lines.
pub(crate) fn run<A: App + Send>(
    traffic: &Traffic,
    supply: Supply,
    configurations: &[(String, PathBuf)],
    warm: usize,
) -> Result<(), RunError> {
    let table = table::<A>();
    let parts = traffic.split(2, warm, |packet| table.queue_of(packet.meta().mark.bucket).number());
    let [(nics, nics_warm), (hosts, hosts_warm)] = &parts[..] else { return Ok(()) };
    let meeting = Meeting { barrier: Barrier::new(2), done: AtomicUsize::new(0) };
    let (all, meeting) = ((traffic, warm), &meeting);
    let behind = |traffic: &Traffic, warm: usize| traffic.len().saturating_sub(warm) as u64;
    let (for_host, for_nic) = (behind(hosts, *hosts_warm), behind(nics, *nics_warm));
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel();
    let cores = &Cores::of_this_process();
    thread::scope(|scope| {
        let host = scope.spawn(move || -> Result<(), RunError> {
            cores.stay_on(1);
            let (mut alone, mut beside) =
                (host::<A>(supply, configurations)?, host::<A>(supply, configurations)?);
            let own = (hosts, *hosts_warm);
            through(&mut alone, (traffic, 0))?;
            through(&mut beside, (hosts, 0))?;
            while asked.recv().is_ok() {
                let by_itself = through(&mut alone, all)?;
                meeting.barrier.wait();
                meeting.barrier.wait();
                if tell.send((by_itself, together(&mut beside, own, meeting)?)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        cores.stay_on(0);
        let (mut alone, mut beside) =
            (nic::<A>(supply, configurations)?, nic::<A>(supply, configurations)?);
        through(&mut alone, (traffic, 0))?;
        through(&mut beside, (nics, 0))?;
        let failed = |cause| RunError::System { what: "standard input and output", cause };
        let mut out = std::io::stdout();
        writeln!(out, "ready").map_err(failed)?;
        for line in std::io::stdin().lock().lines() {
            line.map_err(failed)?;
            meeting.done.store(0, Ordering::Relaxed);
            if ask.send(()).is_err() {
                break;
            }
            // The host half is by itself until both meet.
            meeting.barrier.wait();
            let nic_alone = through(&mut alone, all)?;
            meeting.barrier.wait();
            let nic_beside = together(&mut beside, (nics, *nics_warm), meeting)?;
            let Ok((host_alone, host_beside)) = told.recv() else { break };
            let answer =
                Answer { host_alone, nic_alone, host_beside, nic_beside, for_host, for_nic };
            let json = serde_json::to_string(&answer).unwrap_or_default();
            writeln!(out, "{json}").map_err(failed)?;
        }
        drop(ask);
        host.join().unwrap_or(Err(RunError::Abandoned))
    })
}

/// A flow table with the rules of the plan in force.
fn table<A: App>() -> Emulated {
    let abilities =
        Abilities { entries: u32::MAX, operations_per_s: 0, delay_ns: 0, in_flight: u32::MAX };
    let mut table = Emulated::new(abilities, Shard::new(0));
    let deal = Deal::of_plan(&A::PLAN, 1);
    for bucket in Bucket::all() {
        let to = Shard::new(deal.shard_of(bucket) as u16);
        let change = Change::Insert(Rule { bucket, epoch: Epoch::DEFAULT.next(), to });
        // It has no limit, so it takes all.
        let _ = table.ask(Operation { ticket: bucket.number() as u64, change }, 0);
    }
    table.poll(0, &mut |_| {});
    table
}

/// A half, as something that takes bursts.
trait Half {
    fn burst(&mut self, burst: &mut Burst<'_>, left: &mut u64) -> Result<(), RunError>;
}

impl<A: App> Half for HostHalf<A> {
    fn burst(&mut self, burst: &mut Burst<'_>, left: &mut u64) -> Result<(), RunError> {
        let mut out = Direct::new(|_: &Stamp, _: Port, _: &[u8]| *left += 1);
        Ok(self.burst(burst, &mut out)?)
    }
}

impl<A: App> Half for NicHalf<A> {
    fn burst(&mut self, burst: &mut Burst<'_>, left: &mut u64) -> Result<(), RunError> {
        self.burst(burst, &mut Direct::new(|_: &Stamp, _: Port, _: &[u8]| *left += 1));
        Ok(())
    }
}

fn host<A: App>(
    supply: Supply,
    configurations: &[(String, PathBuf)],
) -> Result<HostHalf<A>, RunError> {
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    configure(&mut app, configurations)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)
}

fn nic<A: App>(
    supply: Supply,
    configurations: &[(String, PathBuf)],
) -> Result<NicHalf<A>, RunError> {
    let mut app = states_of_nic::<A>(supply)?;
    configure(&mut app, configurations)?;
    let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
    NicHalf::create(app, &mut memory).map_err(RunError::Memory)
}

/// Runs the frames behind the first ones once.
fn through(half: &mut impl Half, (traffic, from): Frames<'_>) -> Result<Pass, RunError> {
    let mut buffer = bytes_apart::<BURST_BYTES>();
    let mut left = 0;
    let start = ThreadTime::now();
    traffic.replay(from, &mut buffer.0, |burst| half.burst(burst, &mut left))?;
    let packets = traffic.len().saturating_sub(from) as u64;
    Ok(Pass { packets, ns: start.elapsed().as_nanos() as u64, left })
}

/// Runs the frames, and again until the other thread is through its own.
fn together(half: &mut impl Half, frames: Frames<'_>, meeting: &Meeting) -> Result<Pass, RunError> {
    let mut sum = Pass::default();
    let mut told = false;
    while !told || meeting.done.load(Ordering::Relaxed) < 2 {
        let pass = through(half, frames)?;
        sum.packets += pass.packets;
        sum.ns += pass.ns;
        sum.left += pass.left;
        if !std::mem::replace(&mut told, true) {
            meeting.done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(sum)
}
