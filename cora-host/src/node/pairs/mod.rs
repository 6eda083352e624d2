//! A run on several pairs of NIC core and host worker.
//!
//! Each pair has the same parts as a single one: a host half with its own states, a region, four
//! rings, a NIC process. Its host worker is a thread. Pairs share nothing; only the wire connects
//! them and steers each packet to one ([`cora_runtime::steering`]). At the end their results are
//! combined: entries of keyed states are united, replicas of commutative states are merged.
//!
//! Every pair's tables have the declared capacity. So a pair's table is full no sooner than that of
//! a single pair, even with uneven steering. This costs only address space; entries touch the
//! memory.
//!
//! | module | contents |
//! | --- | --- |
//! | `splitter` | the wire's end |
//! | `lane` | a pair's end |
//! | `batch` | the batches between the two |

mod batch;
mod lane;
mod splitter;

use std::thread::{ScopedJoinHandle, scope};
use std::time::Instant;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::Steering;

use crate::ingress::capture::{Cable as _, Sink, Source};
use crate::ingress::versions::Version;
use crate::memory::cache_padded::Apart;
use crate::memory::supply::Supply;
use crate::node::capture_run::{Request, half};
use crate::node::direct::Direct;
use crate::node::merge::{Ended, Finished, finish};
use crate::node::pair::Pair;
use crate::node::pairs::lane::Lane;
use crate::node::pairs::splitter::Splitter;
use crate::node::received::NicAccount;
use crate::node::running::{self, Capture};
use crate::observe::ipfix::Exporter;
use crate::observe::progress::Progress;
use crate::observe::state::Contents;
use crate::options::NicMode;
use crate::process::cores::{self, Cores};
use crate::{Program, RunError};

/// Runs the program on a capture, on the requested number of pairs.
pub(crate) fn run<A: App + Send>(
    program: &Program,
    request: &Request<A::Group>,
) -> Result<Finished, RunError> {
    if !A::PLAN.one_pair.is_empty() {
        return Err(RunError::OnePair { pairs: request.options.pairs, states: A::PLAN.one_pair });
    }
    request.watched::<A>();
    let mut source = Source::open(&request.input, request.options.reading::<A>())?;
    let seed = source.seed()?;
    let pairs = usize::from(request.options.pairs);
    let supply = Supply { seed, pages: request.options.pages, resident: false };
    let nic = request.options.nic != NicMode::Off;
    let version = Version::first(1, &request.options.configurations)?;
    let half = |_| half::<A>(supply, &version, nic);
    let halves: Result<Vec<_>, RunError> = (0..pairs).map(half).collect();
    let halves = halves?;
    let sink = Sink::create(request.options.output.as_deref(), &request.input)?;
    let steering = Steering::new(seed, request.options.pairs.into());
    let (mut splitter, lanes) = Splitter::create(source, sink, steering, pairs);
    let mut shards = Vec::new();
    for (((half, configured), lane), cores) in
        halves.into_iter().zip(lanes).zip(cores::assign(pairs))
    {
        let ends = if request.options.nic == NicMode::Off {
            Ends::Host(Box::new(Apart::new(Alone {
                half,
                exporter: request.exporter.clone(),
                lane,
            })))
        } else {
            let core = cores.map(|cores| cores.nic);
            let pair = Pair::start(program, request, seed, half, lane, shards.len(), core)?;
            splitter.set_bell(shards.len(), pair.bell());
            Ends::Both(Box::new(Apart::new(pair)), configured)
        };
        shards.push(Shard { ends, cores });
    }
    for shard in &mut shards {
        shard.wait_until_ready()?;
    }
    work(shards, splitter, request)
}

/// Runs the pairs until the wire ends, each on its own thread.
fn work<A: App + Send>(
    shards: Vec<Shard<A>>,
    splitter: Splitter,
    request: &Request<A::Group>,
) -> Result<Finished, RunError> {
    let start = Instant::now();
    let capture = Capture::new(&request.input, request.options.reading::<A>());
    let (wire, ended) = scope(|scope| {
        let spawn = |shard: Shard<A>| {
            scope.spawn({
                let capture = &capture;
                move || shard.run(capture)
            })
        };
        let threads: Vec<_> = shards.into_iter().map(spawn).collect();
        // The splitter is dropped afterwards, so a pair that still waits for it ends.
        let wire = splitter.run::<A::Group>().map(|wire| (wire, start.elapsed()));
        (wire, threads.into_iter().map(join).collect::<Vec<_>>())
    });
    let mut failures = Vec::new();
    let wire = wire.map_err(|error| failures.push(error)).ok();
    let mut ended: Vec<Option<Ended<A>>> =
        ended.into_iter().map(|shard| shard.map_err(|error| failures.push(error)).ok()).collect();
    // An abandoned pair knows least about the cause.
    failures.sort_by_key(|failure| matches!(failure, RunError::Abandoned));
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    let first = ended.first_mut().and_then(Option::take);
    let (Some(first), Some((wire, elapsed))) = (first, wire) else {
        return Err(RunError::Abandoned);
    };
    finish(first, ended.into_iter().flatten().collect(), wire, request, elapsed)
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One pair's part of the program.
struct Shard<A: App> {
    ends: Ends<A>,
    cores: Option<Cores>,
}

/// The parts of a pair, cache padded.
enum Ends<A: App> {
    /// Without a NIC.
    Host(Box<Apart<Alone<A>>>),
    /// With the numbers of the read-mostly states to send to the NIC.
    Both(Box<Apart<Pair<A, Lane>>>, Vec<usize>),
}

impl<A: App> Shard<A> {
    fn wait_until_ready(&mut self) -> Result<(), RunError> {
        match &mut self.ends {
            Ends::Host(..) => Ok(()),
            Ends::Both(pair, _) => pair.0.wait_until_ready(),
        }
    }

    fn run(self, capture: &Capture) -> Result<Ended<A>, RunError> {
        if let Some(cores) = self.cores {
            cores::stay_on(cores.host);
        }
        match self.ends {
            Ends::Host(alone) => alone.0.run(),
            Ends::Both(mut pair, configured) => {
                let ran = pair.0.run(&configured, Progress::silent());
                ran.map_err(|error| capture.named(error, pair.0.region.nic_packet()))?;
                pair.0.wire.cable.finish()?;
                let (ended, _lane) = pair.0.end()?;
                Ok(ended)
            }
        }
    }
}

/// The host half of a pair without a NIC.
struct Alone<A: App> {
    half: HostHalf<A>,
    exporter: Option<Exporter>,
    lane: Lane,
}

impl<A: App> Alone<A> {
    /// Handles the frames of the lane, in place.
    fn run(mut self) -> Result<Ended<A>, RunError> {
        let runs = running::word();
        let now = loop {
            let mut batch = match self.lane.receive()? {
                Ok(batch) => batch,
                Err(now) => break now,
            };
            let start = Instant::now();
            let (lane, mut written) = (&mut self.lane, Ok(()));
            let leave = |stamp: &Stamp, _: Port, frame: &[u8]| {
                if written.is_ok() {
                    written = lane.write(stamp, frame);
                }
            };
            let (half, mut out) =
                (&mut self.half, Direct::new(leave).exporting(self.exporter.as_ref()).noting(runs));
            batch.each_burst(|burst| half.burst(burst, &mut out))?;
            written?;
            self.half.report.busy_ns += start.elapsed().as_nanos() as u64;
            self.lane.hand_back(batch)?;
        };
        self.lane.finish()?;
        let (nic, contents) = (NicAccount::default(), Contents::default());
        let recovered = Default::default();
        Ok(Ended { half: self.half, nic, contents, left: Vec::new(), now, recovered, drift: None })
    }
}

#[cfg(test)]
mod tests;
