//! The example `cache` before memcached: processor time per answer.
//!
//! memcached has one thread, and answers by UDP. Its time is that of its process, in the kernel
//! too; what the kernel does for a question on its way in, it does on the client's account where
//! client and server share a veth pair or the loopback, in all rows alike.
//!
//! - In memory, a question that the cache answers runs through the NIC half's whole loop: a path
//!   without a kernel, against memcached's with it over the loopback.
//! - Behind the cache, memcached's time is that of the questions which the cache passes, spread
//!   over all: 98 % or 60 % of them are for items that memcached has, and that have no expiry, the
//!   others for items that nobody has. Nothing of the cache counts there: it is on the NIC.
//! - On the wire, all counts: the cache's processes and memcached's.
//! - The p99 there is that of 99 % hits at the same rate with and without the cache. Pauses of a
//!   virtual machine add to it alone, so the least of several rounds counts.
//!
//! | module | concept |
//! | --- | --- |
//! | `questions` | the questions of clients |
//! | `places` | client, cache and memcached |

mod places;
mod questions;

use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::asked::{Server, time_per_answer};
use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::turns::Turns;
use places::{Place, configuration};
use questions::{Questions, store};

/// The prefix of these figures.
pub(crate) const NAME: &str = "cache";
/// The example.
const PROGRAM: &str = "cache";
/// Items, and questions that are drawn.
const ITEMS: u64 = 10_000;
const DRAWS: usize = 1 << 17;

/// Goals: in memory, memcached's time at 98 and 60 of 100 answered, and all time on the wire.
const GOAL_IN_MEMORY: f64 = 25.0;
const GOALS_BEHIND: [(u64, f64); 2] = [(980, 45.0), (600, 2.3)];
const GOAL_ON_WIRE: f64 = 3.0;
/// The same for the p99 of answers, and the rate of the questions.
const GOAL_P99: f64 = 2.0;
const RATE: f64 = 15_000.0;

/// Measures all of it.
pub(crate) fn run(programs: &Path, quick: bool, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    if let Err(error) = Command::new("memcached").arg("--version").output() {
        let why = if error.kind() == ErrorKind::NotFound { "not installed" } else { "can't run" };
        eprintln!("SKIPPED {NAME}: memcached is {why} (Debian: apt-get install memcached)");
        return Ok(());
    }
    let (rounds, time) = if quick { (3, 500) } else { (9, 1_500) };
    let measure = Measure {
        program: &programs.join(PROGRAM),
        room: programs,
        rounds,
        time: Duration::from_millis(time),
    };
    measure.in_memory(tell)?;
    measure.on_wires(tell)
}

struct Measure<'a> {
    program: &'a Path,
    room: &'a Path,
    rounds: usize,
    time: Duration,
}

impl Measure<'_> {
    /// A hit against memcached's time for the same questions.
    fn in_memory(&self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        let place = Place::loopback();
        for (name, items, skew) in [
            ("in memory, 1 k items", 1_000, Skew::Uniform),
            ("in memory, 100 k items, Zipf", 100_000, Skew::Zipf),
        ] {
            let (path, all) = (self.room.join("cache.pcap"), 1_000);
            let warm = Questions::of(items, skew, DRAWS, all).save(items, &path)?;
            let mut command = Command::new(self.program);
            command.args(["bench", "--half", "nic", "--warm", &warm.to_string(), "--config"]);
            let config = configuration(self.room, true)?;
            command.arg(format!("Server={}", config.display())).arg("--in").arg(&path);
            let mut alone = Program::of(&mut command)?;
            let [mut ours, mut theirs] = [const { Vec::new() }; 2];
            for round in 0..=self.rounds {
                let hit = alone.turn()?.ns_per_packet();
                let asked = self.alone(&place, (items, skew, all))?;
                if round > 0 {
                    ours.push(hit);
                    theirs.push(asked);
                }
            }
            let (name, memcached) = (format!("{NAME}/{name}"), "memcached, loopback");
            let (ours, theirs) = (Turns::new(ours), Turns::new(theirs));
            tell(Figure::of_times(name, &ours, &theirs, memcached, GOAL_IN_MEMORY));
        }
        Ok(())
    }

    /// memcached's time per answer, without a cache.
    fn alone(&self, place: &Place, (items, skew, there): (u64, Skew, u64)) -> Result<f64> {
        let mut questions = Questions::of(items, skew, DRAWS, there);
        let client = || {
            place.visit(|| store(items, place.address()))?;
            place.client()
        };
        time_per_answer(&mut place.memcached(), client, &mut questions, self.time)
    }

    /// With the cache between client and memcached, and without it.
    fn on_wires(&self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        let places = Place::wire(false).and_then(|direct| Ok((direct, Place::wire(true)?)));
        let (direct, through) = match places {
            Ok(places) => places,
            Err(why) => {
                eprintln!("SKIPPED {NAME}/wire: {why}");
                return Ok(());
            }
        };
        self.latencies((&direct, &through), tell)?;
        for (there, goal) in GOALS_BEHIND {
            let [mut alone, mut behind, mut all] = [const { Vec::new() }; 3];
            for _ in 0..self.rounds {
                alone.push(self.alone(&direct, (ITEMS, Skew::Zipf, there))?);
                let (memcached, cache) = self.behind(&through, there)?;
                behind.push(memcached);
                all.push(memcached + cache);
            }
            let [alone, behind, all] = [alone, behind, all].map(Turns::new);
            let (percent, memcached) = (there / 10, "memcached, veth");
            let mut figure = |name: &str, ours: &Turns, goal| {
                let name = format!("{NAME}/{name}, {percent} % hits");
                tell(Figure::of_times(name, ours, &alone, memcached, goal));
            };
            figure("memcached behind it", &behind, goal);
            figure("all on the wire", &all, if there > 900 { GOAL_ON_WIRE } else { 0.0 });
        }
        Ok(())
    }

    /// The p99 of answers, with the cache and without it.
    fn latencies(
        &self,
        (direct, through): (&Place, &Place),
        tell: &mut dyn FnMut(Figure),
    ) -> Result<()> {
        let [mut alone, mut cached] = [f64::INFINITY; 2];
        for _ in 0..self.rounds {
            let memcached = Server::start(&mut direct.memcached())?;
            alone = alone.min(self.p99(direct)?);
            drop(memcached);
            let memcached = Server::start(&mut through.memcached())?;
            let config = configuration(self.room, false)?;
            let cache = Server::start(&mut through.cora(self.program, &config)?)?;
            cached = cached.min(self.p99(through)?);
            drop((cache, memcached));
        }
        let [alone, cached] = [alone, cached].map(|p99| Turns::new(vec![p99]));
        let name = format!("{NAME}/p99 of answers, 99 % hits");
        let figure = Figure::of_times(name, &cached, &alone, "memcached, veth", GOAL_P99);
        tell(figure.in_micros());
        Ok(())
    }

    /// The p99 of answers there (ns).
    fn p99(&self, place: &Place) -> Result<f64> {
        place.visit(|| store(ITEMS, place.address()))?;
        let mut questions = Questions::of(ITEMS, Skew::Zipf, DRAWS, 990);
        let mut client = place.client()?;
        client.wait(&mut questions)?;
        // A cache answers nothing in its first second, and fills then.
        client.run(&mut questions, Duration::from_millis(2_500))?;
        let mut took = client.paced(&mut questions, RATE, self.time)?;
        took.sort_unstable();
        let at = took.len() * 99 / 100;
        Ok(took.get(at).copied().map_or(f64::INFINITY, f64::from))
    }

    /// The time per answer of memcached behind the cache, and of the cache (ns).
    fn behind(&self, place: &Place, there: u64) -> Result<(f64, f64)> {
        let memcached = Server::start(&mut place.memcached())?;
        let config = configuration(self.room, false)?;
        let cache = Server::start(&mut place.cora(self.program, &config)?)?;
        place.visit(|| store(ITEMS, place.address()))?;
        let mut questions = Questions::of(ITEMS, Skew::Zipf, DRAWS, there);
        let mut client = place.client()?;
        client.wait(&mut questions)?;
        // It answers nothing in its first second.
        client.run(&mut questions, Duration::from_secs(2))?;
        let cpu = || Ok::<_, Error>((memcached.cpu()?, cache.cpu()?));
        let before = cpu()?;
        let answers = client.run(&mut questions, self.time)?.max(1) as f64;
        let after = cpu()?;
        let took = |after: Duration, before| after.saturating_sub(before).as_nanos() as f64;
        Ok((took(after.0, before.0) / answers, took(after.1, before.1) / answers))
    }
}
