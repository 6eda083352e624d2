//! Budget of moves: a bucket of moves and one of bytes, filled by time.

use super::number::{fading, real};
use super::rates::Step;
use super::settings::Settings;

/// Capacity of the buckets, as time of inflow (ns).
const HELD: f64 = 2e6;
/// Time constant of the bytes per move (ns).
const MEMORY: f64 = 200e6;

/// The moves and bytes that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    moves: f64,
    bytes: f64,
    filled: u64,
    /// Moves and their bytes, decayed.
    seen: (f64, f64),
}

impl Budget {
    pub(super) const fn new() -> Self {
        Self { moves: 0.0, bytes: 0.0, filled: 0, seen: (1.0, 64.0) }
    }

    /// Fills the buckets up to the time `now`.
    pub(super) fn fill(&mut self, now: u64, settings: &Settings) {
        let time = real(now.saturating_sub(self.filled)).min(HELD);
        self.filled = now;
        let held = |has: f64, per_ms: f64| {
            let most = per_ms * HELD / 1e6;
            (has + per_ms * time / 1e6).min(most)
        };
        self.moves = held(self.moves, settings.moves);
        self.bytes = held(self.bytes, settings.bytes);
    }

    /// Adds a step of a side.
    pub(super) fn add(&mut self, step: &Step) {
        let kept = fading(step.time, MEMORY);
        self.seen = (self.seen.0 * kept + step.moves, self.seen.1 * kept + step.bytes);
    }

    /// Returns the mean bytes of a move.
    fn each(&self) -> f64 {
        (self.seen.1 / self.seen.0.max(1.0)).max(1.0)
    }

    /// Takes one move out. Returns whether there was one.
    pub(super) fn take(&mut self) -> bool {
        // A move may overdraw the bytes: a large group must move at some time.
        if self.moves < 1.0 || self.bytes <= 0.0 {
            return false;
        }
        self.moves -= 1.0;
        self.bytes -= self.each();
        true
    }
}
