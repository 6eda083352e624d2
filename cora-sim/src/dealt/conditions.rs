//! The conditions of a run, drawn from its seed.

use cora_switch::{Abilities, Limits};

use crate::apps::IDLE;
use crate::random::Random;

/// Bytes at a NIC half for all packets of a run: a full half reads nothing more, not even that the
/// move is over. Limits of held bytes keep a run's half from it.
const HOLD: usize = 1 << 19;

/// The conditions of a run.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// Shards at the NIC and at the host.
    pub(super) shards: [u16; 2],
    /// Whether the run begins with the deal of the plan; otherwise shard 0 has all buckets.
    pub(super) by_plan: bool,
    /// Bytes at a NIC shard for packets that wait.
    pub(super) hold: usize,
    /// Records in a queue before the wire waits for its shard.
    pub(super) room: usize,
    /// Maximum records that a step takes.
    pub(super) most: u64,
    /// A wish occurs once in this many steps.
    pub(super) wish_in: u64,
    /// A packet comes to the wrong shard once in this many.
    pub(super) astray_in: u64,
    /// One rule operation in this many is lost, or done twice.
    pub(super) rule_fault_in: u64,
    pub(super) abilities: Abilities,
    pub(super) limits: Limits,
}

impl Conditions {
    /// Draws the conditions of a run with so many buckets that packets are of. With `sound`, every
    /// bucket that is to move does. The wire then stops for a move only if the program is `timed`:
    /// less packet time passes amid a move than from an end to its hook.
    pub(super) fn drawn(random: &mut Random, buckets: u64, (sound, timed): (bool, bool)) -> Self {
        let shards = random.pick(&[[1, 1], [1, 1], [2, 1], [1, 2], [2, 2], [3, 0], [0, 2]]);
        let by_plan = random.once_in(16);
        let tight = random.once_in(4) && !by_plan && !sound;
        let stops = random.once_in(2) && !sound;
        let usual = Limits::default();
        let longest = if timed { usual.packet_ns } else { u64::MAX >> 1 };
        let short = if timed { [1, longest / 8, longest] } else { [1, IDLE, 20 * IDLE] };
        Self {
            shards,
            by_plan,
            hold: random.pick(&[HOLD, 8 * HOLD]),
            room: random.pick(&[3, 10, 1_000]),
            most: random.pick(&[1, 4, 12, 40]),
            wish_in: random.pick(&[6, 15, 40, 120]),
            astray_in: random.pick(&[u64::MAX, u64::MAX, 8, 40]),
            rule_fault_in: random.pick(&[u64::MAX, 3, 9]),
            abilities: Abilities {
                entries: if tight { 1 + random.below(2 * buckets) as u32 } else { 2_000 },
                operations_per_s: random.pick(&[0, 1_000_000, 10_000_000]),
                delay_ns: random.below(3_000),
                in_flight: random.pick(&[1, 3, 64]),
            },
            limits: Limits {
                held_bytes: if stops { 64 << random.below(8) } else { 1 << 30 },
                packet_ns: if stops { random.pick(&short) } else { longest },
                again_ns: 1_000 + random.below(4_000),
                in_flight: random.pick(&[1, 3, 64]),
                ..usual
            },
        }
    }
}
