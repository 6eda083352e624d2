//! Scaling of the program over shards, in memory: host halves without a NIC, each on its own
//! thread.
//!
//! The capture is steered before the clock starts, as a NIC steers in hardware. Then it goes as in
//! [`replay`](crate::replay): a pass fills the tables, and each line of standard input asks for one
//! more, which all shards begin together.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::scope;
use std::time::Instant;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_host::parts::{Apart, Direct, Pages, Supply, bytes_apart, configure};
use cora_host::{Inside, RunError};
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::{Deal, Steering};

use crate::ThreadTime;
use crate::traffic::{Traffic, reading};

/// Always the same: the same work in every run.
const SEED: u64 = 1;

/// One shard's host half and its part of the traffic.
struct Part<A: App> {
    half: Box<Apart<HostHalf<A>>>,
    traffic: Traffic,
    warm: usize,
}

/// A pass of one shard: processor time of its thread, in nanoseconds.
type Pass = Result<u128, RunError>;

/// Loads, steers, warms up, and runs a pass per line of standard input.
pub(crate) fn scale<A: App + Send>(
    input: &Path,
    inside: Inside,
    configurations: &[(String, PathBuf)],
    warm: usize,
    shards: u16,
    pages: Pages,
) -> Result<(), RunError> {
    if shards > 1 && !A::PLAN.one_shard.is_empty() {
        return Err(RunError::OneShard { shards, states: A::PLAN.one_shard });
    }
    let deal = Deal::even(shards);
    let steering = Steering::new(SEED, deal);
    let traffic = Traffic::load(input, reading::<A>(inside))?;
    let traffic = traffic.marked::<A>(SEED, configurations)?;
    let parts = traffic.split(shards.into(), warm, |packet| {
        let mark =
            if A::MARKED { packet.meta().mark } else { steering.mark::<A>(packet, |_| false) };
        deal.shard_of(mark.bucket)
    });
    let parts: Result<Vec<Part<A>>, RunError> = parts
        .into_iter()
        .map(|(traffic, warm)| Ok(Part { half: half(configurations, pages)?, traffic, warm }))
        .collect();
    let parts = parts?;
    let packets: Vec<usize> = parts.iter().map(|part| part.traffic.len() - part.warm).collect();
    scope(|scope| {
        let start = |part: Part<A>| {
            let (go, begins) = channel();
            let (done, ends) = channel();
            scope.spawn(move || part.work(&begins, &done));
            (go, ends)
        };
        let threads: Vec<_> = parts.into_iter().map(start).collect();
        lead(&threads, &packets)
    })
}

fn half<A: App>(
    configurations: &[(String, PathBuf)],
    pages: Pages,
) -> Result<Box<Apart<HostHalf<A>>>, RunError> {
    let supply = Supply { seed: SEED, pages, resident: true };
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    configure(&mut app, configurations)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)?;
    Ok(Box::new(Apart::new(half)))
}

/// Runs a pass over everything, and then one per line.
fn lead(threads: &[(Sender<()>, Receiver<Pass>)], packets: &[usize]) -> Result<(), RunError> {
    let failed = |cause| RunError::System { what: "standard input and output", cause };
    let mut output = std::io::stdout();
    together(threads)?;
    writeln!(output, "ready").map_err(failed)?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(failed)?;
        let start = Instant::now();
        let each = together(threads)?;
        let ns = start.elapsed().as_nanos();
        let shards: Vec<String> = packets
            .iter()
            .zip(each)
            .map(|(packets, ns)| format!("{{\"packets\":{packets},\"ns\":{ns}}}"))
            .collect();
        let (packets, shards) = (packets.iter().sum::<usize>(), shards.join(","));
        writeln!(output, "{{\"packets\":{packets},\"ns\":{ns},\"shards\":[{shards}]}}")
            .map_err(failed)?;
    }
    Ok(())
}

/// Runs one pass of every shard. Returns the time of each.
fn together(threads: &[(Sender<()>, Receiver<Pass>)]) -> Result<Vec<u128>, RunError> {
    for (go, _) in threads {
        go.send(()).map_err(|_| RunError::Abandoned)?;
    }
    threads.iter().map(|(_, ends)| ends.recv().map_err(|_| RunError::Abandoned)?).collect()
}

impl<A: App> Part<A> {
    /// Runs a pass per signal: the first over everything, all others after the warm-up.
    fn work(mut self, begins: &Receiver<()>, done: &Sender<Pass>) {
        let mut buffer = bytes_apart::<BURST_BYTES>();
        let mut out = Direct::new(|_: &Stamp, _: Port, _: &[u8]| {});
        let half = &mut self.half.0;
        let mut from = 0;
        while begins.recv().is_ok() {
            let start = ThreadTime::now();
            let passed =
                self.traffic.replay(from, &mut buffer.0, |burst| Ok(half.burst(burst, &mut out)?));
            let ns = start.elapsed().as_nanos();
            from = self.warm;
            if done.send(passed.map(|()| ns)).is_err() {
                break;
            }
        }
    }
}
