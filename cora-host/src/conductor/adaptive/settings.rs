//! What the controller is held to. It stands at the head of every log, so that a replay is held to the same.

use cora_core::app::PlanFacts;
use cora_core::migration::Admission;
use serde::{Deserialize, Serialize};

/// What one thing costs (ns of the side's time).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// A packet whose handlers run at the host.
    pub host_packet: f64,
    /// The host's part of a move.
    pub host_move: f64,
    /// A packet whose handlers run at the NIC.
    pub nic_packet: f64,
    /// A packet that the NIC passes on.
    pub nic_pass: f64,
    /// The NIC's part of a move.
    pub nic_move: f64,
}

impl Costs {
    /// What a machine of these years needs, more or less.
    pub const USUAL: Self = Self {
        host_packet: 250.0,
        host_move: 1_500.0,
        nic_packet: 250.0,
        nic_pass: 120.0,
        nic_move: 1_500.0,
    };
}

/// An [`Admission`] that can be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admitted {
    /// Of 1024 flows, how many the NIC may own.
    pub share: u16,
    /// Packets of a flow that the host handles before.
    pub after: u32,
    /// How long a flow stays after it came back (ns of packet time).
    pub rest: u64,
    /// Flows that may be at the NIC.
    pub most: u32,
}

impl From<Admission> for Admitted {
    fn from(admission: Admission) -> Self {
        let Admission { share, after, rest, most } = admission;
        Self { share, after, rest, most }
    }
}

impl From<Admitted> for Admission {
    fn from(admitted: Admitted) -> Self {
        let Admitted { share, after, rest, most } = admitted;
        Self { share, after, rest, most }
    }
}

/// What the controller is held to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How often it decides (ns).
    pub period_ns: u64,
    /// What the plan admits: where it begins, and what it falls back to.
    pub plan: Admitted,
    /// Flows that may be at the NIC, even if more would fit.
    pub most: u32,
    /// Of a side's time, the part above which it is overloaded while its load is steady.
    pub high: f64,
    /// How far below that a side is filled up. Both bounds go down, and apart, as the load gets less steady.
    pub gap: f64,
    /// How far ahead loads are forecast (ns).
    pub ahead_ns: u64,
    /// A flow goes to the NIC once in this time at most, and not within it after it came back (ns). With that no flow is
    /// moved more than twice in this time, beside moves that its own punts force.
    pub rest_ns: u64,
    /// So long after an offer that came to nothing, because the NIC had no place at that moment or no ticket was left,
    /// the flow may be offered again (ns).
    pub again_ns: u64,
    /// A flow stays at the NIC so long at least before it is recalled (ns).
    pub stay_ns: u64,
    /// Moves per millisecond.
    pub moves: f64,
    /// Bytes of entries per millisecond.
    pub bytes: f64,
    /// Time in which a move must have earned what it costs (ns).
    pub payback_ns: u64,
    /// How many times as much as a flow at the NIC one must earn to take its place.
    pub better: f64,
    /// What things are expected to cost.
    pub expected: Costs,
    /// Learned costs are no more than so many times what is expected, and no less than that part of it.
    pub within: f64,
    /// The model has failed when it is wrong by more than this part of what was measured …
    pub wrong: f64,
    /// … for so long (ns).
    pub patience_ns: u64,
    /// How long the plan alone decides then, the first time; it doubles each time (ns).
    pub retry_ns: u64,
}

impl Settings {
    /// For a plan.
    pub const fn of_plan(plan: &PlanFacts) -> Self {
        let Admission { share, after, rest, most } = Admission::of_plan(plan);
        Self::new(Admitted { share, after, rest, most })
    }

    /// For what a plan admits.
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
            expected: Costs::USUAL,
            // Emulated, a NIC is some hundred times slower than one that is a process of this machine.
            within: 256.0,
            // Traffic that changes by a step changes costs, too: by a factor of 3 where bursts get short and flows cold.
            wrong: 0.5,
            patience_ns: 300_000_000,
            retry_ns: 1_000_000_000,
        }
    }
}
