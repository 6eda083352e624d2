//! Results of the trials: the host's time per packet relative to the oracle's, and the reaction
//! time of the NIC.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::scenario::{ADAPTIVE, ORACLE, Scenario};

/// The NIC has reacted when it has this part of its later packets.
const REACHED: f64 = 0.9;
/// Slices in one window: neighbouring slices differ by chance.
const TOGETHER: usize = 3;

/// The counts of a slice; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Slice {
    pub(super) packets: f64,
    pub(super) at_nic: f64,
    pub(super) host_busy: f64,
    pub(super) deciding: f64,
    pub(super) nic_busy: f64,
    pub(super) offloads: f64,
    pub(super) released: f64,
    pub(super) declined: f64,
    pub(super) behind: f64,
}

/// A trial, as the program reports it.
#[derive(Clone, Debug, Deserialize)]
struct Told {
    controller: String,
    slices: Vec<Slice>,
    came: u64,
    left: u64,
}

/// The answer of a program.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Answer {
    begins: Vec<u64>,
    trials: Vec<Told>,
}

/// The figures of a trial.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trial {
    pub(super) controller: String,
    /// The host's time per packet that came, overall and per phase (ns).
    pub(super) host_ns: f64,
    pub(super) phases_ns: Vec<f64>,
    /// Ratio to the oracle's: more is worse.
    pub(super) to_oracle: f64,
    /// Share of the host's time for decisions.
    pub(super) deciding: f64,
    pub(super) at_nic: f64,
    pub(super) nic_utilisation: f64,
    /// Flows that moved, in either direction, and offers that the NIC declined.
    pub(super) moves: f64,
    pub(super) declined: f64,
    /// Time from the start of a phase until the NIC has nine tenths of its later packets (ms);
    /// `None` if it has about as many from the first.
    pub(super) reaction_ms: Vec<Option<f64>>,
    /// Longest wait of a packet at the wire (µs).
    pub(super) behind_us: f64,
    pub(super) came: u64,
    pub(super) left: u64,
    #[serde(skip)]
    pub(super) slices: Vec<Slice>,
}

/// All trials.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) trials: Vec<Trial>,
    /// The first slice of each phase.
    pub(super) begins: Vec<usize>,
}

impl Outcome {
    /// Computes the figures; `None` without trials.
    pub(super) fn of(scenario: &Scenario, answer: &Answer) -> Option<Self> {
        let first = *answer.begins.first()?;
        let slice = scenario.slice;
        let begins = answer.begins.iter().map(|begins| ((begins - first) / slice) as usize);
        let begins: Vec<usize> = begins.collect();
        let mut trials: Vec<Trial> =
            answer.trials.iter().map(|told| Trial::of(told, &begins, slice)).collect();
        let oracle = trials.iter().find(|trial| trial.controller == ORACLE)?.host_ns;
        for trial in &mut trials {
            trial.to_oracle = trial.host_ns / oracle;
        }
        Some(Self { trials, begins })
    }

    /// Returns a text table.
    pub(super) fn table(&self, scenario: &Scenario) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _infallible = self.write(&mut text, scenario);
        text
    }

    fn write(&self, text: &mut String, scenario: &Scenario) -> std::fmt::Result {
        let Scenario { flows, room, slower, .. } = scenario;
        writeln!(
            text,
            "{flows} flows, room for {room} at a NIC whose core takes {slower} × as long"
        )?;
        writeln!(
            text,
            "{:<11} {:>8} {:>8} {:>9} {:>7} {:>7} {:>9} {:>9}  reaction per step, ms",
            "controller", "host ns", "× oracle", "deciding", "at NIC", "NIC", "moves", "declined"
        )?;
        for trial in &self.trials {
            let reaction: Vec<String> = trial.reaction_ms.iter().map(|ms| shown(*ms)).collect();
            writeln!(
                text,
                "{:<11} {:>8.1} {:>8.2} {:>7.1} % {:>5.1} % {:>5.0} % {:>9} {:>9}  {}",
                trial.controller,
                trial.host_ns,
                trial.to_oracle,
                trial.deciding * 100.0,
                trial.at_nic * 100.0,
                trial.nic_utilisation * 100.0,
                trial.moves,
                trial.declined,
                reaction.join(" ")
            )?;
        }
        for number in 0..self.begins.len() {
            write!(text, "  phase {}, {}: host ns", number + 1, scenario.step(number))?;
            for trial in &self.trials {
                write!(text, " {} {:.1}", trial.controller, trial.phases_ns[number])?;
            }
            writeln!(text)?;
        }
        for sentence in self.verdict() {
            writeln!(text, "{sentence}")?;
        }
        Ok(())
    }

    /// Returns the goals, and whether they were reached.
    pub(super) fn verdict(&self) -> Vec<String> {
        let Some(adaptive) = self.trials.iter().find(|trial| trial.controller == ADAPTIVE) else {
            return Vec::new();
        };
        let word = |reached: bool| if reached { "reached" } else { "missed" };
        let ratio = adaptive.to_oracle;
        let mut sentences =
            vec![format!("{ratio:.2} × the oracle's host time, goal 1.10: {}", word(ratio <= 1.1))];
        for other in
            self.trials.iter().filter(|other| ![ORACLE, ADAPTIVE].contains(&&*other.controller))
        {
            let ratio = adaptive.host_ns / other.host_ns;
            let name = &other.controller;
            sentences
                .push(format!("{ratio:.2} × that of {name}, goal below 1: {}", word(ratio < 1.0)));
        }
        let slowest = adaptive.reaction_ms.iter().flatten().copied().fold(0.0, f64::max);
        sentences.push(format!("reacts within {slowest} ms, goal 10: {}", word(slowest <= 10.0)));
        sentences
    }
}

/// Returns a reaction time as text, or a dash if there was nothing to react to.
pub(super) fn shown(reaction: Option<f64>) -> String {
    reaction.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}"))
}

impl Trial {
    fn of(told: &Told, begins: &[usize], slice: u64) -> Self {
        let slices = &told.slices;
        let sum = |of: fn(&Slice) -> f64, slices: &[Slice]| slices.iter().map(of).sum::<f64>();
        let packets = sum(|slice| slice.packets, slices).max(1.0);
        let host = sum(|slice| slice.host_busy, slices);
        let ends = begins.iter().skip(1).copied().chain([slices.len()]);
        let phases: Vec<&[Slice]> = begins
            .iter()
            .zip(ends)
            .map(|(begin, end)| slices.get(*begin..end.min(slices.len())).unwrap_or_default())
            .collect();
        let per_packet = |phase: &&[Slice]| {
            sum(|slice| slice.host_busy, phase) / sum(|slice| slice.packets, phase).max(1.0)
        };
        let ms = slice as f64 / 1e6;
        let reaction = |phase: &&[Slice]| reaction(phase).map(|count| count as f64 * ms);
        Self {
            controller: told.controller.clone(),
            host_ns: host / packets,
            phases_ns: phases.iter().map(per_packet).collect(),
            to_oracle: 1.0,
            deciding: sum(|slice| slice.deciding, slices) / host.max(1.0),
            at_nic: sum(|slice| slice.at_nic, slices) / packets,
            nic_utilisation: sum(|slice| slice.nic_busy, slices)
                / (slices.len() as f64 * slice as f64),
            moves: sum(|slice| slice.offloads + slice.released, slices),
            declined: sum(|slice| slice.declined, slices),
            reaction_ms: phases.iter().map(reaction).collect(),
            behind_us: slices.iter().map(|slice| slice.behind).fold(0.0, f64::max) / 1e3,
            came: told.came,
            left: told.left,
            slices: told.slices.clone(),
        }
    }
}

/// Returns the reaction time in slices, from the start of a phase. It ends with the first window in
/// which the NIC has [`REACHED`] of its share in the phase's second half.
fn reaction(phase: &[Slice]) -> Option<usize> {
    let share = |slices: &[Slice]| {
        let packets: f64 = slices.iter().map(|slice| slice.packets).sum();
        slices.iter().map(|slice| slice.at_nic).sum::<f64>() / packets.max(1.0)
    };
    let wanted = REACHED * share(&phase[phase.len() / 2..]);
    let count = phase.windows(TOGETHER).position(|slices| share(slices) >= wanted)?;
    // Present from the beginning: nothing to react to.
    (count > 0).then_some(count + TOGETHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(at_nic: f64) -> Slice {
        Slice { packets: 1_000.0, at_nic, host_busy: 1e5 - at_nic * 50.0, ..Slice::default() }
    }

    #[test]
    fn a_reaction_ends_when_nearly_all_packets_are_there() {
        let slow: Vec<Slice> = (0..40).map(|at| slice(f64::from(at.min(10)) * 50.0)).collect();
        assert_eq!(reaction(&slow), Some(11), "nine tenths of 500, three slices together");
        let steady = vec![slice(500.0); 40];
        assert_eq!(reaction(&steady), None);
    }

    #[test]
    fn others_are_measured_by_the_oracle() {
        let told = |name: &str, at_nic| Told {
            controller: name.to_owned(),
            slices: vec![slice(at_nic); 10],
            came: 1,
            left: 1,
        };
        let trials = vec![told(ORACLE, 1_000.0), told(ADAPTIVE, 500.0)];
        let answer = Answer { begins: vec![7_000_000], trials };
        let outcome = Outcome::of(&Scenario::new(true, 1), &answer).expect("an oracle");
        assert!((outcome.trials[1].to_oracle - 1.5).abs() < 1e-9);
        assert!(outcome.verdict()[0].contains("missed"), "{:?}", outcome.verdict());
    }
}
