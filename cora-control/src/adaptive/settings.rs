//! Settings of the controller. They stand at the head of every log, so that a replay has the same.

use cora_core::app::PlanFacts;
use cora_runtime::ownership::Admission;
use serde::{Deserialize, Serialize};

/// Costs of single operations (ns of the side's time).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// A packet with handlers that run at the host.
    pub host_packet: f64,
    /// The host's part of a move.
    pub host_move: f64,
    /// A packet with handlers that run at the NIC.
    pub nic_packet: f64,
    /// A packet that the NIC passes on.
    pub nic_pass: f64,
    /// The NIC's part of a move.
    pub nic_move: f64,
}

impl Costs {
    /// Approximate costs on a machine of these years.
    pub const USUAL: Self = Self {
        host_packet: 250.0,
        host_move: 1_500.0,
        nic_packet: 250.0,
        nic_pass: 120.0,
        nic_move: 1_500.0,
    };

    /// Returns each with its name.
    pub const fn each(&self) -> [(&'static str, f64); 5] {
        [
            ("a packet at the host", self.host_packet),
            ("the host's part of a move", self.host_move),
            ("a packet at the NIC", self.nic_packet),
            ("a packet that the NIC passes on", self.nic_pass),
            ("the NIC's part of a move", self.nic_move),
        ]
    }
}

/// An [`Admission`] that can be serialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admitted {
    /// Flows of 1024 that the NIC may own.
    pub share: u16,
    /// Packets of a flow that the host handles before the offer.
    pub after: u32,
    /// Cool-down of a flow that came back (ns of packet time).
    pub rest: u64,
    /// Most flows at the NIC.
    pub most: u32,
    /// Each such time without a packet of a flow lowers its count by one (ns of packet time); 0: no
    /// decay.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub pace: u64,
    /// After so long without a packet, a flow of the NIC gives its place to another (ns of packet
    /// time); 0: none does.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub idle: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_nothing(time: &u64) -> bool {
    *time == 0
}

impl Admitted {
    /// Admits `share` flows of 1024, each after `after` packets, as many as there is room for.
    pub const fn share(share: u16, after: u32) -> Self {
        Self { share, after, rest: 0, most: u32::MAX, pace: 0, idle: 0 }
    }
}

impl From<Admission> for Admitted {
    fn from(admission: Admission) -> Self {
        let Admission { share, after, rest, most, pace, idle } = admission;
        Self { share, after, rest, most, pace, idle }
    }
}

impl From<Admitted> for Admission {
    fn from(admitted: Admitted) -> Self {
        let Admitted { share, after, rest, most, pace, idle } = admitted;
        Self { share, after, rest, most, pace, idle }
    }
}

/// Learned costs exceed and undercut the plan's prediction by this factor at most.
pub const WITHIN: f64 = 8.0;

/// Returns the costs that the plan predicts, if it has numbers that can be costs.
fn predicted(plan: &str) -> Option<Costs> {
    #[derive(Deserialize)]
    struct Plan {
        searched: Option<Searched>,
    }
    #[derive(Deserialize)]
    struct Searched {
        costs: Option<Costs>,
    }
    let costs = serde_json::from_str::<Plan>(plan).ok()?.searched?.costs?;
    costs.each().iter().all(|(_, cost)| cost.is_finite() && *cost > 0.0).then_some(costs)
}

/// Settings of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Interval between decisions (ns).
    pub period_ns: u64,
    /// The plan's admission: the start, and the fallback.
    pub plan: Admitted,
    /// Most flows at the NIC, even if more would fit.
    pub most: u32,
    /// Part of a side's time above which it is overloaded under a steady load.
    pub high: f64,
    /// Distance from there to the target of utilisation. Both go down, and apart, as the load gets
    /// less steady.
    pub gap: f64,
    /// Horizon of forecasts (ns).
    pub ahead_ns: u64,
    /// A flow goes to the NIC once in this time at most, and not within it after it came back (ns).
    /// So no flow moves more than twice in this time, beside moves that its own punts force.
    pub rest_ns: u64,
    /// Time after a failed offer until the flow may be offered again (ns). An offer fails if the
    /// NIC had no place or no ticket was left.
    pub again_ns: u64,
    /// Shortest stay of a flow at the NIC before its recall (ns).
    pub stay_ns: u64,
    /// Moves per millisecond.
    pub moves: f64,
    /// Bytes of entries per millisecond.
    pub bytes: f64,
    /// Time in which a move must earn its cost (ns).
    pub payback_ns: u64,
    /// A flow must earn this many times as much as one at the NIC to take its place.
    pub better: f64,
    /// Whether the sides exchange flows by themselves while the NIC is full.
    #[serde(default)]
    pub exchange: bool,
    /// Expected costs.
    pub expected: Costs,
    /// Whether the plan predicts them, from a search with a model of a NIC and its host.
    #[serde(default)]
    pub predicted: bool,
    /// Learned costs exceed and undercut the expected ones by this factor at most.
    pub within: f64,
    /// The model has failed if its error exceeds this part of the measured time …
    pub wrong: f64,
    /// … for this long (ns).
    pub patience_ns: u64,
    /// First time of the plan's decisions after that; it doubles each time (ns).
    pub retry_ns: u64,
}

impl Settings {
    /// Returns the settings for a plan.
    pub const fn of_plan(plan: &PlanFacts) -> Self {
        let Admission { share, after, rest, most, pace, idle } = Admission::of_plan(plan);
        Self::new(Admitted { share, after, rest, most, pace, idle })
    }

    /// Bounds costs by the plan's prediction: a learned cost departs from it by a factor of
    /// [`WITHIN`] at most. `plan` is its JSON. A stated plan predicts nothing, and usual costs are
    /// expected instead.
    #[must_use]
    pub fn predicted_by(self, plan: &str) -> Self {
        let Some(expected) = predicted(plan) else { return self };
        Self { expected, predicted: true, within: WITHIN, ..self }
    }

    /// Returns the settings for a plan's admission.
    pub const fn new(plan: Admitted) -> Self {
        Self {
            // A decision takes some 40 us of a busy host: 2 %.
            period_ns: 2_000_000,
            plan,
            most: u32::MAX,
            high: 0.90,
            gap: 0.10,
            ahead_ns: 4_000_000,
            rest_ns: 250_000_000,
            again_ns: 6_000_000,
            stay_ns: 20_000_000,
            moves: 32.0,
            bytes: 262_144.0,
            payback_ns: 200_000_000,
            better: 1.5,
            exchange: true,
            expected: Costs::USUAL,
            predicted: false,
            // An emulated NIC is some hundred times slower than one that is a process of this
            // machine.
            within: 256.0,
            // A step of the traffic changes costs, too: by a factor of 3 where bursts get short and
            // flows cold.
            wrong: 0.5,
            patience_ns: 300_000_000,
            retry_ns: 1_000_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATED: &str = r#"{"schema": 2, "name": "split"}"#;
    const SEARCHED: &str = r#"{"schema": 2, "searched": {"mpps": 2.0, "costs": {"host_packet": 200, "host_move": 900,
        "nic_packet": 400, "nic_pass": 90, "nic_move": 1100}}}"#;

    #[test]
    fn a_plan_that_was_searched_for_binds_what_is_learned() {
        let settings = Settings::new(Admitted::share(1024, 1));
        let bound = settings.clone().predicted_by(SEARCHED);
        assert!(bound.predicted && bound.within == WITHIN);
        let bits = |costs: [f64; 5]| costs.map(f64::to_bits);
        let expected = bound.expected.each().map(|(_, ns)| ns);
        assert_eq!(bits(expected), bits([200.0, 900.0, 400.0, 90.0, 1100.0]));
        assert_eq!(settings.clone().predicted_by(STATED), settings);
        // A division or a bound would fail on these.
        for cost in ["0", "-5", "1e999", "null"] {
            let damaged = SEARCHED.replace("400", cost);
            assert_eq!(settings.clone().predicted_by(&damaged), settings, "{cost}");
        }
    }
}
