//! An explicit-state checker: all interleavings of a small scenario.
//!
//! Depth first, by copies of the state. A digest of 128 bits tells states apart, and a state that
//! was met before is not explored again.

use std::collections::HashSet;
use std::hash::{Hash as _, Hasher};

use cora_switch::Shard;

use crate::table::{Misdeeds, Stepped};
use crate::world::{Choice, Scenario, World};

/// Totals of an exploration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explored {
    pub(crate) states: usize,
    pub(crate) choices: u64,
    pub(crate) ends: u64,
    pub(crate) longest: usize,
}

/// A violation, and the path to it.
#[derive(Debug)]
pub(crate) struct Counterexample {
    pub(crate) violation: String,
    pub(crate) path: Vec<Choice>,
}

/// Explores all states, up to the first violation.
pub(crate) fn explore(scenario: &Scenario, misdeeds: Misdeeds) -> Result<Explored, Counterexample> {
    let table = Stepped::new(Shard::new(0), misdeeds, scenario.sabotage);
    let mut explored = Explored::default();
    let mut met = HashSet::new();
    let mut path = Vec::new();
    let world = World::new(scenario, table);
    met.insert(digest(&world));
    let mut open = vec![(world.choices(scenario).0, world)];
    while let Some((choices, world)) = open.last_mut() {
        let Some(choice) = choices.pop() else {
            open.pop();
            path.pop();
            continue;
        };
        let mut next = world.clone();
        path.push(choice);
        explored.choices += 1;
        if let Err(violation) = next.go(choice, scenario) {
            return Err(Counterexample { violation, path });
        }
        if !met.insert(digest(&next)) {
            path.pop();
            continue;
        }
        explored.longest = explored.longest.max(path.len());
        let (choices, is_due) = next.choices(scenario);
        if !is_due {
            explored.ends += 1;
            if let Err(violation) = next.judge_end(scenario) {
                return Err(Counterexample { violation, path });
            }
        }
        open.push((choices, next));
    }
    explored.states = met.len();
    Ok(explored)
}

fn digest(world: &World<Stepped>) -> u128 {
    let mut digest = Digest(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834);
    world.hash(&mut digest);
    digest.0
}

/// A hash of 128 bits: multiplications and shifts, since nobody chooses states to collide.
struct Digest(u128);

impl Digest {
    fn mix(&mut self, word: u64) {
        let mixed =
            (self.0 ^ u128::from(word)).wrapping_mul(0xda94_2042_e4dd_58b5_94d0_49bb_1331_11eb);
        self.0 = mixed ^ (mixed >> 67);
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0 as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.mix(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number.cast_unsigned() as u64);
    }
}
