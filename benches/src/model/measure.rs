//! How fast a plan is: passes of its program, both halves on a core each.

use std::path::Path;

use serde::Deserialize;

use crate::program::Program;
use crate::turns::Turns;

/// Of a pass, at most this part may have been lost to other processes.
const ROBBED: f64 = 0.01;
/// So many times more passes are made than asked for, at most, until enough were left alone.
const AGAIN: usize = 4;

/// What a pass came to; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Pass {
    packets: f64,
    ns: f64,
    nic_busy_ns: f64,
    host_busy_ns: f64,
    at_nic: f64,
    punts: f64,
    passed_on: f64,
    offloads: f64,
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
    /// Which part began at the NIC and was taken back.
    pub(crate) punted: f64,
    /// Flows that moved to the NIC, per packet.
    pub(crate) moved: f64,
    /// Which part left; the rest was dropped.
    pub(crate) left: f64,
    /// Passes that were left alone, and passes that were made.
    pub(crate) passes: (usize, usize),
}

/// Runs a program until `wanted` passes were left alone by others, or as many more times as is sensible.
pub(crate) fn measure(
    program: &Path,
    capture: &Path,
    warm: usize,
    wanted: usize,
) -> std::io::Result<Measured> {
    let mut program = Program::start_half(program, "pair", capture, warm)?;
    // The first pass meets caches that the settling of flows left behind.
    let _first: Pass = program.ask()?;
    let mut passes: Vec<Pass> = Vec::new();
    while passes.iter().filter(|pass| pass.was_left_alone()).count() < wanted
        && passes.len() < wanted * AGAIN
    {
        passes.push(program.ask()?);
    }
    Ok(Measured::of(&passes, wanted))
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
            punted: of(|pass| pass.punts / pass.packets).median(),
            moved: of(|pass| pass.offloads / pass.packets).median(),
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
            punts: 0.0,
            passed_on: 0.0,
            offloads: 0.0,
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
