//! Costs of routes if a packet takes several: least squares over the packets.
//!
//! A little is added to the diagonal of the normal equations, so that routes that always come
//! together share their cost, and the equations have a solution.

use super::executed::Executed;

/// Weight of the addition, relative to the mean of the diagonal.
const RIDGE: f64 = 1e-6;

/// The cost of one run of each route; `None` for routes that no packet took. `bursts` is the
/// execution of the same packets in bursts: all costs are scaled to it.
pub(super) fn costs(
    taken: &[Vec<usize>],
    routes: usize,
    alone: &[Executed],
    bursts: Executed,
) -> Vec<Option<Executed>> {
    let counts: Vec<Vec<f64>> = taken
        .iter()
        .map(|taken| {
            let mut counts = vec![0.0; routes];
            for route in taken.iter().filter(|route| **route < routes) {
                counts[*route] += 1.0;
            }
            counts
        })
        .collect();
    let all = Executed::sum(alone.iter().copied());
    let fit = |of: fn(&Executed) -> f64| {
        let wanted: Vec<f64> = alone.iter().map(of).collect();
        let scale = if of(&all) > 0.0 { of(&bursts) / of(&all) } else { 1.0 };
        solved(&counts, &wanted, routes).into_iter().map(move |cost| cost.max(0.0) * scale)
    };
    let (instructions, mispredictions) = (fit(|it| it.instructions), fit(|it| it.mispredictions));
    instructions
        .zip(mispredictions)
        .enumerate()
        .map(|(route, (instructions, mispredictions))| {
            let is_taken = counts.iter().any(|counts| counts[route] > 0.0);
            is_taken.then_some(Executed { instructions, mispredictions })
        })
        .collect()
}

/// The solution of the normal equations, by Gauss with the largest pivot.
fn solved(counts: &[Vec<f64>], wanted: &[f64], routes: usize) -> Vec<f64> {
    let mut rows = vec![vec![0.0; routes + 1]; routes];
    for (counts, wanted) in counts.iter().zip(wanted) {
        for (row, own) in rows.iter_mut().zip(counts).filter(|(_, own)| **own > 0.0) {
            row.iter_mut().zip(counts).for_each(|(sum, other)| *sum += own * other);
            row[routes] += own * wanted;
        }
    }
    let diagonal: f64 = (0..routes).map(|at| rows[at][at]).sum();
    let ridge = (RIDGE * diagonal / routes.max(1) as f64).max(f64::MIN_POSITIVE);
    (0..routes).for_each(|at| rows[at][at] += ridge);
    for column in 0..routes {
        let size = |row: &usize| rows[*row][column].abs();
        let best = (column..routes).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        rows.swap(column, best);
        let pivot = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(value, of)| *value -= factor * of);
        }
    }
    (0..routes).map(|at| rows[at][routes] / rows[at][at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(instructions: f64) -> Executed {
        Executed { instructions, mispredictions: instructions / 100.0 }
    }

    #[test]
    fn packets_of_several_runs_tell_the_cost_of_each() {
        // A text costs 300, a word 200, and 50 to rank it; route 3 is never taken.
        let cost = [300.0, 200.0, 50.0];
        let taken: Vec<Vec<usize>> = [(0, 0), (1, 1), (3, 2), (5, 1), (2, 2), (4, 0)]
            .into_iter()
            .map(|(words, ranks)| [vec![0], vec![1; words], vec![2; ranks]].concat())
            .collect();
        let sum = |taken: &Vec<usize>| taken.iter().map(|route| cost[*route]).sum::<f64>();
        let alone: Vec<Executed> = taken.iter().map(|taken| executed(sum(taken))).collect();
        let all = Executed::sum(alone.iter().copied());
        let found = costs(&taken, 4, &alone, all.map(|all| all * 0.9));
        for (found, cost) in found.iter().zip(cost) {
            let found = found.expect("it is taken");
            assert!((found.instructions - 0.9 * cost).abs() < 0.1, "{found:?} of {cost}");
            assert!((found.mispredictions - 0.009 * cost).abs() < 0.01, "{found:?} of {cost}");
        }
        assert_eq!(found[3], None);
    }

    #[test]
    fn runs_that_always_come_together_share_their_cost() {
        let found = costs(&[vec![0, 1], vec![0, 1]], 2, &[executed(100.0); 2], executed(200.0));
        let sum: f64 = found.iter().flatten().map(|cost| cost.instructions).sum();
        assert!((sum - 100.0).abs() < 0.1, "{found:?}");
    }
}
