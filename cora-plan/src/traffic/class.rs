//! Divides flows by rate into classes for plans, and into bins for the cache model.
//!
//! Flows come in cells: a number of flows of one rate, heaviest first. Then:
//! 1. A class ends at the ranks 10, 100, 1,000 … 10,000,000. A bin ends at 1, 2, 4, 8 … and at the
//!    end of its class. If a cell contains such a rank, the nearer end of the cell counts.
//! 2. From the lightest up, a class is merged with the next heavier one if their flows are alike.
//!    That is: the rates differ by less than a quarter, or (in a capture) by no more than chance.
//! 3. The bins of each class are merged in the same way.
//!
//! So there are at most eight classes, and about one bin for each factor of two in rank.

use std::ops::Range;

use super::{Bin, Class};
use crate::number::grouped;

/// End ranks of classes.
const CLASS_ENDS: [f64; 7] = [1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// Powers of two at which bins end: up to four thousand million flows.
const BIN_ENDS: i32 = 32;

/// Rates that differ by less than this factor are alike.
const ALIKE: f64 = 1.25;

/// A number of flows of one rate; as a sum, of about one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// Number of concurrent flows.
    pub(super) flows: f64,
    /// Their share of all packets.
    pub(super) share: f64,
    /// Share of all packets that are the first of one of these flows.
    pub(super) opens: f64,
    /// Seconds from first to last packet of the flows that open, per packet of the whole traffic;
    /// 0 if unknown.
    pub(super) lives: f64,
    /// Their bytes, per packet of the whole traffic.
    pub(super) bytes: f64,
    /// Bytes that stay at the NIC under header split, per packet of the whole traffic.
    pub(super) rests: f64,
    /// Keys seen in a capture; 0 in a profile without counts.
    pub(super) seen: f64,
    /// Packets of these keys in the capture.
    pub(super) packets: f64,
}

impl Cell {
    /// Packets of one flow, as a share of all.
    fn rate(&self) -> f64 {
        self.share / self.flows
    }

    fn sum(cells: &[Self]) -> Self {
        cells.iter().fold(Self::default(), |sum, cell| sum.and(cell))
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            flows: self.flows + other.flows,
            share: self.share + other.share,
            opens: self.opens + other.opens,
            lives: self.lives + other.lives,
            bytes: self.bytes + other.bytes,
            rests: self.rests + other.rests,
            seen: self.seen + other.seen,
            packets: self.packets + other.packets,
        }
    }

    /// Whether these flows and lighter ones count as one kind.
    fn is_like(&self, lighter: &Self) -> bool {
        self.rate() < ALIKE * lighter.rate() || self.is_chance(lighter)
    }

    /// Whether chance can explain that these flows are heavier than the lighter ones.
    ///
    /// Packets of equally heavy flows are Poisson-distributed with mean `m`, and at most `exp(-m (h
    /// ln h - h + 1))` of the flows have `h m` packets or more (Chernoff's bound).
    fn is_chance(&self, lighter: &Self) -> bool {
        if self.seen == 0.0 || lighter.seen == 0.0 {
            return false;
        }
        let both = self.and(lighter);
        let mean = both.packets / both.seen;
        let h = self.packets / self.seen / mean;
        h <= 1.0 || mean * (h * libm::log(h) - h + 1.0) <= libm::log(both.seen / self.seen)
    }
}

/// A class as a range of cells, and its bins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cut {
    /// Cells of the class.
    pub(super) cells: Range<usize>,
    bins: Vec<Range<usize>>,
}

/// Divides cells, heaviest first, at the ends of classes and bins; for flows that are only numbers.
pub(super) fn divided(cells: &[Cell]) -> Vec<Cell> {
    let ends = ends();
    let mut divided = Vec::new();
    let mut above = 0.0;
    for cell in cells {
        let (begin, end) = (above, above + cell.flows);
        let inner = ends.iter().copied().filter(|rank| *rank > begin && *rank < end);
        let mut from = begin;
        for to in inner.chain([end]) {
            divided.push(part(cell, (to - from) / cell.flows));
            from = to;
        }
        above = end;
    }
    divided
}

/// All end ranks, sorted.
pub(super) fn ends() -> Vec<f64> {
    let mut ends: Vec<f64> = bin_ends().chain(CLASS_ENDS).collect();
    ends.sort_by(f64::total_cmp);
    ends
}

fn bin_ends() -> impl Iterator<Item = f64> {
    (0..=BIN_ENDS).map(|power| f64::powi(2.0, power))
}

fn part(cell: &Cell, part: f64) -> Cell {
    Cell {
        flows: cell.flows * part,
        share: cell.share * part,
        opens: cell.opens * part,
        lives: cell.lives * part,
        bytes: cell.bytes * part,
        rests: cell.rests * part,
        seen: cell.seen * part,
        packets: cell.packets * part,
    }
}

/// Divides cells, heaviest first, into classes of bins. Without cells there are no classes.
pub(super) fn cut(cells: &[Cell]) -> Vec<Cut> {
    let mut above = 0.0;
    let ranks: Vec<f64> = cells
        .iter()
        .map(|cell| {
            above += cell.flows;
            above
        })
        .collect();
    let all = 0..cells.len();
    // 1.
    let classes = cut_at(&ranks, all, CLASS_ENDS.into_iter());
    // 2.
    let classes = joined(cells, classes);
    // 3.
    let binned = classes.into_iter().map(|class| {
        let bins = joined(cells, cut_at(&ranks, class.clone(), bin_ends()));
        Cut { cells: class, bins }
    });
    binned.collect()
}

/// Divides a range of cells near the given ranks; `ranks` has the end rank of each cell.
fn cut_at(
    ranks: &[f64],
    range: Range<usize>,
    ends: impl Iterator<Item = f64>,
) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut begin = range.start;
    for end in ends {
        let past = ranks.partition_point(|rank| *rank < end);
        let before = past.checked_sub(1).map(|at| end - ranks[at]);
        let behind = ranks.get(past).map(|rank| rank - end);
        let at = match (before, behind) {
            (Some(before), Some(behind)) if behind < before => past + 1,
            (None, Some(_)) => past + 1,
            _ => past,
        };
        if at > begin && at < range.end {
            parts.push(begin..at);
            begin = at;
        }
    }
    if begin < range.end {
        parts.push(begin..range.end);
    }
    parts
}

/// Merges neighbours that are alike, from the lightest up.
fn joined(cells: &[Cell], parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<(Range<usize>, Cell)> = Vec::new();
    for part in parts.into_iter().rev() {
        let sum = Cell::sum(&cells[part.clone()]);
        match joined.last_mut() {
            Some((lighter, of_lighter)) if sum.is_like(of_lighter) => {
                lighter.start = part.start;
                *of_lighter = of_lighter.and(&sum);
            }
            _ => joined.push((part, sum)),
        }
    }
    joined.into_iter().rev().map(|(part, _)| part).collect()
}

/// Classes with their names and numbers, rounded to nine digits to hide the last bits of sums.
/// `timed` says whether the cells know how long flows last.
pub(super) fn named(cells: &[Cell], cuts: &[Cut], timed: bool) -> Vec<Class> {
    let mut above = 0.0;
    let mut classes = Vec::new();
    for (at, cut) in cuts.iter().enumerate() {
        let sum = Cell::sum(&cells[cut.cells.clone()]);
        let (before, behind) = (whole(above), whole(above + sum.flows));
        let name = match (at, at + 1 == cuts.len()) {
            (0, true) => "all flows".to_owned(),
            (0, false) => format!("the top {}", grouped(behind.max(1))),
            (_, true) => "the rest".to_owned(),
            _ => format!("the next {}", grouped((behind - before).max(1))),
        };
        above += sum.flows;
        let bins = cut.bins.iter().map(|bin| {
            let sum = Cell::sum(&cells[bin.clone()]);
            Bin { flows: nine_digits(sum.flows), share: nine_digits(sum.share) }
        });
        classes.push(Class {
            name,
            flows: nine_digits(sum.flows),
            share: nine_digits(sum.share),
            opens: nine_digits((sum.opens / sum.share).min(1.0)),
            seconds: (timed && sum.opens > 0.0).then(|| nine_digits(sum.lives / sum.opens)),
            mean_bytes: nine_digits(sum.bytes / sum.share),
            head_bytes: nine_digits((sum.bytes - sum.rests) / sum.share),
            bins: bins.collect(),
        });
    }
    classes
}

/// A number of flows for a name. Never negative, and far below the limit of integers.
#[expect(clippy::cast_sign_loss, reason = "sums of numbers of flows")]
fn whole(flows: f64) -> u64 {
    flows.round() as u64
}

/// Rounds a number to nine digits.
pub(super) fn nine_digits(number: f64) -> f64 {
    format!("{number:.8e}").parse().unwrap_or(number)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "what has few digits is the same")]
mod tests {
    use super::*;

    fn cells(of: &[(f64, f64)]) -> Vec<Cell> {
        let cell = |&(flows, rate): &(f64, f64)| {
            let share = flows * rate;
            Cell {
                flows,
                share,
                bytes: share * 64.0,
                seen: flows,
                packets: share,
                ..Cell::default()
            }
        };
        of.iter().map(cell).collect()
    }

    fn names(of: &[(f64, f64)]) -> Vec<String> {
        let cells = cells(of);
        named(&cells, &cut(&cells), false).into_iter().map(|class| class.name).collect()
    }

    #[test]
    fn classes_end_at_powers_of_ten_or_at_the_nearest_cell() {
        let steep = [(4.0, 1e9), (7.0, 1e8), (80.0, 1e7), (300.0, 1e6), (5000.0, 1e4)];
        let wanted = ["the top 11", "the next 80", "the next 300", "the rest"];
        assert_eq!(names(&steep), wanted);
        assert_eq!(names(&[]), [""; 0]);
        assert_eq!(names(&[(3.0, 7.0)]), ["all flows"]);
    }

    #[test]
    fn equal_flows_are_one_class_whatever_chance_made_of_them() {
        // 30,000 flows with Poisson-distributed numbers of packets, mean 10, by their number of
        // packets.
        let probability = |k: f64| libm::exp(k * libm::log(10.0) - 10.0 - libm::lgamma(k + 1.0));
        let counted: Vec<_> = (1..=24)
            .rev()
            .map(|k| ((30_000.0 * probability(f64::from(k))).round(), f64::from(k)))
            .filter(|(flows, _)| *flows > 0.0)
            .collect();
        assert_eq!(names(&counted), ["all flows"]);
        // One flow that chance does not explain.
        let mut with_one = vec![(1.0, 4000.0)];
        with_one.extend(counted);
        assert_eq!(names(&with_one).len(), 2);
    }

    #[test]
    fn nothing_is_lost_and_bins_add_up_to_their_class() {
        let uneven: Vec<_> =
            (0..400).map(|k| (1.0 + f64::from(k * k), 1e6 / f64::from(1 + k * k * k))).collect();
        let cells = divided(&cells(&uneven));
        let total = Cell::sum(&cells);
        let classes = named(&cells, &cut(&cells), false);
        assert!((2..=8).contains(&classes.len()), "{}", classes.len());
        assert!(classes.iter().map(|class| class.bins.len()).sum::<usize>() <= 64);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-7;
        assert!(close(classes.iter().map(|class| class.flows).sum(), total.flows));
        assert!(close(classes.iter().map(|class| class.share).sum(), total.share));
        for class in classes {
            assert!(close(class.bins.iter().map(|bin| bin.flows).sum(), class.flows));
            assert!(close(class.bins.iter().map(|bin| bin.share).sum(), class.share));
            let rates: Vec<f64> = class.bins.iter().map(|bin| bin.share / bin.flows).collect();
            assert!(rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
        }
    }

    #[test]
    fn numbers_have_nine_digits() {
        assert_eq!(nine_digits(1.0 / 3.0), 0.333_333_333);
        assert_eq!(nine_digits(0.0), 0.0);
        assert_eq!(nine_digits(1e6), 1e6);
    }
}
