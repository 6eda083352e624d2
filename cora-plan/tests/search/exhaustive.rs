//! The optimum by exhaustive search: every set of switches, and for each every corner of the
//! shares.
//!
//! It shares nothing with the search. Terms are summed from the problem itself, and the linear
//! program is solved by enumeration of its corners (as many rows at their limit as shares strictly
//! between their ends).

use cora_plan::search::{Problem, Share};

/// Relative tolerance of a limit.
const TOLERANCE: f64 = 1e-9;

/// The least cost, if there is a feasible allocation.
pub(crate) fn least(problem: &Problem) -> Option<f64> {
    let count = problem.switches.len();
    let sets = (0_u128..1 << count).filter(|set| {
        (0..count).all(|at| problem.switches[at].fixed.is_none_or(|on| on == (set >> at & 1 == 1)))
    });
    sets.filter_map(|set| Linear::new(problem, set).least()).reduce(f64::min)
}

/// Linear program for the shares: line 0 is the cost, the others are resources.
struct Linear {
    /// Terms at the lowest shares.
    base: Vec<f64>,
    /// Per variable class: its largest share, and its lines per whole share.
    slopes: Vec<(f64, Vec<f64>)>,
    limits: Vec<f64>,
}

impl Linear {
    fn new(problem: &Problem, set: u128) -> Self {
        let on = |needs: u128| needs & !set == 0;
        let rows = problem.limits.len();
        let mut base = vec![0.0; rows + 1];
        for (at, switch) in problem.switches.iter().enumerate() {
            if on(1 << at) {
                for row in 0..rows {
                    base[row + 1] += switch.uses[row];
                }
            }
        }
        let mut slopes = Vec::new();
        for class in &problem.classes {
            let line = |row: usize| {
                let of = |terms: &cora_plan::search::Terms| {
                    if row == 0 { terms.cost } else { terms.uses[row - 1] }
                };
                let mut owned = 0.0;
                for route in &class.routes {
                    owned += of(if on(route.needs) { &route.local } else { &route.punted });
                }
                for (switch, carried) in &class.carries {
                    if on(1 << switch) && row > 0 {
                        owned += carried[row - 1];
                    }
                }
                (of(&class.away), owned)
            };
            let lines: Vec<(f64, f64)> = (0..=rows).map(line).collect();
            let at_least = if let Share::Exactly(share) = class.share { share } else { 0.0 };
            for (base, (away, owned)) in base.iter_mut().zip(&lines) {
                *base += (1.0 - at_least) * away + at_least * owned;
            }
            if let Share::UpTo(most) = class.share {
                slopes.push((most, lines.iter().map(|(away, owned)| owned - away).collect()));
            }
        }
        Self { base, slopes, limits: problem.limits.clone() }
    }

    /// Enumerates all corners: the shares between their ends, the rows that hold them there, and
    /// the end of each other share.
    fn least(&self) -> Option<f64> {
        let classes = self.slopes.len();
        let rows: Vec<usize> =
            (0..self.limits.len()).filter(|at| self.limits[*at].is_finite()).collect();
        let mut least: Option<f64> = None;
        for between in 0_u32..1 << classes {
            for tight in 0_u32..1 << rows.len() {
                if tight.count_ones() != between.count_ones() {
                    continue;
                }
                for high in (0_u32..1 << classes).filter(|high| high & between == 0) {
                    let cost = self.corner(&rows, between, tight, high);
                    least = [least, cost].into_iter().flatten().reduce(f64::min);
                }
            }
        }
        least
    }

    fn corner(&self, rows: &[usize], between: u32, tight: u32, high: u32) -> Option<f64> {
        let chosen = |set: u32| move |at: &usize| set >> at & 1 == 1;
        let free: Vec<usize> = (0..self.slopes.len()).filter(chosen(between)).collect();
        let held: Vec<usize> = (0..rows.len()).filter(chosen(tight)).map(|at| rows[at]).collect();
        let mut shares = vec![0.0; self.slopes.len()];
        for at in (0..shares.len()).filter(chosen(high)) {
            shares[at] = self.slopes[at].0;
        }
        let table = held.iter().map(|row| {
            let mut line: Vec<f64> = free.iter().map(|at| self.slopes[*at].1[row + 1]).collect();
            line.push(self.limits[*row] - self.line(row + 1, &shares));
            line
        });
        let found = eliminate(table.collect())?;
        for (at, share) in free.iter().zip(found) {
            shares[*at] = share;
        }
        let within = shares.iter().zip(&self.slopes);
        let within =
            within.into_iter().all(|(share, (most, _))| (-1e-10..=most + 1e-10).contains(share));
        let kept = (0..self.limits.len())
            .all(|row| self.line(row + 1, &shares) <= self.limits[row] * (1.0 + TOLERANCE) + 1e-12);
        (within && kept).then(|| self.line(0, &shares))
    }

    fn line(&self, row: usize, shares: &[f64]) -> f64 {
        let slopes = self.slopes.iter().zip(shares);
        self.base[row] + slopes.map(|((_, slope), share)| slope[row] * share).sum::<f64>()
    }
}

/// Gaussian elimination with the largest pivot of each column; `None` without a unique solution.
fn eliminate(mut table: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = table.len();
    for column in 0..size {
        let rows = column..size;
        let pivot = rows
            .max_by(|one, two| table[*one][column].abs().total_cmp(&table[*two][column].abs()))?;
        if table[pivot][column].abs() < 1e-9 {
            return None;
        }
        table.swap(column, pivot);
        let line = table[column].clone();
        for (at, other) in table.iter_mut().enumerate() {
            if at != column {
                let factor = other[column] / line[column];
                for (cell, of) in other.iter_mut().zip(&line) {
                    *cell -= factor * of;
                }
            }
        }
    }
    Some((0..size).map(|at| table[at][size] / table[at][at]).collect())
}
