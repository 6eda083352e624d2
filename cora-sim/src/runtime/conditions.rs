//! The conditions of a run, drawn from its seed.

use cora_runtime::classes::Limits;

use super::messages;
use crate::random::Random;

/// The conditions of a run.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// Bytes of the rings punt, back and wire-out.
    pub(super) rings: [usize; 3],
    /// Bytes at the NIC for waiting packets.
    pub(super) hold: usize,
    /// Whether the NIC's tables refuse some entries.
    pub(super) refuses: bool,
    /// An order occurs once in this many steps.
    pub(super) order_in: u64,
    /// A side pauses once in this many steps.
    pub(super) delay_in: u64,
    /// Maximum pause (ns).
    pub(super) delay: u64,
    /// The NIC reports its load once in this many steps.
    pub(super) tell_in: u64,
    /// Whether a host starts with the plan's admission.
    pub(super) by_plan: bool,
    /// Whether idle flows give their places to others.
    pub(super) displaces: bool,
    /// What messages may cost before they wait, for programs with messages.
    pub(super) limits: Option<Limits>,
}

impl Conditions {
    /// Draws the conditions of a seed, for frames of at most `longest` bytes. Rings are as small as
    /// the messages allow, or two or four times as large.
    pub(super) fn drawn(random: &mut Random, seed: u64, longest: usize) -> Self {
        // The longest of the other messages is an offer with eight keys.
        let longest = longest.max(512) + 64;
        // A record takes at most a quarter of a ring.
        let least = (4 * (longest + 8)).next_power_of_two();
        Self {
            rings: [0; 3].map(|_| least << random.below(3)),
            hold: random.pick(&[0, 0, 1 << 18]),
            refuses: random.once_in(3),
            order_in: random.pick(&[3, 8, 30, u64::MAX]),
            delay_in: random.pick(&[10, 50, 300]),
            delay: random.pick(&[500, 5_000, 100_000]),
            tell_in: random.pick(&[10, 100, u64::MAX]),
            by_plan: !random.once_in(3),
            // A separate generator keeps the meaning of older seeds.
            displaces: Random::new(seed ^ 0x6469_7370_6c00).once_in(3),
            limits: messages::limits(seed),
        }
    }
}
