//! The problem in the form for the search: scaled, merged, and without irrelevant parts.
//!
//! Every term is a line of `width` numbers: first the cost, then the rows. Costs are divided by
//! `scale` and each row by its limit, so that both are about 1. The cost of a class under host
//! ownership is in `base`. Its own lines are differences from that, for its largest possible share.

use std::collections::BTreeMap;

use super::{Problem, Share};

/// Part of a resource's largest possible use below which its limit is not the scale of the row.
const SMALL: f64 = 1e-6;

/// A problem in prepared form.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// Cost and rows.
    pub(super) width: usize,
    /// Resource of each row.
    pub(super) kept: Vec<usize>,
    /// Limit of each row, in its scale.
    pub(super) limits: Vec<f64>,
    /// The cost that corresponds to 1.
    pub(super) scale: f64,
    /// Line of the allocation with all switches off and only forced shares owned.
    pub(super) base: Vec<f64>,
    /// Number of switches.
    pub(super) switches: usize,
    /// Switches that are fixed on.
    pub(super) on: u128,
    /// Switches that are fixed off.
    pub(super) off: u128,
    /// Line per switch.
    pub(super) taken: Vec<f64>,
    /// Classes of flows.
    pub(super) classes: Vec<Class>,
    /// Line per class: owned, with everything punted.
    pub(super) owned: Vec<f64>,
    /// Routes of all classes, in the order of the classes.
    pub(super) routes: Vec<Route>,
    /// Line per route: local instead of punted.
    pub(super) gains: Vec<f64>,
    /// The carries of classes and switches.
    pub(super) carries: Vec<Carry>,
    /// Line per carry.
    pub(super) carried: Vec<f64>,
    /// Per class and switch: the carry, if any.
    pub(super) carry_of: Vec<Option<u32>>,
}

/// A class of flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Class {
    /// Its largest share.
    pub(super) most: f64,
    /// Whether that share is the only possible one.
    pub(super) forced: bool,
}

/// One route of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Route {
    /// Its class.
    pub(super) class: usize,
    /// The switches that must be on.
    pub(super) needs: u128,
    /// Whether running it at the NIC lowers any term. If not, it is no reason to turn a switch on.
    pub(super) useful: bool,
}

/// The load of a class on the NIC if a switch is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Carry {
    /// Its class.
    pub(super) class: usize,
    /// Its switch.
    pub(super) switch: usize,
}

/// `into += factor · line`.
pub(super) fn add(into: &mut [f64], factor: f64, line: &[f64]) {
    for (into, term) in into.iter_mut().zip(line) {
        *into += factor * term;
    }
}

/// The indices of the switches in a set, lowest first.
pub(super) fn members(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let lowest = set.trailing_zeros() as usize;
            set &= set - 1;
            lowest
        })
    })
}

/// Lines in the problem's units: cost, and every resource.
struct Lines {
    resources: usize,
}

impl Lines {
    fn line(&self, cost: f64, uses: &[f64], factor: f64) -> Vec<f64> {
        assert_eq!(uses.len(), self.resources, "one number per resource");
        let line: Vec<f64> = [cost].iter().chain(uses).map(|term| term * factor).collect();
        let sound = cost >= 0.0 && uses.iter().all(|term| *term >= 0.0);
        assert!(sound && line.iter().all(|term| term.is_finite()), "costs and uses are 0 or more");
        line
    }
}

impl Form {
    /// Prepares a problem.
    pub(super) fn new(problem: &Problem) -> Self {
        let width = 1 + problem.limits.len();
        let mut form = Self::empty(problem, width);
        let lines = Lines { resources: problem.limits.len() };
        for switch in &problem.switches {
            form.taken.extend(lines.line(0.0, &switch.uses, 1.0));
        }
        for index in 0..problem.classes.len() {
            form.add_class(problem, index);
        }
        form.rescale(&problem.limits);
        form.mark();
        form
    }

    fn empty(problem: &Problem, width: usize) -> Self {
        let switches = problem.switches.len();
        let limits = problem.limits.iter().all(|limit| *limit >= 0.0);
        assert!(limits, "limits are 0 or more: {:?}", problem.limits);
        assert!(switches <= 128, "at most 128 switches, and these are {switches}");
        let fixed = |wanted: bool| {
            let fixed = problem.switches.iter().enumerate();
            fixed.filter(|(_, it)| it.fixed == Some(wanted)).fold(0, |set, (at, _)| set | 1 << at)
        };
        Self {
            width,
            kept: (0..problem.limits.len()).collect(),
            limits: problem.limits.clone(),
            scale: 1.0,
            base: vec![0.0; width],
            switches,
            on: fixed(true),
            off: fixed(false),
            taken: Vec::new(),
            classes: Vec::new(),
            owned: Vec::new(),
            routes: Vec::new(),
            gains: Vec::new(),
            carries: Vec::new(),
            carried: Vec::new(),
            carry_of: vec![None; switches * problem.classes.len()],
        }
    }

    fn add_class(&mut self, problem: &Problem, index: usize) {
        let lines = Lines { resources: problem.limits.len() };
        let class = &problem.classes[index];
        let (most, forced) = match class.share {
            Share::UpTo(most) => (most.min(1.0), false),
            Share::Exactly(share) => (share, true),
        };
        assert!((0.0..=1.0).contains(&most), "a share is between 0 and 1, and this is {most}");
        self.classes.push(Class { most, forced });
        add(&mut self.base, 1.0, &lines.line(class.away.cost, &class.away.uses, 1.0));
        let mut owned = lines.line(class.away.cost, &class.away.uses, -most);
        let mut merged: BTreeMap<u128, Vec<f64>> = BTreeMap::new();
        for route in &class.routes {
            let punted = lines.line(route.punted.cost, &route.punted.uses, most);
            add(&mut owned, 1.0, &punted);
            if route.needs & self.off != 0 {
                continue;
            }
            let mut gain = lines.line(route.local.cost, &route.local.uses, most);
            add(&mut gain, -1.0, &punted);
            let needs = route.needs & !self.on;
            if needs == 0 {
                add(&mut owned, 1.0, &gain);
            } else {
                let sum = merged.entry(needs).or_insert_with(|| vec![0.0; self.width]);
                add(sum, 1.0, &gain);
            }
        }
        for (needs, gain) in merged {
            if most > 0.0 && gain.iter().any(|term| *term != 0.0) {
                self.routes.push(Route { class: index, needs, useful: true });
                self.gains.extend(gain);
            }
        }
        for (switch, uses) in &class.carries {
            let line = lines.line(0.0, uses, most);
            if self.on & 1 << switch != 0 {
                add(&mut owned, 1.0, &line);
            } else if self.off & 1 << switch == 0 && line.iter().any(|term| *term > 0.0) {
                let slot = &mut self.carry_of[index * problem.switches.len() + switch];
                if let Some(carry) = slot {
                    let at = *carry as usize * self.width;
                    add(&mut self.carried[at..at + self.width], 1.0, &line);
                } else {
                    *slot = Some(self.carries.len() as u32);
                    self.carries.push(Carry { class: index, switch: *switch });
                    self.carried.extend(line);
                }
            }
        }
        self.owned.extend(owned);
    }

    /// Removes rows that no choice can violate, and scales the others.
    fn rescale(&mut self, limits: &[f64]) {
        let width = self.width;
        let most: Vec<f64> = (0..width).map(|at| self.most(at)).collect();
        let kept: Vec<usize> =
            (0..limits.len()).filter(|resource| most[resource + 1] > limits[*resource]).collect();
        let positive = |scale: f64| if scale > 0.0 { scale } else { 1.0 };
        self.scale = positive(most[0]);
        let rows = kept.iter().map(|at| positive(limits[*at].max(SMALL * most[at + 1])));
        let factors: Vec<(usize, f64)> = std::iter::once((0, self.scale))
            .chain(kept.iter().map(|at| at + 1).zip(rows))
            .collect();
        let shrink = |lines: &mut Vec<f64>| {
            let old = lines.chunks_exact(width);
            *lines = old.flat_map(|line| factors.iter().map(|(at, by)| line[*at] / by)).collect();
        };
        for lines in
            [&mut self.base, &mut self.taken, &mut self.owned, &mut self.gains, &mut self.carried]
        {
            shrink(lines);
        }
        self.limits =
            kept.iter().zip(&factors[1..]).map(|(at, (_, by))| limits[*at] / by).collect();
        self.width = 1 + kept.len();
        self.kept = kept;
    }

    /// The largest possible sum of one column over all choices.
    fn most(&self, at: usize) -> f64 {
        let column = |lines: &[f64]| -> f64 {
            lines.iter().skip(at).step_by(self.width).map(|term| term.max(0.0)).sum()
        };
        let lines = [&self.base, &self.taken, &self.owned, &self.gains, &self.carried];
        lines.into_iter().map(|lines| column(lines)).sum()
    }

    fn mark(&mut self) {
        for (route, gain) in self.routes.iter_mut().zip(self.gains.chunks_exact(self.width)) {
            route.useful = gain.iter().any(|term| *term < 0.0);
        }
    }

    /// Line of a switch.
    pub(super) fn switch_line(&self, switch: usize) -> &[f64] {
        &self.taken[switch * self.width..(switch + 1) * self.width]
    }

    /// Line of an owned class with everything punted.
    pub(super) fn class_line(&self, class: usize) -> &[f64] {
        &self.owned[class * self.width..(class + 1) * self.width]
    }

    /// Line of a route.
    pub(super) fn gain(&self, route: usize) -> &[f64] {
        &self.gains[route * self.width..(route + 1) * self.width]
    }

    /// Line of a carry.
    pub(super) fn carried_line(&self, carry: usize) -> &[f64] {
        &self.carried[carry * self.width..(carry + 1) * self.width]
    }

    /// The undecided switches that some route could still gain by.
    ///
    /// A switch that no route gains by is best off: it uses resources without a benefit. Turning it
    /// off may make others useless, hence the loop.
    pub(super) fn open(&self, on: u128, mut off: u128) -> u128 {
        let all = if self.switches == 128 { u128::MAX } else { (1 << self.switches) - 1 };
        loop {
            let undecided = all & !on & !off;
            let live = self.routes.iter().filter(|route| route.useful && route.needs & off == 0);
            let open = undecided & live.fold(0, |set, route| set | route.needs);
            if open == undecided {
                return open;
            }
            off |= undecided & !open;
        }
    }

    /// The same choices with another objective: the factor by which every limit must grow, at most
    /// `most`.
    ///
    /// It is one additional class that costs 1 and gives each row 1.
    pub(super) fn relieved(&self, most: f64) -> Self {
        let mut form = self.clone();
        for lines in
            [&mut form.base, &mut form.taken, &mut form.owned, &mut form.gains, &mut form.carried]
        {
            lines.iter_mut().step_by(self.width).for_each(|cost| *cost = 0.0);
        }
        form.scale = 1.0;
        form.classes.push(Class { most, forced: false });
        form.owned.push(most);
        form.owned.extend(vec![-most; self.limits.len()]);
        form.carry_of.extend(vec![None; self.switches]);
        form.mark();
        form
    }
}
