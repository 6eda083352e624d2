//! One run, from the first frame to the report.

use std::path::PathBuf;
use std::time::Instant;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_core::state::{Kind, Place};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;

use crate::ingress::capture::{Files, Sink, Source};
use crate::ingress::versions::{self, Changes, Version};
use crate::memory::supply::Supply;
use crate::node::control_loop::Controllers;
use crate::node::direct::Direct;
use crate::node::merge::{Ended, Finished, WireCounts, finish};
use crate::node::pair::Pair;
use crate::node::received::NicAccount;
use crate::node::running::{self, Capture};
use crate::observe::ipfix::Exporter;
use crate::observe::progress::Progress;
use crate::observe::state::Contents;
use crate::options::{NicMode, RunOptions};
use crate::{Program, RunError};

/// The request for a run on a capture.
#[derive(Clone, Debug)]
pub(crate) struct Request<K> {
    pub(crate) options: RunOptions,
    pub(crate) input: PathBuf,
    pub(crate) controllers: Controllers<K>,
    /// The exporter of records of ended entries.
    pub(crate) exporter: Option<Exporter>,
}

impl<K> Request<K> {
    /// A request with these options.
    pub(crate) fn new<A: App<Group = K>>(
        options: RunOptions,
        controllers: Controllers<K>,
    ) -> Result<Self, RunError> {
        if let Some(path) = &options.state_out {
            // Fails now instead of at the end. The old content stays until it is replaced.
            let opened = std::fs::File::options().create(true).append(true).open(path);
            opened.map_err(|cause| RunError::File { path: path.clone(), cause })?;
        }
        let exporter = options.ipfix.as_ref().map(|name| Exporter::open::<A>(name, false));
        let exporter = exporter.transpose()?;
        // Options were checked: there is a capture.
        let input = options.input.clone().unwrap_or_default();
        Ok(Self { options, input, controllers, exporter })
    }

    /// The capture; a packet that ends the process is named.
    pub(crate) fn watched<A: App>(&self) -> Capture {
        let capture = Capture::new(&self.input, self.options.reading::<A>());
        capture.watch(self.options.slow_patience());
        capture
    }
}

/// Runs the program on a capture, with one pair.
pub(crate) fn run<A: App + Send>(
    program: &Program,
    request: &Request<A::Group>,
) -> Result<Finished, RunError> {
    let capture = request.watched::<A>();
    let mut source = Source::open(&request.input, request.options.reading::<A>())?;
    let seed = source.seed()?;
    let supply = Supply { seed, pages: request.options.pages, resident: false };
    let nic = request.options.nic != NicMode::Off;
    let version = Version::first(1, &request.options.configurations)?;
    let (mut half, configured) = half::<A>(supply, &version, nic)?;
    let changes = versions::changes(half.engine().app(), &version, &request.options.changes)?;
    let sink = Sink::create(request.options.output.as_deref(), &request.input)?;
    let files = Files { source, sink };
    if request.options.nic == NicMode::Off {
        return without_nic(request, half, files, changes);
    }
    let mut pair = Pair::start(program, request, seed, half, files, 0, None)?;
    pair.wire.changes = changes;
    with_nic(request, pair, &configured, &capture)
}

/// The host half of a pair, and the numbers of the states to send to its NIC.
pub(crate) fn half<A: App>(
    supply: Supply,
    version: &Version,
    nic: bool,
) -> Result<(HostHalf<A>, Vec<usize>), RunError> {
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    let configured = put_in_force(&mut app, version)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, nic);
    Ok((half.map_err(RunError::Memory)?, configured))
}

pub(crate) fn random_seed() -> u64 {
    // A new hasher state is random; std has no other source of randomness.
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u64)
}

/// Puts configurations in force; returns the numbers of the states to send to the NIC.
pub fn configure<A: App>(
    app: &mut A,
    configurations: &[(String, PathBuf)],
) -> Result<Vec<usize>, RunError> {
    put_in_force(app, &Version::first(1, configurations)?)
}

fn put_in_force<A: App>(app: &mut A, version: &Version) -> Result<Vec<usize>, RunError> {
    version.put_in_force(app)?;
    // The host sends the NIC all its states of one value: on bare metal they begin as zeroes.
    let mut is_one = |number: &usize| {
        matches!(app.state(*number).kind(), Kind::ReadMostly | Kind::Singleton)
            && A::PLACES[*number].1 != Place::Host
    };
    Ok((0..A::STATES).filter(|number| is_one(number)).collect())
}

fn without_nic<A: App>(
    request: &Request<A::Group>,
    mut half: HostHalf<A>,
    files: Files,
    mut changes: Changes,
) -> Result<Finished, RunError> {
    let Files { mut source, mut sink } = files;
    let start = Instant::now();
    let mut buffer = vec![0; BURST_BYTES];
    let mut progress = Progress::new();
    let runs = running::word();
    // Changes before the packets with these numbers; numbers beyond the capture apply at its end.
    let mut due = |half: &mut HostHalf<A>, packet: u64| {
        while let Some((_, change)) = changes.pop_front_if(|(number, _)| *number <= packet) {
            change.put_in_force(half.engine().app())?;
        }
        Ok::<_, RunError>(changes.front().map_or(u64::MAX, |(number, _)| *number))
    };
    loop {
        source.stop_before = due(&mut half, source.packets)?;
        let mut frames = BurstBuffer::new(&mut buffer);
        let mut burst = Burst::new();
        while !burst.is_full() {
            let Some(room) = frames.room() else { break };
            let Some((stamp, length)) = source.next(room)? else { break };
            // There is space, by the loop's condition.
            burst.push_roomy(stamp, frames.keep(length));
        }
        if burst.is_empty() {
            if source.packets >= source.stop_before {
                continue;
            }
            break;
        }
        let mut failed = None;
        let leave = |stamp: &Stamp, _: Port, frame: &[u8]| {
            if let Err(error) = sink.write(stamp, frame) {
                failed = Some(error);
            }
        };
        let mut out = Direct::new(leave).exporting(request.exporter.as_ref()).noting(runs);
        half.burst(&mut burst, &mut out)?;
        if let Some(error) = failed {
            return Err(error);
        }
        progress.tell(source.packets, sink.packets);
    }
    due(&mut half, u64::MAX)?;
    sink.finish()?;
    let elapsed = start.elapsed();
    half.report.busy_ns = elapsed.as_nanos() as u64;
    let (nic, contents, now) = (NicAccount::default(), Contents::default(), half.now());
    let recovered = Default::default();
    let ended = Ended { half, nic, contents, left: Vec::new(), now, recovered, drift: None };
    finish(ended, Vec::new(), counts(&source, &sink), request, elapsed)
}

fn with_nic<A: App>(
    request: &Request<A::Group>,
    mut pair: Pair<A, Files>,
    configured: &[usize],
    capture: &Capture,
) -> Result<Finished, RunError> {
    pair.wait_until_ready()?;
    let start = Instant::now();
    let ran = pair.run(configured, Progress::new());
    ran.map_err(|error| capture.named(error, pair.region.nic_packet()))?;
    pair.wire.cable.sink.finish()?;
    let elapsed = start.elapsed();
    let (ended, Files { source, sink }) = pair.end()?;
    finish(ended, Vec::new(), counts(&source, &sink), request, elapsed)
}

/// Counters of the wire.
pub(crate) fn counts(source: &Source, sink: &Sink) -> WireCounts {
    WireCounts {
        came: source.packets,
        too_long: source.too_long,
        cut: source.cut.1,
        left: sink.packets,
        notes: source.notes(),
    }
}
