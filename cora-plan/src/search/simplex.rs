//! A linear program with bounded variables and few rows, as a dense tableau.
//!
//! ```text
//! maximise c·x   such that   A·x ≤ b,   0 ≤ x ≤ upper
//! ```
//!
//! The primal simplex method for bounded variables (Dantzig, *Linear Programming and Extensions*,
//! 1963, ch. 18). A non-basic variable is at 0 or at its upper end, and may change between them
//! without a pivot. The entering variable is the one that improves fastest, the lowest index among
//! equals. After as many degenerate iterations as there are columns, it is the lowest index (Bland,
//! *New finite pivoting rules for the simplex method*, 1977), which can't cycle. Nothing depends on
//! time or randomness.
//!
//! An additional column is the *relief*: it widens every row by the same amount. It gives a start
//! for negative `b`, and its minimum is the amount by which the rows can't be met.

/// Minimum reduced cost that counts as an improvement.
const IMPROVES: f64 = 1e-11;
/// Minimum entry of a column for a pivot.
const PIVOT: f64 = 1e-10;
/// Relief up to this counts as 0, because rows are scaled to 1.
pub(super) const TOLERANCE: f64 = 1e-9;

/// A program and its simplex state.
#[derive(Debug)]
pub(super) struct Simplex {
    /// Rows.
    rows: usize,
    /// Variables of the program; then relief, then one slack per row.
    variables: usize,
    /// B⁻¹·(A | relief | 1), row by row.
    body: Vec<f64>,
    /// Value of each row's basic variable.
    value: Vec<f64>,
    /// Upper end per column.
    upper: Vec<f64>,
    /// Columns at their upper end.
    raised: Vec<bool>,
    /// Columns that may no longer enter.
    frozen: Vec<bool>,
    /// Per row, its column.
    basis: Vec<usize>,
    /// Whether a column is in the basis.
    basic: Vec<bool>,
    /// Objective's reduced costs.
    reduced: Vec<f64>,
    /// Cells of the tableau touched: the measure of effort.
    pub(super) steps: u64,
}

impl Simplex {
    /// A program of `rows` (`variables` coefficients each) within `ends`. Initially every variable
    /// is 0 and every slack basic.
    pub(super) fn new(rows: &[f64], ends: &[f64], upper: &[f64]) -> Self {
        let (variables, count) = (upper.len(), ends.len());
        let columns = variables + 1 + count;
        let mut body = vec![0.0; count * columns];
        for row in 0..count {
            let line = &mut body[row * columns..(row + 1) * columns];
            line[..variables].copy_from_slice(&rows[row * variables..(row + 1) * variables]);
            line[variables] = -1.0;
            line[variables + 1 + row] = 1.0;
        }
        let mut uppers = upper.to_vec();
        // Relief is fixed at 0 until `settle` needs it.
        uppers.push(0.0);
        uppers.resize(columns, f64::INFINITY);
        let mut basic = vec![false; columns];
        basic[variables + 1..].fill(true);
        Self {
            rows: count,
            variables,
            body,
            value: ends.to_vec(),
            upper: uppers,
            raised: vec![false; columns],
            frozen: vec![false; columns],
            basis: (variables + 1..columns).collect(),
            basic,
            reduced: vec![0.0; columns],
            steps: 0,
        }
    }

    fn columns(&self) -> usize {
        self.variables + 1 + self.rows
    }

    /// Finds a feasible start, and returns the amount by which the rows had to be widened: 0 if
    /// they hold.
    ///
    /// If it is more than [`TOLERANCE`], the values are those of the least widening.
    pub(super) fn settle(&mut self) -> f64 {
        let relief = self.variables;
        let worst = (0..self.rows).min_by(|one, two| self.value[*one].total_cmp(&self.value[*two]));
        let Some(worst) = worst.filter(|row| self.value[*row] < 0.0) else { return 0.0 };
        let needed = -self.value[worst];
        self.upper[relief] = f64::INFINITY;
        // Widens every row by the violation of the worst one.
        for value in &mut self.value {
            *value += needed;
        }
        self.pivot(worst, relief, needed);
        let mut costs = vec![0.0; self.columns()];
        costs[relief] = -1.0;
        self.maximise(&costs);
        let left = self.get(relief).max(0.0);
        // Relief within the tolerance stays, and can't grow.
        self.upper[relief] = left;
        left
    }

    /// Maximises `costs` (per variable; also of relief and slacks, if given).
    pub(super) fn maximise(&mut self, costs: &[f64]) {
        self.reduce(costs);
        let patience = self.columns() as u64;
        let mut still = 0;
        while let Some(column) = self.entering(still > patience) {
            let gained = self.enter(column, still > patience);
            let Some(gained) = gained else { return };
            still = if gained > 0.0 { 0 } else { still + 1 };
            if still > 50 * patience {
                // Bland's rule terminates in exact arithmetic; rounding could make it endless.
                return;
            }
        }
    }

    /// From now on, nothing may worsen the last objective by more than `least` per unit.
    pub(super) fn freeze(&mut self, least: f64) {
        for column in 0..self.columns() {
            self.frozen[column] |= !self.basic[column] && self.reduced[column].abs() > least;
        }
    }

    /// Value of a variable.
    pub(super) fn get(&self, column: usize) -> f64 {
        if let Some(row) = self.basis.iter().position(|basic| *basic == column) {
            return self.value[row];
        }
        if self.raised[column] { self.upper[column] } else { 0.0 }
    }

    /// Gain of one more unit of a row's end.
    pub(super) fn price(&self, row: usize) -> f64 {
        -self.reduced[self.variables + 1 + row]
    }

    /// Computes reduced costs from scratch.
    fn reduce(&mut self, costs: &[f64]) {
        let columns = self.columns();
        self.reduced.fill(0.0);
        self.reduced[..costs.len()].copy_from_slice(costs);
        for row in 0..self.rows {
            let cost = costs.get(self.basis[row]).copied().unwrap_or(0.0);
            if cost != 0.0 {
                let line = &self.body[row * columns..(row + 1) * columns];
                for (reduced, cell) in self.reduced.iter_mut().zip(line) {
                    *reduced -= cost * cell;
                }
            }
        }
        for column in &self.basis {
            self.reduced[*column] = 0.0;
        }
    }

    /// The entering column: the fastest, or the first.
    fn entering(&self, first: bool) -> Option<usize> {
        let mut chosen = None;
        let mut fastest = IMPROVES;
        for column in 0..self.columns() {
            if self.basic[column] || self.frozen[column] || self.upper[column] <= 0.0 {
                continue;
            }
            let reduced = self.reduced[column];
            let rate = if self.raised[column] { -reduced } else { reduced };
            if rate > fastest {
                chosen = Some(column);
                if first {
                    break;
                }
                fastest = rate;
            }
        }
        chosen
    }

    /// Increases a column as far as possible; returns the gain, or `None` if it is unbounded.
    fn enter(&mut self, column: usize, first: bool) -> Option<f64> {
        let columns = self.columns();
        let sign = if self.raised[column] { -1.0 } else { 1.0 };
        let mut far = self.upper[column];
        let mut leaving: Option<(usize, f64)> = None;
        for row in 0..self.rows {
            let cell = self.body[row * columns + column];
            let falls = sign * cell;
            let room = if falls > PIVOT {
                self.value[row].max(0.0) / falls
            } else if falls < -PIVOT && self.upper[self.basis[row]].is_finite() {
                (self.upper[self.basis[row]] - self.value[row]).max(0.0) / -falls
            } else {
                continue;
            };
            let better = match leaving {
                None => room <= far,
                Some((held, size)) => {
                    room < far
                        || (room <= far
                            && if first {
                                self.basis[row] < self.basis[held]
                            } else {
                                cell.abs() > size
                            })
                }
            };
            if better {
                far = room;
                leaving = Some((row, cell.abs()));
            }
        }
        if far.is_infinite() {
            return None;
        }
        let gained = far * self.reduced[column].abs();
        for row in 0..self.rows {
            self.value[row] -= sign * far * self.body[row * columns + column];
        }
        self.steps += self.rows as u64;
        match leaving {
            None => self.raised[column] = !self.raised[column],
            Some((row, _)) => {
                let start = if self.raised[column] { self.upper[column] } else { 0.0 };
                // The leaving variable stays at the end that it reached.
                let left = self.basis[row];
                let rests = self.body[row * columns + column] * sign < 0.0;
                self.pivot(row, column, start + sign * far);
                self.raised[left] = rests;
            }
        }
        Some(gained)
    }

    /// Exchanges the basic variable of `row` for `column`, with the new value `value`.
    fn pivot(&mut self, row: usize, column: usize, value: f64) {
        let columns = self.columns();
        self.steps += self.body.len() as u64;
        let (before, rest) = self.body.split_at_mut(row * columns);
        let (line, after) = rest.split_at_mut(columns);
        let pivot = line[column];
        for cell in line.iter_mut() {
            *cell /= pivot;
        }
        line[column] = 1.0;
        let others = before.chunks_exact_mut(columns).chain(after.chunks_exact_mut(columns));
        for other in others.chain([self.reduced.as_mut_slice()]) {
            let factor = other[column];
            if factor != 0.0 {
                for (cell, of) in other.iter_mut().zip(line.iter()) {
                    *cell -= factor * of;
                }
                other[column] = 0.0;
            }
        }
        self.basic[self.basis[row]] = false;
        self.basic[column] = true;
        self.raised[column] = false;
        self.basis[row] = column;
        self.value[row] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_corner_between_rows_and_bounds() {
        // max 3x + 2y, x + y ≤ 4, x + 3y ≤ 7, x ≤ 3: x = 3, y = 1.
        let mut simplex = Simplex::new(&[1.0, 1.0, 1.0, 3.0], &[4.0, 7.0], &[3.0, f64::INFINITY]);
        assert!(simplex.settle() < 1e-12);
        simplex.maximise(&[3.0, 2.0]);
        assert!((simplex.get(0) - 3.0).abs() < 1e-12 && (simplex.get(1) - 1.0).abs() < 1e-12);
        assert!((simplex.price(0) - 2.0).abs() < 1e-12, "one more of the first row is one more y");
    }

    #[test]
    fn finds_a_start_where_zero_is_none() {
        // x + y ≥ 2 and x − y ≤ −1, within 0..=3: x + 2y is least at x = 1/2, y = 3/2.
        let mut simplex = Simplex::new(&[-1.0, -1.0, 1.0, -1.0], &[-2.0, -1.0], &[3.0, 3.0]);
        assert!(simplex.settle() < 1e-12);
        simplex.maximise(&[-1.0, -2.0]);
        assert!((simplex.get(0) - 0.5).abs() < 1e-12 && (simplex.get(1) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn says_by_how_much_rows_contradict() {
        // x ≤ 1 and x ≥ 3: each violated by 1.
        let mut simplex = Simplex::new(&[1.0, -1.0], &[1.0, -3.0], &[10.0]);
        assert!((simplex.settle() - 1.0).abs() < 1e-12);
        assert!((simplex.get(0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_second_wish_does_not_spoil_the_first() {
        // x + y ≤ 1: all of it has the same value; then more of y is wanted.
        let mut simplex = Simplex::new(&[1.0, 1.0], &[1.0], &[1.0, 1.0]);
        simplex.maximise(&[1.0, 1.0]);
        simplex.freeze(1e-9);
        simplex.maximise(&[0.0, 1.0]);
        assert!((simplex.get(0)).abs() < 1e-12 && (simplex.get(1) - 1.0).abs() < 1e-12);
    }
}
