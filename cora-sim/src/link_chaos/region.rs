//! A region in two memories: a wire, a host half and a NIC half use it as if it were one.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use cora_link::mirror::host::Standing;
use cora_link::mirror::{CardMirror, Hello, HostMirror, Memory};
use cora_link::{End, Settings};
use cora_runtime::link::region::Futex;

use super::host::Host;
use super::lent::Lent;
use super::mistakes::{Mistake, spoiled};
use super::network::Network;
use super::nic::{Nic, Runs};
use super::numbered::{PLAN, RINGS, memory};
use super::{CARD, HOST, Tally};
use crate::random::Random;

/// How long frames may wait (ns), before something is wrong.
const PATIENCE: u64 = 5_000_000_000;
/// The same by the system's clock, which gives a NIC half in a thread of its own its time.
const PATIENCE_APART: Duration = Duration::from_secs(30);

/// Nobody sleeps here.
#[derive(Clone, Copy, Debug)]
struct Nobody;

impl Futex for Nobody {
    fn wait(&self, _: &AtomicU64, _: u32, _: Duration) {}
    fn wake(&self, _: &AtomicU64) {}
}

/// How a region is simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case {
    pub seed: u64,
    /// The NIC half is in a thread of its own: then the seed does not determine everything.
    pub is_apart: bool,
    pub mistake: Option<Mistake>,
}

impl Case {
    /// A sound region with everything in turn.
    pub fn of(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The same, with the NIC half in a thread of its own in a quarter of the seeds.
    pub fn apart_in_a_quarter(seed: u64) -> Self {
        Self { is_apart: seed.is_multiple_of(4), ..Self::of(seed) }
    }
}

/// Everything that uses the region, and the network in its midst.
#[derive(Debug)]
pub(super) struct World {
    pub(super) host: Host,
    near: HostMirror<Nobody>,
    far: CardMirror<Nobody>,
    nic: Option<Runs>,
    case: Case,
    ways: [Network; 2],
    now: u64,
    calls: u64,
    pub(super) draw: Random,
    settings: Settings,
    tally: Tally,
    /// The last, since all else uses it.
    lent: Lent,
}

impl World {
    /// `faults` is each fault of the network in thousandths.
    pub(super) fn new(case: Case, faults: u64) -> Result<Self, String> {
        let settings = Settings { window: 1, ..Settings::of_mtu(1500) };
        let mut lent = Lent::default();
        let host = Host::new(memory(&mut lent)?)?;
        let near = call(&host, 1, settings)?;
        Ok(Self {
            host,
            near,
            far: CardMirror::new(End::answerer(CARD, settings), Nobody),
            nic: None,
            case,
            ways: [Network::new(faults), Network::new(faults)],
            now: 0,
            calls: 1,
            draw: Random::new(case.seed),
            settings,
            tally: Tally::default(),
            lent,
        })
    }

    /// Frames arrive, everything runs for a while, and time passes. No frame from number `until` on
    /// is fed in.
    pub(super) fn round(&mut self, until: u64) -> Result<(), String> {
        for frame in self.ways[0].arrived(self.now) {
            self.hear_at_card(frame)?;
        }
        for frame in self.ways[1].arrived(self.now) {
            let generation = self.near.region().identity().generation;
            let frame = self.spoiled(frame, HOST, generation);
            self.near.hear(&frame, self.now).map_err(|broken| format!("at the host: {broken}"))?;
            self.ways[1].recycle(frame);
        }
        let Self { host, near, far, nic, ways: [down, up], now, draw, .. } = self;
        if let Some(nic) = nic {
            nic.step(draw.below(6))?;
        }
        let sent = far.step(*now, &mut |frame| {
            up.send(frame, *now, draw);
            true
        });
        sent.map_err(|broken| format!("at the card: {broken}"))?;
        host.step(draw.below(6), until)?;
        let sent = near.step(*now, &mut |frame| {
            down.send(frame, *now, draw);
            true
        });
        sent.map_err(|broken| format!("at the host: {broken}"))?;
        self.now += 5_000 + self.draw.below(20_000);
        Ok(())
    }

    fn hear_at_card(&mut self, frame: Vec<u8>) -> Result<(), String> {
        let generation = self.far.regions().map_or(0, |it| it.nic.identity().generation);
        let frame = self.spoiled(frame, CARD, generation);
        let broken = |broken| format!("at the card: {broken}");
        let heard = self.far.hear(&frame, self.now).map_err(broken)?;
        self.ways[0].recycle(frame);
        let Some(call) = heard else { return Ok(()) };
        self.end_nic()?;
        let hello =
            Hello::decode(&call.words, PLAN, false).map_err(|why| format!("refused: {why}"))?;
        let file = memory(&mut self.lent)?;
        let own = self.draw.next() | 1;
        let memory = Memory { nic: file, wire: None };
        self.far.accept((&call, own), &hello, memory, self.now).map_err(broken)?;
        let half = Nic::attach(file)?;
        self.nic = Some(if self.case.is_apart { Runs::apart(half) } else { Runs::in_turn(half) });
        self.tally.sessions += 1;
        Ok(())
    }

    fn spoiled(&mut self, frame: Vec<u8>, to: cora_link::Addresses, generation: u64) -> Vec<u8> {
        match self.case.mistake {
            Some(mistake) => spoiled(&frame, to, mistake, generation, &mut self.draw),
            None => frame,
        }
    }

    /// Ends the NIC half; whether there was one.
    fn end_nic(&mut self) -> Result<bool, String> {
        let Some(mut nic) = self.nic.take() else { return Ok(false) };
        self.tally.records += nic.end()?;
        Ok(true)
    }

    /// The NIC half ends with this exit status, between two steps.
    pub(super) fn nic_ends(&mut self, status: u64) -> Result<(), String> {
        if !self.end_nic()? {
            return Err("there is no NIC half yet".to_owned());
        }
        self.far.nic_ended(status);
        self.tally.nic_ends += 1;
        Ok(())
    }

    /// The host half dies, if the one before has been replaced.
    pub(super) fn host_dies(&mut self) -> Result<(), String> {
        if self.host.is_joined() {
            self.tally.host_deaths += 1;
            self.host.succeed()?;
        }
        Ok(())
    }

    /// The card loses its power, and another one follows.
    pub(super) fn card_dies(&mut self) -> Result<(), String> {
        if !self.host.is_joined() {
            return Ok(());
        }
        self.tally.card_deaths += 1;
        self.end_nic()?;
        self.tally.stale += self.far.link().counts().stale;
        self.far = CardMirror::new(End::answerer(CARD, self.settings), Nobody);
        self.host.succeed_alone()?;
        // The next host half speaks to another NIC half, which has heard nothing.
        self.calls += 1;
        self.tally.stale += self.near.link().counts().stale;
        self.near = call(&self.host, self.calls, self.settings)?;
        Ok(())
    }

    /// Runs until this holds, and feeds frames in up to number `until`.
    pub(super) fn run_until(
        &mut self,
        until: u64,
        what: &str,
        holds: impl Fn(&Self) -> bool,
    ) -> Result<(), String> {
        let (begun, since) = (self.now, Instant::now());
        let is_apart = self.case.is_apart;
        while !holds(self) {
            self.round(until)?;
            let is_late = self.now > begun + PATIENCE;
            if is_late && is_apart {
                std::thread::yield_now();
            }
            if is_late && (!is_apart || since.elapsed() > PATIENCE_APART) {
                return Err(format!("{what}: {:?}", self.host.seen));
            }
        }
        Ok(())
    }

    pub(super) const fn standing(&self) -> Standing {
        self.near.standing()
    }

    pub(super) fn is_over(&self) -> bool {
        self.far.is_over()
    }

    /// The last message that the NIC half heard, if it runs in turn.
    pub(super) fn heard(&self) -> Option<u64> {
        match &self.nic {
            Some(Runs::InTurn(nic)) => nic.heard,
            _ => None,
        }
    }

    /// Ends it all, and returns the counts.
    pub(super) fn end(mut self) -> Result<Tally, String> {
        self.end_nic()?;
        let mut tally = self.tally;
        tally.records += self.host.seen.out + self.host.seen.notes;
        tally.stale += self.near.link().counts().stale + self.far.link().counts().stale;
        self.ways.iter().for_each(|way| tally.network.add(&way.done));
        Ok(tally)
    }
}

fn call(host: &Host, number: u64, settings: Settings) -> Result<HostMirror<Nobody>, String> {
    let end = End::caller(HOST, settings);
    let near = HostMirror::call(end, number, host.file, (RINGS, false), (PLAN, Nobody));
    near.map_err(|broken| format!("the host has no region: {broken}"))
}
