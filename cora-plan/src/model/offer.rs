//! The flows that a runtime can give to the NIC: those with more packets than a threshold, and of
//! these a share by a hash of the flow.
//!
//! The host offers a flow after [`after`] packets. So the classes that it keeps must be those of
//! the shortest flows, and of all others the NIC owns the same share. No count tells flows apart
//! that never end.

use crate::traffic::Class;
use crate::vocabulary::Sides;

/// Packets beyond which counting flows is no way to tell them apart.
const MOST: f64 = 65_536.0;

/// Sets of classes that the NIC may own parts of: all, then without the class of the shortest
/// flows, and so on to none.
pub(crate) fn sets(classes: &[Class]) -> Vec<Vec<bool>> {
    let mut lengths: Vec<f64> = classes.iter().map(length).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let kept = lengths.into_iter().filter(|length| *length <= MOST);
    let mut sets = vec![vec![true; classes.len()]];
    sets.extend(kept.map(|kept| classes.iter().map(|class| length(class) > kept).collect()));
    if sets.last().is_some_and(|last: &Vec<bool>| last.contains(&true)) {
        sets.push(vec![false; classes.len()]);
    }
    sets
}

/// Packets of a flow at the host before it offers the flow: one more than the flows have in those
/// classes of which the NIC owns nothing.
pub(crate) fn after(sides: Sides, classes: &[Class], shares: &[f64]) -> u32 {
    let classes = || classes.iter().zip(shares);
    let kept = classes().filter(|(_, share)| **share == 0.0).map(|(class, _)| length(class));
    let longest = kept.fold(0.0_f64, f64::max);
    let owned = classes().filter(|(_, share)| **share > 0.0).map(|(class, _)| length(class));
    let shortest = owned.fold(f64::INFINITY, f64::min);
    let nothing = shares.iter().all(|share| *share == 0.0);
    // A longer flow that the host is to keep can't be told from those that it gives away.
    if sides != Sides::Split || nothing || longest > MOST || longest >= shortest {
        return 1;
    }
    #[expect(clippy::cast_sign_loss, reason = "a length is never negative")]
    let packets = longest.ceil() as u32;
    packets + 1
}

fn length(class: &Class) -> f64 {
    class.packets().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::class;

    #[test]
    fn classes_of_short_flows_are_kept_first() {
        let classes =
            [class("a", 1.0, 0.5, 0.001), class("b", 1.0, 0.3, 0.2), class("c", 1.0, 0.2, 0.05)];
        assert_eq!(
            sets(&classes),
            [[true; 3], [true, false, true], [true, false, false], [false; 3]]
        );
        let after = |shares: &[f64]| after(Sides::Split, &classes, shares);
        assert_eq!(after(&[0.5, 0.5, 0.5]), 1);
        assert_eq!(after(&[0.5, 0.0, 0.5]), 6);
        assert_eq!(after(&[0.5, 0.0, 0.0]), 21);
        assert_eq!((after(&[0.0; 3]), after(&[0.0, 0.5, 0.5])), (1, 1));
    }

    #[test]
    fn flows_that_never_end_are_not_told_apart() {
        let classes = [class("a", 1.0, 0.5, 0.0), class("b", 1.0, 0.5, 0.0)];
        assert_eq!(sets(&classes), [[true; 2], [false; 2]]);
        assert_eq!(after(Sides::Split, &classes, &[1.0, 0.0]), 1);
    }
}
