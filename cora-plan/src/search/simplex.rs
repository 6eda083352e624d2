//! A linear program with bounded variables and few rows, as a dense tableau.
//!
//! ```text
//! maximise c·x   such that   A·x ≤ b,   0 ≤ x ≤ upper
//! ```
//!
//! The primal simplex method for bounded variables (Dantzig, *Linear Programming and Extensions*,
//! 1963, ch. 18): a variable that is not in the basis rests at 0 or at its upper end, and may cross
//! from one to the other without a pivot. Entering is who improves fastest, the lowest index among
//! equals; once the objective has stood still for as many turns as there are columns, the lowest
//! index outright, which can't cycle (Bland, *New finite pivoting rules for the simplex method*,
//! 1977). Nothing depends on time or chance.
//!
//! One column more stands for *relief*: it widens every row by the same amount. It makes a start
//! where `b` is negative, and what is left of it at its least says by how much rows can't be met.

/// Smallest reduced cost that counts as an improvement.
const IMPROVES: f64 = 1e-11;
/// Smallest entry of a column that is taken as a pivot.
const PIVOT: f64 = 1e-10;
/// Relief up to this is none: rows are scaled to 1.
pub(super) const TOLERANCE: f64 = 1e-9;

/// A program and where its simplex stands.
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
    /// Columns that rest at their upper end.
    raised: Vec<bool>,
    /// Columns that may not enter any more.
    frozen: Vec<bool>,
    /// Per row, its column.
    basis: Vec<usize>,
    /// Whether a column is in the basis.
    basic: Vec<bool>,
    /// Objective's reduced costs.
    reduced: Vec<f64>,
    /// Cells of the tableau that were touched: the work done.
    pub(super) steps: u64,
}

impl Simplex {
    /// A program of `rows` (each: `variables` coefficients) within `ends`; every variable at 0,
    /// every slack basic.
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
        // Relief is shut unless it is asked for.
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

    /// Makes all rows hold, and says by how much the rows had to be widened for it: 0 if they need
    /// not be.
    ///
    /// Where it is more than [`TOLERANCE`], values are those of the least widening.
    pub(super) fn settle(&mut self) -> f64 {
        let relief = self.variables;
        let worst = (0..self.rows).min_by(|one, two| self.value[*one].total_cmp(&self.value[*two]));
        let Some(worst) = worst.filter(|row| self.value[*row] < 0.0) else { return 0.0 };
        let needed = -self.value[worst];
        self.upper[relief] = f64::INFINITY;
        // Every row is widened by what the worst one needs.
        for value in &mut self.value {
            *value += needed;
        }
        self.pivot(worst, relief, needed);
        let mut costs = vec![0.0; self.columns()];
        costs[relief] = -1.0;
        self.maximise(&costs);
        let left = self.get(relief).max(0.0);
        // What is left within the tolerance stays, and can't grow.
        self.upper[relief] = left;
        left
    }

    /// Moves to where `costs` (per variable; of relief and slacks where given) are highest.
    pub(super) fn maximise(&mut self, costs: &[f64]) {
        self.reduce(costs);
        let patience = self.columns() as u64;
        let mut still = 0;
        while let Some(column) = self.entering(still > patience) {
            let gained = self.enter(column, still > patience);
            let Some(gained) = gained else { return };
            still = if gained > 0.0 { 0 } else { still + 1 };
            if still > 50 * patience {
                // Bland's rule ends in exact arithmetic; rounding must not make it endless.
                return;
            }
        }
    }

    /// From here on, nothing moves that would worsen what was maximised last by more than `least`
    /// per unit.
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

    /// What one unit more of a row's end would give.
    pub(super) fn price(&self, row: usize) -> f64 {
        -self.reduced[self.variables + 1 + row]
    }

    /// Reduced costs from scratch.
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

    /// Who enters: the fastest, or the first.
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

    /// Lets a column in as far as it goes; says what it gained, or nothing if it goes for ever.
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
                // Who leaves rests at the end that it ran into.
                let left = self.basis[row];
                let rests = self.body[row * columns + column] * sign < 0.0;
                self.pivot(row, column, start + sign * far);
                self.raised[left] = rests;
            }
        }
        Some(gained)
    }

    /// Exchanges the basic variable of `row` for `column`, whose value is `value`.
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
        // x + y ≥ 2 and x − y ≤ −1, within 0..=3: least x + 2y is x = 1/2, y = 3/2.
        let mut simplex = Simplex::new(&[-1.0, -1.0, 1.0, -1.0], &[-2.0, -1.0], &[3.0, 3.0]);
        assert!(simplex.settle() < 1e-12);
        simplex.maximise(&[-1.0, -2.0]);
        assert!((simplex.get(0) - 0.5).abs() < 1e-12 && (simplex.get(1) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn says_by_how_much_rows_contradict() {
        // x ≤ 1 and x ≥ 3: either by 1.
        let mut simplex = Simplex::new(&[1.0, -1.0], &[1.0, -3.0], &[10.0]);
        assert!((simplex.settle() - 1.0).abs() < 1e-12);
        assert!((simplex.get(0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_second_wish_does_not_spoil_the_first() {
        // x + y ≤ 1: any of it is worth the same; then more of y is wanted.
        let mut simplex = Simplex::new(&[1.0, 1.0], &[1.0], &[1.0, 1.0]);
        simplex.maximise(&[1.0, 1.0]);
        simplex.freeze(1e-9);
        simplex.maximise(&[0.0, 1.0]);
        assert!((simplex.get(0)).abs() < 1e-12 && (simplex.get(1) - 1.0).abs() < 1e-12);
    }
}
