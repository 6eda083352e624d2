//! The best shares for decided switches: a linear program with one variable per class.

use super::form::{Form, add, members};
use super::simplex::{Simplex, TOLERANCE};

/// The best allocation for a set of switches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filled {
    /// Factor by which all limits would have to grow to make it feasible; 0 if it is.
    pub(super) lacks: f64,
    /// Its cost, scaled.
    pub(super) cost: f64,
    /// Per class: the fraction of its largest share.
    pub(super) parts: Vec<f64>,
    /// Steps spent.
    pub(super) steps: u64,
}

impl Filled {
    /// Whether it is feasible.
    pub(super) fn fits(&self) -> bool {
        self.lacks <= TOLERANCE
    }
}

/// The linear program of a set of switches.
struct Program {
    base: Vec<f64>,
    /// Line per class.
    owned: Vec<f64>,
    /// Classes that are variables.
    free: Vec<usize>,
}

impl Program {
    fn new(form: &Form, on: u128) -> Self {
        let mut base = form.base.clone();
        for switch in members(on) {
            add(&mut base, 1.0, form.switch_line(switch));
        }
        let mut owned = form.owned.clone();
        let width = form.width;
        for (index, route) in form.routes.iter().enumerate() {
            if route.needs & !on == 0 {
                let at = route.class * width;
                add(&mut owned[at..at + width], 1.0, form.gain(index));
            }
        }
        for (index, carry) in form.carries.iter().enumerate() {
            if on & 1 << carry.switch != 0 {
                let at = carry.class * width;
                add(&mut owned[at..at + width], 1.0, form.carried_line(index));
            }
        }
        let mut free = Vec::new();
        for (index, class) in form.classes.iter().enumerate() {
            if class.forced {
                add(&mut base, 1.0, &owned[index * width..(index + 1) * width]);
            } else {
                free.push(index);
            }
        }
        Self { base, owned, free }
    }

    fn simplex(&self, form: &Form) -> Simplex {
        let width = form.width;
        let term = |row: usize, class: usize| self.owned[class * width + row];
        let rows: Vec<f64> = (1..width)
            .flat_map(|row| self.free.iter().map(move |class| term(row, *class)))
            .collect();
        let ends: Vec<f64> =
            form.limits.iter().zip(&self.base[1..]).map(|(limit, used)| limit - used).collect();
        Simplex::new(&rows, &ends, &vec![1.0; self.free.len()])
    }

    fn costs(&self, width: usize) -> Vec<f64> {
        self.free.iter().map(|class| -self.owned[class * width]).collect()
    }

    fn read(&self, form: &Form, simplex: &Simplex, lacks: f64) -> Filled {
        let mut parts = vec![1.0; form.classes.len()];
        let mut cost = self.base[0];
        for (variable, class) in self.free.iter().enumerate() {
            parts[*class] = simplex.get(variable).clamp(0.0, 1.0);
            cost += parts[*class] * self.owned[class * form.width];
        }
        Filled { lacks, cost, parts, steps: simplex.steps + self.owned.len() as u64 }
    }
}

/// The cheapest shares with the switches `on`; if none are feasible, those with the least shortage.
pub(super) fn best(form: &Form, on: u128) -> Filled {
    let program = Program::new(form, on);
    let mut simplex = program.simplex(form);
    let lacks = simplex.settle();
    if lacks <= TOLERANCE {
        simplex.maximise(&program.costs(form.width));
    }
    program.read(form, &simplex, if lacks <= TOLERANCE { 0.0 } else { lacks })
}

/// Among the cheapest shares, those with the largest sum; among these, larger ones at lower
/// indices.
pub(super) fn largest(form: &Form, on: u128) -> Filled {
    let program = Program::new(form, on);
    let mut simplex = program.simplex(form);
    let lacks = simplex.settle();
    if lacks > TOLERANCE {
        return program.read(form, &simplex, lacks);
    }
    let most: Vec<f64> = program.free.iter().map(|class| form.classes[*class].most).collect();
    let count = most.len() as f64;
    let earlier = most.iter().enumerate().map(|(at, most)| most * (count - at as f64) / count);
    for wish in [program.costs(form.width), most.clone(), earlier.collect()] {
        simplex.maximise(&wish);
        simplex.freeze(1e-10);
    }
    program.read(form, &simplex, 0.0)
}
