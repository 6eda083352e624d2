//! Programs of many tenants at one agent: shares of its time, and how long packets wait.
//!
//! The agent and its tenants' NIC halves have a processor to themselves, and packets come and go in
//! memory; the tenants' supervisors are on the other processors. Each tenant answers questions
//! after as much work as they ask for. A latency is the time from when a packet is due, by a
//! schedule that waits for nobody, until the answer leaves. Pauses of a virtual machine add
//! to latencies alone, so of several rounds the least p99 counts, on both sides of a comparison.
//!
//! | figure | compared |
//! | --- | --- |
//! | shares of six | the largest deviation from a sixth; packets cost 0.5 to 100 µs |
//! | others' p99 | that of five beside a sixth that offers ten times as much |
//! | a process each | p99 of 64 tenants in processes of their own, at 100,000 packets/s in all |
//! | in one process | p99 of 256 tenants in one process, with that of 8 there at the same rate |
//!
//! | module | concept |
//! | --- | --- |
//! | `offered` | ports in memory: packets by a schedule, and the latencies of their answers |
//! | `attached` | servers' sockets, and the programs before them |

mod attached;
mod offered;

use std::io::{Error, Result};
use std::path::Path;
use std::time::{Duration, Instant};

use cora_host::parts::Agent;

use crate::figure::Figure;
use crate::turns::Turns;
use attached::Attached;
use offered::{Offer, Offered, Outside};

/// The prefix of these figures.
pub(crate) const NAME: &str = "tenants";

/// The most that shares may deviate, in percent.
const MOST_DEVIATION: f64 = 3.0;
/// Others' p99 may be so many times that without a greedy tenant.
const MOST_BESIDE: f64 = 1.2;
/// The p99 of a process each may be so long (µs).
const MOST_P99: f64 = 40.0;
/// That of many in one process may be so many times that of few.
const MOST_BESIDE_INSIDE: f64 = 1.5;

/// Rounds of work in a nanosecond are about one: see `echoes`.
const LIGHT: u32 = 200;

/// Measures all of it; `programs` has the static program.
pub(crate) fn run(programs: &Path, quick: bool, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let measure = Measure {
        program: &programs.join("echoes"),
        room: programs,
        rounds: if quick { 3 } else { 9 },
        time: Duration::from_millis(if quick { 600 } else { 2_000 }),
    };
    measure.shares(tell)?;
    measure.greedy(tell)?;
    measure.processes(tell)?;
    measure.inside(tell)
}

struct Measure<'a> {
    program: &'a Path,
    room: &'a Path,
    rounds: usize,
    time: Duration,
}

impl Measure<'_> {
    /// An agent with so many tenants, which work.
    fn agent(&self, tenants: usize, shares_process: bool) -> Result<Site> {
        let socket = self.room.join("tenants.sock");
        let (inside, outside, offered) = offered::ports();
        let mut agent = Agent::over(inside, outside, &socket, tenants)
            .map_err(|it| Error::other(it.to_string()))?;
        let attached = Attached::all(self.program, &socket, tenants, shares_process)?;
        // On one processor, each takes a while to begin.
        let begun = Instant::now();
        loop {
            agent.step().map_err(|it| Error::other(it.to_string()))?;
            let report = agent.report();
            if report.tenants.iter().filter(|it| it.stage == "works").count() == tenants {
                break;
            }
            if begun.elapsed() > Duration::from_mins(4) {
                return Err(Error::other(format!("they do not begin:\n{report}")));
            }
        }
        let mut site = Site { agent, offered, attached };
        // Their first packets make pages.
        let all = (0..tenants).map(|tenant| Offer::to(tenant, 2_000.0 / tenants as f64, LIGHT));
        site.run(all.collect(), Duration::from_millis(500))?;
        Ok(site)
    }

    /// Six tenants that never run out of packets of different costs.
    fn shares(&self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        let mut site = self.agent(6, false)?;
        let costs = [500, 1_000, 2_500, 6_000, 25_000, 100_000];
        let offers = |tenant: usize| {
            let rounds = costs[tenant];
            // Twice as many as the whole processor could do.
            Offer::to(tenant, 2e9 / f64::from(rounds + 1_000), rounds)
        };
        site.run((0..6).map(offers).collect(), self.time / 4)?;
        let before = site.spent();
        for _ in 0..self.rounds {
            site.run((0..6).map(offers).collect(), self.time)?;
        }
        let spent = site.spent().into_iter().zip(before).map(|(now, before)| now - before);
        let spent: Vec<f64> = spent.collect();
        let all: f64 = spent.iter().sum();
        let of = |spent: f64| (spent / all * 6.0 - 1.0).abs() * 100.0;
        let most = spent.iter().copied().map(of).fold(0.0, f64::max);
        let name = format!("{NAME}/shares of six, deviation");
        tell(Figure::of_limit(name, most, MOST_DEVIATION, "%"));
        Ok(())
    }

    /// Six tenants at a sixth of what the processor can do each, or one of them at ten times that.
    fn greedy(&self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        let mut site = self.agent(6, false)?;
        let rounds = 5_000;
        // At a load of about a third, so that waiting does not hide what a turn costs.
        let share = 1e9 / f64::from(rounds + 4_000) / 18.0;
        let offers = |times: f64| -> Vec<Offer> {
            let rate = |tenant| if tenant == 0 { share * times } else { share };
            (0..6).map(|tenant| Offer::to(tenant, rate(tenant), rounds)).collect()
        };
        let [mut quiet, mut beside] = [const { Vec::new() }; 2];
        for _ in 0..self.rounds {
            quiet.push(site.p99_of_others(offers(1.0), self.time)?);
            beside.push(site.p99_of_others(offers(10.0), self.time)?);
        }
        let [quiet, beside] = [least(&quiet), least(&beside)];
        let name = format!("{NAME}/others' p99 beside ten times a share");
        tell(Figure::of_times(name, &beside, &quiet, "without it", 1.0 / MOST_BESIDE).in_micros());
        Ok(())
    }

    /// 64 processes.
    fn processes(&self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        let p99 = self.p99(64, false, 100_000.0)?;
        let name = format!("{NAME}/64 processes, 100 k/s, p99");
        tell(Figure::of_limit(name, p99.median() / 1e3, MOST_P99, "us"));
        Ok(())
    }

    /// Eight and 256 tenants in one process.
    fn inside(&self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        let few = self.p99(8, true, 100_000.0)?;
        let many = self.p99(256, true, 100_000.0)?;
        let name = format!("{NAME}/256 in one process, 100 k/s, p99");
        let goal = 1.0 / MOST_BESIDE_INSIDE;
        tell(Figure::of_times(name, &many, &few, "8 in one", goal).in_micros());
        Ok(())
    }

    /// The p99 of so many tenants at this rate in all (ns).
    fn p99(&self, tenants: usize, shares_process: bool, rate: f64) -> Result<Turns> {
        let mut site = self.agent(tenants, shares_process)?;
        let each = rate / tenants as f64;
        let mut all = Vec::new();
        for round in 0..=self.rounds {
            let offers = (0..tenants).map(|tenant| Offer::to(tenant, each, LIGHT)).collect();
            let seen = site.run(offers, self.time)?;
            if round > 0 {
                all.push(offered::percentile(seen.into_iter().flatten().collect(), 99));
            }
        }
        Ok(least(&all))
    }
}

/// The least of all, as one turn.
fn least(all: &[f64]) -> Turns {
    Turns::new(vec![all.iter().copied().fold(f64::INFINITY, f64::min)])
}

/// An agent, its ports in memory, and its tenants.
struct Site {
    agent: Agent,
    offered: Outside,
    /// Their runs, which end with it.
    attached: Attached,
}

impl Site {
    /// Offers packets for this time; returns the latencies of each tenant's answers (ns).
    fn run(&mut self, offers: Vec<Offer>, time: Duration) -> Result<Vec<Vec<u32>>> {
        self.offered.begin(Offered::of(offers, &self.attached.ports));
        let begun = Instant::now();
        // Answers to the last packets have a little more time.
        while begun.elapsed() < time + Duration::from_millis(50) {
            self.agent.step().map_err(|it| Error::other(it.to_string()))?;
            if begun.elapsed() > time {
                self.offered.stop();
            }
        }
        Ok(self.offered.end())
    }

    /// The p99 of all tenants but the first one (ns).
    fn p99_of_others(&mut self, offers: Vec<Offer>, time: Duration) -> Result<f64> {
        let seen = self.run(offers, time)?;
        Ok(offered::percentile(seen.into_iter().skip(1).flatten().collect(), 99))
    }

    /// The time that each tenant took so far (ns), by their addresses.
    fn spent(&self) -> Vec<f64> {
        let mut tenants = self.agent.report().tenants;
        tenants.sort_by(|one, other| one.at.cmp(&other.at));
        tenants.iter().map(|tenant| tenant.busy_ns as f64).collect()
    }
}
