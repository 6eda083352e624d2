//! A live run in three processes; either of the two halves may die at any time.
//!
//! ```text
//!          supervisor: ports, regions, standby memory            outlives both
//!            │ wire rings                │ starts, watches, starts again
//!            ▼                           ▼
//!          NIC half  ── punt, back ──  host half
//! ```
//!
//! When a half dies, the supervisor creates a region of the next generation and announces it
//! ([`cora_runtime::link::region::generation`]). The living half finishes the published work of the
//! dead one, and continues in the new region; the dead one is restarted there. A new host first
//! reads the records that the dead one left unread. Frames that a dead NIC had not taken are fed in
//! again. While the NIC is away and its ring full, frames are dropped as `nic-away`. While the host
//! is away and its ring full, the NIC drops the host's packets as `host-away`, and continues with
//! the flows that it owns.
//!
//! The supervisor trusts the host half, and neither trusts the NIC half. Supervisor and host
//! communicate through a page that is inaccessible to the NIC half. The side that detects a
//! protocol violation by the NIC reports it, reads nothing more from it, and continues with the
//! next one.
//!
//! | module | concept |
//! | --- | --- |
//! | `prepared` | preparation of a run, before anything is opened or started |
//! | `halves` | the start of halves, and the transition to the next region |
//! | `process` | one half's process |
//! | `judge` | the end of halves that hang or broke the protocol |
//! | `host_page` | the page shared by supervisor and host |
//! | `account` | the outcome of each packet, even if halves die |
//! | `host_process` | the host half as a separate process |
//! | `commands` | the execution of orders |
//! | `catch_up` | records that a dead host left unread |

mod account;
mod catch_up;
mod commands;
mod halves;
mod host_page;
mod host_process;
mod judge;
mod prepared;
mod process;

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_runtime::link::region::{HashSeed, Identity, Region, RegionLayout, generation, wake};
use serde_json::Value;

pub(crate) use crate::control::configuration::CHANGE_COMMAND;
use crate::control::configuration::Configuration;
pub(crate) use crate::control::configuration::make_change;
use crate::control::socket::Control;
use crate::control::stop::Stop;
pub(crate) use crate::control::upgrade::LAYOUT_COMMAND;
pub(crate) use crate::control::upgrade::Legacy;
pub(crate) use crate::control::upgrade::REHEARSE;
use crate::control::upgrade::WayBack;
use crate::durability::layout::Layout;
use crate::ingress::capture::Cable as _;
use crate::ingress::clock::Clock;
use crate::ingress::feed::WireEnd;
pub(crate) use crate::ingress::port_names::Ports;
use crate::ingress::ports::LiveWire;
use crate::memory::map;
use crate::node::capture_run::random_seed;
use crate::node::pair::layout;
pub(crate) use crate::observe::live_report::LiveReport;
use crate::observe::progress::Telling;
use crate::options::Run;
use crate::supervisor::account::{Known, Outcomes};
use crate::supervisor::commands::Checks;
use crate::supervisor::host_page::HostPage;
pub(crate) use crate::supervisor::host_process::HOST_COMMAND;
pub(crate) use crate::supervisor::host_process::HostArguments;
pub(crate) use crate::supervisor::host_process::entry_layout;
pub(crate) use crate::supervisor::host_process::host_half;
use crate::supervisor::prepared::Prepared;
use crate::supervisor::process::{Half, NIC};
use crate::{Program, RunError, SharedFutex};

/// Interval between checks of the processes.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Idle rounds before the supervisor waits for frames.
const ROUNDS: u32 = 50;
/// Duration of that wait: nobody wakes it for output.
const WAIT: Duration = Duration::from_micros(200);

/// The request for a live run.
#[derive(Clone, Debug)]
pub(crate) struct LiveRequest {
    pub(crate) run: Run,
    pub(crate) ports: Ports,
    /// The legacy of the previous program.
    pub(crate) legacy: Option<Legacy>,
    /// Only a rehearsal, to show that it can run.
    pub(crate) rehearses: bool,
}

impl LiveRequest {
    /// Whether pages are allocated before the first packet. After another build packets wait, and
    /// beside another one they would be allocated twice.
    const fn is_resident(&self) -> bool {
        self.legacy.is_none() && !self.rehearses
    }
}

/// Runs the program between two ports until it is told to end.
pub(crate) fn supervise<A: App>(
    program: &Program,
    request: &LiveRequest,
) -> Result<LiveReport, RunError> {
    // This comes first: no other thread takes signals yet.
    let stop = Stop::new(request.run.options.seconds.map(Duration::from_secs));
    let mut way_back = request.legacy.as_ref().and_then(WayBack::of);
    let ended = attempt::<A>(program, request, stop, &mut way_back);
    match (ended, way_back) {
        (Err(why), Some(way_back)) => Err(way_back.take(&why)),
        (ended, _) => ended,
    }
}

/// The way back is dropped once both halves worked.
fn attempt<A: App>(
    program: &Program,
    request: &LiveRequest,
    stop: Stop,
    way_back: &mut Option<WayBack>,
) -> Result<LiveReport, RunError> {
    let own = crate::control::upgrade::own_file()?;
    let layout = layout::<A>();
    let prepared = Prepared::of::<A>(request, 2 * layout.bytes())?;
    let files = request.legacy.map_or([None; 2], |legacy| legacy.ports);
    let clock = request.legacy.map_or_else(Clock::begin, |legacy| Clock::since(legacy.epoch));
    let wire = LiveWire::open(&request.ports, files, clock)?;
    let mut supervisor = Supervisor::start(A::PLAN.hash, program, request, prepared, layout, wire)?;
    if supervisor.run::<A>(stop, &own, way_back)? {
        let legacy = supervisor.legacy();
        let ports = supervisor.wire.cable.upgrades();
        return Err(crate::control::upgrade::become_program(&own, ports, legacy));
    }
    supervisor.end::<A>()
}

/// A file of shared memory, passed only to selected halves.
struct SharedFile {
    file: OwnedFd,
    bytes: usize,
    words: &'static [AtomicU64],
}

impl SharedFile {
    /// Creates an empty file.
    fn create(bytes: usize) -> Result<Self, RunError> {
        let (file, words) = map::shared_memory(bytes)
            .map_err(|errno| RunError::System { what: "shared memory", cause: errno.into() })?;
        Ok(Self { file, bytes, words })
    }

    /// The arguments for the halves: number of the file, bytes.
    fn arguments(&self) -> [String; 2] {
        [self.file.as_raw_fd().to_string(), self.bytes.to_string()]
    }
}

struct Supervisor<'a> {
    program: &'a Program,
    request: &'a LiveRequest,
    layout: RegionLayout,
    regions: SharedFile,
    standby: SharedFile,
    /// The page shared by supervisor and host.
    page: HostPage,
    page_file: SharedFile,
    /// The replicas of the previous program and their length in bytes, until they are carried over.
    before: Option<(OwnedFd, usize)>,
    entries: Layout,
    /// States with entries that are lost in an upgrade.
    forgotten: Vec<&'static str>,
    /// States that die with the host, and flows with them.
    rests_on: &'static [&'static str],
    configuration: Configuration,
    control: Option<Control>,
    checks: Checks,
    region: Region,
    wire: WireEnd<LiveWire>,
    /// The NIC lives and has not left the previous region yet: the wire is still connected there.
    leaving: bool,
    nic: Half,
    host: Half,
    /// The generation in which the current NIC started.
    nic_since: u64,
    /// The NIC has reached the current region.
    nic_arrived: bool,
    /// Since when it lives without being there.
    nic_astray: Option<Instant>,
    /// Its death was noticed.
    nic_dead: bool,
    /// Outcomes that ended halves can't report.
    outcomes: Outcomes,
    /// When the wire was closed, and how often the NIC has died since.
    stopped_since: Option<Instant>,
    deaths_at_end: u32,
    /// The host ends by itself: the NIC does not end.
    ends_alone: bool,
    /// The stream of the host's account.
    account: Option<std::process::ChildStdout>,
    /// When a half was found dead; `None` while none is away.
    away_since: Option<Instant>,
    pauses_us: Vec<u64>,
    nic_away: u64,
    telling: Telling,
}

impl<'a> Supervisor<'a> {
    fn start(
        plan: u64,
        program: &'a Program,
        request: &'a LiveRequest,
        prepared: Prepared,
        layout: RegionLayout,
        wire: LiveWire,
    ) -> Result<Self, RunError> {
        let options = &request.run.options;
        let Prepared { entries, standby, forgotten, rests_on, configuration } = prepared;
        let regions = SharedFile::create(2 * layout.bytes())?;
        let standby = SharedFile::create(standby)?;
        let seed = HashSeed(random_seed());
        let generation = request.legacy.map_or(0, |legacy| legacy.generation) + 1;
        let resident = request.is_resident();
        let identity = Identity { plan, generation, seed, resident, afresh: false };
        let place = generation::place(regions.words, generation);
        let region = Region::create(place, &layout, identity).map_err(RunError::Region)?;
        generation::announce(regions.words, generation);
        let page_file = SharedFile::create(host_page::BYTES)?;
        let page = HostPage::new(page_file.words);
        page.begin(identity);
        let mut supervisor = Self {
            control: options.control.as_deref().map(Control::listen).transpose()?,
            checks: Checks::default(),
            configuration,
            forgotten,
            program,
            request,
            layout,
            standby,
            page,
            page_file,
            before: request.legacy.map(left_by).transpose()?,
            entries,
            rests_on,
            wire: WireEnd::new(wire, &region.rings()),
            region,
            regions,
            leaving: false,
            nic: Half::new(NIC, options),
            host: Half::new("host", options),
            nic_since: generation,
            nic_arrived: false,
            nic_astray: None,
            nic_dead: false,
            outcomes: Outcomes::default(),
            stopped_since: None,
            deaths_at_end: 0,
            ends_alone: false,
            account: None,
            away_since: None,
            pauses_us: Vec::new(),
            nic_away: 0,
            telling: Telling::begin(),
        };
        supervisor.start_nic()?;
        supervisor.start_host(false)?;
        Ok(supervisor)
    }

    /// Moves frames and watches both halves until both have ended in good order. Returns whether to
    /// execute the program in this file then.
    fn run<A: App>(
        &mut self,
        mut stop: Stop,
        own: &Path,
        way_back: &mut Option<WayBack>,
    ) -> Result<bool, RunError> {
        let mut next_look = Instant::now();
        let mut replaces = false;
        let mut quiet = 0;
        loop {
            let busy = self.move_frames()?;
            quiet = if busy { 0 } else { quiet + 1 };
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK_EVERY;
                stop.look(replaces);
                replaces |= self.obey::<A>(&mut stop, own);
                self.configure(&mut stop);
                self.wire.cable.look()?;
                self.wire.cable.stopped |= replaces || stop.is_now();
                self.judge()?;
                self.look()?;
                self.tell();
                if self.before.is_some() && self.nic_works() && self.host_works() {
                    *way_back = None;
                    self.before = None;
                    self.request.legacy.iter().for_each(crate::control::upgrade::let_go);
                }
                if self.wire.cable.stopped && !self.nic.is_alive() && !self.host.is_alive() {
                    return Ok(replaces && !stop.is_now());
                }
            }
            if quiet >= ROUNDS {
                self.wire.cable.wait(WAIT);
            } else if !busy {
                std::thread::yield_now();
            }
        }
    }

    /// Reports the progress to a user at a terminal.
    fn tell(&mut self) {
        let ((came, left), dropped) = (self.wire.cable.packets(), self.nic_away);
        self.telling.tell(came, left, dropped, self.nic_works() && self.host_works());
    }

    /// Returns whether there were any.
    fn move_frames(&mut self) -> Result<bool, RunError> {
        let mut busy = self.of_nic(WireEnd::drain)?;
        // A NIC that is leaving its region takes nothing there any more.
        if !self.leaving {
            busy |= self.of_nic(WireEnd::feed)?;
            wake(&self.region.nic_bell(SharedFutex));
        }
        if (self.wire.is_full() || self.wire.is_distrusted()) && !self.nic_works() {
            self.nic_away += self.wire.shed()?;
        }
        Ok(busy)
    }

    /// The legacy for the successor program.
    fn legacy(&self) -> Legacy {
        // The only shared memory file that stays open. If that fails, the new host reports it.
        let _kept = rustix::io::fcntl_setfd(&self.standby.file, rustix::io::FdFlags::empty());
        Legacy {
            ports: [None; 2],
            standby: (self.standby.file.as_raw_fd(), self.standby.bytes),
            generation: self.region.identity().generation,
            upgrades: self.upgrades() + 1,
            version: self.configuration.latest(),
            epoch: self.wire.cable.clock().epoch(),
            image: None,
        }
    }

    fn upgrades(&self) -> u64 {
        self.request.legacy.map_or(0, |legacy| legacy.upgrades)
    }

    fn end<A: App>(mut self) -> Result<LiveReport, RunError> {
        while self.of_nic(WireEnd::drain)? {}
        let told: Option<Value> = match self.account.take() {
            Some(told) if self.host.has_finished() => serde_json::from_reader(told).ok(),
            _ => None,
        };
        let (came, left) = self.wire.cable.packets();
        let mut dropped = self.wire.cable.dropped();
        dropped.insert("nic-away", self.nic_away);
        let known = Known {
            fed: came - self.nic_away - self.wire.cable.too_long,
            tally: self.wire.tally,
            unread: self.page.lost(),
            ..account::read(told.as_ref(), || self.page.renew())
        };
        let (outcomes, fault) = std::mem::take(&mut self.outcomes).whole(known);
        let halves = told.map(|told| account::with(told, &outcomes));
        let mut faults: Vec<String> = fault.into_iter().collect();
        if halves.is_none() {
            faults.push("the host half did not come to its end: its account is missing".into());
        }
        Ok(LiveReport {
            tables: self.tables::<A>(),
            upgrades: self.upgrades(),
            version: self.configuration.number(),
            ports: ["inside", "outside"].into_iter().zip(self.wire.cable.report()).collect(),
            schema: "cora-live/1",
            program: A::NAME,
            plan: format!("{:016x}", A::PLAN.hash),
            packets_in: came,
            packets_out: left,
            outcomes: account::at_wire(outcomes, self.nic_away, self.wire.cable.too_long),
            dropped: dropped.into_iter().filter(|(_, count)| *count > 0).collect(),
            fed_again: self.wire.fed_again,
            restarts: [&self.nic, &self.host].map(|half| (half.name, half.restarts)).into(),
            stood_still: [&self.nic, &self.host].map(|half| (half.name, half.stood_still)).into(),
            broke_protocol: self.nic.lied,
            damaged_copies: self.page.damaged(),
            pauses_us: self.pauses_us,
            generation: self.region.identity().generation,
            halves,
            faults,
        })
    }
}

/// The replicas of the previous program, and their length in bytes.
fn left_by(legacy: Legacy) -> Result<(OwnedFd, usize), RunError> {
    let (file, bytes) = legacy.standby;
    let left = map::left_file(file);
    let failed = |errno| RunError::System { what: "copies of the program before", cause: errno };
    Ok((left.map_err(|errno| failed(errno.into()))?, bytes))
}
