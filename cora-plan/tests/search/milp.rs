//! The same problem for another solver: a mixed-integer linear program, for microlp.
//!
//! With `z` for the share of the class on this route at the NIC, the product of a share and
//! switches is exact: `z ≤ x`, `z ≤ most · on(j)`, `z ≥ x + most · Σ (on(j) − 1)`. Carrying has
//! only its lower side, because a larger value never pays.

use std::time::Duration;

use cora_plan::search::{ClassTerms, Problem, Share, evaluate};
use microlp::{ComparisonOp, OptimizationDirection, SolutionStatus, Variable};

/// The other solver's result.
pub(crate) struct Answer {
    /// Cost of its allocation, by our evaluation, with rounded switches.
    pub(crate) cost: f64,
    /// Whether that allocation is within every limit, by a millionth: the solver's tolerance.
    pub(crate) allowed: bool,
    /// Whether the solver reports it as optimal.
    pub(crate) optimal: bool,
}

/// The other program, and the meaning of its variables.
struct Program {
    model: microlp::Problem,
    on: Vec<Variable>,
    shares: Vec<Variable>,
    /// Per resource: the terms of its row, and its constant.
    rows: Vec<(Vec<(Variable, f64)>, f64)>,
}

/// The other solver's answer, if it has one within the time.
pub(crate) fn ask(problem: &Problem, time: Duration) -> Option<Answer> {
    let mut program = Program::new(problem);
    program.model.set_time_limit(time);
    let solution = program.model.solve().ok()?.into_solution().ok()?;
    let on: Vec<bool> = program.on.iter().map(|it| solution.var_value(*it) > 0.5).collect();
    let most = |class: &ClassTerms| match class.share {
        Share::UpTo(most) | Share::Exactly(most) => most,
    };
    let shares = program.shares.iter().zip(&problem.classes);
    let shares: Vec<f64> =
        shares.map(|(it, class)| solution.var_value(*it).clamp(0.0, most(class))).collect();
    let charged = evaluate(problem, &on, &shares);
    let mut kept = charged.uses.iter().zip(&problem.limits);
    let allowed = kept.all(|(uses, limit)| *uses <= limit * (1.0 + 1e-6) + 1e-9);
    let optimal = solution.status() == SolutionStatus::Optimal;
    Some(Answer { cost: charged.cost, allowed, optimal })
}

impl Program {
    fn new(problem: &Problem) -> Self {
        let mut model = microlp::Problem::new(OptimizationDirection::Minimize);
        let on: Vec<Variable> =
            problem.switches.iter().map(|_| model.add_binary_var(0.0)).collect();
        let rows = vec![(Vec::new(), 0.0); problem.limits.len()];
        let mut all = Self { model, on, shares: Vec::new(), rows };
        for (switch, on) in problem.switches.iter().zip(all.on.clone()) {
            if let Some(fixed) = switch.fixed {
                let fixed = f64::from(u8::from(fixed));
                all.model.add_constraint([(on, 1.0)], ComparisonOp::Eq, fixed);
            }
            for (row, uses) in all.rows.iter_mut().zip(&switch.uses) {
                row.0.push((on, *uses));
            }
        }
        for class in &problem.classes {
            all.add_class(class);
        }
        for ((terms, base), limit) in all.rows.clone().into_iter().zip(&problem.limits) {
            if limit.is_finite() {
                // Rows scaled to about 1, as the solver requires.
                let scale = limit.max(1e-3);
                let terms: Vec<(Variable, f64)> = merged(terms, scale);
                all.model.add_constraint(&terms, ComparisonOp::Le, (limit - base) / scale);
            }
        }
        all
    }

    fn add_class(&mut self, class: &ClassTerms) {
        let (least, most) = match class.share {
            Share::UpTo(most) => (0.0, most),
            Share::Exactly(share) => (share, share),
        };
        let punted: f64 = class.routes.iter().map(|route| route.punted.cost).sum();
        let share = self.model.add_var(punted - class.away.cost, (least, most));
        self.shares.push(share);
        for (at, row) in self.rows.iter_mut().enumerate() {
            let punted: f64 = class.routes.iter().map(|route| route.punted.uses[at]).sum();
            row.0.push((share, punted - class.away.uses[at]));
            row.1 += class.away.uses[at];
        }
        for route in &class.routes {
            let local = self.model.add_var(route.local.cost - route.punted.cost, (0.0, most));
            for (at, row) in self.rows.iter_mut().enumerate() {
                row.0.push((local, route.local.uses[at] - route.punted.uses[at]));
            }
            self.product(local, share, most, route.needs, true);
        }
        for (switch, uses) in &class.carries {
            let carried = self.model.add_var(0.0, (0.0, most));
            for (row, uses) in self.rows.iter_mut().zip(uses) {
                row.0.push((carried, *uses));
            }
            self.product(carried, share, most, 1 << switch, false);
        }
    }

    fn product(&mut self, of: Variable, share: Variable, most: f64, needs: u128, above: bool) {
        let needs: Vec<Variable> =
            (0..self.on.len()).filter(|at| needs >> at & 1 == 1).map(|at| self.on[at]).collect();
        if above {
            self.model.add_constraint([(of, 1.0), (share, -1.0)], ComparisonOp::Le, 0.0);
            for on in &needs {
                self.model.add_constraint([(of, 1.0), (*on, -most)], ComparisonOp::Le, 0.0);
            }
        }
        let mut terms = vec![(of, 1.0), (share, -1.0)];
        terms.extend(needs.iter().map(|on| (*on, -most)));
        let least: f64 = needs.iter().map(|_| -most).sum();
        self.model.add_constraint(&terms, ComparisonOp::Ge, least);
    }
}

/// One term per variable, without zeros, and divided by `scale`.
fn merged(terms: Vec<(Variable, f64)>, scale: f64) -> Vec<(Variable, f64)> {
    let terms = terms.into_iter().filter(|(_, term)| *term != 0.0);
    terms.map(|(variable, term)| (variable, term / scale)).collect()
}
