//! The coefficients of this machine that depend on how the halves run together, fitted once for all
//! programs.
//!
//! `cargo cora calibrate` measures memory and parts. What a frame, an instruction, an exposed
//! look-up and a crossing take with both halves at work is fitted here: the model is linear in
//! them, so each one's factor in a case is what the model says with that coefficient 1 and the
//! others 0. They are fitted to the nanoseconds of a packet at either side, by least relative
//! errors, none below 0. The programs are the four examples and one that does nothing, on traffic
//! that no case has; the three others are never seen. What a branch takes that was foretold wrongly
//! is as `cargo cora calibrate` measured it.
//!
//! What a crossing takes changes from minute to minute on a machine whose cores a hypervisor moves.
//! So it is no unknown: a program that does nothing is measured beside each other one, and what it
//! takes is taken off here and put in where a case is predicted. Likewise, how long instructions
//! take follows what a packet of one program takes at that moment.
//!
//! Under a split each packet costs more at either side, because its flow's owner is looked up and
//! kept. What that takes at the NIC is the profile's `owner_ns`; for the host the model has no such
//! term, and it stands here beside the profile. What remains of the latency of the owner's record
//! is `owner_exposed` at both: the NIC's is fitted, and given to the host.

use std::io::Result;
use std::path::Path;

use cora_plan::demand::Executed;
use cora_plan::figure::Figure;
use cora_plan::nic::NicProfile;

use super::cases::{Case, EMPTY, NFS, Nf, Plan};
use super::frames::Capture;
use super::measure::{Crossing, Moment};
use super::popularity::Popularity;
use super::predict::Model;
use super::source::Source;

/// Flows of a large and a small working set, neither of which a case has.
const FLOWS: [u64; 2] = [4_000, 300_000];
/// Rounds of the fit: coordinate descent on so few unknowns ends long before.
const ROUNDS: usize = 4_000;
/// So often the equations are weighed by how far they are off.
const REWEIGHED: usize = 10;
/// Relative errors below this are all alike.
const PRECISE: f64 = 0.01;

/// What there is at a side: a frame, an instruction, an exposed look-up, a crossing, ownership
/// under a split, the exposed latency of its record, a branch foretold wrongly.
pub(crate) const TERMS: usize = 7;
/// The one that is measured beside each case.
const CROSSING: usize = 3;

/// What finding and keeping the owner takes.
pub(crate) const OWNER: usize = 4;
/// The share of its record's latency that stays.
const RECORD: usize = 5;
/// A branch foretold wrongly.
const MISPREDICTED: usize = 6;

/// One equation: factors of the unknowns, the nanoseconds that they make, and those of the whole
/// packet.
#[derive(Clone, Copy, Debug)]
struct Equation {
    factors: [f64; TERMS],
    ns: f64,
    whole: f64,
}

/// Measures the programs of the calibration, and puts what follows into the model.
pub(crate) fn calibrate(
    model: &mut Model,
    file: &Path,
    source: &mut Source,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let (mut at_nic, mut at_host, mut moments) = (Vec::new(), Vec::new(), Vec::new());
    let (_, idle) = model.executed(&EMPTY, Popularity::Uniform);
    let (draws, quick) = source.extent();
    for (nf, flows) in seen(quick) {
        // Nearly as many as it holds: as many are a case.
        let flows = flows.min(nf.most / 4 * 3);
        let skew = Popularity::Uniform;
        let capture = Capture::save(file, nf.feed, flows, skew, draws)?;
        for plan in Plan::ALL {
            let case = Case { nf, flows, skew, plan };
            let (nic, host) = model.factors(&case, &capture)?;
            for taken in source.measure(&case, &capture)?.passes {
                let (nic_ns, host_ns) = (taken.nic_ns(), taken.host_ns());
                tell(&format!(
                    "calibrating: {} at {nic_ns:.1} ns of the NIC, {host_ns:.1} of the host",
                    case.name()
                ));
                let Moment { crossing, work_ns } = taken.moment;
                at_nic.push((Equation::at_nic(nic, nic_ns, crossing), work_ns));
                if plan != Plan::NicOnly {
                    at_host.push((Equation::at_host(host, host_ns, crossing, idle), work_ns));
                }
                moments.push(work_ns);
            }
        }
    }
    let work_ns = moments.iter().sum::<f64>() / moments.len() as f64;
    let alike = |equations: Vec<(Equation, f64)>| -> Vec<Equation> {
        equations.into_iter().map(|(equation, now)| equation.slowed(now / work_ns)).collect()
    };
    let (at_nic, at_host) = (alike(at_nic), alike(at_host));
    // What a branch costs was measured by itself.
    let (none, given) = (Some(0.0), Some(model.mispredict_ns()));
    let nic = fit(&at_nic, [None, None, None, none, None, None, given]);
    // What a frame takes at the host is in what its crossing takes.
    let host = fit(&at_host, [none, None, None, none, None, Some(nic[RECORD]), given]);
    tell(&format!("fitted: NIC {nic:.3?}, host {host:.3?}"));
    model.refine(nic, host, work_ns);
    Ok(())
}

impl Equation {
    /// A packet that crosses takes what one takes that nothing is done with.
    fn at_nic(mut factors: [f64; TERMS], whole: f64, crossing: Crossing) -> Self {
        let crossings = std::mem::take(&mut factors[CROSSING]);
        factors[0] -= crossings;
        Self { factors, ns: whole - crossings * crossing.nic_ns, whole }
    }

    /// How far it is off, as a part of the whole packet.
    fn error(&self, found: &[f64; TERMS]) -> f64 {
        let said: f64 = self.factors.iter().zip(found).map(|(factor, of)| factor * of).sum();
        (said - self.ns) / self.whole
    }

    /// Of a moment at which work took so many times as long: a frame, an instruction and a branch
    /// did.
    fn slowed(mut self, times: f64) -> Self {
        self.factors[0] *= times;
        self.factors[1] *= times;
        self.factors[MISPREDICTED] *= times;
        self
    }

    /// At the host that one executes something, too: so much.
    fn at_host(mut factors: [f64; TERMS], whole: f64, crossing: Crossing, idle: Executed) -> Self {
        let crossings = std::mem::take(&mut factors[CROSSING]);
        factors[0] = 0.0;
        factors[1] -= crossings * idle.instructions;
        factors[MISPREDICTED] -= crossings * idle.mispredictions;
        Self { factors, ns: whole - crossings * crossing.host_ns, whole }
    }
}

/// In a hurry, each example on one of the two.
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

/// A profile where one coefficient of both sides is 1, and all others are 0.
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

/// Puts coefficients where the profile has a place for them.
pub(crate) fn put(profile: &mut NicProfile, nic: [f64; TERMS], host: [f64; TERMS]) {
    let how = "fitted to four programs of which both halves ran, by `cargo xtask model`";
    for (side, of) in [(&mut profile.nic, nic), (&mut profile.host, host)] {
        side.packet_ns = Figure::measured(of[0], how);
        side.instruction_ns = Figure::measured(of[1], how);
        side.exposed = Figure::measured(of[2], how);
        side.mispredict_ns = Figure::measured(of[MISPREDICTED], how);
        // All frames have one length: what a byte takes is in what a frame takes.
        side.byte_ns = Figure::measured(0.0, how);
    }
    profile.link.nic_ns = Figure::measured(nic[CROSSING], how);
    profile.link.host_ns = Figure::measured(host[CROSSING], how);
    profile.link.byte_ns = Figure::measured(0.0, how);
    profile.link.owner_ns = Figure::measured(nic[OWNER], how);
    profile.link.owner_exposed = Figure::measured(nic[RECORD], how);
    // The rings have no limit but the cores that work on them.
    profile.link.mpps = Figure::assumed(1e3, "the cores are the limit");
    profile.link.gbps = Figure::assumed(1e4, "the cores are the limit");
}

/// Least relative errors, none below 0; what is given stays. Errors count as they are and not
/// squared: a pass that met another machine than the moments around it did is no more than one
/// equation that does not hold.
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

/// Least squares of relative errors, each with its weight, by coordinate descent.
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
