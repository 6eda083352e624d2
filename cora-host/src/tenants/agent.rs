//! The agent's loop: packets to tenants or past them, and one turn after the other.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cora_port::Port;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::RunError;
use crate::attach::letter::{self, Say};
use crate::attach::proof::Namespace;
use crate::ingress::capture::{Cable as _, Next, Out as _};
use crate::ingress::clock::Clock;
use crate::ingress::ports::LiveWire;
use crate::node::half::LAYOUT_AT_AGENT;
use crate::process::log::{self, Part};
use crate::tenants::book::Book;
use crate::tenants::command::two_ports;
use crate::tenants::image::{Image, Images};
use crate::tenants::listener::{Listener, Needs, Rules, Wants, refuse};
use crate::tenants::rounds::{Account, Accounts, Rounds};
use crate::tenants::status::{AgentReport, TenantReport};
use crate::tenants::tenant::{Brings, Fault, Stage, Tenant};

/// Frames that are taken from the ports between two turns.
const BURST: usize = 64;
/// How often clients are looked after.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Looks until each tenant was looked after once, at least, and how many are at most in one.
const LEAST_LOOKS: usize = 8;
const MOST_IN_A_LOOK: usize = 4;
/// Most turns that are given at once, to tenants that share a process.
const MOST_AT_ONCE: usize = 32;
/// Bytes of a mebibyte.
pub(super) const MIB: u64 = 1 << 20;
/// The form of reports.
const SCHEMA: &str = "cora-agent/1";
/// How a tenant that the agent ended is told to have ended: as one that was killed.
const KILLED: u8 = 137;

/// The part of a time that belongs to a tenant with so much of the sum of all.
fn share(took: u64, told: u64, all: u64) -> u64 {
    let part = u128::from(took) * u128::from(told) / u128::from(all.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

pub(super) fn own_namespace() -> Result<Namespace, RunError> {
    let what = "the agent's network namespace";
    Namespace::own().map_err(|cause| RunError::System { what, cause })
}

impl Accounts for Vec<Option<Tenant>> {
    fn account(&mut self, number: usize) -> Option<&mut Account> {
        Some(&mut self.get_mut(number)?.as_mut()?.account)
    }
}

/// An agent at work.
pub struct Agent {
    ports: LiveWire,
    listener: Listener,
    book: Book,
    /// By their numbers; those of tenants that left are given again.
    tenants: Vec<Option<Tenant>>,
    most: usize,
    rounds: Rounds,
    /// The tenants with turns now.
    batch: Vec<usize>,
    images: Images,
    looked: Instant,
    /// The part of tenants that is looked after next.
    part: usize,
    passed: u64,
    refused: u64,
    ended: u64,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("report", &self.report()).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent between these ports, for measurements. Servers are in the agent's own network
    /// namespace.
    ///
    /// # Errors
    /// If the socket can't be made.
    pub fn over(
        inside: Box<dyn Port>,
        outside: Box<dyn Port>,
        socket: &Path,
        tenants: usize,
    ) -> Result<Self, RunError> {
        let device = "mem:flows=1;size=60";
        let ports = two_ports(&format!("inside={device},outside={device}"));
        let ports = ports.map_err(RunError::Controller)?;
        let ports = LiveWire::over(&ports, [inside, outside], Clock::begin());
        let behind = vec![own_namespace()?];
        Self::at(ports, socket, Rules { behind, memory: MIB << 10 }, tenants)
    }

    pub(super) fn at(
        ports: LiveWire,
        socket: &Path,
        rules: Rules,
        most: usize,
    ) -> Result<Self, RunError> {
        Ok(Self {
            ports,
            listener: Listener::at(socket, rules)?,
            book: Book::new(),
            tenants: Vec::new(),
            most,
            rounds: Rounds::default(),
            batch: Vec::new(),
            images: Images::default(),
            looked: Instant::now(),
            part: 0,
            passed: 0,
            refused: 0,
            ended: 0,
        })
    }

    /// Ends all tenants.
    pub(super) fn end(&mut self) {
        let tenants = self.tenants.len();
        (0..tenants).for_each(|number| self.leave(number, KILLED));
    }

    /// Packets come and go, and a tenant has a turn. Returns whether there was anything to do.
    ///
    /// # Errors
    /// If a port is lost.
    pub fn step(&mut self) -> Result<bool, RunError> {
        let mut busy = self.take()?;
        busy |= self.turn()?;
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.look()?;
        }
        Ok(busy)
    }

    /// Takes frames from the ports: to the queues of tenants, or past them.
    fn take(&mut self) -> Result<bool, RunError> {
        let Self { ports, book, tenants, rounds, passed, .. } = self;
        let clock = ports.clock();
        let mut any = false;
        let mut passes = false;
        for _ in 0..BURST {
            let Next::Frame(stamp, frame) = ports.peek()? else { break };
            any = true;
            let number = book.tenant_of(frame, stamp.meta);
            let tenant = number.and_then(|number| tenants.get_mut(number)?.as_mut());
            match (number, tenant) {
                (Some(number), Some(tenant)) if tenant.stage == Stage::Works => {
                    tenant.take(stamp, frame, clock);
                    if tenant.wants_turn() {
                        rounds.wants(number, &mut tenant.account);
                    }
                    ports.pass();
                }
                _ => {
                    ports.pass_on();
                    *passed += 1;
                    passes = true;
                }
            }
        }
        if passes {
            ports.flush()?;
        }
        Ok(any)
    }

    /// Gives a tenant a turn, if one wants it, and those behind it that share its process. Returns
    /// whether any did.
    fn turn(&mut self) -> Result<bool, RunError> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let given = self.give(&mut batch);
        if let Some(last) = batch.last().copied()
            && let Some(tenant) = self.tenant(last)
            && let Err(fault) = tenant.wait(batch.len())
        {
            self.fault(last, fault)?;
        }
        self.take_time(&batch)?;
        let any = !batch.is_empty();
        self.batch = batch;
        given.map(|held_up| any || held_up)
    }

    /// Gives turns to a tenant, or to several in a process that they share. Returns whether one
    /// waits for another's turn in its process.
    fn give(&mut self, batch: &mut Vec<usize>) -> Result<bool, RunError> {
        let mut image: Option<Rc<RefCell<Image>>> = None;
        while batch.len() < MOST_AT_ONCE
            && let Some(number) = self.rounds.next(&mut self.tenants)
        {
            let Self { tenants, rounds, .. } = self;
            let Some(tenant) = tenants.get_mut(number).and_then(Option::as_mut) else { break };
            let own = tenant.image().cloned();
            if !batch.is_empty() {
                let is_same =
                    image.as_ref().zip(own.as_ref()).is_some_and(|(a, b)| Rc::ptr_eq(a, b));
                if !is_same || batch.contains(&number) {
                    break;
                }
            } else if tenant.is_held_up() {
                // It is looked after when the other one's turn is over.
                rounds.rests(number, &mut tenant.account);
                return Ok(true);
            }
            let given = tenant.give();
            rounds.passes();
            if let Err(fault) = given {
                self.fault(number, fault)?;
                break;
            }
            batch.push(number);
            let is_shared = own.is_some();
            image = own;
            if !is_shared {
                break;
            }
        }
        if let Some(image) = image {
            image.borrow().wake();
        }
        Ok(false)
    }

    /// Takes the time of turns, and sends their output.
    fn take_time(&mut self, batch: &[usize]) -> Result<(), RunError> {
        let Self { tenants, .. } = self;
        let of = |number: usize| tenants.get(number).and_then(Option::as_ref);
        // In a process that they share, each has the part of its time that it was told.
        let image = batch.first().and_then(|first| of(*first)?.image().cloned());
        let told: u64 = batch.iter().filter_map(|it| of(*it)).map(Tenant::told).sum();
        let took = image.map(|image| image.borrow_mut().took());
        for number in batch.iter().copied() {
            let Self { tenants, rounds, ports, .. } = self;
            let Some(tenant) = tenants.get_mut(number).and_then(Option::as_mut) else { continue };
            let part = took.map(|took| share(took, tenant.told(), told));
            match tenant.settle(ports, part) {
                Ok(true) if tenant.wants_turn() => {}
                // A turn that goes on is looked after below: until then it wants no other.
                Ok(_) => rounds.rests(number, &mut tenant.account),
                Err(fault) => self.fault(number, fault)?,
            }
        }
        Ok(())
    }

    /// Looks after clients and tenants.
    fn look(&mut self) -> Result<(), RunError> {
        self.ports.look()?;
        for wants in self.listener.look() {
            match wants {
                Wants::Tenants(client) => {
                    let _unheard = letter::send(&client, &self.report(), &[]);
                }
                Wants::Attach(brings, needs) => self.attach(*brings, &needs),
            }
        }
        let looks = LEAST_LOOKS.max(self.tenants.len() / MOST_IN_A_LOOK);
        self.part = (self.part + 1) % looks;
        for number in 0..self.tenants.len() {
            let is_at_work = self.tenant(number).is_some_and(|it| it.is_at_work());
            if is_at_work {
                self.settle(number)?;
            }
            if number % looks == self.part {
                self.look_at(number)?;
            }
        }
        Ok(())
    }

    fn tenant(&mut self, number: usize) -> Option<&mut Tenant> {
        self.tenants.get_mut(number)?.as_mut()
    }

    /// A turn that took longer than others wait.
    fn settle(&mut self, number: usize) -> Result<(), RunError> {
        let Some(tenant) = self.tenants.get_mut(number).and_then(Option::as_mut) else {
            return Ok(());
        };
        let took = tenant.image().map(|_| tenant.told());
        match tenant.settle(&mut self.ports, took) {
            Ok(_) => {
                if tenant.wants_turn() {
                    self.rounds.wants(number, &mut tenant.account);
                }
                Ok(())
            }
            Err(fault) => self.fault(number, fault),
        }
    }

    fn look_at(&mut self, number: usize) -> Result<(), RunError> {
        let weights = self.tenants.iter().flatten().map(|tenant| tenant.account.weight()).sum();
        let Self { tenants, ports, rounds, .. } = self;
        let Some(tenant) = tenants.get_mut(number).and_then(Option::as_mut) else { return Ok(()) };
        // It has nothing more to say: any packet ends the attachment, as the end of it does.
        if !letter::is_silent(tenant.connection()) {
            self.leave(number, KILLED);
            return Ok(());
        }
        match tenant.look(ports, weights) {
            Ok(None) => {
                if tenant.wants_turn() {
                    rounds.wants(number, &mut tenant.account);
                }
            }
            Ok(Some(status)) => self.leave(number, status),
            Err(fault) => self.fault(number, fault)?,
        }
        Ok(())
    }

    /// Attaches a program, or tells its client why not.
    fn attach(&mut self, brings: Brings, needs: &Needs) {
        let client = brings.connection.try_clone();
        let (name, at) = (brings.name.clone(), brings.at.clone());
        let begun = self.may_attach(&brings, needs).and_then(|()| {
            let most = self.listener.memory();
            let begun = Tenant::begin(brings, LAYOUT_AT_AGENT, |shares| {
                if shares { self.images.enter(needs, most) } else { needs.own_process() }
            });
            begun.map_err(|fault| match fault {
                Fault::Breaks(why) => why,
                Fault::Agents(error) => error.to_string(),
            })
        });
        let tenant = match begun {
            Ok(tenant) => tenant,
            Err(why) => {
                self.refused += 1;
                if let Ok(client) = client {
                    refuse(&client, why);
                }
                return;
            }
        };
        let told: Vec<String> = at.iter().map(ToString::to_string).collect();
        log::info(Part::Card, format_args!("`{name}` is attached before {}", told.join(", ")));
        tenant.say(&Say::Attached { at: told });
        let free = self.tenants.iter().position(Option::is_none);
        let number = free.unwrap_or(self.tenants.len());
        let endpoints: Vec<_> = at.iter().map(|at| at.endpoint()).collect();
        self.book.enter(&endpoints, number);
        match self.tenants.get_mut(number) {
            Some(place) => *place = Some(tenant),
            None => self.tenants.push(Some(tenant)),
        }
    }

    /// Whether there is a place for it; the error is a sentence.
    fn may_attach(&self, brings: &Brings, needs: &Needs) -> Result<(), String> {
        if let Some(at) = brings.at.iter().find(|at| self.book.owner(&at.endpoint()).is_some()) {
            return Err(format!("a program is attached before {at} already"));
        }
        if self.tenants.iter().flatten().count() >= self.most {
            return Err(format!(
                "the agent has {} tenants, as many as it may: `--tenants`",
                self.most
            ));
        }
        if brings.shares_process && self.images.is_banned(needs, &brings.at) {
            return Err(
                "its NIC half hung in a process that it shared: attach it without --share-process"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// A tenant broke the rules: it is ended, and others go on.
    fn fault(&mut self, number: usize, fault: Fault) -> Result<(), RunError> {
        match fault {
            Fault::Agents(error) => Err(error),
            Fault::Breaks(why) => {
                let name = self.tenant(number).map(|it| it.name.clone()).unwrap_or_default();
                log::warn(Part::Card, format_args!("`{name}` is ended: {why}"));
                self.ended += 1;
                if let Some(tenant) = self.tenants.get(number).and_then(Option::as_ref)
                    && let Some(image) = tenant.image()
                {
                    // The others of its process begin again without it.
                    self.images.ban(image, &tenant.at);
                }
                self.leave(number, KILLED);
                Ok(())
            }
        }
    }

    /// A tenant leaves: its packets pass by.
    fn leave(&mut self, number: usize, status: u8) {
        self.book.strike(number);
        self.rounds.forget(number);
        if let Some(mut tenant) = self.tenants.get_mut(number).and_then(Option::take) {
            tenant.end();
            self.images.sweep();
            tenant.say(&Say::Ended { status });
            log::info(
                Part::Card,
                format_args!(
                    "`{}` is attached no more: its NIC half ended with exit status {status}",
                    tenant.name
                ),
            );
        }
    }

    /// Rests until a frame comes, or a client.
    pub(super) fn rest(&self) {
        let handles = self.ports.handles();
        let mut files: Vec<_> =
            handles.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        files.push(PollFd::new(self.listener.socket(), PollFlags::IN));
        let time = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        // Ready or not, the caller looks again.
        let _ready = poll(&mut files, Some(&time));
    }

    /// The counts so far.
    pub fn report(&self) -> AgentReport {
        let (came, left) = self.ports.packets();
        let tenants = self.tenants.iter().flatten().map(|tenant| {
            let [queue_full, not_its_own] = tenant.dropped();
            TenantReport {
                program: tenant.name.clone(),
                at: tenant.at.iter().map(ToString::to_string).collect(),
                user: tenant.user,
                stage: tenant.stage.name().to_owned(),
                came: tenant.came(),
                left: tenant.left(),
                queue_full,
                not_its_own,
                turns: tenant.turns,
                busy_ns: tenant.account.spent,
            }
        });
        AgentReport {
            schema: SCHEMA.to_owned(),
            came,
            left,
            passed: self.passed,
            refused: self.refused,
            ended: self.ended,
            tenants: tenants.collect(),
        }
    }
}
