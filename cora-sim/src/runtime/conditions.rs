//! Under which conditions a run goes: drawn from its seed.

use crate::random::Random;

/// The conditions.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// Bytes of the rings punt, back and wire-out.
    pub(super) rings: [usize; 3],
    /// Bytes in which packets wait at the NIC.
    pub(super) hold: usize,
    /// One of so many entries is refused by the NIC's tables, if any.
    pub(super) refuses: bool,
    /// In so many steps there is an order once.
    pub(super) order_in: u64,
    /// In so many steps a side stands still once.
    pub(super) delay_in: u64,
    /// For so many ns at most.
    pub(super) delay: u64,
    /// In so many steps the NIC tells its load once.
    pub(super) tell_in: u64,
    /// Whether the plan's admission is in force, too.
    pub(super) by_plan: bool,
    /// Whether flows that nobody uses give their places to others.
    pub(super) displaces: bool,
}

impl Conditions {
    /// Those of a seed, for frames of so many bytes. Rings are as small as the messages allow, or a
    /// few times that.
    pub(super) fn drawn(random: &mut Random, seed: u64, longest: usize) -> Self {
        // The longest of all the other messages is an offer with eight keys.
        let longest = longest.max(512) + 64;
        // A record takes a quarter of a ring at most.
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
            // Drawn apart, so that older seeds mean what they did.
            displaces: Random::new(seed ^ 0x6469_7370_6c00).once_in(3),
        }
    }
}
