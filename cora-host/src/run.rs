//! One run, from the first frame to the report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use cora_core::app::{App, ConfigureError};
use cora_core::message::{MAX_MESSAGE, Message, Stamp};
use cora_core::migration::burst::{BURST_BYTES, Frames};
use cora_core::migration::{Burst, HostHalf};
use cora_core::packet::Port;
use cora_core::region::{self, HashSeed, Identity, Idle, NicStatus, Region, RegionLayout};
use cora_core::ring::{Consumer, Producer, PushError, SharedMemory};
use cora_core::state::{Kind, Place};
use rustix::io::Errno;
use serde_json::Value;

use crate::futex::SharedFutex;
use crate::inside::Inside;
use crate::nic_process::{NicMode, NicProcess};
use crate::pages::Pages;
use crate::progress::Progress;
use crate::report::{RunReport, Side, Sides};
use crate::state_out::Contents;
use crate::supply::Supply;
use crate::wire::{Sink, Source};
use crate::worker::{Direct, NicAccount, Worker};
use crate::{Program, RunError, map};

/// Bytes of the rings wire-in, wire-out, punt and back. The last two are no larger than the longest
/// message asks for: what is on its way there delays every flow that moves.
pub(crate) const RING_BYTES: [usize; 4] = [1 << 20, 1 << 20, 1 << 19, 1 << 19];
/// Frames moved over a wire ring between two looks at the others.
const BURST: usize = 64;
/// Rounds without work between two looks at the NIC process.
const WATCH_EVERY: u32 = 4096;

/// What a run is asked to do.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) nic: NicMode,
    /// How long the NIC may stand still.
    pub(crate) patience: Duration,
    pub(crate) input: PathBuf,
    pub(crate) output: Option<PathBuf>,
    pub(crate) configurations: Vec<(String, PathBuf)>,
    pub(crate) inside: Inside,
    pub(crate) pages: Pages,
}

/// What came of it: the report, and the final state.
pub(crate) type Finished = (RunReport, Value);

/// Runs the program on a capture.
pub(crate) fn run<A: App>(program: &Program, request: &Request) -> Result<Finished, RunError> {
    let source = Source::open(&request.input, request.inside.clone())?;
    let seed = random_seed();
    let supply = Supply { seed, pages: request.pages };
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    let configured = configure(&mut app, &request.configurations)?;
    let nic = request.nic != NicMode::Off;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, nic).map_err(RunError::Memory)?;
    let sink = Sink::create(request.output.as_deref(), &request.input)?;
    if nic {
        WithNic::start(program, request, seed, half, source, sink)?.run(&configured)
    } else {
        without_nic(request, half, source, sink)
    }
}

fn random_seed() -> u64 {
    // A fresh hasher state is random; std has no other source of randomness.
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u64)
}

/// Puts configurations in force; gives the numbers of the read-mostly states.
pub(crate) fn configure<A: App>(
    app: &mut A,
    configurations: &[(String, PathBuf)],
) -> Result<Vec<usize>, RunError> {
    for (name, path) in configurations {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| RunError::File { path: path.clone(), cause })?;
        app.configure(name, &text).map_err(|error| match error {
            ConfigureError::NoSuchState => RunError::NoSuchState { name: name.clone() },
            ConfigureError::Refused(reason) => {
                RunError::Configuration { path: path.clone(), reason }
            }
        })?;
    }
    let read_mostly = |number: &usize| {
        app.state(*number).kind() == Kind::ReadMostly && A::PLACES[*number].1 != Place::Host
    };
    Ok((0..A::STATES).filter(read_mostly).collect())
}

fn without_nic<A: App>(
    request: &Request,
    mut half: HostHalf<A>,
    mut source: Source,
    mut sink: Sink,
) -> Result<Finished, RunError> {
    let start = Instant::now();
    let mut buffer = vec![0; BURST_BYTES];
    let mut progress = Progress::new();
    loop {
        let mut frames = Frames::new(&mut buffer);
        let mut burst = Burst::new();
        while !burst.is_full() {
            let Some(room) = frames.room() else { break };
            let Some((stamp, length)) = source.next(room)? else { break };
            // There is room: the loop's condition.
            half.receive(&mut burst, stamp, frames.keep(length));
        }
        if burst.is_empty() {
            break;
        }
        let mut failed = None;
        let leave = |stamp: &Stamp, _: Port, frame: &[u8]| {
            if let Err(error) = sink.write(stamp, frame) {
                failed = Some(error);
            }
        };
        half.burst(&mut burst, &mut Direct { leave })?;
        if let Some(error) = failed {
            return Err(error);
        }
        progress.tell(source.packets, sink.packets);
    }
    sink.finish()?;
    let elapsed = start.elapsed();
    half.report.busy_ns = elapsed.as_nanos() as u64;
    let now = half.now();
    Ok(finish(
        half,
        NicAccount::default(),
        Contents::default(),
        now,
        &source,
        &sink,
        request,
        elapsed,
    ))
}

/// A run with a NIC.
struct WithNic<'a, A: App> {
    request: &'a Request,
    region: Region,
    process: NicProcess,
    worker: Worker<A>,
    source: Source,
    sink: Sink,
    wire_in: Producer<SharedMemory>,
    wire_out: Consumer<SharedMemory>,
    buffer: Vec<u8>,
    /// A frame was read from the source and not fed in yet.
    pending: Option<(Stamp, usize)>,
    fed_all: bool,
}

impl<'a, A: App> WithNic<'a, A> {
    fn start(
        program: &Program,
        request: &'a Request,
        seed: u64,
        half: HostHalf<A>,
        source: Source,
        sink: Sink,
    ) -> Result<Self, RunError> {
        let Ok(layout) = RegionLayout::new(RING_BYTES) else {
            unreachable!("powers of two are sizes of rings")
        };
        let system = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
        let (file, words) = map::shared_memory(layout.bytes()).map_err(system)?;
        let identity = Identity { plan: A::PLAN.hash, generation: 1, seed: HashSeed(seed) };
        let region = Region::create(words, &layout, identity).map_err(RunError::Region)?;
        let process =
            NicProcess::start(program, request.nic, request.patience, &file, layout.bytes())?;
        let rings = region.rings();
        Ok(Self {
            request,
            process,
            worker: Worker::new(half, &rings),
            source,
            sink,
            wire_in: Producer::new(rings.wire_in),
            wire_out: Consumer::new(rings.wire_out),
            region,
            buffer: vec![0; MAX_MESSAGE],
            pending: None,
            fed_all: false,
        })
    }

    fn run(mut self, configured: &[usize]) -> Result<Finished, RunError> {
        self.wait_until_ready()?;
        let start = Instant::now();
        self.worker.begin(configured);
        let mut idle = Idle::default();
        let mut rounds = 0_u32;
        let mut progress = Progress::new();
        loop {
            let mut busy = self.feed()?;
            busy |= self.drain()?;
            busy |= self.worker.poll()?;
            if self.worker.account.is_some() {
                break;
            }
            progress.tell(self.source.packets, self.sink.packets);
            region::wake(&self.region.nic_bell(SharedFutex));
            rounds = if busy { 0 } else { rounds + 1 };
            let slept = if busy {
                idle.reset();
                false
            } else {
                self.rest(&mut idle)?
            };
            if slept || rounds % WATCH_EVERY == WATCH_EVERY - 1 {
                self.watch()?;
            }
        }
        drop(progress);
        // The NIC's account is the last thing it sends, so all frames are on the ring by now.
        while self.drain()? {}
        self.sink.finish()?;
        let elapsed = start.elapsed();
        let now = self.worker.now();
        self.worker.half.report.ring_records = self.worker.ring_records();
        let Worker { half, account, contents, .. } = self.worker;
        let status = self.process.wait()?;
        let account = account.unwrap_or_default();
        if !status.success() {
            return Err(RunError::NicDied { status: status.to_string(), packets: 0 });
        }
        Ok(finish(half, account, contents, now, &self.source, &self.sink, self.request, elapsed))
    }

    /// Waits a little, in the end asleep when only the NIC can give this side something to do; whether
    /// a sleep lasted to its end.
    fn rest(&mut self, idle: &mut Idle) -> Result<bool, RunError> {
        if !self.fed_all || self.worker.waits_for_room() {
            idle.pause(std::thread::yield_now);
            return Ok(false);
        }
        let (worker, wire_out) = (&mut self.worker, &mut self.wire_out);
        idle.wait(&self.region.host_bell(SharedFutex), std::thread::yield_now, || {
            Ok(worker.has_nothing()? && wire_out.is_empty_indeed()?)
        })
    }

    fn wait_until_ready(&mut self) -> Result<(), RunError> {
        while self.region.nic_status() != Some(NicStatus::Ready) {
            self.watch()?;
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// An error when the NIC process is gone or stands still.
    fn watch(&mut self) -> Result<(), RunError> {
        let Some(status) = self.process.watch(&self.region)? else { return Ok(()) };
        // It may have ended in good order, its last messages still on the rings.
        if status.success() && self.region.nic_status() == Some(NicStatus::Done) {
            return Ok(());
        }
        Err(RunError::NicDied { status: describe(status), packets: self.on_their_way() })
    }

    fn on_their_way(&mut self) -> u64 {
        let done = self.worker.half.engine().outcomes.total();
        self.source.packets.saturating_sub(done + self.sink.packets)
    }

    /// Feeds frames in at the NIC's wire; whether there was room.
    fn feed(&mut self) -> Result<bool, RunError> {
        let mut fed = false;
        for _ in 0..BURST {
            if self.fed_all {
                break;
            }
            if self.pending.is_none() {
                self.pending = self.source.next(&mut self.buffer)?;
            }
            let message = match self.pending {
                Some((stamp, length)) => Message::Frame(stamp, &self.buffer[..length]),
                None => Message::WireEnd,
            };
            match message.encode(|kind, parts| self.wire_in.push(kind, parts)) {
                Ok(()) => {
                    self.fed_all = self.pending.is_none();
                    self.pending = None;
                    fed = true;
                }
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => return Err(RunError::RingToNic),
            }
        }
        self.wire_in.publish();
        Ok(fed)
    }

    /// Writes what left at the NIC's wire; whether anything did.
    fn drain(&mut self) -> Result<bool, RunError> {
        let mut any = false;
        // The feeding side keeps a frame in the other buffer.
        #[expect(clippy::large_stack_arrays, reason = "the largest message, one at a time")]
        let mut buffer = [0_u8; MAX_MESSAGE];
        for _ in 0..BURST {
            let Some(popped) = self.wire_out.pop(&mut buffer)? else { break };
            let bytes = buffer.get_mut(..popped.len).unwrap_or_default();
            let frame = Message::decode_frame(popped.kind, bytes);
            let undecodable = cora_core::migration::ProtocolError::Undecodable(popped.kind);
            let (stamp, frame) = frame.ok_or(undecodable)?;
            self.sink.write(&stamp, frame)?;
            any = true;
        }
        self.wire_out.release();
        Ok(any)
    }
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}; its own words stand above"),
        None => status.to_string(),
    }
}

#[expect(clippy::too_many_arguments, reason = "everything that a run leaves behind, once")]
fn finish<A: App>(
    mut half: HostHalf<A>,
    nic: NicAccount,
    mut contents: Contents,
    now: u64,
    source: &Source,
    sink: &Sink,
    request: &Request,
    elapsed: Duration,
) -> Finished {
    let mut outcomes: BTreeMap<String, u64> = nic.outcomes;
    half.engine()
        .outcomes
        .each(&mut |name, count| *outcomes.entry(name.into()).or_default() += count);
    if source.too_long > 0 {
        outcomes.insert("too-long".into(), source.too_long);
    }
    let host_flows = u64::from(half.flows());
    let mut host = Side::from(half.report);
    let app = half.engine().app();
    contents.add_own(app, now);
    let entries = contents.entries(app);
    host.flows = if request.nic == NicMode::Off { entries } else { host_flows };
    let report = RunReport {
        schema: "cora-run/1",
        program: A::NAME,
        plan: format!("{:016x}", A::PLAN.hash),
        plan_name: A::PLAN.name,
        nic: match request.nic {
            NicMode::Off => "off",
            NicMode::Emulated => "emulated",
            NicMode::Native => "native",
        },
        pages: request.pages.in_force().word(),
        packets_in: source.packets,
        packets_out: sink.packets,
        outcomes,
        migrations: nic.report.offloads + nic.report.punts,
        sides: Sides { nic: Side::from(nic.report), host },
        entries,
        elapsed_ns: elapsed.as_nanos() as u64,
    };
    (report, contents.into_json(app))
}
