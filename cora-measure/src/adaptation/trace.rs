//! Traffic in phases. Each phase has its own popular flows, packet rate and skew. A crowd of new
//! flows may come. All of it follows from a seed, so it is the same in every trial.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none negative"
)]

use serde::Deserialize;

/// Flows of a crowd.
pub(super) const CROWD: usize = 4_096;
/// Interval between the flows' first packets, before the first phase (ns).
const FIRST_EVERY: u64 = 1_000;
/// Time from the last of these packets to the first phase (ns). A flow moves and comes back in it,
/// and then rests as long as controllers demand.
const SETTLES: u64 = 600_000_000;
/// Time from the last of these packets to the recalls (ns).
const VISIT: u64 = 20_000_000;

/// Some seconds of uniform traffic.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phase {
    /// Duration (ns).
    pub(super) lasts: u64,
    /// Million packets a second.
    pub(super) mpps: f64,
    /// Exponent of skew: the flow of rank `r` has a share of `r` to the power of minus this.
    pub(super) skew: f64,
    /// Number that selects the popular flows: another number, other flows.
    pub(super) hot: u64,
    /// Part of the packets that belongs to new flows, all equally popular.
    pub(super) crowd: f64,
}

/// A phase, ready to draw from.
#[derive(Debug)]
struct Ready {
    phase: Phase,
    begins: u64,
    /// Flows, the most popular first.
    ranked: Vec<u32>,
    /// Alias table, per place: the part below which it is itself, and the flow above (Walker's
    /// alias method).
    alias: Vec<(f64, u32)>,
    /// The first flow of its crowd.
    crowd: usize,
}

/// All phases.
#[derive(Debug)]
pub(super) struct Trace {
    flows: usize,
    phases: Vec<Ready>,
    crowds: usize,
    seed: u64,
}

/// A packet's arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) time: u64,
    pub(super) flow: usize,
}

impl Trace {
    pub(super) fn new(phases: &[Phase], flows: usize, seed: u64) -> Self {
        let mut begins = flows as u64 * FIRST_EVERY + SETTLES;
        let (mut crowds, mut ready) = (0, Vec::new());
        for phase in phases {
            let ranked = shuffled(flows, phase.hot ^ seed);
            let alias = alias(&ranked, phase.skew);
            let crowd = flows + crowds * CROWD;
            ready.push(Ready { phase: *phase, begins, ranked, alias, crowd });
            begins += phase.lasts;
            crowds += usize::from(phase.crowd > 0.0);
        }
        Self { flows, phases: ready, crowds, seed }
    }

    /// Returns the number of all flows.
    pub(super) const fn most_flows(&self) -> usize {
        self.flows + self.crowds * CROWD
    }

    /// Returns the begin of each phase.
    pub(super) fn begins(&self) -> Vec<u64> {
        self.phases.iter().map(|ready| ready.begins).collect()
    }

    /// Returns the time of the recalls, after all flows have come once.
    pub(super) const fn recall(&self) -> u64 {
        self.flows as u64 * FIRST_EVERY + VISIT
    }

    /// Returns the begin of the first phase.
    pub(super) fn start(&self) -> u64 {
        self.phases.first().map_or(0, |ready| ready.begins)
    }

    /// Returns the end of the last one.
    pub(super) fn end(&self) -> u64 {
        self.phases.last().map_or(0, |ready| ready.begins + ready.phase.lasts)
    }

    /// Returns the begin and the `count` busiest flows of each phase.
    pub(super) fn popular(&self, count: usize) -> Vec<(u64, &[u32])> {
        let first = |ready: &'_ Ready| ready.ranked.len().min(count);
        self.phases.iter().map(|ready| (ready.begins, &ready.ranked[..first(ready)])).collect()
    }

    /// Returns all packets, from the beginning.
    pub(super) fn arrivals(&self) -> Arrivals<'_> {
        Arrivals { trace: self, random: Random(self.seed), came: 0, time: 0, phase: 0 }
    }
}

/// Packets, one after the other.
#[derive(Debug)]
pub(super) struct Arrivals<'a> {
    trace: &'a Trace,
    random: Random,
    /// Flows that came once, at the beginning.
    came: usize,
    time: u64,
    phase: usize,
}

impl Iterator for Arrivals<'_> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        if self.came < self.trace.flows {
            self.came += 1;
            self.time = self.came as u64 * FIRST_EVERY;
            return Some(Arrival { time: self.time, flow: self.came - 1 });
        }
        self.time = self.time.max(self.trace.start());
        let ready = self.trace.phases.get(self.phase)?;
        // A Poisson process: arrivals are independent.
        self.time += (-(1.0 - self.random.part()).ln() * 1e3 / ready.phase.mpps) as u64;
        if self.time >= ready.begins + ready.phase.lasts {
            self.time = ready.begins + ready.phase.lasts;
            self.phase += 1;
            return self.next();
        }
        let flow = ready.draw(&mut self.random);
        Some(Arrival { time: self.time, flow })
    }
}

impl Ready {
    fn draw(&self, random: &mut Random) -> usize {
        if self.phase.crowd > 0.0 && random.part() < self.phase.crowd {
            return self.crowd + random.below(CROWD);
        }
        let at = random.below(self.alias.len());
        let (itself, other) = self.alias[at];
        if random.part() < itself { at } else { other as usize }
    }
}

/// Builds the table to draw by these popularities in constant time (alias method, as by Vose).
fn alias(ranked: &[u32], skew: f64) -> Vec<(f64, u32)> {
    let weight = |rank: usize| ((rank + 1) as f64).powf(-skew);
    let mean = (0..ranked.len()).map(weight).sum::<f64>() / ranked.len() as f64;
    let mut left = vec![0.0; ranked.len()];
    for (rank, flow) in ranked.iter().enumerate() {
        left[*flow as usize] = weight(rank) / mean;
    }
    let mut alias: Vec<(f64, u32)> = (0..).map(|at| (1.0, at)).take(left.len()).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        (0..left.len()).partition(|at| left[*at] < 1.0);
    while let (Some(taker), Some(giver)) = (poor.pop(), rich.pop()) {
        alias[taker] = (left[taker], giver as u32);
        left[giver] -= 1.0 - left[taker];
        if left[giver] < 1.0 { poor.push(giver) } else { rich.push(giver) }
    }
    alias
}

/// Returns the flows in a random order of ranks.
fn shuffled(flows: usize, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    let mut numbers: Vec<u32> = (0..flows as u32).collect();
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, random.below(last + 1));
    }
    numbers
}

/// `SplitMix64`.
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    const fn below(&mut self, end: usize) -> usize {
        ((self.next() as u128 * end as u128) >> 64) as usize
    }

    /// Returns a number from 0 to less than 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Phase = Phase { lasts: 100_000_000, mpps: 2.0, skew: 1.1, hot: 1, crowd: 0.0 };

    fn shares(trace: &Trace, phase: usize) -> (u64, Vec<u32>) {
        let mut counts = vec![0; trace.most_flows()];
        let begins = trace.begins()[phase];
        let within = begins..begins + trace.phases[phase].phase.lasts;
        let arrivals = trace.arrivals().filter(|arrival| within.contains(&arrival.time));
        arrivals.for_each(|arrival| counts[arrival.flow] += 1);
        (counts.iter().map(|count| u64::from(*count)).sum(), counts)
    }

    #[test]
    fn rates_ranks_and_crowds_are_those_asked_for() {
        let crowded = Phase { crowd: 0.5, hot: 2, ..STEADY };
        let trace = Trace::new(&[STEADY, crowded], 1_000, 7);
        let (all, counts) = shares(&trace, 0);
        assert!(all.abs_diff(200_000) < 2_000, "2 Mpps for a tenth of a second: {all}");
        let first = trace.phases[0].ranked[0] as usize;
        let sum: f64 = (1..=1_000).map(|rank| f64::from(rank).powf(-1.1)).sum();
        let wanted = 200_000.0 / sum;
        assert!((f64::from(counts[first]) / wanted - 1.0).abs() < 0.05, "{}", counts[first]);
        assert!(counts[1_000..].iter().all(|count| *count == 0), "no crowd yet");
        let (all, counts) = shares(&trace, 1);
        let crowd: u64 = counts[1_000..].iter().map(|count| u64::from(*count)).sum();
        assert!(crowd.abs_diff(all / 2) < 2_000, "{crowd} of {all}");
    }

    #[test]
    fn traffic_follows_from_its_seed_and_time_never_runs_back() {
        let trace = |seed| Trace::new(&[STEADY], 100, seed);
        let flows = |trace: &Trace| -> Vec<(u64, usize)> {
            trace.arrivals().map(|arrival| (arrival.time, arrival.flow)).collect()
        };
        let all = flows(&trace(1));
        assert_eq!(all, flows(&trace(1)));
        assert_ne!(all, flows(&trace(2)));
        assert!(all.is_sorted_by_key(|(time, _)| *time));
        assert_eq!(all[..100].iter().map(|(_, flow)| *flow).max(), Some(99), "each comes once");
    }
}
