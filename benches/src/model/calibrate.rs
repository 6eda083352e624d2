//! The coefficients of this machine that depend on how the halves run together, fitted once for all
//! programs.
//!
//! `cargo cora calibrate` measures memory and parts. This fits the cost of a frame, an instruction,
//! an exposed look-up and a crossing with both halves at work. The model is linear in them, so the
//! factor of each one in a case is the prediction with that coefficient 1 and the others 0. The fit
//! is to the nanoseconds of a packet at either side, by least relative errors, none below 0. The
//! programs are the four examples and one that does nothing, on traffic of no case; the three other
//! programs stay unseen. The cost of a mispredicted branch is the measurement of `cargo cora
//! calibrate`.
//!
//! The cost of a crossing changes from minute to minute if a hypervisor moves the cores of a
//! machine. So it is no unknown: a program that does nothing is measured beside each other one. Its
//! cost is subtracted here, and added in the prediction of a case. In the same way, the time of
//! instructions follows the cost of a packet of one program at that moment.
//!
//! Under a split each packet costs more at either side, because its flow's owner is looked up and
//! kept. At the NIC this cost is the profile's `owner_ns`; for the host the model has no such term,
//! so it is kept here beside the profile. The rest of the latency of the owner's record is
//! `owner_exposed` at both: the NIC's is fitted, and given to the host.
//!
//! If both sides receive frames of their own, no ring is behind the host's frames, and the frames
//! of either side come from memory. So the cost of a frame is fitted once more for that, at each
//! side; all else stays as it is.

use std::io::Result;
use std::path::Path;

use cora_plan::demand::Executed;
use cora_plan::figure::Figure;
use cora_plan::nic::{FlowTable, NicProfile};

use super::cases::{Case, EMPTY, NFS, Nf, Plan};
use super::frames::Capture;
use super::measure::{Crossing, Moment};
use super::popularity::Popularity;
use super::predict::Model;
use super::source::Source;

/// Flows of a large and a small working set, neither of which is in a case.
const FLOWS: [u64; 2] = [4_000, 300_000];
/// Rounds of the fit: coordinate descent with so few unknowns converges long before.
const ROUNDS: usize = 4_000;
/// Number of reweightings of the equations by their errors.
const REWEIGHED: usize = 10;
/// Relative errors below this have equal weight.
const PRECISE: f64 = 0.01;

/// Coefficients of a side: a frame, an instruction, an exposed look-up, a crossing, ownership under
/// a split, the exposed latency of its record, a mispredicted branch.
pub(crate) const TERMS: usize = 7;
/// The coefficient of a frame.
const FRAME: usize = 0;
/// The coefficient that is measured beside each case.
const CROSSING: usize = 3;

/// The cost of finding and keeping the owner.
pub(crate) const OWNER: usize = 4;
/// The exposed share of its record's latency.
const RECORD: usize = 5;
/// A mispredicted branch.
const MISPREDICTED: usize = 6;

/// One equation: factors of the unknowns, their nanoseconds in sum, and those of the whole packet.
#[derive(Clone, Copy, Debug)]
struct Equation {
    factors: [f64; TERMS],
    ns: f64,
    whole: f64,
}

/// Measures the programs of the calibration, and puts the coefficients into the model.
pub(crate) fn calibrate(
    model: &mut Model,
    file: &Path,
    source: &mut Source,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let (mut at_nic, mut at_host, mut moments) = (Vec::new(), Vec::new(), Vec::new());
    let mut at_doors = [Vec::new(), Vec::new()];
    let (_, idle) = model.executed(&EMPTY, Popularity::Uniform);
    let (draws, quick) = source.extent();
    for (nf, flows) in seen(quick) {
        // Nearly as many as it holds: a case has as many as it holds.
        let flows = flows.min(nf.most / 4 * 3);
        let skew = Popularity::Uniform;
        let capture = Capture::save(file, nf.feed, flows, skew, draws)?;
        for plan in Plan::ALL.into_iter().filter(|plan| nf.runs_under(*plan)) {
            let case = Case { nf, flows, skew, plan };
            let (nic, host) = model.factors(&case, &capture)?;
            for taken in source.measure(&case, &capture)?.passes {
                let (nic_ns, host_ns) = (taken.nic_ns(), taken.host_ns());
                tell(&format!(
                    "calibrating: {} at {nic_ns:.1} ns of the NIC, {host_ns:.1} of the host",
                    case.name()
                ));
                let Moment { crossing, work_ns } = taken.moment;
                moments.push(work_ns);
                if plan == Plan::Dealt {
                    let [of_nic, of_host] = &mut at_doors;
                    of_nic.push((Equation::at_door(nic, nic_ns), work_ns));
                    of_host.push((Equation::at_door(host, host_ns), work_ns));
                    continue;
                }
                at_nic.push((Equation::at_nic(nic, nic_ns, crossing), work_ns));
                if plan != Plan::NicOnly {
                    at_host.push((Equation::at_host(host, host_ns, crossing, idle), work_ns));
                }
            }
        }
    }
    let work_ns = moments.iter().sum::<f64>() / moments.len() as f64;
    let alike = |equations: Vec<(Equation, f64)>| -> Vec<Equation> {
        equations.into_iter().map(|(equation, now)| equation.slowed(now / work_ns)).collect()
    };
    let (at_nic, at_host, at_doors) = (alike(at_nic), alike(at_host), at_doors.map(alike));
    // The cost of a branch was measured separately.
    let (none, given) = (Some(0.0), Some(model.mispredict_ns()));
    let nic = fit(&at_nic, [None, None, None, none, None, None, given]);
    // The host's crossing includes the cost of a frame there.
    let host = fit(&at_host, [none, None, None, none, None, Some(nic[RECORD]), given]);
    let frame = |equations: &[Equation], of: [f64; TERMS]| {
        fit(equations, std::array::from_fn(|number| (number > FRAME).then_some(of[number])))[FRAME]
    };
    let [of_nic, of_host] = &at_doors;
    let doors = [frame(of_nic, nic), frame(of_host, host)];
    tell(&format!("fitted: NIC {nic:.3?}, host {host:.3?}, a frame of its own {doors:.3?}"));
    model.refine(nic, host, doors, work_ns);
    Ok(())
}

impl Equation {
    /// Makes an equation of the NIC: a packet that crosses costs as much as one of the idle
    /// program.
    fn at_nic(mut factors: [f64; TERMS], whole: f64, crossing: Crossing) -> Self {
        let crossings = std::mem::take(&mut factors[CROSSING]);
        factors[0] -= crossings;
        Self { factors, ns: whole - crossings * crossing.nic_ns, whole }
    }

    /// Makes an equation of a side that receives the packet by itself.
    const fn at_door(factors: [f64; TERMS], whole: f64) -> Self {
        Self { factors, ns: whole, whole }
    }

    /// Returns the error, as a part of the whole packet.
    fn error(&self, found: &[f64; TERMS]) -> f64 {
        let said: f64 = self.factors.iter().zip(found).map(|(factor, of)| factor * of).sum();
        (said - self.ns) / self.whole
    }

    /// Scales the equation to a moment at which work took `times` as long: this affects a frame, an
    /// instruction and a branch.
    fn slowed(mut self, times: f64) -> Self {
        self.factors[0] *= times;
        self.factors[1] *= times;
        self.factors[MISPREDICTED] *= times;
        self
    }

    /// Makes an equation of the host, whose idle program executes `idle`.
    fn at_host(mut factors: [f64; TERMS], whole: f64, crossing: Crossing, idle: Executed) -> Self {
        let crossings = std::mem::take(&mut factors[CROSSING]);
        factors[0] = 0.0;
        factors[1] -= crossings * idle.instructions;
        factors[MISPREDICTED] -= crossings * idle.mispredictions;
        Self { factors, ns: whole - crossings * crossing.host_ns, whole }
    }
}

/// Returns the programs and their flows; a quick run has each example with one of the two.
fn seen(quick: bool) -> impl Iterator<Item = (&'static Nf, u64)> {
    let examples = NFS.iter().filter(|nf| !nf.unseen).enumerate();
    let examples = examples.flat_map(move |(number, nf)| {
        let sizes = FLOWS.into_iter().enumerate();
        sizes
            .filter(move |(size, _)| !quick || *size == number % 2)
            .map(move |(_, flows)| (nf, flows))
    });
    std::iter::once((&EMPTY, FLOWS[0])).chain(examples)
}

/// Returns a profile with one coefficient of both sides 1, and all others 0.
pub(crate) fn unit(base: &NicProfile, number: usize) -> NicProfile {
    let mut coefficients = [0.0; TERMS];
    coefficients[number] = 1.0;
    let mut profile = base.clone();
    for side in [&mut profile.nic, &mut profile.host] {
        for figure in [&mut side.byte_ns, &mut side.insert_ns, &mut side.remove_ns] {
            figure.value = 0.0;
        }
    }
    profile.link.byte_ns.value = 0.0;
    put(&mut profile, coefficients, coefficients);
    profile
}

/// Puts coefficients into their places in the profile.
pub(crate) fn put(profile: &mut NicProfile, nic: [f64; TERMS], host: [f64; TERMS]) {
    let how = "fitted to four programs of which both halves ran, by `cargo xtask model`";
    for (side, of) in [(&mut profile.nic, nic), (&mut profile.host, host)] {
        side.packet_ns = Figure::measured(of[0], how);
        side.instruction_ns = Figure::measured(of[1], how);
        side.exposed = Figure::measured(of[2], how);
        side.mispredict_ns = Figure::measured(of[MISPREDICTED], how);
        // All frames have one length: the cost of a frame includes that of its bytes.
        side.byte_ns = Figure::measured(0.0, how);
    }
    profile.link.nic_ns = Figure::measured(nic[CROSSING], how);
    profile.link.host_ns = Figure::measured(host[CROSSING], how);
    profile.link.byte_ns = Figure::measured(0.0, how);
    profile.link.owner_ns = Figure::measured(nic[OWNER], how);
    profile.link.owner_exposed = Figure::measured(nic[RECORD], how);
    profile.flow_table = Some(FlowTable {
        entries: Figure::assumed(1e6, "the cores are the limit"),
        inserts_per_s: Figure::assumed(1e6, "the cores are the limit"),
        expresses: Vec::new(),
    });
    // The cores at the rings are their only limit.
    profile.link.mpps = Figure::assumed(1e3, "the cores are the limit");
    profile.link.gbps = Figure::assumed(1e4, "the cores are the limit");
}

/// Fits by least relative errors, none below 0; given coefficients stay. Errors count linearly and
/// not squared: a pass on a changed machine then spoils no more than its own equation.
fn fit(equations: &[Equation], given: [Option<f64>; TERMS]) -> [f64; TERMS] {
    let mut found = given.map(Option::unwrap_or_default);
    let mut weights = vec![1.0; equations.len()];
    for _ in 0..REWEIGHED {
        descend(equations, &weights, given, &mut found);
        for (weight, equation) in weights.iter_mut().zip(equations) {
            *weight = 1.0 / equation.error(&found).abs().max(PRECISE);
        }
    }
    found
}

/// Fits by weighted least squares of relative errors, by coordinate descent.
fn descend(
    equations: &[Equation],
    weights: &[f64],
    given: [Option<f64>; TERMS],
    found: &mut [f64; TERMS],
) {
    for _ in 0..ROUNDS {
        for unknown in (0..TERMS).filter(|unknown| given[*unknown].is_none()) {
            let (mut along, mut square) = (0.0, 0.0);
            for (Equation { factors, ns, whole }, weight) in equations.iter().zip(weights) {
                let others: f64 = (0..TERMS)
                    .filter(|other| *other != unknown)
                    .map(|other| factors[other] * found[other])
                    .sum();
                let weight = weight / (whole * whole);
                along += weight * factors[unknown] * (ns - others);
                square += weight * factors[unknown] * factors[unknown];
            }
            if square > 0.0 {
                found[unknown] = (along / square).max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: [f64; TERMS] = [5.0, 0.07, 0.1, 40.0, 12.0, 0.5, 15.0];

    fn equations(count: u8) -> Vec<Equation> {
        (0..count)
            .map(|n| {
                let n = f64::from(n);
                let instructions = 200.0 + 37.0 * (n % 5.0);
                let factors =
                    [1.0, instructions, 9.0 * n, n % 2.0, n % 3.0, n * n % 7.0, n * n % 11.0 / 8.0];
                let ns = factors.iter().zip(TRUTH).map(|(factor, of)| factor * of).sum();
                Equation { factors, ns, whole: ns }
            })
            .collect()
    }

    #[test]
    fn the_fit_finds_what_equations_were_made_of() {
        let equations = equations(12);
        let found = fit(&equations, [None; TERMS]);
        for (found, truth) in found.iter().zip(TRUTH) {
            assert!((found / truth - 1.0).abs() < 0.02, "{found} {truth}");
        }
        let given = fit(&equations, [Some(1.0), None, None, None, None, None, None]);
        assert!((given[0] - 1.0).abs() < f64::EPSILON, "what is given stays");
    }

    #[test]
    fn what_met_another_machine_does_not_pull_it_along() {
        let mut equations = equations(24);
        (equations[3].ns, equations[3].whole) = (equations[3].ns * 2.0, equations[3].ns * 2.0);
        let found = fit(&equations, [None; TERMS]);
        for equation in equations.iter().enumerate().filter(|(number, _)| *number != 3) {
            assert!(equation.1.error(&found).abs() < 0.01, "{}: {found:?}", equation.0);
        }
    }
}
