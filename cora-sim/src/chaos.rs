//! Runs one simulation after another on all processors, each from its own seed.
//!
//! ```
//! let found = cora_sim::chaos::one(7);
//! assert!(found.is_ok(), "{found:?}");
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cora_core::app::App as _;

use crate::apps::actors::Actors;
use crate::apps::balancer::Balancer;
use crate::apps::counters::Counting;
use crate::apps::crowd::Crowd;
use crate::apps::crowded::Crowded;
use crate::apps::firewall::Firewall;
use crate::apps::hairpin::Hairpin;
use crate::apps::inside::Inside;
use crate::apps::judged::Judging;
use crate::apps::marks::Marking;
use crate::apps::mirrors::Mirrors;
use crate::apps::nat::Nat;
use crate::apps::tenants::Tenants;
use crate::apps::tickets::{Kept, Ticketing};
use crate::apps::visits::Visiting;
use crate::apps::{AtNic, Copying, Share, SimApp, Variant};
use crate::dealt::run_dealt;
use crate::random::Random;
use crate::runtime::{self, Faults, Liar, Messages, Ran};
use crate::traffic;

/// One in this many runs is under the controller.
const ADAPTS_IN: u64 = 128;
/// Maximum number of stored violations.
const KEPT: usize = 20;

/// A violation, and the seed that reproduces it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Seed of the run.
    pub seed: u64,
    /// Description of the violation.
    pub what: String,
}

/// Totals of all runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Runs.
    pub runs: u64,
    /// Packets fed in.
    pub packets: u64,
    /// Flows that moved.
    pub moves: u64,
    /// Messages that handlers sent, in runs without kills.
    pub messages: u64,
    /// Packets and messages lost with a killed side.
    pub lost: u64,
    /// Faults of all runs.
    pub faults: Faults,
    /// Runs with a violation.
    pub violated: u64,
    /// The first violations, by seed.
    pub violations: Vec<Violation>,
}

impl Summary {
    fn add(&mut self, seed: u64, outcome: Result<Ran, String>) {
        self.runs += 1;
        match outcome {
            Ok(ran) => {
                self.packets += ran.packets;
                self.moves += ran.moves;
                self.messages += ran.messages;
                self.lost += ran.lost;
                self.faults.add(&ran.faults);
            }
            Err(what) => {
                self.violated += 1;
                if self.violations.len() < KEPT {
                    self.violations.push(Violation { seed, what });
                }
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.runs += other.runs;
        self.packets += other.packets;
        self.moves += other.moves;
        self.messages += other.messages;
        self.lost += other.lost;
        self.faults.add(&other.faults);
        self.violated += other.violated;
        self.violations.extend(other.violations);
        self.violations.sort_by_key(|violation| violation.seed);
        self.violations.truncate(KEPT);
    }
}

/// Limits of [`many`], which stops when either is reached.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum time.
    pub time: Duration,
    /// Maximum number of runs.
    pub runs: u64,
}

/// Runs the simulation of a seed, which determines the program, the packets and the faults. Returns
/// any violation, also a panic, as an error.
pub fn one(seed: u64) -> Result<Ran, String> {
    let mut random = Random::new(seed ^ 0x6368_616f_7300);
    let packets = 16 + random.below(48) as u32;
    // These runs take some hundred times as long as the others.
    let adapts = Random::new(seed ^ 0x6164_6170_7473).once_in(ADAPTS_IN);
    // A separate generator keeps the meaning of older seeds.
    let later = Random::new(seed ^ 0x6c61_7465_7200).below(32);
    let judges = Random::new(seed ^ 0x6a75_6467_6573).once_in(16);
    let has_hooks = Random::new(seed ^ 0x686f_6f6b_7300).once_in(24);
    let has_merges = Random::new(seed ^ 0x6d65_7267_6573).once_in(24);
    let deals = Random::new(seed ^ 0x0064_6561_6c69_6e67).once_in(12);
    let sends = Random::new(seed ^ 0x6d65_7373_6167_6573).once_in(12);
    let run = match random.below(64) {
        _ if adapts => conducted,
        _ if deals => dealt,
        _ if sends => messages,
        _ if has_hooks => hooked,
        _ if has_merges => merged,
        _ if judges => program::<Judging<Share<1024>>>,
        _ if later == 0 => program::<Hairpin<Share<1024>>>,
        _ if later == 1 => full,
        _ if later == 2 => program::<Tenants<Share<1024>>>,
        _ if later == 4 => removed,
        _ if later == 3 => program::<Mirrors<Share<1024>>>,
        0..14 => program::<Nat<Share<1024>>>,
        14..20 => program::<Nat<Share<512>>>,
        20..28 => program::<Balancer<Share<1024>>>,
        28..40 => program::<Firewall<Share<1024>>>,
        40..48 => program::<Inside<Share<1024>>>,
        // A separate generator keeps the meaning of older seeds.
        48..63 if Random::new(seed ^ 0x6c69_6172_7300).once_in(3) => lied_to,
        48..63 => killed,
        // Rare: it has room for many thousands of flows, and creating that takes longer than the
        // run.
        _ => program::<Counting<Share<1024>>>,
    };
    caught(|| run(seed, packets))
}

/// Runs a simulation, and makes a panic an error.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("without a word")))
    })
}

/// Returns the bytes of filling for frames. In two of seven cases, frames are so long that only
/// their heads go to the host. Seeds that found faults before heads existed keep their meaning.
const fn filling(seed: u64) -> usize {
    if matches!(seed % 7, 3 | 5) { traffic::MIDDLE } else { 0 }
}

fn program<A: SimApp>(seed: u64, packets: u32) -> Result<Ran, String> {
    let filling = if seed.is_multiple_of(256) { 8_000 } else { filling(seed) };
    let case = traffic::make_filled::<A>(seed, packets, filling);
    runtime::run::<A>(&case, seed).map_err(|what| format!("{}: {what}", A::NAME))
}

/// Runs a program with full tables.
fn full(seed: u64, packets: u32) -> Result<Ran, String> {
    let case = traffic::make_filled::<Crowded<Share<1024>>>(seed, packets, filling(seed));
    let ran = runtime::run_full::<Crowded<Share<1024>>>(&case, seed);
    ran.map_err(|what| format!("{}: {what}", Crowded::<Share<1024>>::NAME))
}

/// Runs with an operator who removes entries, of flows with one entry and with many.
fn removed(seed: u64, packets: u32) -> Result<Ran, String> {
    fn from<A: SimApp>(seed: u64, packets: u32) -> Result<Ran, String> {
        let case = traffic::make_filled::<A>(seed, packets, filling(seed));
        let ran = runtime::run_removed::<A>(&case, seed);
        ran.map_err(|what| format!("{}, with removals: {what}", A::NAME))
    }
    if Random::new(seed ^ 0x0072_656d_6f76_6564).once_in(3) {
        from::<Firewall<Share<1024>>>(seed, packets)
    } else {
        from::<Inside<Share<1024>>>(seed, packets)
    }
}

/// Runs under the controller, which decides the moves of flows.
fn conducted(seed: u64, packets: u32) -> Result<Ran, String> {
    let ran = runtime::run_conducted::<Visiting<Share<1024>>>(seed, packets * 256);
    ran.map_err(|what| format!("{}, adaptive: {what}", Visiting::<Share<1024>>::NAME))
}

/// Runs with kills of sides; in one of four, handlers send copies of their packets.
fn killed(seed: u64, packets: u32) -> Result<Ran, String> {
    // A separate generator keeps the meaning of older seeds.
    if Random::new(seed ^ 0x0063_6f70_6965_7300).once_in(4) {
        return killed_as::<Copying>("with copies", seed, packets);
    }
    killed_as::<Share<1024>>("without copies", seed, packets)
}

fn killed_as<V: Variant>(how: &str, seed: u64, packets: u32) -> Result<Ran, String> {
    let case = traffic::make_filled::<Marking<V>>(seed, packets, filling(seed));
    let kills = 1 + seed % 3;
    let ran = runtime::run_killed::<V>(&case, seed, kills);
    ran.map_err(|what| format!("{}, {how}, {kills} kills: {what}", Marking::<V>::NAME))
}

/// Runs hooks of expired entries, mostly with kills of sides.
fn hooked(seed: u64, packets: u32) -> Result<Ran, String> {
    let case = traffic::make_filled::<Ticketing<Kept>>(seed, packets, filling(seed));
    let kills = seed % 4;
    let ran = runtime::run_hooked::<Kept>(&case, seed, kills);
    ran.map_err(|what| format!("{}, {kills} kills: {what}", Ticketing::<Kept>::NAME))
}

/// Runs a program that reads merges, mostly with kills of sides.
fn merged(seed: u64, packets: u32) -> Result<Ran, String> {
    let case = traffic::make_filled::<Crowd<Share<1024>>>(seed, packets, filling(seed));
    let kills = seed % 3;
    let ran = runtime::run_merged::<Share<1024>>(&case, seed, kills);
    ran.map_err(|what| format!("{}, {kills} kills: {what}", Crowd::<Share<1024>>::NAME))
}

/// Runs halves that each receive their own buckets; in one of three runs, with kills of halves.
fn dealt(seed: u64, packets: u32) -> Result<Ran, String> {
    let mut random = Random::new(seed ^ 0x6465_616c_6b00);
    let kills = if random.once_in(3) { 1 + random.below(4) } else { 0 };
    run_dealt(seed, packets, kills)
}

/// Runs flows that send each other messages; in one of three runs with kills of sides.
fn messages(seed: u64, packets: u32) -> Result<Ran, String> {
    let mut random = Random::new(seed ^ 0x7365_6e74_0000);
    let kills = if random.once_in(3) { 1 + random.below(3) } else { 0 };
    let messages = Messages { packets, settled: random.once_in(2), kills, planted: None };
    let (plan, ran) = match random.below(8) {
        0 => ("nic-only", runtime::run_messages::<Actors<AtNic>>(seed, messages)),
        1 => ("half", runtime::run_messages::<Actors<Share<512>>>(seed, messages)),
        _ => ("split", runtime::run_messages::<Actors<Share<1024>>>(seed, messages)),
    };
    let of_what = if messages.settled { "settled" } else { "not settled" };
    ran.map_err(|what| format!("actors, {plan}, {of_what}, {kills} kills: {what}"))
}

/// Runs with a side that lies.
fn lied_to(seed: u64, packets: u32) -> Result<Ran, String> {
    let case = traffic::make_filled::<Marking<Share<1024>>>(seed, packets, filling(seed));
    let liar = if seed & 8 == 0 { Liar::Nic } else { Liar::Host };
    let liars = 1 + seed % 3;
    let ran = runtime::run_lied_to::<Share<1024>>(&case, seed, liar, liars);
    ran.map_err(|what| format!("{}, {liars} liars, {liar:?}: {what}", Marking::<Share<1024>>::NAME))
}

/// Runs the simulation of a seed with messages between flows. Returns any violation, also a panic,
/// as an error.
pub fn one_with_messages(seed: u64) -> Result<Ran, String> {
    let packets = 16 + Random::new(seed ^ 0x6368_616f_7300).below(48) as u32;
    caught(|| messages(seed, packets))
}

/// Runs the seeds from `first` on with `one`, on all processors. Now and then calls `tell` with the
/// numbers of runs and violations.
pub fn many(
    one: fn(u64) -> Result<Ran, String>,
    first: u64,
    limits: Limits,
    tell: impl Fn(u64, u64) + Sync,
) -> Summary {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (begun, next) = (Instant::now(), AtomicU64::new(0));
    let (violated, all) = (AtomicU64::new(0), Mutex::new(Summary::default()));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (next, violated, all, tell) = (&next, &violated, &all, &tell);
            scope.spawn(move || {
                let mut own = Summary::default();
                while begun.elapsed() < limits.time {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= limits.runs {
                        break;
                    }
                    let seed = first.wrapping_add(number);
                    let outcome = one(seed);
                    violated.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
                    own.add(seed, outcome);
                    if thread == 0 && own.runs.is_multiple_of(1024) {
                        tell(number, violated.load(Ordering::Relaxed));
                    }
                }
                all.lock().expect("no thread panics").join(own);
            });
        }
    });
    all.into_inner().expect("no thread panics")
}
