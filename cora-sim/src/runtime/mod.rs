//! The whole runtime in one process: both halves on real rings, a controller that gives orders at
//! any time, the wire's end, a virtual clock, and one scheduler. Rings are small, so that they get
//! full; sides stand still for a while.
//!
//! 1. A seed gives the packets ([`traffic`](crate::traffic)) and the conditions: sizes of rings,
//!    how often what happens.
//! 2. In each step one of those who have something to do goes on by a little; the seed says who.
//! 3. When nobody has, all must be handled, and the results be those of the host alone.
//!
//! | module | concept |
//! | --- | --- |
//! | `nic`, `host`, `wire` | the processes |
//! | `killed` | what must hold when sides die |
//! | `lies` | a half that sends anything |
//! | `orders` | a controller by chance |
//! | `conducted` | the controller, in virtual time |
//! | `bounds` | what it promises about moves |
//! | `conditions` | what a seed decides, beside packets and steps |
//! | [`Faults`] | what was done to a run |
//! | [`Planted`] | mistakes that have to be noticed |

mod bounds;
mod conditions;
mod conducted;
mod faults;
mod host;
mod killed;
mod lies;
mod nic;
mod orders;
mod planted;
mod wire;

use cora_control::Move;
use cora_core::key::Key as _;
use cora_core::packet::{Meta, Packet};
use cora_runtime::link::message::Report;
use cora_runtime::link::ring::record_bytes;
use cora_runtime::ownership::{Admission, Order};

pub use conducted::run_conducted;
pub use faults::{FAULTS, Faults};
pub use killed::run_killed;
pub use lies::{Liar, run_lied_to};
pub use planted::{Planted, run_planted};

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
use wire::WireEnd;

/// Steps that a run may take for each of its packets, and in all.
const STEPS: [u64; 2] = [400, 20_000];

/// How a run went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// What was done to it.
    pub faults: Faults,
    /// Packets fed in.
    pub packets: u64,
    /// Flows that moved: from the host to the NIC, and back.
    pub moves: u64,
    /// Packets that were lost with a side that died.
    pub lost: u64,
    /// Packets of flows that began when no half lied any more, in a run where one did.
    pub honest: u64,
    /// What the NIC counted.
    pub nic: Report,
}

/// Packets or messages that are handled in a step, at most.
const MOST: usize = 5;
/// While there are kills to come, one comes in so many steps.
const KILL_IN: u64 = 40;
/// It comes before so many more stores to shared memory.
const KILL_STORES: u64 = 150;

/// Bytes that the packets of a step send at most, with frames of at most `longest` bytes.
const fn burst_bytes(longest: usize) -> usize {
    MOST * record_bytes(longest + 64)
}

/// Who goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Wire,
    Host,
    Nic,
}

const TURNS: [Turn; 3] = [Turn::Wire, Turn::Host, Turn::Nic];

struct Runtime<'a, A: SimApp> {
    // The halves lie in memory of the supply: they go first.
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
    /// Messages of changes that were fed in.
    changed: usize,
    /// Virtual time (ns), and until when each of [`TURNS`] stands still.
    clock: u64,
    wakes: [u64; 3],
    last: Option<Turn>,
    /// Keys of flows that came, for orders.
    groups: Vec<A::Group>,
    faults: Faults,
    /// Kills to come.
    kills: u64,
    /// Packets that may have been lost by kills.
    endangered: u64,
    /// Who decides which flows move, if not chance, and the moves that it has not seen yet.
    conducted: Option<Conducted<A>>,
    /// Halves that lie.
    liars: Option<Liars>,
    moved: Vec<Move<A::Group>>,
    /// A mistake on purpose.
    planted: Option<Planted>,
}

/// Runs a case; what is done to it follows from `seed`. An error says what broke.
pub fn run<A: SimApp>(case: &Case, seed: u64) -> Result<Ran, String> {
    ran::<A>(case, seed, None)
}

/// Likewise with a mistake in it.
fn ran<A: SimApp>(case: &Case, seed: u64, planted: Option<Planted>) -> Result<Ran, String> {
    let (ran, results) = through::<A>(case, seed, planted)?;
    results.difference(&case.expected).map_or(Ok(ran), Err)
}

/// Likewise of a program whose tables are full, so that which packets are refused depends on the
/// plan.
pub fn run_full<A: SimApp>(case: &Case, seed: u64) -> Result<Ran, String> {
    let (ran, results) = through::<A>(case, seed, None)?;
    results.unsound(case.packets.len() as u64).map_or(Ok(ran), Err)
}

fn through<A: SimApp>(
    case: &Case,
    seed: u64,
    planted: Option<Planted>,
) -> Result<(Ran, Results), String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<A>::new(case, seed, &mut supply);
    runtime.planted = planted;
    runtime.host.err(planted);
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
        let longest = longest.unwrap_or(0);
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
        Self {
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
            groups: Vec::new(),
            faults: Faults::default(),
            kills: 0,
            endangered: 0,
            conducted: None,
            liars: None,
            moved: Vec::new(),
            planted: None,
        }
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

    /// Whoever is dead is followed by another one.
    fn bury_all(&mut self) -> Result<(), String> {
        self.bury_host()?;
        self.bury()
    }

    /// What the host offers by itself at first.
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

    /// The message of a change that is next on the wire.
    fn change(&self) -> Option<&Record> {
        let (packet, record) = self.case.changes.get(self.changed)?;
        (*packet == self.fed).then_some(record)
    }

    /// Whether packets may come in, at the latest when what left is taken from the wire's ring.
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
                    if let Ok(group) = A::Group::of(&Packet::new(frame, Meta::default()))
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

    /// What happens beside: orders, sides that stand still, a load that is told.
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
        if self.random.once_in(delay_in) {
            self.faults.delays += 1;
            let at = self.random.below(3) as usize;
            self.wakes[at] = self.clock + self.random.below(delay);
        }
        if self.kills > 0 && self.random.once_in(KILL_IN) {
            self.kills -= 1;
            let stores = self.random.below(KILL_STORES);
            let nic = self.random.once_in(2);
            if nic { &self.nic.life } else { &self.host.life }.ends_after(stores);
        }
        if self.random.once_in(tell_in) {
            let mut others = Others { host: &mut self.host, wire: &mut self.wire };
            self.nic.tell(self.clock, &mut others);
        }
        let held_back = self.fed < self.case.packets.len() && !self.nic.core.half.takes_packets();
        self.faults.wire_waits += u64::from(held_back);
    }

    /// What went wrong so far.
    fn check(&mut self) -> Result<(), String> {
        let errors = [&mut self.nic.error, &mut self.host.error, &mut self.wire.error];
        let error = errors.into_iter().find_map(Option::take);
        error.or_else(|| self.broken_promise()).map_or(Ok(()), Err)
    }

    /// Likewise, when the NIC is dead.
    fn check_host(&mut self) -> Result<(), String> {
        let errors = [&mut self.host.error, &mut self.wire.error];
        errors.into_iter().find_map(Option::take).map_or(Ok(()), Err)
    }

    /// Nobody has anything to do.
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

    fn results(&mut self) -> Result<Results, String> {
        self.wire.drain();
        self.check()?;
        let now = self.nic.core.half.now().max(self.host.half.now());
        let mut results = std::mem::take(&mut self.wire.results);
        results.count(&self.nic.core.half.engine().outcomes);
        results.count(&self.host.half.engine().outcomes);
        results.merge(self.nic.core.half.engine().app(), self.host.half.engine().app(), now)?;
        results.hold(self.host.half.engine().app(), now);
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
            nic,
        }
    }
}
