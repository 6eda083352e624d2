//! How far the consumer's core is.
//!
//! Where both cores share a cache, a line comes from the other one in 40 ns; where they don't, it
//! takes three times as long and more. On some processors that decides whether lines had better go
//! [past the caches](super::stream). Nobody says which cores two processes run on, and a hypervisor
//! moves them; so the producer times what it does anyway: reading the consumer's index, whose line
//! the consumer has just written.

/// Most votes: as many looks in a row as it takes to be sure.
const MOST: u8 = 7;

/// What the last looks at the consumer's index said. One that an interrupt fell into has a single
/// vote.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Distance {
    far: u8,
}

impl Distance {
    /// A look found a new index, whose line came from far away, or didn't.
    pub(super) fn note(&mut self, far: bool) {
        self.far = if far { (self.far + 1).min(MOST) } else { self.far.saturating_sub(1) };
    }

    /// Whether the consumer's core is far away. Until looks have said so, it isn't.
    pub(super) fn is_far(self) -> bool {
        self.far > MOST / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_in_many_does_not_decide() {
        let mut distance = Distance::default();
        let mut note = |far: bool, times: u32| {
            (0..times).for_each(|_| distance.note(far));
            distance.is_far()
        };
        assert!(!note(true, 3));
        assert!(note(true, 1));
        assert!(note(true, 100), "votes are counted to a limit");
        assert!(note(false, 3));
        assert!(note(true, 1));
        assert!(!note(false, 5));
        assert!(!note(true, 1));
        assert!(!note(false, 100), "in both directions");
        assert!(note(true, 4));
    }
}
