//! How fast a plan is: passes of its program, both halves on a core each.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::program::Program;
use crate::turns::Turns;

/// Of a pass, at most this part may have been lost to other processes.
const ROBBED: f64 = 0.01;
/// So many times more passes are made than asked for, at most, until enough were left alone.
const AGAIN: usize = 4;

/// Between two passes.
const REST: Duration = Duration::from_millis(300);

/// What a crossing took so long ago, it takes now.
const RECENT: Duration = Duration::from_secs(4);

/// What a pass came to; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Pass {
    packets: f64,
    ns: f64,
    nic_busy_ns: f64,
    host_busy_ns: f64,
    at_nic: f64,
    left: f64,
    robbed_ns: Option<f64>,
}

/// What the passes of a plan say, each per packet, as the median of the passes.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Million packets a second.
    pub(crate) mpps: f64,
    /// Half the distance between the quartiles of the passes, as a part of the median.
    pub(crate) spread: f64,
    /// Nanoseconds of the NIC's core per packet that came in.
    pub(crate) nic_ns: f64,
    /// Nanoseconds of the host's core per packet that came in.
    pub(crate) host_ns: f64,
    /// Which part of the packets the NIC handled alone.
    pub(crate) at_nic: f64,
    /// What crossing took right before and after, in the mean.
    pub(crate) crossing: Crossing,
    /// By how much that changed meanwhile, as a part.
    pub(crate) moved: f64,
    /// Which part left; the rest was dropped.
    pub(crate) left: f64,
    /// Passes that were left alone, and passes that were made.
    pub(crate) passes: (usize, usize),
}

/// What crossing the rings takes at this moment, of a packet that nothing is done with: nanoseconds of the NIC's core and
/// of the host's, receiving and sending included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crossing {
    pub(crate) nic_ns: f64,
    pub(crate) host_ns: f64,
}

/// A program that does nothing, at the host: kept running, and asked beside everything that is measured. A hypervisor
/// moves a machine's cores, and with them the distance that a line has to go from one to the other; it was seen to
/// change by a factor of 2.7 within a minute.
pub(crate) struct Reference {
    program: Program,
    /// What it told last, and when.
    last: Option<(Instant, Crossing)>,
}

impl Reference {
    /// Starts it.
    pub(crate) fn start(program: &Path, capture: &Path, warm: usize) -> std::io::Result<Self> {
        Program::start_both(program, capture, warm).map(|program| Self { program, last: None })
    }

    /// What crossing takes now: of two passes the one that was left alone more.
    fn crossing(&mut self) -> std::io::Result<Crossing> {
        let mut best: Option<Pass> = None;
        for _ in 0..2 {
            std::thread::sleep(REST);
            let pass: Pass = self.program.ask()?;
            if best.is_none_or(|best| pass.robbed() < best.robbed()) {
                best = Some(pass);
            }
            if pass.was_left_alone() {
                break;
            }
        }
        let per_packet = |of: fn(&Pass) -> f64| best.map_or(0.0, |pass| of(&pass) / pass.packets);
        let crossing = Crossing {
            nic_ns: per_packet(|pass| pass.nic_busy_ns),
            host_ns: per_packet(|pass| pass.host_busy_ns),
        };
        self.last = Some((Instant::now(), crossing));
        Ok(crossing)
    }

    /// The same, if it was not asked a moment ago.
    fn recent(&mut self) -> std::io::Result<Crossing> {
        match self.last {
            Some((when, crossing)) if when.elapsed() < RECENT => Ok(crossing),
            _ => self.crossing(),
        }
    }
}

/// Runs a program until `wanted` passes were left alone by others, or as many more times as is sensible.
pub(crate) fn measure(
    program: &Path,
    capture: &Path,
    warm: usize,
    wanted: usize,
    reference: &mut Reference,
) -> std::io::Result<Measured> {
    let mut program = Program::start_both(program, capture, warm)?;
    // The first pass meets caches that the settling of flows left behind.
    let _first: Pass = program.ask()?;
    let mut passes: Vec<Pass> = Vec::new();
    let before = reference.recent()?;
    while passes.iter().filter(|pass| pass.was_left_alone()).count() < wanted
        && passes.len() < wanted * AGAIN
    {
        // A real-time process that never rests is stopped by the kernel for a twentieth of each second.
        std::thread::sleep(REST);
        passes.push(program.ask()?);
    }
    let after = reference.crossing()?;
    let crossing = Crossing {
        nic_ns: f64::midpoint(before.nic_ns, after.nic_ns),
        host_ns: f64::midpoint(before.host_ns, after.host_ns),
    };
    Ok(Measured {
        crossing,
        moved: (after.nic_ns / before.nic_ns).ln().abs(),
        ..Measured::of(&passes, wanted)
    })
}

impl Pass {
    fn robbed(&self) -> f64 {
        self.robbed_ns.unwrap_or(0.0) / self.ns
    }

    fn was_left_alone(&self) -> bool {
        self.robbed() <= ROBBED
    }
}

impl Measured {
    /// Of the passes that were left alone; of the `wanted` that were disturbed least, where those are too few.
    fn of(passes: &[Pass], wanted: usize) -> Self {
        let mut kept = passes.to_vec();
        kept.sort_by(|a, b| a.robbed().total_cmp(&b.robbed()));
        let alone = kept.iter().filter(|pass| pass.was_left_alone()).count();
        kept.truncate(alone.max(wanted));
        let of = |figure: fn(&Pass) -> f64| Turns::new(kept.iter().map(figure).collect());
        let rate = of(|pass| pass.packets / pass.ns * 1e3);
        Self {
            mpps: rate.median(),
            spread: rate.spread(),
            nic_ns: of(|pass| pass.nic_busy_ns / pass.packets).median(),
            host_ns: of(|pass| pass.host_busy_ns / pass.packets).median(),
            at_nic: of(|pass| pass.at_nic / pass.packets).median(),
            crossing: Crossing { nic_ns: 0.0, host_ns: 0.0 },
            moved: 0.0,
            left: of(|pass| pass.left / pass.packets).median(),
            passes: (alone, passes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(ns: f64, robbed: f64) -> Pass {
        Pass {
            packets: 1_000.0,
            ns,
            nic_busy_ns: ns,
            host_busy_ns: 0.0,
            at_nic: 1_000.0,
            left: 900.0,
            robbed_ns: Some(robbed),
        }
    }

    #[test]
    fn passes_that_were_robbed_do_not_count_while_others_do() {
        let passes = [pass(100_000.0, 0.0), pass(200_000.0, 90_000.0), pass(100_000.0, 10.0)];
        let measured = Measured::of(&passes, 2);
        assert!((measured.mpps - 10.0).abs() < 1e-9, "{measured:?}");
        assert_eq!(measured.passes, (2, 3));
        assert!((measured.left - 0.9).abs() < 1e-9);
    }
}
