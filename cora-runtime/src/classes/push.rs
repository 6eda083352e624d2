//! Push and pull: which classes keep no flow at the NIC for now, since it has too much to do.
//!
//! The mean is of all messages that are served as they come, from the beginning of their burst. So
//! it grows with the work of one and with how many wait. Beyond the limit, the class with the most
//! work since the last decision is pushed: each of its flows goes to the host behind its next
//! message. Under 0.8 of the limit, the class that was pushed last is pulled: the host may offer
//! its flows again.

use super::CLASSES;
use super::books::under;

/// Timed messages between two decisions: the mean then tells of the last one's effect.
const BETWEEN: u32 = 16;
/// A new time moves the mean by one part in 2 to this power.
const SHIFT: u32 = 3;

/// The classes that are pushed.
#[derive(Debug)]
pub(crate) struct Pushes {
    /// A bit for each.
    pushed: u64,
    /// In this order.
    order: [u8; CLASSES],
    /// The mean time of messages (ns).
    mean: u64,
    /// Timed messages since the last decision, and the time that those of each class took (ns).
    timed: u32,
    work: [u64; CLASSES],
}

impl Pushes {
    pub(super) const NEW: Self =
        Self { pushed: 0, order: [0; CLASSES], mean: 0, timed: 0, work: [0; CLASSES] };

    /// A bit for each class that is pushed.
    pub(crate) const fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Notes that a message of the class ran for `ran` ns, `since` ns from the beginning of its
    /// burst. Whether the pushed classes are others now.
    pub(super) fn note(&mut self, class: u8, ran: u64, since: u64, limit: u64) -> bool {
        self.mean = self.mean - (self.mean >> SHIFT) + (since >> SHIFT);
        if let Some(work) = self.work.get_mut(usize::from(class)) {
            *work = work.saturating_add(ran);
        }
        self.timed += 1;
        if self.timed < BETWEEN {
            return false;
        }
        let before = self.pushed;
        if self.mean >= limit {
            self.push();
        } else if self.mean < under(limit) {
            self.pull();
        }
        (self.timed, self.work) = (0, [0; CLASSES]);
        self.pushed != before
    }

    fn push(&mut self) {
        let works = (0_u8..).zip(&self.work);
        let others = works.filter(|(class, work)| **work > 0 && self.pushed >> class & 1 == 0);
        let Some((class, _)) = others.max_by_key(|(_, work)| **work) else { return };
        if let Some(place) = self.order.get_mut(self.pushed.count_ones() as usize) {
            *place = class;
        }
        self.pushed |= 1 << class;
    }

    fn pull(&mut self) {
        let last = (self.pushed.count_ones() as usize).checked_sub(1);
        if let Some(class) = last.and_then(|last| self.order.get(last)) {
            self.pushed &= !(1 << class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_with_most_work_is_pushed_and_pulled_when_there_is_time() {
        let mut pushes = Pushes::NEW;
        let mut round = |since: u64| {
            for at in 0..BETWEEN {
                let (class, ran) = if at % 4 == 0 { (7, 9_000) } else { (2, 100) };
                pushes.note(class, ran, since, 10_000);
            }
            pushes.pushed()
        };
        assert_eq!(round(9_000), 0, "between the limits nothing is decided");
        assert_eq!(round(50_000), 1 << 7, "a quarter of the messages, and most of the work");
        assert_eq!(round(50_000), 1 << 7 | 1 << 2);
        assert_eq!(round(9_000), 1 << 7 | 1 << 2);
        assert_eq!(round(1_000), 1 << 7, "the last one first");
        assert_eq!(round(1_000), 0);
        assert_eq!(round(1_000), 0);
    }
}
