//! What given switches and shares cost, by the formula at the head of the search.

use super::{Problem, Terms};

/// Cost, and what is taken of each resource. Limits are not looked at.
pub fn evaluate(problem: &Problem, on: &[bool], shares: &[f64]) -> (f64, Vec<f64>) {
    let mut uses = vec![0.0; problem.limits.len()];
    let mut cost = 0.0;
    let mut add = |part: f64, terms: &Terms| {
        cost += part * terms.cost;
        plus(&mut uses, part, &terms.uses);
    };
    let set =
        on.iter().enumerate().filter(|(_, on)| **on).fold(0_u128, |set, (at, _)| set | 1 << at);
    for (class, share) in problem.classes.iter().zip(shares) {
        add(1.0 - share, &class.away);
        for route in &class.routes {
            let local = route.needs & !set == 0;
            add(*share, if local { &route.local } else { &route.punted });
        }
    }
    for (class, share) in problem.classes.iter().zip(shares) {
        for (switch, carried) in class.carries.iter().filter(|(switch, _)| on[*switch]) {
            debug_assert!(*switch < on.len());
            plus(&mut uses, *share, carried);
        }
    }
    for (switch, on) in problem.switches.iter().zip(on) {
        plus(&mut uses, f64::from(u8::from(*on)), &switch.uses);
    }
    (cost, uses)
}

fn plus(uses: &mut [f64], part: f64, more: &[f64]) {
    uses.iter_mut().zip(more).for_each(|(use_, more)| *use_ += part * more);
}
