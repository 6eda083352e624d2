//! Costs of packets and moves, learned from measurements: least squares over counts and busy times.
//! The newest count most. The expected costs count as far as measurements say nothing.

use super::number::fading;
use super::rates::Step;
use super::settings::{Costs, Settings};

/// Time constant of measurements (ns).
const MEMORY: f64 = 400e6;
/// Weight of the expected costs beside measurements: this, and this factor of the model's squared
/// error. Chance teaches no fine distinctions.
const PRIOR: f64 = 0.003;
const UNSURE: f64 = 0.3;
/// A cost departs from its part of the side's whole time by this factor at most.
const PROPORTION: f64 = 8.0;
/// A busy time beyond this factor of the predicted one was not spent on packets: another process
/// had the processor. It counts as this factor, so that a real slowdown is learned within some
/// periods.
const STOLEN: f64 = 4.0;
/// Measurements before that distinction.
const FIRST: u32 = 64;
/// Time constant of the model's error (ns).
const ERROR: f64 = 40e6;
/// A side that works less than this part of a time says nothing of costs.
const TOO_LITTLE: f64 = 0.02;

/// Costs of `N` kinds of work at one side.
#[derive(Clone, Copy, Debug)]
struct Learned<const N: usize> {
    expected: [f64; N],
    within: f64,
    cost: [f64; N],
    /// Decayed sums: count × count, count × busy time, and both scales.
    squares: [[f64; N]; N],
    products: [f64; N],
    busy: f64,
    expected_busy: f64,
    wrong: f64,
    measured: u32,
}

impl<const N: usize> Learned<N> {
    const fn new(expected: [f64; N], within: f64) -> Self {
        Self {
            expected,
            within,
            cost: expected,
            squares: [[0.0; N]; N],
            products: [0.0; N],
            busy: 0.0,
            expected_busy: 0.0,
            wrong: 0.0,
            measured: 0,
        }
    }

    fn add(&mut self, counts: [f64; N], busy: f64, time: f64) {
        if busy < TOO_LITTLE * time {
            return;
        }
        let predicted = total(&counts, &self.cost);
        self.measured = self.measured.saturating_add(1);
        let is_sure = self.measured > FIRST && predicted > 0.0;
        let busy = if is_sure { busy.min(STOLEN * predicted) } else { busy };
        let wrong = (predicted - busy).abs() / predicted.max(busy);
        self.wrong += (1.0 - fading(time, ERROR)) * (wrong - self.wrong);
        let kept = fading(time, MEMORY);
        for row in 0..N {
            for column in 0..N {
                let square = &mut self.squares[row][column];
                *square = *square * kept + counts[row] * counts[column];
            }
            self.products[row] = self.products[row] * kept + counts[row] * busy;
        }
        self.busy = self.busy * kept + busy;
        self.expected_busy = self.expected_busy * kept + total(&counts, &self.expected);
        self.learn();
    }

    /// Solves for the costs. The expected costs are first scaled to the measured total. Costs that
    /// measurements can't separate keep their expected proportions.
    fn learn(&mut self) {
        if self.expected_busy <= 0.0 {
            return;
        }
        let scale = self.busy / self.expected_busy;
        let mut rows = self.squares;
        let mut right = self.products;
        let prior = PRIOR + UNSURE * self.wrong * self.wrong;
        let mean = (0..N).map(|row| rows[row][row]).sum::<f64>();
        for row in 0..N {
            let weight = prior * rows[row][row] + 1e-6 * mean + 1e-9;
            rows[row][row] += weight;
            right[row] += weight * scale * self.expected[row];
        }
        let Some(cost) = solve(rows, right) else { return };
        for (number, cost) in cost.into_iter().enumerate() {
            let expected = self.expected[number];
            let whole = scale * expected;
            let cost = cost.clamp(whole / PROPORTION, whole * PROPORTION);
            self.cost[number] = cost.clamp(expected / self.within, expected * self.within);
        }
    }
}

/// Returns the cost of these counts together.
fn total<const N: usize>(counts: &[f64; N], cost: &[f64; N]) -> f64 {
    counts.iter().zip(cost).map(|(count, cost)| count * cost).sum()
}

/// Solves equations with a symmetric, positive definite matrix, by elimination.
fn solve<const N: usize>(mut rows: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for pivot in 0..N {
        let divisor = rows[pivot][pivot];
        if divisor.is_nan() || divisor <= 0.0 {
            return None;
        }
        let (own, at) = (rows[pivot], right[pivot]);
        for row in (0..N).filter(|row| *row != pivot) {
            let factor = rows[row][pivot] / divisor;
            for column in pivot..N {
                rows[row][column] -= factor * own[column];
            }
            right[row] -= factor * at;
        }
    }
    let solved = core::array::from_fn(|row| right[row] / rows[row][row]);
    solved.iter().all(|cost: &f64| cost.is_finite()).then_some(solved)
}

/// The learned costs of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coefficients {
    host: Learned<2>,
    nic: Learned<3>,
}

impl Coefficients {
    pub(super) const fn new(settings: &Settings) -> Self {
        let Costs { host_packet, host_move, nic_packet, nic_pass, nic_move } = settings.expected;
        Self {
            host: Learned::new([host_packet, host_move], settings.within),
            nic: Learned::new([nic_packet, nic_pass, nic_move], settings.within),
        }
    }

    /// Adds a step of the host.
    pub(super) fn host(&mut self, step: &Step) {
        self.host.add([step.packets, step.moves], step.busy, step.time);
    }

    /// Adds a step of the NIC.
    pub(super) fn nic(&mut self, step: &Step) {
        self.nic.add([step.packets, step.passed, step.moves], step.busy, step.time);
    }

    /// Returns the costs as learned so far.
    pub(super) const fn costs(&self) -> Costs {
        let [host_packet, host_move] = self.host.cost;
        let [nic_packet, nic_pass, nic_move] = self.nic.cost;
        Costs { host_packet, host_move, nic_packet, nic_pass, nic_move }
    }

    /// Returns the mean relative error of the predicted busy times, at the side where it is larger.
    pub(super) fn wrong(&self) -> f64 {
        self.host.wrong.max(self.nic.wrong)
    }

    /// Clears the errors: the next measurements are judged anew.
    pub(super) const fn forgive(&mut self) {
        self.host.wrong = 0.0;
        self.nic.wrong = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive::settings::Admitted;

    const PLAN: Admitted = Admitted::share(1024, 1);

    fn step(packets: f64, passed: f64, moves: f64, busy: f64) -> Step {
        Step { time: 1e6, packets, passed, moves, offloads: 0.0, bytes: 0.0, busy }
    }

    #[test]
    fn costs_are_found_in_what_is_measured() {
        let mut known = Coefficients::new(&Settings::new(PLAN));
        for round in 0..2_000_u32 {
            let (packets, passed) = (f64::from(200 + round % 700), f64::from(900 - round % 500));
            let moves = f64::from(round % 30);
            known.nic(&step(
                packets,
                passed,
                moves,
                410.0 * packets + 55.0 * passed + 3_000.0 * moves,
            ));
            known.host(&step(passed, 0.0, moves, 190.0 * passed + 2_500.0 * moves));
        }
        let Costs { host_packet, host_move, nic_packet, nic_pass, nic_move } = known.costs();
        for (cost, is) in [
            (host_packet, 190.0),
            (host_move, 2_500.0),
            (nic_packet, 410.0),
            (nic_pass, 55.0),
            (nic_move, 3_000.0),
        ] {
            assert!((0.85..1.15).contains(&(cost / is)), "{cost} for {is}: {known:?}");
        }
        assert!(known.wrong() < 0.05, "{known:?}");
    }

    #[test]
    fn what_cannot_be_told_apart_keeps_its_proportion() {
        let mut known = Coefficients::new(&Settings::new(PLAN));
        for _ in 0..1_000 {
            // Ten times the expected costs, always in one mixture.
            known.nic(&step(100.0, 100.0, 0.0, 100.0 * 2_500.0 + 100.0 * 1_200.0));
        }
        let costs = known.costs();
        assert!((2_400.0..2_600.0).contains(&costs.nic_packet), "{costs:?}");
        assert!((1_100.0..1_300.0).contains(&costs.nic_pass), "{costs:?}");
    }

    #[test]
    fn time_that_another_process_had_is_not_learned_as_cost() {
        let mut known = Coefficients::new(&Settings::new(PLAN));
        let mut random = 7_u32;
        for round in 0..3_000_u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (packets, passed) = (f64::from(200 + round % 700), f64::from(900 - round % 500));
            // In one step of ten, another process takes 4 ms.
            let stolen = if random >> 16 < 6_554 { 4e6 } else { 0.0 };
            known.nic(&step(packets, passed, 0.0, 400.0 * packets + 90.0 * passed + stolen));
        }
        let costs = known.costs();
        assert!((300.0..800.0).contains(&costs.nic_packet), "{costs:?}");
        assert!((20.0..300.0).contains(&costs.nic_pass), "{costs:?}");
        assert!(known.wrong() < 0.5, "it is still trusted: {}", known.wrong());
    }

    #[test]
    fn nothing_is_learned_beyond_the_bounds() {
        let settings = Settings { within: 2.0, ..Settings::new(PLAN) };
        let mut known = Coefficients::new(&settings);
        for _ in 0..1_000 {
            known.nic(&step(300.0, 10.0, 0.0, 300.0 * 3_000.0));
        }
        let costs = known.costs();
        assert!(costs.nic_packet <= 500.0, "{costs:?}");
        assert!(known.wrong() > 0.5, "it is said that the model fails: {known:?}");
    }
}
