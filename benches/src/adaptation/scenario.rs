//! Traffic that changes in steps, and a NIC with little room.

use serde::Serialize;

/// Flows of a crowd, as the program makes them.
const CROWD: usize = 4_096;

/// A phase of uniform traffic, in the program's format.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Phase {
    /// Duration (ns).
    pub(super) lasts: u64,
    pub(super) mpps: f64,
    pub(super) skew: f64,
    /// Number of the set of popular flows.
    pub(super) hot: u64,
    /// Part of the packets that belong to new flows.
    pub(super) crowd: f64,
}

/// A request to a program.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Scenario {
    pub(super) phases: Vec<Phase>,
    pub(super) flows: usize,
    pub(super) room: u32,
    pub(super) slower: f64,
    pub(super) seed: u64,
    pub(super) slice: u64,
    pub(super) controllers: Vec<&'static str>,
}

/// The controller that is the baseline of all others.
pub(super) const ORACLE: &str = "oracle";
/// The controller that is judged.
pub(super) const ADAPTIVE: &str = "adapt";

impl Scenario {
    pub(super) fn new(quick: bool, seed: u64) -> Self {
        let ms = if quick { 300_000 } else { 1_000_000 };
        let phase = |lasts: u64, mpps, skew, hot, crowd| {
            let lasts = lasts * ms;
            Phase { lasts, mpps, skew, hot, crowd }
        };
        Self {
            phases: vec![
                phase(2_000, 0.8, 1.1, 1, 0.0),
                // Other flows.
                phase(2_000, 0.8, 1.1, 2, 0.0),
                // More packets, and less skew.
                phase(2_000, 1.4, 0.9, 2, 0.0),
                // Other flows, and more skew.
                phase(2_000, 1.4, 1.3, 3, 0.0),
                // A crowd beside them.
                phase(1_000, 1.6, 1.3, 3, 0.4),
                // Few packets with little in common.
                phase(2_000, 0.6, 0.6, 4, 0.0),
                phase(2_000, 1.1, 1.2, 5, 0.0),
            ],
            flows: 16_384,
            room: 128,
            slower: 1.5,
            seed,
            slice: 1_000_000,
            controllers: vec![ORACLE, ADAPTIVE, "plan", "flow-only", "state-only"],
        }
    }

    pub(super) fn most_flows(&self) -> usize {
        let crowds = self.phases.iter().filter(|phase| phase.crowd > 0.0).count();
        self.flows + crowds * CROWD
    }

    /// Returns the changes of a phase relative to the last one, in words.
    pub(super) fn step(&self, number: usize) -> String {
        let (now, mut words) = (self.phases[number], Vec::new());
        let before = number.checked_sub(1).map(|before| self.phases[before]);
        let changed =
            |of: fn(Phase) -> f64| before.is_none_or(|it| (of(it) - of(now)).abs() > 1e-9);
        if changed(|phase| phase.hot as f64) {
            words.push("other flows".to_owned());
        }
        if changed(|phase| phase.mpps) {
            words.push(format!("{} Mpps", now.mpps));
        }
        if changed(|phase| phase.skew) {
            words.push(format!("s = {}", now.skew));
        }
        if now.crowd > 0.0 {
            words.push(format!("crowd {:.0} %", now.crowd * 100.0));
        }
        words.join(", ")
    }
}
