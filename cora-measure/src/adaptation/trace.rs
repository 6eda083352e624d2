//! Traffic in phases. In each, other flows are popular, packets come at another rate, or popularity
//! is more or less skewed; a crowd of flows may come that nobody saw before. The same in every
//! trial: all of it follows from a seed.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none negative"
)]

use serde::Deserialize;

/// Flows of a crowd.
pub(super) const CROWD: usize = 4_096;
/// Before the first phase each flow comes once, so often (ns).
const FIRST_EVERY: u64 = 1_000;
/// From the first to the last that came so, a flow has time to move and to come back before the
/// first phase (ns); behind it is the rest that controllers leave it.
const SETTLES: u64 = 600_000_000;
/// When they come back, after the last came (ns).
const VISIT: u64 = 20_000_000;

/// Some seconds of traffic that are alike.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phase {
    /// How long it lasts (ns).
    pub(super) lasts: u64,
    /// Million packets a second.
    pub(super) mpps: f64,
    /// The flow of rank `r` has a share of `r` to the power of minus this.
    pub(super) skew: f64,
    /// Which flows are popular: other ones for another number.
    pub(super) hot: u64,
    /// Which part of the packets belongs to flows that nobody saw before, each as popular as the
    /// others of them.
    pub(super) crowd: f64,
}

/// A phase, ready to draw from.
#[derive(Debug)]
struct Ready {
    phase: Phase,
    begins: u64,
    /// Flows, the most popular first.
    ranked: Vec<u32>,
    /// Of each place: below which part it is itself, and which flow it is above (Walker's alias
    /// method).
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

/// A packet that comes.
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

    /// Flows that come in all.
    pub(super) const fn most_flows(&self) -> usize {
        self.flows + self.crowds * CROWD
    }

    /// When each phase begins.
    pub(super) fn begins(&self) -> Vec<u64> {
        self.phases.iter().map(|ready| ready.begins).collect()
    }

    /// When all flows have come once.
    pub(super) const fn recall(&self) -> u64 {
        self.flows as u64 * FIRST_EVERY + VISIT
    }

    /// When the first phase begins.
    pub(super) fn start(&self) -> u64 {
        self.phases.first().map_or(0, |ready| ready.begins)
    }

    /// When the last one ends.
    pub(super) fn end(&self) -> u64 {
        self.phases.last().map_or(0, |ready| ready.begins + ready.phase.lasts)
    }

    /// The flows with most packets in each phase, with its begin.
    pub(super) fn popular(&self, count: usize) -> Vec<(u64, &[u32])> {
        let first = |ready: &'_ Ready| ready.ranked.len().min(count);
        self.phases.iter().map(|ready| (ready.begins, &ready.ranked[..first(ready)])).collect()
    }

    /// All packets, from the beginning.
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
        // Poisson's: who comes next knows nothing of who came before.
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

/// Draws by these popularities in constant time (Walker's alias method, as Vose builds it).
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

/// Which flow has which rank.
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

    /// From 0 to less than 1.
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
