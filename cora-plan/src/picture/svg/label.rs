//! Placement of curve labels, in whole pixels.
//!
//! A label is placed on its own curve, with a background that hides the picture below. Of several
//! places along the curve, it takes the one that hides least: first of other labels, then of other
//! curves. Among equals, it takes the one nearest to the middle.

use super::layout::Curve;
use super::text::width;

/// Size of a label's letters.
pub(super) const SIZE: i32 = 11;
/// Height of a label's background, and its margin beside the words.
const HEIGHT: i32 = 16;
const BESIDE: i32 = 4;
/// From the top of the background to the baseline of the words.
pub(super) const BASELINE: i32 = 12;

/// Parts of a curve.
const PARTS: i32 = 32;
/// Positions of a label in parts down the curve, from the middle outwards.
const PLACES: [i32; 13] = [16, 18, 14, 20, 12, 22, 10, 24, 8, 25, 7, 26, 6];

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Room {
    fn around((x, y): (i32, i32), words: &str, right: i32) -> Self {
        let width = width(words, SIZE) + 2 * BESIDE;
        let x = (x - width / 2).min(right - BESIDE - width).max(BESIDE);
        Self { x, y: y - HEIGHT / 2, width, height: HEIGHT }
    }

    fn overlaps(self, other: Self) -> bool {
        let apart = |a: i32, b: i32, from: i32, other: i32| a + b <= from || other + from <= a;
        !(apart(self.x, self.width, other.x, other.width)
            || apart(self.y, self.height, other.y, other.height))
    }

    /// Number of points of a curve inside the rectangle.
    fn hides(self, curve: &Curve) -> usize {
        let points = (0..=PARTS).map(|part| point(curve, part));
        points.filter(|(x, y)| self.has(*x, *y)).count()
    }

    fn has(self, x: i32, y: i32) -> bool {
        let (right, bottom) = (self.x + self.width, self.y + self.height);
        (self.x..=right).contains(&x) && (self.y..=bottom).contains(&y)
    }
}

/// The background of the label of curve `at`; the curves before it have theirs.
pub(super) fn room(curves: &[Curve], at: usize, right: i32) -> Room {
    let own = &curves[at];
    let others = || curves.iter().enumerate().filter(move |(number, _)| *number != at);
    let hidden = |room: &Room| {
        let labels = curves[..at].iter().filter(|other| room.overlaps(other.room)).count();
        let points: usize = others().map(|(_, other)| room.hides(other)).sum();
        (labels, points)
    };
    let rooms = PLACES.map(|part| Room::around(point(own, part), &own.label, right));
    rooms.into_iter().min_by_key(hidden).unwrap_or_default()
}

/// A point on the cubic curve with its two inner control points half-way down, under each end.
fn point(curve: &Curve, part: i32) -> (i32, i32) {
    let (t, u) = (part, PARTS - part);
    let weights = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
    let middle = i32::midpoint(curve.y1, curve.y2);
    let blend = |points: [i32; 4]| {
        let sum: i64 =
            points.iter().zip(weights).map(|(p, weight)| i64::from(*p) * i64::from(weight)).sum();
        i32::try_from(sum / i64::from(PARTS.pow(3))).unwrap_or(i32::MAX)
    };
    let x = blend([curve.x1, curve.x1, curve.x2, curve.x2]);
    (x, blend([curve.y1, middle, middle, curve.y2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(x1: i32, x2: i32) -> Curve {
        let label = "read, write, insert".to_owned();
        Curve { x1, y1: 104, x2, y2: 222, label, room: Room::default() }
    }

    #[test]
    fn labels_hide_neither_each_other_nor_other_curves() {
        // One handler with three states, and one with a curve across.
        let mut curves = vec![curve(100, 60), curve(140, 300), curve(180, 520), curve(600, 340)];
        for at in 0..curves.len() {
            curves[at].room = room(&curves, at, 800);
        }
        for (at, one) in curves.iter().enumerate() {
            for (_, other) in curves.iter().enumerate().filter(|(number, _)| *number != at) {
                assert!(!one.room.overlaps(other.room), "{one:?} and {other:?}");
                assert_eq!(one.room.hides(other), 0, "{one:?} hides {other:?}");
            }
            assert!(one.room.hides(one) > 0, "{one:?} stands on its curve");
        }
    }

    #[test]
    fn a_label_stays_in_the_picture() {
        for x in [0, 400] {
            let room = room(&[curve(x, x)], 0, 400);
            assert!(room.x > 0 && room.x + room.width < 400, "{room:?}");
        }
    }
}
