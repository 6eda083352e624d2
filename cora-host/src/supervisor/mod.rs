//! A live run in three processes, of which the two halves may die at any time.
//!
//! ```text
//!          supervisor: ports, regions, standby memory            outlives both
//!            │ wire rings                │ starts, watches, starts again
//!            ▼                           ▼
//!          NIC half  ── punt, back ──  host half
//! ```
//!
//! When a half dies, the supervisor makes a region of the next generation and announces it
//! ([`cora_runtime::link::region::generation`]). The half that lives finishes what the dead one had
//! published, and goes on in the new region; the dead one is started again there. A new host first
//! reads what the dead one left unread. Frames that a dead NIC had not taken are fed in again.
//! While the NIC is away and its ring full, frames are dropped as `nic-away`; while the host is
//! away and its ring full, the NIC drops what is for it as `host-away`, and goes on with the flows
//! that it owns.
//!
//! The supervisor trusts the host half, and neither trusts the NIC half. Supervisor and host tell
//! each other what they must know by a page that the NIC half can't reach. Whoever finds that the
//! NIC broke the protocol names it, reads nothing more of it, and goes on with the next one.
//!
//! | module | concept |
//! | --- | --- |
//! | `prepared` | what a run is made of before anything is opened or started |
//! | `ports` | the ports of a live wire |
//! | `live` | the wire between two ports |
//! | `halves` | how halves are started, and how the next region follows |
//! | `process` | one half's process |
//! | `judge` | which half is ended, because it stands still or broke the protocol |
//! | `host_page` | what supervisor and host tell each other |
//! | `account` | which outcome each packet has, deaths included |
//! | `host_half` | the host half as a process of its own |
//! | `configuration` | versions of read-mostly states, and how another one takes force |
//! | `control` | a socket for questions and orders |
//! | `orders` | how an order is carried out |
//! | `beside` | commands that run beside the wire, within limits |
//! | `catch_up` | records that a dead host left unread |
//! | `carried` | that memory's layout, and copies that another build left |
//! | `standby` | copies of durable entries, in memory that outlives the host |
//! | `singletons` | copies of durable singletons in there, block by block |
//! | `store` | stores to that memory |
//! | `layout` | how durable entries are encoded, so that another build can carry them over |
//! | `upgrade` | another build takes the running one's place |
//! | `stop` | when the run ends |
//! | `report` | the report at the end |

mod account;
mod beside;
mod carried;
mod catch_up;
mod configuration;
mod control;
mod halves;
mod host_half;
mod host_page;
mod judge;
mod layout;
mod live;
mod orders;
mod ports;
mod prepared;
mod process;
mod report;
mod singletons;
mod standby;
mod stop;
mod store;
mod upgrade;

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_runtime::link::region::{HashSeed, Identity, Region, RegionLayout, generation, wake};
use serde_json::Value;

use self::account::{Known, Outcomes};
use self::configuration::Configuration;
pub(crate) use self::configuration::{CHANGE_COMMAND, make_change};
use self::control::Control;
pub(crate) use self::host_half::{HOST_COMMAND, HostArguments, entry_layout, host_half};
use self::host_page::HostPage;
use self::layout::Layout;
use self::live::LiveWire;
use self::orders::Checks;
pub(crate) use self::ports::Ports;
use self::prepared::Prepared;
use self::process::{Half, NIC};
pub(crate) use self::report::LiveReport;
use self::stop::Stop;
use self::upgrade::WayBack;
pub(crate) use self::upgrade::{LAYOUT_COMMAND, Legacy, REHEARSE};
use crate::clock::Clock;
use crate::options::Run;
use crate::pair::layout;
use crate::progress::Telling;
use crate::run::random_seed;
use crate::wire::Cable as _;
use crate::wire_end::WireEnd;
use crate::{Program, RunError, SharedFutex, map};

/// Between two looks at the processes.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Rounds without work before the supervisor waits for frames.
const ROUNDS: u32 = 50;
/// How long it waits then: nobody wakes it for what leaves.
const WAIT: Duration = Duration::from_micros(200);

/// The request for a live run.
#[derive(Clone, Debug)]
pub(crate) struct LiveRequest {
    pub(crate) run: Run,
    pub(crate) ports: Ports,
    /// What the program before left behind.
    pub(crate) legacy: Option<Legacy>,
    /// It is to show that it can run, and no more.
    pub(crate) rehearses: bool,
}

impl LiveRequest {
    /// Whether pages are made before the first packet. Behind another build packets wait, and
    /// beside another one they would be made twice.
    const fn is_resident(&self) -> bool {
        self.legacy.is_none() && !self.rehearses
    }
}

/// Runs the program between two ports until it is told to end.
pub(crate) fn supervise<A: App>(
    program: &Program,
    request: &LiveRequest,
) -> Result<LiveReport, RunError> {
    // First of all: no other thread takes signals yet.
    let stop = Stop::new(request.run.options.seconds.map(Duration::from_secs));
    let mut way_back = request.legacy.as_ref().and_then(WayBack::of);
    let ended = attempt::<A>(program, request, stop, &mut way_back);
    match (ended, way_back) {
        (Err(why), Some(way_back)) => Err(way_back.take(&why)),
        (ended, _) => ended,
    }
}

/// The way back is gone once both halves worked.
fn attempt<A: App>(
    program: &Program,
    request: &LiveRequest,
    stop: Stop,
    way_back: &mut Option<WayBack>,
) -> Result<LiveReport, RunError> {
    let own = upgrade::own_file()?;
    let layout = layout::<A>();
    let prepared = Prepared::of::<A>(request, 2 * layout.bytes())?;
    let files = request.legacy.map_or([None; 2], |legacy| legacy.ports);
    let clock = request.legacy.map_or_else(Clock::begin, |legacy| Clock::since(legacy.epoch));
    let wire = LiveWire::open(&request.ports, files, clock)?;
    let mut supervisor = Supervisor::start(A::PLAN.hash, program, request, prepared, layout, wire)?;
    if supervisor.run::<A>(stop, &own, way_back)? {
        let legacy = supervisor.legacy();
        let ports = supervisor.wire.cable.upgrades();
        return Err(upgrade::become_program(&own, ports, legacy));
    }
    supervisor.end::<A>()
}

/// A file of shared memory, for those halves that are given it.
struct SharedFile {
    file: OwnedFd,
    bytes: usize,
    words: &'static [AtomicU64],
}

impl SharedFile {
    /// Nothing is in it yet.
    fn create(bytes: usize) -> Result<Self, RunError> {
        let (file, words) = map::shared_memory(bytes)
            .map_err(|errno| RunError::System { what: "shared memory", cause: errno.into() })?;
        Ok(Self { file, bytes, words })
    }

    /// As the halves are told: number of the file, bytes.
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
    /// What supervisor and host tell each other.
    page: HostPage,
    page_file: SharedFile,
    /// The copies of the program before and their bytes, until they are carried over.
    before: Option<(OwnedFd, usize)>,
    entries: Layout,
    /// States whose entries another program can't have.
    forgotten: Vec<&'static str>,
    /// States that die with the host, and flows with them.
    rests_on: &'static [&'static str],
    configuration: Configuration,
    control: Option<Control>,
    checks: Checks,
    region: Region,
    wire: WireEnd<LiveWire>,
    /// The NIC lives and has not left the region before yet: the wire is still plugged in there.
    leaving: bool,
    nic: Half,
    host: Half,
    /// The generation that the current NIC began with.
    nic_since: u64,
    /// The NIC has come to the current region.
    nic_arrived: bool,
    /// Since when it lives and is not there.
    nic_astray: Option<Instant>,
    /// Its death was noticed.
    nic_dead: bool,
    /// What became of packets, as far as halves that ended can't tell.
    outcomes: Outcomes,
    /// When the wire was closed, and how often the NIC has died since.
    stopped_since: Option<Instant>,
    deaths_at_end: u32,
    /// The host ends by itself: the NIC does not.
    ends_alone: bool,
    /// Where the host tells its account.
    account: Option<std::process::ChildStdout>,
    /// When a half was found dead; none is away now if there is none.
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

    /// Moves frames and watches over both halves until both have ended in good order; whether the
    /// program in this file is to go on then.
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
                    self.request.legacy.iter().for_each(upgrade::let_go);
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

    /// Tells somebody who watches how far the run is.
    fn tell(&mut self) {
        let ((came, left), dropped) = (self.wire.cable.packets(), self.nic_away);
        self.telling.tell(came, left, dropped, self.nic_works() && self.host_works());
    }

    /// Whether there were any.
    fn move_frames(&mut self) -> Result<bool, RunError> {
        let mut busy = self.of_nic(WireEnd::drain)?;
        // A NIC that leaves its region takes nothing there any more.
        if !self.leaving {
            busy |= self.of_nic(WireEnd::feed)?;
            wake(&self.region.nic_bell(SharedFutex));
        }
        if (self.wire.is_full() || self.wire.is_distrusted()) && !self.nic_works() {
            self.nic_away += self.wire.shed()?;
        }
        Ok(busy)
    }

    /// What is left to the program that goes on.
    fn legacy(&self) -> Legacy {
        // Of all files of memory, this one stays open. If it does not, the new host says so.
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

/// The copies that the program before left, and their bytes.
fn left_by(legacy: Legacy) -> Result<(OwnedFd, usize), RunError> {
    let (file, bytes) = legacy.standby;
    let left = map::left_file(file);
    let failed = |errno| RunError::System { what: "copies of the program before", cause: errno };
    Ok((left.map_err(|errno| failed(errno.into()))?, bytes))
}
