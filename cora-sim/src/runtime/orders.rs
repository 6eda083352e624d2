//! A random controller: it moves flows to and fro, without regard to benefit.

use cora_runtime::ownership::{Admission, Order};

use crate::random::Random;

/// Draws an order: an offer or a recall of one flow, or an admission. With `displaces`, admitted
/// flows may also take the place of others.
pub(super) fn order<K: Copy>(
    random: &mut Random,
    groups: &[K],
    displaces: bool,
) -> Option<Order<K>> {
    if random.once_in(12) {
        let share = random.below(1025) as u16;
        let after = 1 + random.below(4) as u32;
        let rest = random.pick(&[0, 0, 1_000, 64_000]);
        let most = random.pick(&[1, 4, u32::MAX]);
        // Idle flows give their places to others.
        let (pace, idle) = if displaces { (after.into(), 1) } else { (0, 0) };
        return Some(Order::Admit(Admission { share, after, rest, most, pace, idle }));
    }
    if groups.is_empty() {
        return None;
    }
    // Mostly recent flows.
    let of_late = groups.len().min(8) as u64;
    let at = if random.once_in(4) {
        random.below(groups.len() as u64) as usize
    } else {
        groups.len() - 1 - random.below(of_late) as usize
    };
    let group = groups[at];
    Some(if random.once_in(2) { Order::Offer(group) } else { Order::Recall(group) })
}
