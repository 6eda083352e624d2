//! The measured speed of a plan: passes of its program, both halves on a core each.

use std::io::Result;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cases::Plan;
use crate::additive::Turn;
use crate::program::Program;

/// Largest part of a pass that other processes may have taken.
const ROBBED: f64 = 0.01;
/// At most so many times more passes are made than asked for, until enough are undisturbed.
const AGAIN: usize = 2;

/// Largest relative change of crossing and work over a pass.
const MOVED: f64 = 0.1;

/// Shortest duration of a pass, in milliseconds. The machine changes within a second: many short
/// passes, each with a reference of its moment, give more than few long ones.
const PASS: &str = "120";
/// Pause between two passes: the kernel leaves a real-time process 19 of 20 parts of a second
/// (`sched_rt_runtime_us`, `sched(7)`).
const REST: Duration = Duration::from_millis(20);

/// A measured cost of a crossing stays valid for this time.
const RECENT: Duration = Duration::from_secs(4);

/// The counts of a pass; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    packets: f64,
    ns: f64,
    nic_busy_ns: f64,
    host_busy_ns: f64,
    at_nic: f64,
    left: f64,
    robbed_ns: Option<f64>,
}

/// The passes that count for a case.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) passes: Vec<Taken>,
    /// Number of undisturbed passes on an unchanged machine.
    pub(crate) undisturbed: usize,
    /// Number of passes that were made.
    pub(crate) made: usize,
}

/// The current cost of crossing the rings, for a packet of the idle program: nanoseconds of the
/// NIC's core and of the host's, receiving and sending included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Crossing {
    pub(crate) nic_ns: f64,
    pub(crate) host_ns: f64,
}

/// The state of the machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moment {
    pub(crate) crossing: Crossing,
    /// Nanoseconds of a packet that a program handles at the NIC's half, with few flows.
    pub(crate) work_ns: f64,
}

impl Moment {
    fn between(self, other: Self) -> Self {
        Self {
            crossing: Crossing {
                nic_ns: f64::midpoint(self.crossing.nic_ns, other.crossing.nic_ns),
                host_ns: f64::midpoint(self.crossing.host_ns, other.crossing.host_ns),
            },
            work_ns: f64::midpoint(self.work_ns, other.work_ns),
        }
    }

    /// Returns the larger relative change of the two figures.
    fn change(self, other: Self) -> f64 {
        let by = |one: f64, other: f64| (other / one).ln().abs();
        by(self.crossing.nic_ns, other.crossing.nic_ns).max(by(self.work_ns, other.work_ns))
    }
}

/// Two programs that are kept running, and measured beside everything else: one that does nothing,
/// at the host, and one that works, at the NIC's half. A hypervisor moves a machine's cores, and so
/// changes the distance of a line's transfer: by a factor of 2.7 within a minute in one
/// observation. If both are threads of one core, each takes longer for the same instructions.
pub(crate) struct Reference {
    idle: Program,
    work: Program,
    /// Their last figures, and the time of these.
    last: Option<(Instant, Moment)>,
}

impl Reference {
    /// Starts them: each with its file, its capture, and the number of first packets that fill
    /// tables.
    pub(crate) fn start(idle: (&Path, &Path, usize), work: (&Path, &Path, usize)) -> Result<Self> {
        let start = |(program, capture, warm)| Program::start_both(program, capture, warm);
        Ok(Self { idle: start(idle)?, work: start(work)?, last: None })
    }

    /// Measures the current state of the machine.
    fn now(&mut self) -> Result<Moment> {
        let idle = asked(&mut self.idle)?;
        let work = asked(&mut self.work)?;
        let moment = Moment {
            crossing: Crossing {
                nic_ns: idle.nic_busy_ns / idle.packets,
                host_ns: idle.host_busy_ns / idle.packets,
            },
            work_ns: work.nic_busy_ns / work.packets,
        };
        self.last = Some((Instant::now(), moment));
        Ok(moment)
    }

    /// Returns the state of the machine, if it is recent; otherwise measures it.
    fn recent(&mut self) -> Result<Moment> {
        match self.last {
            Some((when, moment)) if when.elapsed() < RECENT => Ok(moment),
            _ => self.now(),
        }
    }
}

/// Returns the less disturbed of two passes.
fn asked(program: &mut Program) -> Result<Pass> {
    std::thread::sleep(REST);
    let first: Pass = program.ask_for(PASS)?;
    if first.was_left_alone() {
        return Ok(first);
    }
    std::thread::sleep(REST);
    let second: Pass = program.ask_for(PASS)?;
    Ok(if second.robbed() < first.robbed() { second } else { first })
}

/// Runs a program until `wanted` passes were undisturbed and the machine was the same before and
/// after them, or until [`AGAIN`] times as many passes.
pub(crate) fn measure(
    (program, plan): (&Path, Plan),
    capture: &Path,
    warm: usize,
    wanted: usize,
    reference: &mut Reference,
) -> Result<Vec<Taken>> {
    let mut program = match plan {
        Plan::Dealt => Program::start_half(program, "dealt", capture, warm)?,
        _ => Program::start_both(program, capture, warm)?,
    };
    let mut pass = || match plan {
        Plan::Dealt => program.ask().map(Pass::of_both_doors),
        _ => program.ask_for(PASS),
    };
    // The first pass meets caches from the settling of flows.
    pass()?;
    let mut taken: Vec<Taken> = Vec::new();
    let mut before = reference.recent()?;
    while taken.iter().filter(|taken| taken.counts()).count() < wanted
        && taken.len() < wanted * AGAIN
    {
        std::thread::sleep(REST);
        let pass = pass()?;
        let after = reference.now()?;
        taken.push(Taken { pass, moment: before.between(after), moved: before.change(after) });
        before = after;
    }
    Ok(taken)
}

/// A pass, and the state of the machine around it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    pass: Pass,
    /// The cost of crossing and work, as the mean of right before and right after.
    pub(crate) moment: Moment,
    /// Relative change of that cost over the pass.
    pub(crate) moved: f64,
}

impl Taken {
    fn counts(&self) -> bool {
        self.pass.was_left_alone() && self.moved <= MOVED
    }

    /// Returns million packets per second.
    pub(crate) fn mpps(&self) -> f64 {
        self.pass.packets / self.pass.ns * 1e3
    }

    /// Returns nanoseconds of the NIC's core per packet that came in.
    pub(crate) fn nic_ns(&self) -> f64 {
        self.pass.nic_busy_ns / self.pass.packets
    }

    /// Returns nanoseconds of the host's core per packet that came in.
    pub(crate) fn host_ns(&self) -> f64 {
        self.pass.host_busy_ns / self.pass.packets
    }

    /// Returns the part of the packets that the NIC handled alone.
    pub(crate) fn at_nic(&self) -> f64 {
        self.pass.at_nic / self.pass.packets
    }

    /// Returns the part that left; the rest was dropped.
    pub(crate) fn left(&self) -> f64 {
        self.pass.left / self.pass.packets
    }

    /// Returns the disturbance, in units of its limit.
    fn disturbance(&self) -> f64 {
        (self.pass.robbed() / ROBBED).max(self.moved / MOVED)
    }
}

impl Pass {
    /// Makes the pass of a program whose halves receive packets of their own, one packet in all:
    /// the side that takes longer for its part sets the rate.
    fn of_both_doors(turn: Turn) -> Self {
        let Turn { host_beside, nic_beside, .. } = turn;
        let to_nic = turn.to_nic();
        let to_host = 1.0 - to_nic;
        let nic_busy_ns = to_nic * nic_beside.ns_per_packet();
        let host_busy_ns = to_host * host_beside.ns_per_packet();
        Self {
            packets: 1.0,
            ns: nic_busy_ns.max(host_busy_ns),
            nic_busy_ns,
            host_busy_ns,
            at_nic: to_nic,
            left: to_nic * nic_beside.left() + to_host * host_beside.left(),
            // Times are of the threads' CPU clocks.
            robbed_ns: None,
        }
    }

    fn robbed(&self) -> f64 {
        self.robbed_ns.unwrap_or(0.0) / self.ns
    }

    fn was_left_alone(&self) -> bool {
        self.robbed() <= ROBBED
    }
}

impl Measured {
    /// Returns the passes that count; if they are too few, the `wanted` least disturbed ones.
    pub(crate) fn of(taken: &[Taken], wanted: usize) -> Self {
        let mut passes = taken.to_vec();
        passes.sort_by(|a, b| a.disturbance().total_cmp(&b.disturbance()));
        let undisturbed = passes.iter().filter(|taken| taken.counts()).count();
        passes.truncate(wanted);
        Self { passes, undisturbed: undisturbed.min(wanted), made: taken.len() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn taken(ns: f64, robbed: f64, moved: f64) -> Taken {
        let pass = Pass {
            packets: 1_000.0,
            ns,
            nic_busy_ns: ns,
            host_busy_ns: 0.0,
            at_nic: 1_000.0,
            left: 900.0,
            robbed_ns: Some(robbed),
        };
        let crossing = Crossing { nic_ns: 100.0, host_ns: 100.0 };
        Taken { pass, moment: Moment { crossing, work_ns: 30.0 }, moved }
    }

    /// Returns an undisturbed pass.
    pub(in crate::model) fn undisturbed() -> Vec<Taken> {
        vec![taken(100_000.0, 0.0, 0.0)]
    }

    #[test]
    fn passes_that_were_disturbed_do_not_count_while_others_do() {
        let all = [
            taken(100_000.0, 0.0, 0.01),
            taken(200_000.0, 90_000.0, 0.0),
            taken(300_000.0, 0.0, 0.5),
            taken(100_000.0, 10.0, 0.0),
        ];
        let measured = Measured::of(&all, 2);
        assert!(measured.passes.iter().all(|taken| (taken.mpps() - 10.0).abs() < 1e-9));
        assert_eq!((measured.undisturbed, measured.made), (2, 4));
        let too_few = Measured::of(&all[1..3], 2);
        assert_eq!((too_few.undisturbed, too_few.passes.len()), (0, 2), "{too_few:?}");
        assert!((too_few.passes[0].left() - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_machine_that_changed_is_another() {
        let moment = taken(1.0, 0.0, 0.0).moment;
        let slower = Moment { work_ns: 60.0, ..moment };
        assert!(
            (moment.change(slower) - 2.0_f64.ln()).abs() < 1e-9 && moment.change(moment) == 0.0
        );
    }
}
