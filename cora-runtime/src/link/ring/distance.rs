//! The distance of the consumer's core.
//!
//! If both cores share a cache, a line comes from the other one in 40 ns; otherwise it takes three
//! times as long and more. On some processors that decides whether lines should [bypass the
//! caches](super::stream). Nothing tells two processes which cores they run on, and a hypervisor
//! moves them. So the producer times an access that it makes anyway: it reads the consumer's index,
//! in a line that the consumer has just written.

/// Most votes: as many reads in a row as it takes to be sure.
const MOST: u8 = 7;

/// The votes of the last reads of the consumer's index. A read during an interrupt has only one
/// vote.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Distance {
    far: u8,
}

impl Distance {
    /// Notes that a read found a new index, and whether its line came from far away.
    pub(super) fn note(&mut self, far: bool) {
        self.far = if far { (self.far + 1).min(MOST) } else { self.far.saturating_sub(1) };
    }

    /// Whether the consumer's core is far away. Until reads have shown that, it counts as near.
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
