//! Scaling of the program over shards, in memory: host halves without a NIC, each on its own
//! thread.
//!
//! The capture is steered before the clock starts, as a NIC steers in hardware. Then it goes as in
//! [`replay`](crate::replay): a pass fills the tables, and each line of standard input asks for one
//! more, which all shards begin together. A pass is later than the one before, so that time goes
//! on: states that are read as of a merge are merged among the shards, ten times a second of it.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, scope};
use std::time::Instant;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_host::parts::{
    Apart, Board, Direct, Exchange, Pages, Supply, board_bytes, bytes_apart, configure,
};
use cora_host::{Inside, RunError, stack_for};
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::{Deal, Steering};

use crate::ThreadTime;
use crate::cores::Cores;
use crate::traffic::{Traffic, reading};

/// Always the same: the same work in every run.
const SEED: u64 = 1;

/// One shard's part of the traffic.
struct Part {
    traffic: Traffic,
    warm: usize,
}

/// What a shard does next.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Puts its traffic behind the warm-up off by this time (ns).
    PutOff(u64),
    /// Runs a pass.
    Pass,
}

/// A pass of one shard.
type Pass = Result<Passed, RunError>;

#[derive(Clone, Copy, Debug)]
struct Passed {
    /// Processor time of the shard's thread, in nanoseconds.
    ns: u128,
    /// Frames that left.
    left: u64,
}

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
    if shards > 1 && A::MESSAGES {
        return Err(RunError::Apart { shards });
    }
    let deal = Deal::even(shards);
    let steering = Steering::new(SEED, deal);
    let traffic = Traffic::load(input, reading::<A>(inside))?;
    let traffic = traffic.marked::<A>(SEED, configurations)?;
    let lasts = traffic.lasts(warm);
    let parts = traffic.split(shards.into(), warm, |packet| {
        let mark =
            if A::MARKED { packet.meta().mark } else { steering.mark::<A>(packet, |_| false) };
        deal.shard_of(mark.bucket)
    });
    let parts: Vec<Part> =
        parts.into_iter().map(|(traffic, warm)| Part { traffic, warm }).collect();
    let board = if A::MERGED && shards > 1 { Some(board::<A>(shards)?) } else { None };
    let packets: Vec<usize> = parts.iter().map(|part| part.traffic.len() - part.warm).collect();
    let cores = &Cores::of_this_process();
    scope(|scope| {
        let start = |(shard, part): (u16, Part)| {
            let (go, begins) = channel();
            let (done, ends) = channel();
            let exchange = board.map(|board| Exchange::new(board, shard, shards));
            let work = move || {
                cores.stay_on(shard.into());
                // A half stays in its thread.
                match half::<A>(configurations, pages) {
                    Ok(mut half) => part.work(&mut half.0, exchange, &begins, &done),
                    // Whoever waits for the first pass hears of it.
                    Err(error) => drop(done.send(Err(error))),
                }
            };
            let thread = Builder::new().stack_size(stack_for(A::VALUE)).spawn_scoped(scope, work);
            thread.map_err(|cause| RunError::System { what: "a thread for a shard", cause })?;
            Ok((go, ends))
        };
        let threads: Result<Vec<_>, RunError> = (0..).zip(parts).map(start).collect();
        lead(&threads?, &packets, lasts)
    })
}

/// The board on which the shards exchange their parts of merges, in memory for good.
fn board<A: App>(shards: u16) -> Result<Board, RunError> {
    let supply = Supply { seed: SEED, pages: Pages::Small, resident: false };
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    let words = board_bytes(&mut app, shards).div_ceil(8);
    let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    Ok(Board::new(words.leak(), shards))
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

/// Runs a pass over everything, and then one per line, each later than the one before by `lasts`.
fn lead(
    threads: &[(Sender<Order>, Receiver<Pass>)],
    packets: &[usize],
    lasts: u64,
) -> Result<(), RunError> {
    let failed = |cause| RunError::System { what: "standard input and output", cause };
    let mut output = std::io::stdout();
    together(threads, Order::Pass)?;
    writeln!(output, "ready").map_err(failed)?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(failed)?;
        together(threads, Order::PutOff(lasts))?;
        let start = Instant::now();
        let each = together(threads, Order::Pass)?;
        let ns = start.elapsed().as_nanos();
        let shards: Vec<String> = packets
            .iter()
            .zip(each)
            .map(|(packets, Passed { ns, left })| {
                format!("{{\"packets\":{packets},\"left\":{left},\"ns\":{ns}}}")
            })
            .collect();
        let (packets, shards) = (packets.iter().sum::<usize>(), shards.join(","));
        writeln!(output, "{{\"packets\":{packets},\"ns\":{ns},\"shards\":[{shards}]}}")
            .map_err(failed)?;
    }
    Ok(())
}

/// Gives every shard this order. Returns what each did.
fn together(
    threads: &[(Sender<Order>, Receiver<Pass>)],
    order: Order,
) -> Result<Vec<Passed>, RunError> {
    for (go, _) in threads {
        go.send(order).map_err(|_| RunError::Abandoned)?;
    }
    threads.iter().map(|(_, ends)| ends.recv().map_err(|_| RunError::Abandoned)?).collect()
}

impl Part {
    /// Follows orders: the first pass is over everything, all others are after the warm-up.
    fn work<A: App>(
        mut self,
        half: &mut HostHalf<A>,
        mut exchange: Option<Exchange>,
        begins: &Receiver<Order>,
        done: &Sender<Pass>,
    ) {
        let mut buffer = bytes_apart::<BURST_BYTES>();
        let mut left = 0;
        if exchange.is_some() {
            half.join_shards();
        }
        let mut from = 0;
        while let Ok(order) = begins.recv() {
            let start = ThreadTime::now();
            let passed = match order {
                Order::PutOff(by) => {
                    self.traffic.put_off(self.warm, by);
                    Ok(())
                }
                Order::Pass => {
                    left = 0;
                    let mut out = Direct::new(|_: &Stamp, _: Port, _: &[u8]| left += 1);
                    let passed = self.traffic.replay(from, &mut buffer.0, |burst| {
                        half.burst(burst, &mut out)?;
                        if let Some(exchange) = &mut exchange {
                            exchange.step(half, &mut out);
                        }
                        Ok(())
                    });
                    from = self.warm;
                    passed
                }
            };
            let ns = start.elapsed().as_nanos();
            if done.send(passed.map(|()| Passed { ns, left })).is_err() {
                break;
            }
        }
    }
}
