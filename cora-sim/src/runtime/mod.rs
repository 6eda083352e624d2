//! The whole runtime in one process: both halves on real rings, a controller with orders at any
//! time, the wire's end, a virtual clock, and one scheduler. Rings are small, so that they fill up;
//! sides pause for a while.
//!
//! 1. A seed gives the packets ([`traffic`](crate::traffic)) and the conditions: ring sizes and
//!    frequencies of events.
//! 2. In each step one process with work advances a little; the seed chooses the process.
//! 3. When no process has work, all packets must be handled, and the results must be those of the
//!    host alone.
//!
//! | module | concept |
//! | --- | --- |
//! | `nic`, `host`, `wire` | the processes |
//! | `killed` | invariants when sides die |
//! | `in_part` | programs whose results outlive kills in part |
//! | `messages` | programs with messages |
//! | `mistaken` | mistakes of a NIC with messages |
//! | `lies` | a half that sends arbitrary records |
//! | `orders` | a random controller |
//! | `questions` | an operator who lists tables and removes entries |
//! | `conducted` | the controller, in virtual time |
//! | `bounds` | its bounds on moves |
//! | `conditions` | conditions drawn from a seed, beside packets and steps |
//! | [`Faults`] | counts of the faults of a run |
//! | [`Planted`] | planted mistakes that must be detected |

mod bounds;
mod conditions;
mod conducted;
mod faults;
mod host;
mod in_part;
mod killed;
mod lies;
mod messages;
mod mistaken;
mod nic;
mod orders;
mod planted;
mod questions;
mod wire;

use cora_control::Move;
use cora_core::app::Sides;
use cora_core::key::PacketKey as _;
use cora_core::packet::{Meta, Packet};
use cora_runtime::link::message::Report;
use cora_runtime::link::ring::record_bytes;
use cora_runtime::ownership::{Admission, Order};

pub use conducted::run_conducted;
pub use faults::{FAULTS, Faults};
pub use in_part::{run_hooked, run_merged};
pub use killed::run_killed;
pub use lies::{Liar, run_lied_to};
pub use messages::{Messages, run_messages};
pub use planted::{Mistake, Planted, run_planted};

use crate::apps::SimApp;
use crate::halves;
use crate::memory::Supply;
use crate::random::Random;
use crate::replicas::Replicas;
use crate::result::Results;
use crate::story;
use crate::traffic::{Case, Record};
use crate::words::Life;
use conditions::Conditions;
use conducted::Conducted;
use host::HostSide;
use lies::Liars;
use nic::{NicSide, Others, Rings};
use questions::Operator;
use wire::WireEnd;

/// Maximum steps of a run: for each of its packets, and in addition.
const STEPS: [u64; 2] = [400, 20_000];

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Faults of the run.
    pub faults: Faults,
    /// Packets fed in.
    pub packets: u64,
    /// Moves of flows, from the host to the NIC and back.
    pub moves: u64,
    /// Packets lost with a killed side.
    pub lost: u64,
    /// Packets of flows that began after the last liar ended, in a run with liars.
    pub honest: u64,
    /// Messages that handlers sent, in a run without kills.
    pub messages: u64,
    /// Counters of the NIC half.
    pub nic: Report,
}

/// Maximum packets or messages that a step handles.
const MOST: usize = 5;
/// While kills remain, one occurs in this many steps.
const KILL_IN: u64 = 40;
/// The killed side ends within this many further stores to shared memory.
const KILL_STORES: u64 = 150;

/// Returns the maximum bytes of a step's packets, with frames of at most `longest` bytes.
const fn burst_bytes(longest: usize) -> usize {
    MOST * record_bytes(longest + 64)
}

/// The process that takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Wire,
    Host,
    Nic,
}

const TURNS: [Turn; 3] = [Turn::Wire, Turn::Host, Turn::Nic];

struct Runtime<'a, A: SimApp> {
    // The halves lie in memory of the supply, so they are dropped first.
    nic: NicSide<A>,
    host: HostSide<A>,
    wire: WireEnd,
    rings: Rings,
    supply: &'a mut Supply,
    case: &'a Case,
    seed: u64,
    conditions: Conditions,
    random: Random,
    longest: usize,
    fed: usize,
    /// Messages of changes fed in so far.
    changed: usize,
    /// Virtual time (ns), and the times until which each of [`TURNS`] pauses.
    clock: u64,
    wakes: [u64; 3],
    last: Option<Turn>,
    /// Group keys of the flows so far, for orders.
    groups: Vec<A::Group>,
    faults: Faults,
    operator: Operator,
    /// Remaining kills.
    kills: u64,
    /// Maximum number of packets that kills may have lost.
    endangered: u64,
    /// The controller, if not chance decides; `moved` holds the moves that it has not seen.
    conducted: Option<Conducted<A>>,
    /// The halves that lie.
    liars: Option<Liars>,
    moved: Vec<Move<A::Group>>,
    /// A planted mistake.
    planted: Option<Planted>,
}

/// Runs a case under the faults of `seed`. An error describes the violation.
pub fn run<A: SimApp>(case: &Case, seed: u64) -> Result<Ran, String> {
    ran::<A>(case, seed, None)
}

/// Runs a case, with a mistake if one is planted.
fn ran<A: SimApp>(case: &Case, seed: u64, planted: Option<Planted>) -> Result<Ran, String> {
    let (ran, results) = through::<A>(case, seed, planted)?;
    results.difference(&case.expected).map_or(Ok(ran), Err)
}

/// Runs a program with full tables. The plan then affects which packets are refused, so this only
/// checks that the results are sound.
pub fn run_full<A: SimApp>(case: &Case, seed: u64) -> Result<Ran, String> {
    let (ran, results) = through::<A>(case, seed, None)?;
    results.unsound(case.packets.len() as u64).map_or(Ok(ran), Err)
}

/// Runs a program whose operator removes entries at any time. That changes outcomes, so this only
/// checks that the results are sound.
pub fn run_removed<A: SimApp>(case: &Case, seed: u64) -> Result<Ran, String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<A>::new(case, seed, &mut supply);
    runtime.operator = runtime.operator.that_removes(seed);
    runtime.run()?;
    let results = runtime.results()?;
    results.unsound(case.packets.len() as u64).map_or(Ok(runtime.ran()), Err)
}

fn through<A: SimApp>(
    case: &Case,
    seed: u64,
    planted: Option<Planted>,
) -> Result<(Ran, Results), String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<A>::new(case, seed, &mut supply);
    runtime.plant(planted);
    runtime.run()?;
    let results = runtime.results()?;
    if runtime.host.half.report.refused > 0 {
        return Err("the key of an entry that came back was another's".to_owned());
    }
    Ok((runtime.ran(), results))
}

impl<'a, A: SimApp> Runtime<'a, A> {
    fn new(case: &'a Case, seed: u64, supply: &'a mut Supply) -> Self {
        let mut random = Random::new(seed ^ 0x0072_756e_7469_6d65);
        let records = case.changes.iter().map(|(_, (_, bytes))| bytes.len());
        let longest = case.packets.iter().map(|(_, frame)| frame.len()).chain(records).max();
        let longest = longest.unwrap_or(0).max(A::LONGEST);
        let conditions = Conditions::drawn(&mut random, seed, longest);
        let rings = Rings::new(conditions.rings);
        let refuses = conditions.refuses.then_some(seed);
        let nic = halves::nic::<A>(supply, case.seed, conditions.hold, refuses);
        let host = halves::host::<A>(supply, case.seed, true);
        let mut host = HostSide::new(host, &rings, Life::endless(), Replicas::default());
        if !conditions.by_plan {
            host.follow(&Order::Admit(Admission::NONE));
        }
        let mut nic = NicSide::new(nic, &rings, Life::endless(), burst_bytes(longest));
        let mut wire = WireEnd::new(rings.wire.consumer(&Life::endless()));
        host.begin();
        nic.serve(1, &mut Others { host: &mut host, wire: &mut wire });
        let mut runtime = Self {
            nic,
            host,
            wire,
            rings,
            supply,
            case,
            seed,
            conditions,
            random,
            longest,
            fed: 0,
            changed: 0,
            clock: 0,
            wakes: [0; 3],
            last: None,
            groups: A::flows(),
            faults: Faults::default(),
            operator: Operator::new(seed, false, longest),
            kills: 0,
            endangered: 0,
            conducted: None,
            liars: None,
            moved: Vec::new(),
            planted: None,
        };
        runtime.limit();
        runtime
    }

    fn run(&mut self) -> Result<(), String> {
        let most = STEPS[0] * self.case.packets.len() as u64 + STEPS[1];
        for _ in 0..most {
            self.pass_time();
            self.bury_all()?;
            self.disturb();
            self.bury_all()?;
            let able = TURNS.map(|turn| self.is_able(turn));
            if self.judge(!able.contains(&true)) {
                continue;
            }
            self.check()?;
            if !able.contains(&true) {
                let Some(arrival) = self.waits_until() else { return self.end() };
                if !self.nic.core.half.takes_packets() {
                    return self.end();
                }
                self.clock = self.clock.max(arrival);
                continue;
            }
            let awake = [0, 1, 2].map(|at| able[at] && self.wakes[at] <= self.clock);
            let count = awake.iter().filter(|awake| **awake).count() as u64;
            if count == 0 {
                let next = (0..3).filter(|at| able[*at]).map(|at| self.wakes[at]).min();
                self.clock = next.unwrap_or(self.clock).max(self.clock);
                continue;
            }
            let nth = self.random.below(count) as usize;
            let turn = TURNS.iter().zip(awake).filter(|(_, awake)| *awake).nth(nth);
            if let Some((turn, _)) = turn {
                self.step(*turn);
            }
        }
        Err(format!("no end after {most} steps"))
    }

    /// Plants a mistake.
    fn plant(&mut self, planted: Option<Planted>) {
        self.planted = planted;
        mistaken::plant(planted);
        self.host.err(planted);
        self.nic.err(planted);
    }

    /// Replaces each dead side.
    fn bury_all(&mut self) -> Result<(), String> {
        self.bury_host()?;
        self.bury()
    }

    /// Returns the admission with which the host starts.
    const fn admission(&self) -> Admission {
        if self.conditions.by_plan { Admission::of_plan(&A::PLAN) } else { Admission::NONE }
    }

    fn is_able(&mut self, turn: Turn) -> bool {
        match turn {
            Turn::Wire => {
                let comes = self.fed < self.case.packets.len() && self.has_come();
                (comes || self.change().is_some()) && self.nic_takes_packets()
            }
            Turn::Host => self.host.is_busy(),
            Turn::Nic => self.nic.has_mail(),
        }
    }

    /// Returns the message of a change, if it is next on the wire.
    fn change(&self) -> Option<&Record> {
        let (packet, record) = self.case.changes.get(self.changed)?;
        (*packet == self.fed).then_some(record)
    }

    /// Returns whether packets may come in, if necessary after the wire's ring is drained.
    fn nic_takes_packets(&mut self) -> bool {
        let mut others = Others { host: &mut self.host, wire: &mut self.wire };
        if self.nic.takes_packets(&mut others) {
            return true;
        }
        others.wire.drain();
        self.nic.takes_packets(&mut others)
    }

    fn step(&mut self, turn: Turn) {
        self.faults.reordered += u64::from(self.last == Some(turn));
        self.last = Some(turn);
        let some = 1 + self.random.below(MOST as u64) as usize;
        let mut others = Others { host: &mut self.host, wire: &mut self.wire };
        match turn {
            Turn::Wire
                if let Some(record) = self.case.changes.get(self.changed)
                    && record.0 == self.fed =>
            {
                self.changed += 1;
                self.nic.change(&record.1, &mut others);
            }
            Turn::Wire => {
                let end = self.case.changes.get(self.changed).map(|(packet, _)| *packet);
                let packets = &self.case.packets[self.fed..end.unwrap_or(self.case.packets.len())];
                let mut packets = packets[..some.min(packets.len())].to_vec();
                if self.conducted.is_some() {
                    packets.retain(|(stamp, _)| stamp.meta.now <= self.clock);
                }
                for (stamp, frame) in &mut packets {
                    if self.planted == Some(Planted::WallClock) {
                        stamp.meta.now = stamp.meta.time;
                    }
                    if let Ok(group) = A::Group::of_packet(&Packet::new(frame, Meta::default()))
                        && !self.groups.contains(&group)
                    {
                        self.groups.push(group);
                    }
                }
                self.fed += self.nic.feed(&mut packets, &mut others);
            }
            Turn::Host => self.host.poll(some),
            Turn::Nic => self.nic.serve(some, &mut others),
        }
        if self.random.once_in(3) {
            self.wire.drain();
        }
        self.charge();
    }

    /// Injects the events beside a step: orders, pauses, kills, and reports of the NIC's load.
    fn disturb(&mut self) {
        if self.conducted.is_some() {
            return self.decide();
        }
        let Conditions { order_in, delay_in, delay, tell_in, .. } = self.conditions;
        if self.random.once_in(order_in)
            && let Some(order) =
                orders::order(&mut self.random, &self.groups, self.conditions.displaces)
        {
            self.faults.orders += 1;
            story::tell(|| format!("order: {order:?}"));
            self.host.follow(&order);
        }
        let packet = self.fed.checked_sub(1).and_then(|last| self.case.packets.get(last));
        self.faults.questions += self.operator.disturb(&mut self.nic, &mut self.host, packet);
        if self.random.once_in(delay_in) {
            self.faults.delays += 1;
            let at = self.random.below(3) as usize;
            self.wakes[at] = self.clock + self.random.below(delay);
        }
        if self.kills > 0 && self.random.once_in(KILL_IN) {
            self.kills -= 1;
            // A burst of a program that sends may take many more.
            let most = if A::SENDS { 20 * KILL_STORES } else { KILL_STORES };
            let stores = self.random.below(most);
            let nic = self.random.once_in(2);
            // A host that has nothing to handle stores nothing, and dies nevertheless.
            let stores = if A::PLAN.sides == Sides::NicOnly && !nic { 0 } else { stores };
            if nic { &self.nic.life } else { &self.host.life }.ends_after(stores);
        }
        if self.random.once_in(tell_in) {
            let mut others = Others { host: &mut self.host, wire: &mut self.wire };
            self.nic.tell(self.clock, &mut others);
        }
        let held_back = self.fed < self.case.packets.len() && !self.nic.core.half.takes_packets();
        self.faults.wire_waits += u64::from(held_back);
    }

    /// Returns the first error so far.
    fn check(&mut self) -> Result<(), String> {
        let errors = [&mut self.nic.error, &mut self.host.error, &mut self.wire.error];
        let error = errors.into_iter().find_map(Option::take);
        error.or_else(|| self.broken_promise()).map_or(Ok(()), Err)
    }

    /// Returns the first error of the host and of the wire, when the NIC is dead.
    fn check_host(&mut self) -> Result<(), String> {
        let errors = [&mut self.host.error, &mut self.wire.error];
        errors.into_iter().find_map(Option::take).map_or(Ok(()), Err)
    }

    /// Checks that the run is complete, when no process has work.
    fn end(&mut self) -> Result<(), String> {
        let (nic, host) = (self.nic.core.half.is_drained(), self.host.half.is_drained());
        let changed = self.changed == self.case.changes.len();
        if self.fed == self.case.packets.len() && changed && nic && host {
            return Ok(());
        }
        let waits = |drained: bool| if drained { "is through" } else { "waits" };
        let left = self.case.packets.len() - self.fed;
        let (nic, host) = (waits(nic), waits(host));
        Err(format!("stuck: {left} packets not fed in, the NIC {nic}, the host {host}"))
    }

    /// Ends the time of the run: hooks that are due by then run. Returns that time.
    fn end_hooks(&mut self) -> Result<u64, String> {
        let now = self.nic.core.half.now().max(self.host.half.now());
        if !A::HOOKED.is_empty() {
            // A kill from here on would come after the run.
            self.nic.life.spare();
            self.host.life.spare();
            self.nic.end_hooks(now, &mut Others { host: &mut self.host, wire: &mut self.wire });
            self.host.end_hooks(now);
        }
        self.check()?;
        Ok(now)
    }

    fn results(&mut self) -> Result<Results, String> {
        self.wire.drain();
        let now = self.end_hooks()?;
        let mut results = std::mem::take(&mut self.wire.results);
        results.count(&self.nic.core.half.engine().outcomes);
        results.count(&self.host.half.engine().outcomes);
        results.merge(self.nic.core.half.engine().app(), self.host.half.engine().app(), now)?;
        results.hold(self.host.half.engine().app(), now);
        results.wait(self.nic.core.half.engine().app(), now);
        results.wait(self.host.half.engine().app(), now);
        let (nic, host) = (&mut self.nic.core.half, &mut self.host);
        results.end_all(nic.engine().app(), Vec::new());
        let ended = host.take_ended();
        results.end_all(host.half.engine().app(), ended);
        Ok(results)
    }

    fn ran(&self) -> Ran {
        let nic = self.nic.core.half.report;
        let (nic_waits, host_waits) = (self.nic.waits(), self.host.waits());
        let heads = self.faults.heads + self.nic.heads();
        let wall_steps = self.case.wall_steps;
        Ran {
            faults: Faults { nic_waits, host_waits, heads, wall_steps, ..self.faults },
            packets: self.fed as u64,
            moves: nic.offloads + nic.released,
            lost: 0,
            honest: 0,
            messages: 0,
            nic,
        }
    }
}
