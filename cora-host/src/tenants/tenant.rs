//! A program that is attached: its NIC half, its packets, and its turns.
#![expect(unsafe_code, reason = "uses memory that is unmapped when the tenant leaves")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use cora_core::key::Endpoint;
use cora_core::packet::{Meta, Port};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::region::{HashSeed, Identity, NicStatus, Region, RegionLayout, generation};

use crate::RunError;
use crate::attach::address::ServedAt;
use crate::attach::letter::{self, Say};
use crate::ingress::clock::Clock;
use crate::ingress::elsewhere::{Counts, PortsThere};
use crate::ingress::entrance::Entrance;
use crate::ingress::feed::WireEnd;
use crate::ingress::news::{Heard, NewsEnd};
use crate::ingress::port_report::PortReport;
use crate::ingress::ports::LiveWire;
use crate::memory::map::Mapping;
use crate::tenants::gate::Gate;
use crate::tenants::image::Image;
use crate::tenants::queue::Queue;
use crate::tenants::rounds::Account;
use crate::tenants::worker::Worker;

/// A tenant whose NIC half needs longer to start is ended.
const MOST_START: Duration = Duration::from_secs(30);
/// How often a half in a shared process moves at least: it is not woken by itself.
const MOVES_EVERY: Duration = Duration::from_millis(400);

/// The belongings of a tenant.
#[derive(Debug)]
pub(super) struct Brings {
    pub(super) name: String,
    pub(super) plan: u64,
    pub(super) weight: u16,
    pub(super) shares_process: bool,
    pub(super) silence: Option<u64>,
    pub(super) at: Vec<ServedAt>,
    pub(super) user: u32,
    pub(super) connection: OwnedFd,
    /// The memory of regions, and of news.
    pub(super) memory: [Mapping; 2],
}

/// A turn that was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) begun: Instant,
    /// The time of the process then (ns).
    pub(super) time: u64,
    pub(super) packets: usize,
}

/// How far a tenant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its NIC half starts.
    Starts,
    /// Packets go to it.
    Works,
    /// Its supervisor ends it.
    Ends,
}

impl Stage {
    /// Its name in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Works => "works",
            Self::Ends => "ends",
        }
    }
}

/// Why a tenant is ended by the agent.
#[derive(Debug)]
pub(super) enum Fault {
    /// A sentence.
    Breaks(String),
    /// The agent itself can't go on.
    Agents(RunError),
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        match error {
            error if error.is_nics_fault() => Self::Breaks(error.to_string()),
            RunError::Mirror(broken) => Self::Breaks(broken.to_string()),
            error => Self::Agents(error),
        }
    }
}

/// A tenant.
pub(super) struct Tenant {
    pub(super) name: String,
    pub(super) at: Vec<ServedAt>,
    pub(super) user: u32,
    pub(super) account: Account,
    pub(super) stage: Stage,
    pub(super) turns: u64,
    begun: Instant,
    looked: Instant,
    pub(super) last_turn: Instant,
    connection: OwnedFd,
    pub(super) worker: Worker,
    pub(super) queue: Queue,
    pub(super) gate: Gate,
    pub(super) wire: WireEnd,
    news: NewsEnd,
    pub(super) region: Region,
    layout: RegionLayout,
    pub(super) given: Option<Given>,
    /// Its NIC half has something to do that is no packet.
    pub(super) has_more: bool,
    /// The run's clock, once its supervisor has told the time.
    clock: Option<Clock>,
    /// Packets for it by port, and those that found no room.
    came: [u64; 2],
    full: u64,
    /// The time of the process that was charged (ns).
    pub(super) charged: u64,
    /// The interval at which it is told of silences (ns), if at all.
    silence: Option<u64>,
    /// The last fields: all others are dropped before this memory is unmapped.
    regions: &'static [AtomicU64],
    news_words: &'static [AtomicU64],
    _memory: [Mapping; 2],
}

impl Tenant {
    /// Has `start` start its NIC half, which may share a process or not.
    pub(super) fn begin(
        brings: Brings,
        layout: RegionLayout,
        start: impl FnOnce(bool) -> Result<Worker, RunError>,
    ) -> Result<Self, Fault> {
        let Brings { name, plan, weight, shares_process, silence, at, user, connection, memory } =
            brings;
        // SAFETY: all that is made of these words is in fields of the tenant alone, which are
        // private, and dropped with it, before the mappings.
        let regions = unsafe { memory[0].words() };
        // SAFETY: as above.
        let news_words = unsafe { memory[1].words() };
        let generation = generation::current(regions);
        let region = region_of(regions, (plan, generation), &layout)?;
        let news = region_of(news_words, (plan, generation), &layout)?;
        // From its first round on it works in turns.
        region.give_turn(1);
        let worker = start(shares_process)?;
        let endpoints: Vec<Endpoint> = at.iter().map(|at| at.endpoint()).collect();
        Ok(Self {
            name,
            at,
            user,
            account: Account::of_weight(weight),
            stage: Stage::Starts,
            begun: Instant::now(),
            looked: Instant::now(),
            last_turn: Instant::now(),
            turns: 1,
            connection,
            worker,
            has_more: false,
            queue: Queue::new(),
            gate: Gate::of(endpoints),
            wire: WireEnd::new(&region.rings(), Entrance::Nic),
            news: NewsEnd::of(&news.rings()),
            region,
            layout,
            given: None,
            clock: None,
            came: [0; 2],
            full: 0,
            charged: 0,
            silence,
            regions,
            news_words,
            _memory: memory,
        })
    }

    /// The control connection.
    pub(super) fn connection(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }

    /// Tells its client something. One that does not listen misses it.
    pub(super) fn say(&self, say: &Say) {
        let _unheard = letter::send(self.connection(), say, &[]);
    }

    /// A packet comes for it, by the clock of the agent.
    pub(super) fn take(&mut self, stamp: Stamp, frame: &mut [u8], own: Clock) {
        if let Some(came) = self.came.get_mut(usize::from(stamp.meta.port.0)) {
            *came += 1;
        }
        self.gate.sees(frame, stamp.meta);
        let clock = self.clock.unwrap_or(own);
        let shifted = |time: u64| time.wrapping_sub(own.epoch()).wrapping_add(clock.epoch());
        let Meta { time, now, .. } = stamp.meta;
        let number = self.came.iter().sum::<u64>() - 1;
        let meta = Meta { time: shifted(time), now: shifted(now), ..stamp.meta };
        let stamp = Stamp { meta, number, horizon: shifted(stamp.horizon), ..stamp };
        if !self.queue.push(stamp, frame) {
            self.full += 1;
        }
    }

    /// The process that it shares with others, if it does.
    pub(super) fn image(&self) -> Option<&Rc<RefCell<Image>>> {
        self.worker.image()
    }

    /// Whether it can use a turn.
    pub(super) fn wants_turn(&self) -> bool {
        self.stage != Stage::Starts
            && self.given.is_none()
            && (!self.queue.is_empty() || self.wire.holds() || self.has_more)
            && !self.is_held_up()
    }

    /// Whether its process works for somebody else now.
    pub(super) fn is_held_up(&self) -> bool {
        self.worker.is_busy()
    }

    /// Whether a turn is under way.
    pub(super) const fn is_at_work(&self) -> bool {
        self.given.is_some()
    }

    /// Looks after it every few milliseconds, among tenants with so much weight; returns how its
    /// NIC half ended, if it has.
    pub(super) fn look(&mut self, ports: &mut LiveWire, weights: u64) -> Result<Option<u8>, Fault> {
        let passed = self.looked.elapsed();
        self.looked += passed;
        self.account.rests_for(self.account.share_of(passed, weights));
        self.hear()?;
        if let Some(status) = self.worker.look(&self.region)? {
            self.drain(ports)?;
            self.tell();
            let there = self.ports_there(ports);
            let is_told = self.news.tell_ports(|| there);
            return Ok(is_told.then_some(status));
        }
        self.follow(ports)?;
        let status = self.region.nic_status();
        if self.stage == Stage::Starts {
            if self.clock.is_some() && matches!(status, Some(NicStatus::Ready | NicStatus::Running))
            {
                self.stage = Stage::Works;
                self.worker.rests();
                self.charged = self.worker.time();
            } else if self.begun.elapsed() > MOST_START {
                return Err(Fault::Breaks(format!("it did not begin within {MOST_START:?}")));
            }
            return Ok(None);
        }
        if self.given.is_none() {
            if self.worker.image().is_none() {
                self.charge_outside()?;
            } else {
                // Its host half rings in vain, and its supervisor wants to see it move.
                self.has_more |= self.region.rings().back.waiting() > 0
                    || self.last_turn.elapsed() > MOVES_EVERY;
            }
            self.drain(ports)?;
        }
        if let (Some(every), Some(clock)) = (self.silence, self.clock)
            && self.queue.is_empty()
            && self.stage == Stage::Works
            && self.wire.feed_silence(clock.now(), every)?
        {
            self.has_more = true;
        }
        self.tell();
        Ok(None)
    }

    /// Goes to the next region, once its NIC half is there.
    fn follow(&mut self, ports: &mut LiveWire) -> Result<(), Fault> {
        let identity = self.region.identity();
        if !generation::is_followed(self.regions, identity.generation) {
            return Ok(());
        }
        let next = (identity.plan, generation::current(self.regions));
        let news = region_of(self.news_words, next, &self.layout)?;
        let next = region_of(self.regions, next, &self.layout)?;
        next.give_turn(self.turns);
        if !matches!(next.nic_status(), Some(NicStatus::Ready | NicStatus::Running)) {
            return Ok(());
        }
        self.drain(ports)?;
        // A turn on the old region ends here. Others in its process need not wait for it.
        if self.given.take().is_some() {
            self.worker.rests();
        }
        self.wire.join(&next.rings());
        self.news.replug(&news.rings());
        self.region = next;
        Ok(())
    }

    /// Takes the supervisor's records about the wire.
    fn hear(&mut self) -> Result<(), Fault> {
        while let Some(heard) = self.news.hear()? {
            match heard {
                // The services give marks, and programs that read them are not attached.
                Heard::Setup(setup) => {
                    if let Some(now) = setup.now {
                        let passed = Clock::since(0).now();
                        self.clock = Some(Clock::since(now.saturating_sub(passed)));
                    }
                }
                Heard::Change(record) => self.wire.place(record),
                Heard::End => self.stage = Stage::Ends,
            }
        }
        if self.stage == Stage::Ends && self.queue.is_empty() {
            let now = self.clock.map_or(0, Clock::now);
            self.has_more |= self.wire.feed_end(now)?;
        }
        Ok(())
    }

    /// Tells the supervisor the counts.
    fn tell(&mut self) {
        self.news.tell(Counts {
            came: self.came() - self.queue.len() as u64,
            left: self.left(),
            taken: self.wire.offers.taken,
            nic_away: self.full,
            too_long: 0,
            tally: self.wire.tally,
            has_ended: self.stage == Stage::Ends,
        });
    }

    fn ports_there(&self, ports: &LiveWire) -> PortsThere {
        let mut there = ports.report();
        // The counts of others at these ports are none of its business.
        for PortReport { number, received, transmitted, dropped, remarks, notes, name, .. } in
            there.values_mut()
        {
            let at = usize::from(*number);
            *received = self.came.get(at).copied().unwrap_or(0);
            *transmitted = self.gate.left.get(at).copied().unwrap_or(0);
            (*dropped, *remarks) = (BTreeMap::new(), BTreeMap::new());
            notes.clear();
            "agent".clone_into(name);
        }
        there.retain(|_, port| port.number <= Port::OUTSIDE.0);
        let mut dropped = BTreeMap::from([("not-its-own".to_owned(), self.gate.refused)]);
        dropped.retain(|_, count| *count > 0);
        PortsThere { ports: there, dropped, passes_on: true }
    }

    /// Packets that came for it.
    pub(super) fn came(&self) -> u64 {
        self.came.iter().sum()
    }

    /// Packets that left.
    pub(super) fn left(&self) -> u64 {
        self.gate.left.iter().sum()
    }

    /// Packets dropped since its queue was full, and frames that it may not send.
    pub(super) const fn dropped(&self) -> [u64; 2] {
        [self.full, self.gate.refused]
    }

    /// Ends it. Packets that wait are dropped.
    pub(super) fn end(&mut self) {
        self.worker.end();
        self.full += self.queue.clear();
        self.tell();
    }
}

/// The region of a generation in this memory. Its header is its client's to write, so nothing of it
/// is read.
fn region_of(
    words: &'static [AtomicU64],
    (plan, generation): (u64, u64),
    layout: &RegionLayout,
) -> Result<Region, Fault> {
    // Zero would be all of the memory.
    let generation = generation.max(1);
    let identity = Identity { plan, generation, seed: HashSeed(0), resident: false, afresh: false };
    Region::known(generation::place(words, generation), layout, identity)
        .map_err(|error| Fault::Breaks(error.to_string()))
}
