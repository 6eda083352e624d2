//! Handling packets at one side: the costs of frames, instructions and look-ups.
//!
//! In a packet of a flow that is there, at so many flows,
//!
//! ```text
//! time = carried + (instructions − carried instructions)·instruction + mispredictions·mispredict
//!      + 2 lines·exposed·latency(working set)
//! ```
//!
//! where the cost of a misprediction is measured by itself (`branches`), and the latency is that of
//! the walks through memory, with the working set as the model has it. The times at all numbers of
//! flows give both unknowns by least squares of relative errors.

use std::io::Result;
use std::path::Path;

use super::child::Program;
use super::counts::{CARRIED, Counts};
use super::memory::Latencies;
use super::program::Plan;
use super::rounds::Times;
use super::traffic::{Capture, LONG, SHORT};

/// Bytes of one flow in the table: a line for the entry, and 16 bytes of the index for either key.
const ENTRY: f64 = 96.0;
/// Lines that a look-up touches: one of the index, one of the entries.
const LINES: f64 = 2.0;
/// Flows that come and go.
pub(crate) const CHURNED: u64 = 1 << 16;

/// Frames without handling: the same at both sides.
#[derive(Debug)]
pub(crate) struct Frames {
    short: Program,
    long: Program,
}

/// The cost of frames.
#[derive(Clone, Debug)]
pub(crate) struct FrameTimes {
    pub(crate) short: Times,
    pub(crate) long: Times,
}

impl FrameTimes {
    /// Nanoseconds of a byte.
    pub(crate) fn byte_ns(&self) -> f64 {
        ((self.long.median() - self.short.median()) / (LONG - SHORT) as f64).max(0.0)
    }

    /// Nanoseconds of a frame, beyond its bytes and its instructions.
    pub(crate) fn packet_ns(&self, instruction_ns: f64) -> f64 {
        let rest = self.short.median() - self.byte_ns() * SHORT as f64;
        (rest - CARRIED * instruction_ns).max(0.0)
    }
}

impl Frames {
    /// Starts the carrier of frames.
    pub(crate) fn new(room: &Path, packets: u64) -> Result<Self> {
        let start = |bytes, packets| {
            let capture = Capture::steady(room, 1, packets, bytes)?;
            Program::start(Plan::HostOnly, "none", &capture)
        };
        Ok(Self { short: start(SHORT, packets)?, long: start(LONG, packets / 16)? })
    }

    /// A round: nanoseconds of a short frame and of a long one.
    pub(crate) fn round(&mut self) -> Result<(f64, f64)> {
        Ok((self.short.packet()?, self.long.packet()?))
    }
}

/// One side at work.
#[derive(Debug)]
pub(crate) struct Side {
    counts: Counts,
    /// Numbers of flows, and a program with so many.
    steady: Vec<(u64, Program)>,
    churn: Program,
}

/// The times of one side's packets.
#[derive(Clone, Debug)]
pub(crate) struct SideTimes {
    counts: Counts,
    /// By number of flows.
    pub(crate) steady: Vec<(u64, Times)>,
    /// A packet of flows that come and go.
    pub(crate) churn: Times,
}

/// The results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    pub(crate) instruction_ns: f64,
    pub(crate) exposed: f64,
    /// Making an entry and freeing it, together, beyond instructions and look-ups.
    pub(crate) entry_ns: f64,
    /// Mean relative error at the numbers of flows.
    pub(crate) error: f64,
}

impl Side {
    /// Starts a side's programs, one for each capture.
    pub(crate) fn new(
        (plan, half): (Plan, &str),
        counts: Counts,
        steady: &[(u64, Capture)],
        churn: &Capture,
    ) -> Result<Self> {
        let start = |capture| Program::start(plan, half, capture);
        let steady = steady.iter().map(|(flows, capture)| Ok((*flows, start(capture)?)));
        Ok(Self { counts, steady: steady.collect::<Result<_>>()?, churn: start(churn)? })
    }

    /// A round: nanoseconds of a packet by number of flows, and last when flows come and go.
    pub(crate) fn round(&mut self) -> Result<Vec<f64>> {
        let steady = self.steady.iter_mut().map(|(_, program)| program);
        steady.chain([&mut self.churn]).map(Program::packet).collect()
    }

    /// The sum of all rounds.
    pub(crate) fn times(&self, rounds: &[Vec<f64>]) -> SideTimes {
        let times = |number: usize| {
            Times::new(rounds.iter().filter_map(|round| round.get(number).copied()).collect())
        };
        let steady = self.steady.iter().enumerate();
        SideTimes {
            counts: self.counts,
            steady: steady.map(|(number, (flows, _))| (*flows, times(number))).collect(),
            churn: times(self.steady.len()),
        }
    }
}

impl SideTimes {
    /// Times as they were taken.
    #[cfg(test)]
    pub(crate) fn of(counts: Counts, steady: Vec<(u64, Times)>, churn: Times) -> Self {
        Self { counts, steady, churn }
    }

    /// A packet where flows are fewest.
    pub(crate) fn hot(&self) -> f64 {
        self.steady.first().map_or(0.0, |(_, times)| times.median())
    }

    /// Fits.
    pub(crate) fn fit(
        &self,
        frames: &FrameTimes,
        mispredict_ns: f64,
        latencies: &Latencies,
    ) -> Fit {
        let carried = frames.short.median() + self.counts.wrong * mispredict_ns;
        let lookup = |flows: u64| LINES * latencies.of(flows as f64 * ENTRY);
        let points: Vec<(f64, f64)> = self
            .steady
            .iter()
            .map(|(flows, times)| (lookup(*flows), times.median() - carried))
            .collect();
        let (base, exposed) = line(&points);
        let instruction_ns = base / (self.counts.hit - CARRIED);
        let errors = self.steady.iter().zip(&points).map(|((_, times), (lookup, _))| {
            let fitted = carried + base + exposed * lookup;
            (fitted / times.median() - 1.0).abs()
        });
        let error = errors.sum::<f64>() / points.len() as f64;
        let instructions = self.counts.churn - 2.0 * CARRIED;
        let explained = 2.0 * (carried + exposed * lookup(CHURNED)) + instructions * instruction_ns;
        let entry_ns = (2.0 * self.churn.median() - explained).max(0.0);
        Fit { instruction_ns, exposed, entry_ns, error }
    }
}

/// The line `y = base + slope·x` through points, `0 ≤ slope ≤ 1`, by least squares of relative
/// errors.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(*x, *y) / (y * y)).sum()
    };
    let (one, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    let spread = one * xx - x * x;
    let slope = if spread > 0.0 { (one * xy - x * y) / spread } else { 0.0 };
    // A base below nothing has no meaning; then noise is all there is.
    let most = points.iter().map(|(x, y)| y / x).fold(1.0, f64::min);
    let slope = slope.clamp(0.0, most);
    ((y - slope * x) / one, slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::memory::Level;

    #[test]
    fn a_line_is_found_and_kept_in_its_range() {
        let (base, slope) = line(&[(2.0, 10.4), (10.0, 12.0), (100.0, 30.0)]);
        assert!((base - 10.0).abs() < 1e-9 && (slope - 0.2).abs() < 1e-9, "{base} {slope}");
        let (base, slope) = line(&[(1.0, 10.0), (10.0, 9.0)]);
        assert!(slope.abs() < 1e-9 && (9.0..10.0).contains(&base), "{base} {slope}");
    }

    #[test]
    fn times_made_from_costs_give_them_back() {
        let once = |time| Times::new(vec![time]);
        let level = |bytes, time| Level {
            bytes,
            walked: bytes / 2,
            shared_by: 1,
            times: once(time),
            told: true,
        };
        let latencies = Latencies {
            levels: vec![level(32 << 10, 1.0), level(1 << 20, 4.0), level(32 << 20, 20.0)],
            memory: once(100.0),
            memory_bytes: 256 << 20,
        };
        let counts = Counts { hit: CARRIED + 300.0, wrong: 0.5, churn: 2.0 * CARRIED + 1_000.0 };
        let time = |flows: u64| {
            5.0 + 300.0 * 0.1 + 0.5 * 8.0 + 0.15 * LINES * latencies.of(flows as f64 * ENTRY)
        };
        let steady = [1_000, 32_000, 1_000_000].map(|flows| (flows, once(time(flows))));
        let lookups = 2.0 * 0.15 * LINES * latencies.of(CHURNED as f64 * ENTRY);
        let churn = once((2.0 * (5.0 + 0.5 * 8.0) + 1_000.0 * 0.1 + lookups + 60.0) / 2.0);
        let frames = FrameTimes { short: once(5.0), long: once(5.0 + 0.02 * 1_440.0) };
        let fit =
            SideTimes { counts, steady: steady.to_vec(), churn }.fit(&frames, 8.0, &latencies);
        assert!((fit.instruction_ns - 0.1).abs() < 1e-9, "{fit:?}");
        assert!((fit.exposed - 0.15).abs() < 1e-9, "{fit:?}");
        assert!((fit.entry_ns - 60.0).abs() < 1e-6 && fit.error < 1e-9, "{fit:?}");
        assert!((frames.byte_ns() - 0.02).abs() < 1e-12);
    }
}
