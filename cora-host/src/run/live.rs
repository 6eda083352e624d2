//! A run between ports, until it is told to end.

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cora_core::app::App;

use crate::control::endpoint::Endpoint;
use crate::control::socket::{Asked, Control};
use crate::control::stop::Stop;
use crate::control::upgrade::{self, Legacy, WayBack};
use crate::ingress::capture::Cable as _;
use crate::ingress::clock::Clock;
use crate::ingress::port_names::Ports;
use crate::ingress::ports::LiveWire;
use crate::inspect::inspector::Inspector;
use crate::memory::map;
use crate::observe::progress::Telling;
use crate::observe::report::{PortsReport, RunReport};
use crate::process::log::{self, Part};
use crate::process::notify::Manager;
use crate::run::Request;
use crate::run::commands::{Checks, Scrape};
use crate::run::finish::{Over, WireReport, some};
use crate::run::prepared::{Particulars, Prepared, check};
use crate::supervisor::{Before, Common, SharedFile, Supervisor};
use crate::{Program, RunError};

/// The supervisor of a live run.
pub(super) type Live<'a> = Supervisor<'a, LiveWire>;

/// What an operator can ask of a live run, and how it ends.
pub(super) struct Operator<'a> {
    pub(super) common: &'a Common,
    pub(super) legacy: Option<&'a Legacy>,
    /// This program's file.
    pub(super) own: PathBuf,
    pub(super) stop: Stop,
    pub(super) control: Option<Control>,
    pub(super) inspector: Option<Inspector>,
    /// The request for the tap under way.
    pub(super) tap: Option<Asked>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) scrape: Scrape,
    pub(super) begun: Instant,
    pub(super) checks: Checks,
    /// States with entries that are lost in an upgrade.
    pub(super) forgotten: Vec<&'static str>,
    /// The program is replaced by another build.
    pub(super) replaces: bool,
    way_back: &'a mut Option<WayBack>,
    telling: Telling,
    /// All halves have worked, and the log has it.
    has_worked: bool,
    pub(super) manager: Manager,
}

/// Runs the program between ports.
pub(super) fn run<A: App>(
    program: &Program,
    request: &Request,
    ports: &Ports,
) -> Result<RunReport, RunError> {
    // This comes first: no other thread takes signals yet.
    let stop = Stop::new(request.run.options.seconds.map(Duration::from_secs));
    let mut way_back = request.legacy.as_ref().and_then(WayBack::of);
    let ended = attempt::<A>(program, request, ports, stop, &mut way_back);
    match (ended, way_back) {
        (Err(why), Some(way_back)) => Err(way_back.take(&why)),
        (ended, _) => ended,
    }
}

/// The way back is dropped once all halves worked.
fn attempt<A: App>(
    program: &Program,
    request: &Request,
    ports: &Ports,
    stop: Stop,
    way_back: &mut Option<WayBack>,
) -> Result<RunReport, RunError> {
    let Request { run, legacy, rehearses } = request;
    let legacy = legacy.as_ref();
    check::<A>(&run.options, legacy.is_some())?;
    if run.options.share_process && program.native_halves.is_none() {
        return Err(RunError::SharesNoProcess);
    }
    let own = upgrade::own_file()?;
    if legacy.is_some() && !rehearses {
        upgrade::follow_events();
    }
    let clock = legacy.map_or_else(Clock::begin, |legacy| Clock::since(legacy.epoch));
    let particulars = Particulars {
        // Flows of the previous program are steered to the same shards.
        seed: legacy.map_or_else(random_seed, |legacy| legacy.seed),
        version: legacy.map_or(0, |legacy| legacy.version) + 1,
        epoch: Some(clock.epoch()),
        // After another build packets wait, and beside another one memory would be allocated twice.
        resident: legacy.is_none() && !rehearses,
        follows: legacy.is_some(),
    };
    let Prepared { common, forgotten, configuration, dealer, .. } =
        Prepared::of::<A>(program, run, particulars)?;
    let files = legacy.map_or(&[][..], |legacy| &legacy.ports);
    let wire = LiveWire::open(ports, files, clock)?;
    let control = run.options.control.as_deref().map(Control::listen).transpose()?;
    let endpoint = run.options.metrics.as_ref().map(Endpoint::listen).transpose()?;
    let generation = legacy.map_or(0, |legacy| legacy.generation) + 1;
    let before = legacy.map(left_by).transpose()?.unwrap_or_default();
    let mut supervisor =
        Supervisor::start(&common, wire, configuration, dealer, (generation, before))?;
    let mut operator = Operator {
        common: &common,
        legacy,
        own,
        stop,
        control,
        inspector: None,
        tap: None,
        endpoint,
        scrape: Scrape::default(),
        begun: Instant::now(),
        checks: Checks::default(),
        forgotten,
        replaces: false,
        way_back,
        telling: Telling::begin(),
        // What a rehearsal does is no event of a run.
        has_worked: *rehearses,
        // A rehearsal is a process of another run's service.
        manager: if *rehearses { Manager::default() } else { Manager::of_environment() },
    };
    let start = Instant::now();
    supervisor.run::<A>(|supervisor| {
        operator.look::<A>(supervisor);
        Ok(())
    })?;
    if operator.replaces && !operator.stop.is_now() {
        let legacy = operator.legacy(&supervisor);
        supervisor.leave_cards();
        let ports = supervisor.cable.upgrades();
        return Err(upgrade::become_program(&operator.own, ports, legacy));
    }
    let upgrades = operator.upgrades();
    Ok(report::<A>(supervisor, &common, upgrades, start.elapsed()))
}

fn report<A: App>(
    supervisor: Live<'_>,
    common: &Common,
    upgrades: u64,
    elapsed: Duration,
) -> RunReport {
    let (lives, nic_away) = (supervisor.lives(upgrades), supervisor.nic_away());
    let missing = supervisor.misses_nic().then(|| match &common.run.options.card {
        Some(card) => format!("the card `{card}` never came: no NIC half worked in this run"),
        None => "the NIC half never came: none worked in this run".to_owned(),
    });
    let version = supervisor.configuration.version().clone();
    let (shards, deal, cable) = supervisor.end(common.deal);
    let wire = WireReport {
        packets: cable.packets(),
        outcomes: some([("nic-away", nic_away), ("too-long", cable.too_long)]),
        ports: Some(PortsReport { ports: cable.report(), dropped: cable.dropped() }),
        passes_leave: cable.passes_on(),
        ..WireReport::default()
    };
    let over = Over {
        options: &common.run.options,
        seed: common.seed,
        version: &version,
        wire,
        shards,
        deal,
        lives: Some(lives),
        elapsed,
    };
    let mut report = over.report::<A>();
    report.faults.extend(missing);
    report
}

impl Operator<'_> {
    /// Executes orders, answers requests, and tells how far the run is.
    fn look<A: App>(&mut self, live: &mut Live<'_>) {
        self.stop.look(self.replaces);
        if self.obey::<A>(live) && !self.replaces {
            self.replaces = true;
            let own = self.own.display();
            log::info(Part::Run, format_args!("{own} takes over: all halves end first"));
        }
        self.scrape::<A>(live);
        self.configure(live);
        live.cable.stopped |= self.replaces && live.gather() || self.stop.is_now();
        self.tell_manager(live);
        let works = live.all_work();
        let ((came, left), dropped) = (live.cable.packets(), live.nic_away());
        self.telling.tell(came, left, dropped, works);
        if works && !self.has_worked {
            self.has_worked = true;
            self.tell_beginning::<A>(live);
        }
        if works && live.shards.iter().any(|shard| shard.before.is_some()) {
            *self.way_back = None;
            live.shards.iter_mut().for_each(|shard| shard.before = None);
            self.legacy.into_iter().for_each(upgrade::let_go);
        }
    }

    /// Logs that the run has begun, or goes on with another program.
    fn tell_beginning<A: App>(&self, live: &Live<'_>) {
        let (name, plan) = (A::NAME, A::PLAN.name);
        let Some(legacy) = self.legacy else {
            let version = live.configuration.number();
            let with = format_args!("with version {version} of its configuration");
            return log::note(Part::Run, format_args!("`{name}` works as {plan}, {with}"));
        };
        let carried: u64 = live.shards.iter().map(|shard| shard.page.carried()).sum();
        let upgrades = legacy.upgrades;
        log::info(
            Part::Run,
            format_args!(
                "`{name}` has taken over as {plan}: {carried} entries are carried over; upgrades \
                 of this run so far: {upgrades}"
            ),
        );
    }

    fn tell_manager(&mut self, live: &Live<'_>) {
        if self.stop.is_now() || live.cable.has_ended() && !self.replaces {
            self.manager.stops();
        } else if self.replaces {
            self.manager.leaves();
        }
        self.manager.look(live.standing(), live.configuration.number());
    }

    /// The legacy for the successor program: the copies of host halves.
    fn legacy(&self, live: &Live<'_>) -> Legacy {
        let kept = live.replicas().map(|SharedFile { file, bytes, .. }| {
            // The only shared memory file that stays open. If that fails, the new host reports it.
            let _kept = rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty());
            (file.as_raw_fd(), *bytes)
        });
        Legacy {
            ports: Vec::new(),
            replicas: kept.collect(),
            generation: live.generation(),
            upgrades: self.upgrades() + 1,
            version: live.configuration.latest(),
            epoch: live.cable.clock().epoch(),
            seed: self.common.seed,
            image: None,
        }
    }

    pub(super) fn upgrades(&self) -> u64 {
        self.legacy.map_or(0, |legacy| legacy.upgrades)
    }
}

/// The replicas of the previous program, shard by shard.
fn left_by(legacy: &Legacy) -> Result<Vec<Before>, RunError> {
    let failed = |errno| RunError::System { what: "copies of the program before", cause: errno };
    let each = legacy.replicas.iter().map(|(file, bytes)| {
        let left = map::left_file(*file);
        Ok((left.map_err(|errno| failed(errno.into()))?, *bytes))
    });
    each.collect()
}

fn random_seed() -> u64 {
    // A new hasher state is random; std has no other source of randomness.
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u64)
}
