//! The highest bound over all prices: a concave function of a few prices, maximised by cutting
//! planes.
//!
//! 1. Each choice from [`Priced`] is a line that is linear in the prices. The minimum of all lines
//!    so far is a model of the bound from above (Kelley, *The cutting-plane method for solving
//!    convex programs*, 1960). Its maximum is a small linear program, solved by [`Simplex`].
//! 2. The next prices are between the best so far and that maximum (Wentges, *Weighted
//!    Dantzig–Wolfe decomposition for linear mixed-integer programming*, 1997), because the model's
//!    own maximum is unstable while lines are few.
//! 3. It ends if the bound passes the cutoff, if model and bound meet, if the bound can no longer
//!    pass the cutoff, or after a number of iterations. The bound is valid in each case.
//! 4. The weights of the lines at the model's maximum give the fraction of each switch that is on
//!    in the relaxation.

use super::form::{Form, members};
use super::priced::{Decided, Priced};
use super::simplex::Simplex;

/// Maximum price of a row, in units of the total cost. Only a row with almost no amount left would
/// need a higher one, and there the search branches instead.
const DEAREST: f64 = 1e5;
/// Step from the best prices towards the model's, as a part of the distance.
const STEP: f64 = 0.6;

/// The relaxation of a node, with its working memory.
#[derive(Default)]
pub(super) struct Relaxed {
    /// Lower bound of all allocations within the decisions.
    pub(super) bound: f64,
    /// Prices of that bound: of the cost, then of each row.
    pub(super) prices: Vec<f64>,
    /// Per switch: the fraction that is on.
    pub(super) parts: Vec<f64>,
    /// Switches that are on, for each choice found.
    pub(super) choices: Vec<u128>,
    /// Switches that can't be on, and those that can't be off, in any allocation below the cutoff.
    pub(super) shut: Decided,
    /// Price of each switch at the best prices.
    pub(super) switch_price: Vec<f64>,
    priced: Priced,
    /// Lines found: cost, and excess over the limit per row.
    lines: Vec<f64>,
    work: u64,
}

/// Stopping rule of the iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Climb {
    /// A sufficient bound.
    pub(super) cutoff: f64,
    /// Maximum number of price vectors.
    pub(super) tries: usize,
    /// Whether to go on for good prices if the cutoff is out of reach.
    pub(super) thorough: bool,
}

impl Relaxed {
    /// Steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.work + self.priced.steps()
    }

    /// Maximises the bound from `start`.
    pub(super) fn climb(&mut self, form: &Form, decided: Decided, start: &[f64], climb: Climb) {
        let rows = form.limits.len();
        self.lines.clear();
        self.choices.clear();
        self.bound = f64::NEG_INFINITY;
        self.prices = start.to_vec();
        self.shut = Decided { on: 0, off: 0 };
        let mut next = start.to_vec();
        for turn in 0..climb.tries {
            self.look(form, decided, &next, climb.cutoff);
            if rows == 0 || self.bound >= climb.cutoff || turn + 1 == climb.tries {
                break;
            }
            let (height, point) = self.model(form);
            let gap = height - self.bound;
            let short = climb.cutoff - self.bound;
            let hopeless = !climb.thorough && height < climb.cutoff && gap < 0.2 * short;
            if gap <= 1e-7 || gap <= 1e-3 * short || hopeless {
                break;
            }
            for (next, (best, point)) in
                next[1..].iter_mut().zip(self.prices[1..].iter().zip(point))
            {
                *next = best + STEP * (point - best);
            }
        }
        self.model(form);
    }

    /// Computes the bound at some prices. Keeps the prices if they are the best, and always the
    /// line.
    fn look(&mut self, form: &Form, decided: Decided, prices: &[f64], cutoff: f64) {
        let priced = &mut self.priced;
        priced.compute(form, decided, prices);
        for switch in members(form.open(decided.on, decided.off)) {
            if priced.bound + priced.rise_on[switch] >= cutoff {
                self.shut.off |= 1 << switch;
            }
            if priced.bound + priced.rise_off[switch] >= cutoff {
                self.shut.on |= 1 << switch;
            }
        }
        if priced.bound > self.bound {
            self.bound = priced.bound;
            self.prices.copy_from_slice(prices);
            self.switch_price.clone_from(&priced.switch_price);
        }
        self.lines.push(priced.line[0]);
        self.lines
            .extend(priced.line[1..].iter().zip(&form.limits).map(|(used, limit)| used - limit));
        self.choices.push(priced.on);
        if self.shut.on & self.shut.off != 0 {
            // A switch that must be both on and off.
            self.bound = self.bound.max(cutoff);
        }
    }

    /// The maximum of the model, its prices, and the switch fractions there.
    fn model(&mut self, form: &Form) -> (f64, Vec<f64>) {
        let rows = form.limits.len();
        let width = rows + 1;
        let costs: Vec<f64> = self.lines.iter().step_by(width).copied().collect();
        let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
        // Height above the lowest line, then prices: height − prices · excess ≤ cost − lowest.
        let mut table = Vec::with_capacity(self.lines.len());
        for line in self.lines.chunks_exact(width) {
            table.push(1.0);
            table.extend(line[1..].iter().map(|excess| -excess));
        }
        let ends: Vec<f64> = costs.iter().map(|cost| cost - lowest).collect();
        let mut upper = vec![DEAREST; width];
        upper[0] = f64::INFINITY;
        let mut simplex = Simplex::new(&table, &ends, &upper);
        let mut wish = vec![0.0; width];
        wish[0] = 1.0;
        simplex.maximise(&wish);
        self.work += simplex.steps;
        self.parts.clear();
        self.parts.resize(form.switches, 0.0);
        for (row, choice) in self.choices.iter().enumerate() {
            let weight = simplex.price(row);
            for switch in members(*choice) {
                self.parts[switch] += weight;
            }
        }
        (lowest + simplex.get(0), (1..width).map(|row| simplex.get(row)).collect())
    }
}
