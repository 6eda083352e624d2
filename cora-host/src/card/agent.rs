//! The card's process at the end of a wire: it starts a NIC half when the host calls, and ends it
//! with the session.

use std::convert::Infallible;
use std::hash::{BuildHasher as _, RandomState};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use clap::Args;
use cora_card::status_of;
use cora_core::app::App;
use cora_link::End;
use cora_link::mirror::card::Call;
use cora_link::mirror::hello::{Hello, Refusal};
use cora_link::mirror::{Broken, Build, CardMirror, Memory};

use crate::card::front::Front;
use crate::card::settings;
use crate::card::succession::{PREVIOUS, Previous, Programs};
use crate::card::turn::{LOOK_AGAIN, Turns};
use crate::card::watch::Watch;
use crate::card::wire::{Party, Wire};
use crate::ingress::port_names::Ports;
use crate::memory::map;
use crate::memory::pages::Pages;
use crate::node::back::RING_BYTES;
use crate::node::half::region_layout;
use crate::options::peer::Peer;
use crate::process::child;
use crate::process::log::{self, LogOptions, Part};
use crate::process::nic_half::{NicKind, nic_process};
use crate::process::sandbox::Filter;
use crate::{Program, RunError, SharedFutex};

/// Exit status of a NIC half that was killed.
const KILLED: u8 = 137;
/// How often an agent looks after its NIC half.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The orders of a card.
#[derive(Debug, Args)]
pub(crate) struct CardArguments {
    /// The interface that leads to the host, and the host's address there, as IFACE,MAC, or
    /// xdp:IFACE,MAC to reach it by AF_XDP. Nobody else is heard.
    #[arg(long, value_name = "IFACE,MAC")]
    host: Peer,
    /// How the NIC half runs.
    #[arg(long, value_enum, default_value_t)]
    nic: NicKind,
    /// The card's own ports, as inside=PORT,outside=PORT; then a run says `--live card` [default:
    /// none, packets come from the host].
    #[arg(long, value_name = "PORTS", value_parser = own_ports)]
    live: Option<Ports>,
    #[command(flatten)]
    log: LogOptions,
    /// The program that this agent was before.
    #[arg(long = PREVIOUS, hide = true)]
    previous: Option<Previous>,
}

/// Ports that are here.
fn own_ports(text: &str) -> Result<Ports, String> {
    let ports: Ports = text.parse()?;
    if ports.are_of_card() {
        return Err("that is for the host: this is the card, so name its ports, as \
                    inside=PORT,outside=PORT"
            .to_owned());
    }
    Ok(ports)
}

/// Serves a host, session after session, until it is killed.
pub(crate) fn card<A: App>(program: &Program, arguments: &CardArguments) -> Result<(), RunError> {
    log::begin(&arguments.log)?;
    let mut agent = Agent::<A>::new(
        program,
        Wire::to(&arguments.host)?,
        (arguments.nic, arguments.live.as_ref()),
    )?;
    agent.programs = Some(Programs::of(A::PLAN.hash, arguments.previous)?);
    agent.serve().map(|never| match never {})
}

/// Orders of a supervisor to the agent of a local card.
#[derive(Debug, Args)]
pub(crate) struct LocalArguments {
    /// File descriptor of this end of the wire.
    wire: i32,
    /// The process that started this one: it ends with that one.
    parent: u32,
}

/// Serves a host as a local card, session after session.
pub(crate) fn local_card<A: App>(
    program: &Program,
    arguments: &LocalArguments,
) -> Result<(), RunError> {
    child::stay_with(arguments.parent)?;
    log::begin(&LogOptions::default())?;
    let wire = map::left_file(arguments.wire)
        .map_err(|errno| RunError::System { what: "the socket of a card", cause: errno.into() })?;
    let agent = Agent::<A>::new(program, Wire::of_local(wire)?, (NicKind::Native, None))?;
    Agent { tells_all: false, ..agent }.serve().map(|never| match never {})
}

/// Serves a host at an emulated card's interface, session after session. Returns only with an
/// error, which is a sentence.
pub fn serve_as_card<A: App>(program: &Program, interface: &str) -> String {
    log::speak_for(Part::Card);
    let begun = log::begin(&LogOptions::default());
    let served = begun.and_then(|()| Wire::of_emulated(interface)).and_then(|wire| {
        let agent = Agent::<A>::new(program, wire, (NicKind::Image, None))?;
        Agent { tells_all: false, ..agent }.serve()
    });
    log::flush();
    served.map_or_else(|error| error.to_string(), |never| match never {})
}

/// An agent at its wire.
struct Agent<'a, A> {
    program: &'a Program,
    nic: NicKind,
    wire: Wire,
    mirror: CardMirror<SharedFutex>,
    turns: Turns,
    watch: Watch,
    half: Option<Half>,
    /// Whether sessions that ended well are logged, too.
    tells_all: bool,
    /// The card's own ports, once there was a session.
    front: Option<Front>,
    ports: Option<&'a Ports>,
    /// The programs that it can be, unless its host starts it.
    programs: Option<Programs>,
    /// The host's latest question, until it is answered.
    asked: Option<Build>,
    /// The memory of the regions, for one session after the other.
    regions: Regions,
    app: std::marker::PhantomData<A>,
}

/// Memory of the card's regions.
#[derive(Debug)]
struct Regions {
    file: OwnedFd,
    memory: Memory,
    bytes: usize,
}

impl Regions {
    /// Memory for a program's regions, for a card with ports or without.
    fn of<A: App>(has_ports: bool) -> Result<Self, RunError> {
        let bytes = 2 * region_layout::<A>().without_payloads().bytes();
        let make = || {
            map::shared_memory(bytes)
                .map_err(|errno| RunError::System { what: "shared memory", cause: errno.into() })
        };
        let (file, nic) = make()?;
        // The mapping stays.
        let wire = has_ports.then(make).transpose()?.map(|(_, words)| words);
        Ok(Self { file, memory: Memory { nic, wire }, bytes })
    }
}

/// A NIC half of this card, as long as its session lives.
struct Half {
    process: Child,
    looked: Instant,
    status: Option<u8>,
    /// Must stay open until the process runs.
    _files: Vec<OwnedFd>,
}

impl<'a, A: App> Agent<'a, A> {
    fn new(
        program: &'a Program,
        wire: Wire,
        (nic, ports): (NicKind, Option<&'a Ports>),
    ) -> Result<Self, RunError> {
        let end = End::answerer(wire.addresses(), settings(wire.mtu()));
        let mirror = CardMirror::new(end, SharedFutex);
        let regions = Regions::of::<A>(ports.is_some())?;
        let (turns, watch) = (Turns::new(), Watch::over(&wire)?);
        let (half, front, programs, asked) = (None, None, None, None);
        Ok(Self {
            program,
            nic,
            wire,
            mirror,
            turns,
            watch,
            half,
            tells_all: true,
            front,
            ports,
            programs,
            asked,
            regions,
            app: std::marker::PhantomData,
        })
    }

    /// Serves session after session.
    fn serve(&mut self) -> Result<Infallible, RunError> {
        loop {
            let status = self.session()?;
            if self.tells_all || status != 0 {
                log::info(
                    Part::Card,
                    format_args!("the NIC half of a session ended with exit status {status}"),
                );
            }
        }
    }

    /// Waits for a call, and serves it; returns the exit status of the NIC half. A session of which
    /// the host is gone ends as if its half was killed.
    fn session(&mut self) -> Result<u8, RunError> {
        loop {
            let now = self.turns.now();
            let busy = match self.turn(now) {
                Ok(busy) => busy,
                // The host said something senseless, or the NIC half did.
                Err(error @ RunError::Mirror(_)) => {
                    log::warn(Part::Card, error);
                    return Ok(self.leave(KILLED));
                }
                Err(error) if error.is_nics_fault() => {
                    log::warn(Part::Card, error);
                    return Ok(self.leave(KILLED));
                }
                Err(error) => return Err(error),
            };
            if let Some(status) = self.look(now)? {
                return Ok(self.leave(status));
            }
            self.rest(busy)?;
        }
    }

    /// Rests until a frame comes, here or at a port, or the NIC half rings it as a host half.
    fn rest(&mut self, busy: bool) -> Result<(), RunError> {
        let Self { mirror, front, turns, watch, .. } = self;
        let bell = mirror.regions().map(|regions| regions.nic.host_bell(SharedFutex));
        let mut card = Card::<A> { mirror, front, called: None, app: std::marker::PhantomData };
        turns.rest(busy, &mut card, &watch.rest(bell))
    }

    /// Looks after the NIC half; returns its exit status once the session is over.
    fn look(&mut self, now: u64) -> Result<Option<u8>, RunError> {
        let Some(half) = &mut self.half else { return Ok(None) };
        if let Some(status) = half.look()? {
            let is_told = match &mut self.front {
                Some(front) => front.is_drained::<A>(&self.mirror)? && front.tell_all(),
                None => true,
            };
            if is_told {
                self.mirror.nic_ended(status.into());
            }
        }
        let is_lost = self.mirror.link().is_lost(now);
        if is_lost {
            log::warn(Part::Card, "the host is silent: its session ends");
        }
        let is_over = self.mirror.is_over() || is_lost;
        Ok(is_over.then(|| half.status.unwrap_or(KILLED)))
    }

    fn leave(&mut self, status: u8) -> u8 {
        self.half = None;
        if let Some(front) = &mut self.front {
            front.end();
        }
        self.mirror.leave();
        status
    }

    /// Frames and records go both ways; returns whether there were any.
    fn turn(&mut self, now: u64) -> Result<bool, RunError> {
        let Self { wire, mirror, front, .. } = self;
        let mut card = Card::<A> { mirror, front, called: None, app: std::marker::PhantomData };
        let busy = wire.turn(&mut card, now)?;
        if let Some(call) = card.called {
            self.answer(&call, now);
        }
        self.answer_question();
        Ok(busy)
    }

    /// A host calls: a session before is over, unless it only asks.
    fn answer(&mut self, call: &Call, now: u64) {
        let hello = Hello::decode(&call.words, A::PLAN.hash, self.ports.is_some());
        if Hello::only_asks(&call.words) {
            return self.decline(call, hello);
        }
        if self.half.is_some() {
            self.leave(KILLED);
        }
        let begun = self.be_called(call).and(hello);
        if let Err(refusal) = begun.and_then(|hello| self.begin(call, &hello, now)) {
            log::warn(Part::Card, refusal);
            self.leave(KILLED);
            self.mirror.refuse(call, refusal.code());
        }
    }

    /// Answers a call that only asks. Another program that the agent would become counts, too;
    /// until it is known, the call is not answered, and comes again.
    fn decline(&mut self, call: &Call, hello: Result<Hello, Refusal>) {
        let refusal = hello.err().unwrap_or(Refusal::Asked);
        let called = Build::called(&call.words);
        let serves = match (&mut self.programs, called, refusal) {
            (Some(programs), Some(build), Refusal::OtherPlan | Refusal::OtherLayout) => {
                programs.would_serve(build)
            }
            _ => Some(false),
        };
        if let Some(serves) = serves {
            self.mirror.decline(call, if serves { Refusal::Asked } else { refusal }.code());
        }
    }

    /// Becomes the program that the host calls for, if that is another one. The host repeats its
    /// call until that one answers.
    fn be_called(&mut self, call: &Call) -> Result<(), Refusal> {
        let called = Build::called(&call.words);
        let Some((programs, called)) = self.programs.as_mut().zip(called) else { return Ok(()) };
        let Some(other) = programs.for_call(called) else { return Ok(()) };
        log::error(Part::Card, programs.become_other(other));
        Err(Refusal::Unable)
    }

    /// Answers the host's question whether this card would serve a build, once that is known.
    fn answer_question(&mut self) {
        self.asked = self.mirror.asked().or(self.asked.take());
        let Some(build) = self.asked else { return };
        let serves = match &mut self.programs {
            Some(programs) => programs.would_serve(build),
            None => Some(build == Build::of_plan(A::PLAN.hash)),
        };
        if let Some(serves) = serves {
            self.mirror.answer(build, serves);
            self.asked = None;
        }
    }

    fn begin(&mut self, call: &Call, hello: &Hello, now: u64) -> Result<(), Refusal> {
        let unable = |why: &dyn std::fmt::Display| {
            log::error(Part::Card, why);
            Refusal::Unable
        };
        // Both come from one build, so both have one size of rings.
        if hello.rings != RING_BYTES {
            return Err(Refusal::OtherLayout);
        }
        // By chance, so that no frame of another session is taken for one of this.
        let own = RandomState::new().hash_one(call.number) | 1;
        self.mirror
            .accept((call, own), hello, self.regions.memory, now)
            .map_err(|broken: Broken| unable(&broken))?;
        self.meet_ports().map_err(|error| unable(&error))?;
        self.half = Some(self.start().map_err(|error| unable(&error))?);
        log::debug(Part::Card, "a host calls: a session begins, with a NIC half");
        Ok(())
    }

    /// Joins the ports, if the card has any, with the regions of this session.
    fn meet_ports(&mut self) -> Result<(), RunError> {
        let (Some(ports), Some(regions)) = (self.ports, self.mirror.regions()) else {
            return Ok(());
        };
        if let Some(front) = &mut self.front {
            return front.begin(regions);
        }
        let front = Front::open(ports, regions)?;
        self.watch.add(&front.handles())?;
        self.front = Some(front);
        Ok(())
    }

    fn start(&self) -> Result<Half, RunError> {
        let Regions { file, bytes, .. } = &self.regions;
        let (command, files) = nic_process(self.nic, self.program, (file.as_fd(), *bytes), None)?;
        // This program sets its filter itself, and an emulator needs more calls.
        let filter = (self.nic == NicKind::Image).then(Filter::of_image);
        let process = child::spawn_with(command, None, Pages::Transparent, filter)?;
        Ok(Half { process, looked: Instant::now(), status: None, _files: files })
    }
}

/// The card's end at the wire, for a turn.
struct Card<'a, A> {
    mirror: &'a mut CardMirror<SharedFutex>,
    front: &'a mut Option<Front>,
    called: Option<Call>,
    app: std::marker::PhantomData<A>,
}

impl<A: App> Party for Card<'_, A> {
    fn hear(&mut self, frame: &[u8], now: u64) -> Result<(), RunError> {
        if let Some(call) = self.mirror.hear(frame, now)? {
            self.called = Some(call);
        }
        Ok(())
    }

    fn step(&mut self, now: u64, send: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, RunError> {
        let passed = match self.front {
            Some(front) => front.turn::<A>(self.mirror)?,
            None => false,
        };
        let said = self.mirror.step(now, &mut |frame| send(frame))?;
        Ok(said || passed)
    }

    fn due(&self, now: u64) -> u64 {
        let due = self.mirror.link().due();
        // The NIC half does not ring for room that it makes.
        let is_full = self.front.as_ref().is_some_and(Front::holds);
        if is_full || self.mirror.is_awaited() { due.min(now + LOOK_AGAIN) } else { due }
    }

    fn has_nothing(&mut self) -> Result<bool, RunError> {
        let front = self.front.as_mut().map_or(Ok(true), Front::has_nothing)?;
        Ok(front && self.mirror.has_nothing()?)
    }
}

impl Half {
    /// Its exit status, if it has ended.
    fn look(&mut self) -> Result<Option<u8>, RunError> {
        if self.status.is_some() || self.looked.elapsed() < LOOK_EVERY {
            return Ok(self.status);
        }
        self.looked = Instant::now();
        let failed = |cause| RunError::System { what: "waiting for a process", cause };
        self.status = self.process.try_wait().map_err(failed)?.map(status_of);
        Ok(self.status)
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        // If it has already ended, both calls return errors, and nothing is left to do.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}
