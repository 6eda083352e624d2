//! A run under the plan `dealt`: several real halves, each with the buckets that it receives, and
//! buckets that move between them at any time.
//!
//! ```text
//!             flow table ─→ queue ─→ NIC half  ─→ queue ─┐
//!   packets ─→ (emulated) ─→ queue ─→ host half ─→ queue ─┼─→ the wire, and the coordinator
//!                            ▲                            │
//!                            └── records, entries, strays ┘
//! ```
//!
//! 1. A seed gives the packets ([`traffic`]), each with the mark of its bucket, and
//!    the conditions: shards at either side, sizes of queues, faults of the flow table, limits of
//!    moves.
//! 2. In each step one process with work advances a little: the wire, a half, or what reads the
//!    output of a half. Virtual time goes on, so rules apply one by one, late, twice or never. Now
//!    and then a random set of buckets is wished to a random shard, a packet comes to a wrong one,
//!    or a half is killed.
//! 3. One program has hooks of entries that end, which change a value of their bucket. In its runs,
//!    packets are far apart: an entry ends, and its hook is due, before a move, amid it, or after.
//!    In half of them a timer ticks for each bucket, too.
//! 4. At the end all moves are over. Without kills, the results are those of the host alone. With
//!    them, the invariants hold: no key is at two shards, flows keep their order, and each packet
//!    has one outcome or was lost with a half.
//!
//! | module | concept |
//! | --- | --- |
//! | `shard` | a half, and its queues |
//! | `table` | the flow table of the [`Dealer`], with faults |
//! | `killed` | kills of halves |
//! | `wishes` | the deal at the beginning, and wishes by chance |
//! | `ended` | what is checked |
//! | `conditions` | conditions drawn from a seed |
//! | [`Mistake`] | planted mistakes that must be detected |
//! | `mistaken` | the records between dealer and shards, with a mistake |

mod conditions;
mod ended;
mod killed;
mod mistaken;
mod planted;
mod shard;
mod table;
mod wishes;

use cora_core::bucket::Bucket;
use cora_core::state::commutative::epoch_end;
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::link::message::{Kind, Message};
use cora_switch::Shard as ShardNumber;
use cora_switch::coordinator::Phase;
use cora_switch::dealer::{Dealer, Passed};

pub use planted::Mistake;

use crate::apps::firewall::Firewall;
use crate::apps::pools::Pools;
use crate::apps::seats::Seating;
use crate::apps::{Alone, Dealt, SimApp, Ticking};
use crate::memory::Supply;
use crate::random::Random;
use crate::result::Results;
use crate::runtime::{Faults, Ran};
use crate::story;
use crate::traffic::{self, Case, Record};
use conditions::Conditions;
use killed::Lost;
use mistaken::Mistaken;
use shard::Shard;
use table::Table;
use wishes::first_deal;

/// Maximum steps of a run: for each of its packets, and in addition.
const STEPS: [u64; 2] = [600, 60_000];
/// Maximum time that a step takes (ns), and maximum time in addition while nothing has work.
const STEP: u64 = 300;
const IDLE_STEP: u64 = 3_000;
/// Once nothing has work, so many steps may pass before something has, as rules apply or get lost.
const PATIENCE: u32 = 5_000;
/// While kills remain, one occurs in this many steps: while no bucket moves, and while one does.
const KILL_IN: [u64; 2] = [60, 12];
/// Maximum number of flows where there are many: then a shard gives its entries in parts.
const MANY: u64 = 40;

/// The period of a program's timer (ns): about as long as a packet takes to come.
const PERIOD: u64 = 155_000_000;

/// Packets of a run with a planted mistake.
const MISTAKEN: u32 = 64;

/// How a run is planned.
#[derive(Clone, Copy, Debug)]
struct Planned {
    packets: u32,
    /// Maximum number of kills.
    kills: u64,
    /// Every bucket that is to move does, and the wire never stops for a move.
    sound: bool,
    mistake: Option<Mistake>,
}

/// Runs a program on several halves that each receive their own buckets, with up to `kills` kills.
/// An error describes the violation.
pub fn run_dealt(seed: u64, packets: u32, kills: u64) -> Result<Ran, String> {
    through(seed, Planned { packets, kills, sound: false, mistake: None })
}

/// Runs the same with a planted mistake, under conditions in which it matters.
pub fn run_mistaken(mistake: Mistake, seed: u64) -> Result<Ran, String> {
    let kills = if mistake.needs_kills() { 4 } else { 0 };
    let mistake = Some(mistake);
    through(seed, Planned { packets: MISTAKEN, kills, sound: true, mistake })
}

/// Runs the same without the mistake.
pub fn run_sound(seed: u64, kills: u64) -> Result<Ran, String> {
    through(seed, Planned { packets: MISTAKEN, kills, sound: true, mistake: None })
}

fn through(seed: u64, planned: Planned) -> Result<Ran, String> {
    // A separate generator keeps the meaning of older seeds.
    let hooks = Random::new(seed ^ 0x6865_6c64_7365_6174).once_in(3);
    if planned.mistake.map_or(hooks, Mistake::needs_hooks) {
        // Few entries end shortly before a move, so these runs are longer.
        let planned = Planned { packets: 3 * planned.packets, ..planned };
        let ticks = planned.mistake.map_or(seed & 1 == 0, Mistake::needs_timers);
        if ticks {
            type Ticks<V> = Seating<Ticking<V, PERIOD>>;
            return of::<Ticks<Dealt>, Ticks<Alone>>(seed, planned);
        }
        return of::<Seating<Dealt>, Seating<Alone>>(seed, planned);
    }
    if seed & 1 == 0 && planned.mistake != Some(Mistake::ValuesLost) {
        return of::<Firewall<Dealt>, Firewall<Alone>>(seed, planned);
    }
    of::<Pools<Dealt>, Pools<Alone>>(seed, planned)
}

/// Runs a program, in its variant for dealt buckets and in that for the host alone.
fn of<A: SimApp, R: SimApp>(seed: u64, planned: Planned) -> Result<Ran, String> {
    let Planned { packets, kills, .. } = planned;
    let mut random = Random::new(seed ^ 0x006d_616e_7900);
    let many = random.once_in(16);
    let (flows, packets) = if many { (MANY, 4 * packets) } else { (A::WISHES.flows, packets) };
    let filling = random.pick(&[0, 0, 0, traffic::MIDDLE]);
    let case = traffic::make_marked::<R>(seed, packets, flows, filling);
    let mut supply = Supply::default();
    let mut run = Run::<A>::new(&case, seed, &mut supply, planned);
    let ran = run.run().and_then(|()| run.ended());
    ran.map_err(|what| format!("{}, dealt, {kills} kills: {what}", A::NAME))
}

/// A run.
struct Run<'a, A: SimApp> {
    // The halves lie in memory of the supply, so they are dropped first.
    shards: Vec<Shard<A>>,
    dealer: Dealer<Table>,
    /// The program that the halves' states are merged into at the end.
    home: A,
    supply: &'a mut Supply,
    case: &'a Case,
    conditions: Conditions,
    random: Random,
    buffer: Box<[u8]>,
    /// The buckets that packets are of.
    buckets: Vec<Bucket>,
    fed: usize,
    /// When the latest epoch ends, if shards are told (ns of packet time).
    epoch_ends: u64,
    clock: u64,
    /// How often the wire, the halves and the readers of their output work.
    weights: [u64; 3],
    /// A packet is at a wrong shard: the wire waits until it is where it belongs.
    is_astray: bool,
    /// Packets that left, and outcomes of halves that died.
    results: Results,
    kills: u64,
    lost: Lost,
    faults: Faults,
    mistaken: Mistaken,
}

/// A process that takes a step.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Wire,
    Half(usize),
    Reader(usize),
    Revival(usize),
}

/// The shard with this number.
const fn numbered(shard: usize) -> ShardNumber {
    ShardNumber::new(shard as u16)
}

impl<'a, A: SimApp> Run<'a, A> {
    fn new(case: &'a Case, seed: u64, supply: &'a mut Supply, planned: Planned) -> Self {
        let Planned { kills, sound, mistake, .. } = planned;
        let mut random = Random::new(seed ^ 0x6465_616c_7400);
        let mut buckets: Vec<Bucket> =
            case.packets.iter().map(|(stamp, _)| stamp.meta.mark.bucket).collect();
        buckets.sort_unstable();
        buckets.dedup();
        let mut conditions =
            Conditions::drawn(&mut random, buckets.len() as u64, (sound, A::TIMED));
        if kills > 0 {
            // One that a dead half left unread may be held by the half in its place, out of order.
            conditions.astray_in = u64::MAX;
        }
        if mistake == Some(Mistake::MoveTooLong) {
            conditions.limits.packet_ns = u64::MAX >> 1;
        }
        story::tell(|| format!("{conditions:?}"));
        let [nics, hosts] = conditions.shards.map(usize::from);
        let shards = (0..nics + hosts)
            .map(|number| Shard::new(supply, case.seed, conditions.hold, number < nics, number));
        let shards = shards.collect();
        let mut home = A::new(&mut supply.lend(A::MEMORY, case.seed)).expect("memory");
        let Conditions { abilities, rule_fault_in, limits, .. } = conditions;
        let table = Table::new(abilities, rule_fault_in, seed ^ 0x7461_626c_6500);
        let all = conditions.shards.iter().sum();
        let deal = first_deal::<A>(&conditions, &buckets, &mut random);
        let dealer = Dealer::new(&mut home, table, limits, (&deal, all));
        let dealer = dealer.expect("the shards of the deal are there");
        Self {
            shards,
            dealer,
            home,
            supply,
            case,
            conditions,
            random,
            buffer: vec![0; BURST_BYTES].into(),
            buckets,
            fed: 0,
            epoch_ends: 0,
            clock: 0,
            weights: [1; 3],
            is_astray: false,
            results: Results::default(),
            kills,
            lost: Lost::default(),
            faults: Faults::default(),
            mistaken: Mistaken::new(mistake),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let most = STEPS[0] * self.case.packets.len() as u64 + STEPS[1];
        let mut idle = 0;
        for _ in 0..most {
            self.clock += 1 + self.random.below(STEP);
            self.settle();
            self.disturb()?;
            let turns = self.turns();
            let Some(turn) = self.draw(&turns) else {
                idle += 1;
                if self.is_over() {
                    return Ok(());
                }
                if idle > PATIENCE {
                    return Err(format!("stuck: {}", self.situation()));
                }
                self.clock += self.random.below(IDLE_STEP);
                continue;
            };
            idle = 0;
            self.step(turn)?;
            if self.random.once_in(64) {
                self.check_keys()?;
            }
        }
        Err(format!("no end after {most} steps: {}", self.situation()))
    }

    /// The dealer goes on.
    fn settle(&mut self) {
        let Self { dealer, shards, mistaken, clock, .. } = self;
        let mut push = |to: ShardNumber, record| shards[to.number()].inbox.push_back(record);
        dealer.step(*clock, &mut |shard, record| mistaken.told(shard, record, &mut push));
        mistaken.told_all(&mut push);
    }

    /// Whether everything was done.
    fn is_over(&self) -> bool {
        self.fed == self.case.packets.len()
            && self.dealer.is_quiet()
            && self.shards.iter().all(|shard| !shard.is_dead())
    }

    fn situation(&self) -> String {
        let left = self.case.packets.len() - self.fed;
        let waits = |shard: &Shard<A>| !shard.is_drained();
        let waiting: Vec<usize> =
            (0..self.shards.len()).filter(|number| waits(&self.shards[*number])).collect();
        let report = self.dealer.coordinator().report(self.clock);
        format!("{left} packets not fed in, shards {waiting:?} wait; {report}")
    }

    /// The processes that have work.
    fn turns(&self) -> Vec<Turn> {
        let mut turns = Vec::new();
        if self.may_feed() {
            turns.push(Turn::Wire);
        }
        for (number, shard) in self.shards.iter().enumerate() {
            if shard.is_busy() {
                turns.push(Turn::Half(number));
            }
            if !shard.outbox.is_empty() {
                turns.push(Turn::Reader(number));
            }
            if shard.is_dead() {
                turns.push(Turn::Revival(number));
            }
        }
        turns
    }

    /// Draws a process by the weights. Those without weight wait until all others have no work.
    fn draw(&mut self, turns: &[Turn]) -> Option<Turn> {
        if self.random.once_in(30) {
            self.weights = [0; 3].map(|_| self.random.below(7));
        }
        let weights = self.weights;
        let weight = |turn: &Turn| match turn {
            Turn::Wire => weights[0],
            Turn::Half(_) => weights[1],
            Turn::Reader(_) => weights[2],
            Turn::Revival(_) => 1,
        };
        let all: u64 = turns.iter().map(weight).sum();
        if all == 0 {
            self.weights = [1; 3];
            return turns.first().copied();
        }
        let mut ticket = self.random.below(all);
        turns.iter().copied().find(|turn| {
            let is_it = ticket < weight(turn);
            ticket = ticket.saturating_sub(weight(turn));
            is_it
        })
    }

    /// Whether the next packet may come in.
    fn may_feed(&self) -> bool {
        let Some((stamp, _)) = self.case.packets.get(self.fed) else { return false };
        let to = self.dealer.table().shard_of(stamp.meta.mark.bucket);
        !self.stops(stamp.meta.now)
            && !self.is_astray
            && self.shards[to].inbox.len() < self.conditions.room
    }

    /// Whether an epoch begins with a packet of this time, which shards are told of.
    const fn begins(&self, now: u64) -> bool {
        A::TELLS_EPOCHS && now >= self.epoch_ends
    }

    /// Whether a packet of this time must wait, and all behind it.
    fn stops(&self, now: u64) -> bool {
        if self.mistaken.is(Mistake::TickAmidMove) && self.fed > 0 {
            return self.dealer.coordinator().must_wait(now);
        }
        self.dealer.stops(now, self.begins(now))
    }

    fn step(&mut self, turn: Turn) -> Result<(), String> {
        let some = 1 + self.random.below(self.conditions.most);
        match turn {
            Turn::Wire => {
                for _ in 0..some {
                    if !self.may_feed() {
                        break;
                    }
                    self.feed();
                    // The supervisor looks at the table between two packets, too.
                    if self.random.once_in(3) {
                        self.settle();
                    }
                }
            }
            Turn::Half(number) => self.shards[number].work(some as usize, &mut self.buffer)?,
            Turn::Reader(number) => self.read(number, some)?,
            Turn::Revival(number) => self.revive(number)?,
        }
        if self.is_astray {
            let is_empty = |shard: &Shard<A>| shard.inbox.is_empty() && shard.outbox.is_empty();
            self.is_astray = !self.shards.iter().all(is_empty);
        }
        Ok(())
    }

    /// The next packet comes in, at the shard that the flow table says, or at a wrong one.
    fn feed(&mut self) {
        let (stamp, frame) = &self.case.packets[self.fed];
        self.fed += 1;
        if self.begins(stamp.meta.now) {
            self.epoch_ends = epoch_end(stamp.meta.now);
            self.shards.iter_mut().for_each(|shard| shard.epoch_begins(self.epoch_ends));
        }
        let bucket = stamp.meta.mark.bucket;
        let mut to = self.dealer.table().shard_of(bucket);
        if self.random.once_in(self.conditions.astray_in) {
            let wrong = self.random.below(self.shards.len() as u64) as usize;
            if self.may_stray(bucket, wrong) {
                to = wrong;
                self.is_astray = true;
                self.faults.strays += 1;
            }
        }
        let record = self.shards[to].frame(*stamp, frame);
        self.shards[to].inbox.push_back(record);
        self.dealer.passed(&stamp.meta, numbered(to), frame.len());
    }

    /// Whether a packet of this bucket may come to this shard by mistake, with no effect on order.
    /// The next owner would keep it. And while rules are inserted, it would go on to the old owner,
    /// even if the next one holds earlier packets.
    fn may_stray(&self, bucket: Bucket, to: usize) -> bool {
        let coordinator = self.dealer.coordinator();
        let takes = |shard| coordinator.takes(bucket, shard);
        let inserts = coordinator.report(0).under_way.filter(|it| it.phase == Phase::Inserting);
        !(takes(numbered(to)) || inserts.is_some_and(|it| takes(it.from) && takes(it.to)))
    }

    /// Reads the next records of a shard's output.
    fn read(&mut self, number: usize, most: u64) -> Result<(), String> {
        for _ in 0..most {
            let outbox = &mut self.shards[number].outbox;
            let said = outbox.iter().position(|(kind, _)| Kind::is_of_deal(*kind));
            let overtakes = self.mistaken.is(Mistake::SaidFirst);
            let at = said.filter(|_| overtakes).unwrap_or(0);
            if overtakes && said.is_none() && !self.random.once_in(4) {
                break;
            }
            let Some(record) = outbox.remove(at) else { break };
            self.heard(number, record)?;
        }
        Ok(())
    }

    /// A record of a shard's output.
    fn heard(&mut self, number: usize, (kind, mut bytes): Record) -> Result<(), String> {
        if let Some((stamp, frame)) = Message::decode_frame(kind, &mut bytes) {
            self.results.left(stamp.leaves_at().0, frame);
            return Ok(());
        }
        let passed = self.dealer.said(numbered(number), (kind, bytes), self.clock);
        let passed =
            passed.map_err(|lied| format!("shard {number} is blamed, though honest: {lied}"))?;
        match self.mistaken.passes(passed) {
            Passed::Done => {}
            Passed::Record(to, record) => {
                self.faults.ends_moved += u64::from(record.0 == Kind::Waits);
                self.shards[to.number()].inbox.push_back(record);
            }
            Passed::Packet(to, stamp, frame) => {
                let shard = &mut self.shards[to.number()];
                let record = shard.frame(stamp, &frame);
                shard.inbox.push_back(record);
            }
        }
        self.settle();
        Ok(())
    }

    /// What happens beside a step: wishes, and kills.
    fn disturb(&mut self) -> Result<(), String> {
        let goes_on = self.fed < self.case.packets.len();
        if goes_on && self.may_wish() {
            self.wish();
        }
        let next = self.case.packets.get(self.fed);
        let waits = next.is_some_and(|(stamp, _)| self.stops(stamp.meta.now));
        let waits = waits && self.fed > 0;
        self.faults.wire_waits += u64::from(waits);
        let kill_in = KILL_IN[usize::from(!self.dealer.is_quiet())];
        let has_begun = goes_on && self.fed > 0;
        if has_begun && self.kills > 0 && self.random.once_in(kill_in) {
            self.kills -= 1;
            let number = self.random.below(self.shards.len() as u64) as usize;
            self.kill(number)?;
        }
        Ok(())
    }
}
