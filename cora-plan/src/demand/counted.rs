//! Instructions per route, from counts at marks.
//!
//! A program that ran with one packet between two marks tells what each packet cost *alone*: the mean over the
//! packets of a route is what the route costs, whichever routes are taken together. But packets are handled in
//! bursts, which share some work. So the program runs again in whole bursts, and what a packet costs less there, the
//! same for each, is taken off. How far that holds is seen by taking it from the first half of the bursts and
//! predicting the second.

/// What a counted run left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Instructions of each burst, marks taken off.
    bursts: Vec<u64>,
    /// Packets of each.
    sizes: Vec<usize>,
}

/// What a packet costs by route, on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Instructions of one packet, all told; `None` for routes that no counted packet took.
    pub per_route: Vec<Option<f64>>,
    /// Instructions of a packet, the mean of all in bursts.
    pub mean: f64,
    /// How far the second half of the bursts was predicted wrongly by the first, as a share of it.
    pub error: f64,
}

impl Marks {
    /// Reads instructions at marks, one number per line, of which the first two have nothing between them; and
    /// the packets between each of the others, likewise.
    ///
    /// # Errors
    ///
    /// A sentence, when these are no such numbers.
    pub fn parse(marks: &str, sizes: &str) -> Result<Self, String> {
        let (marks, sizes): (Vec<u64>, Vec<usize>) = (numbers(marks)?, numbers(sizes)?);
        let [nothing, first, ..] = marks[..] else {
            return Err("the counter left no marks".to_owned());
        };
        let between = |pair: &[u64]| pair[1].saturating_sub(pair[0]);
        let mark = first.saturating_sub(nothing);
        let bursts: Vec<u64> =
            marks[1..].windows(2).map(|pair| between(pair).saturating_sub(mark)).collect();
        if bursts.len() != sizes.len() {
            return Err(format!("{} bursts are counted of {}", bursts.len(), sizes.len()));
        }
        Ok(Self { bursts, sizes })
    }

    /// Packets in all.
    pub fn packets(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Instructions in all.
    fn sum(&self) -> u64 {
        self.bursts.iter().sum()
    }

    /// The first half of the bursts, and the rest.
    fn halves(&self) -> [Self; 2] {
        let half = self.bursts.len() / 2;
        let part = |bursts: &[u64], sizes: &[usize]| Self {
            bursts: bursts.to_vec(),
            sizes: sizes.to_vec(),
        };
        let ((b, c), (s, t)) = (self.bursts.split_at(half), self.sizes.split_at(half));
        [part(b, s), part(c, t)]
    }
}

fn numbers<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    let number = |line: &str| line.parse().map_err(|_| format!("`{line}` is no number"));
    text.lines().map(number).collect()
}

impl Counted {
    /// From the routes that packets took, one after the other, and counts of these packets alone and in bursts.
    ///
    /// # Errors
    ///
    /// A sentence, when the counts are not of the same packets.
    pub fn of(
        taken: &[usize],
        routes: usize,
        alone: &Marks,
        bursts: &Marks,
    ) -> Result<Self, String> {
        let packets = alone.packets();
        let one_by_one = alone.sizes.iter().all(|size| *size == 1);
        if !one_by_one || packets != bursts.packets() || packets > taken.len() || packets == 0 {
            return Err(format!(
                "{packets} packets are counted alone, {} in bursts, and {} ran",
                bursts.packets(),
                taken.len()
            ));
        }
        let taken = &taken[..packets];
        let [learnt, kept] = bursts.halves();
        let (first, second) = taken.split_at(learnt.packets());
        let (alone_first, _) = alone.bursts.split_at(first.len());
        let costs = costs(first, routes, alone_first, &learnt);
        let error = error(&costs, second, &kept);
        Ok(Self {
            per_route: self::costs(taken, routes, &alone.bursts, bursts),
            mean: bursts.sum() as f64 / packets as f64,
            error,
        })
    }
}

/// The mean of each route alone, less what all packets cost less in bursts.
fn costs(taken: &[usize], routes: usize, alone: &[u64], bursts: &Marks) -> Vec<Option<f64>> {
    let mut sums = vec![(0, 0_u64); routes];
    for (route, count) in taken.iter().zip(alone) {
        if let Some((packets, sum)) = sums.get_mut(*route) {
            *packets += 1;
            *sum += count;
        }
    }
    let all: u64 = alone.iter().sum();
    let saved = (all as f64 - bursts.sum() as f64) / taken.len().max(1) as f64;
    let cost = |(packets, sum): (u64, u64)| {
        (packets > 0).then(|| (sum as f64 / packets as f64 - saved).max(0.0))
    };
    sums.into_iter().map(cost).collect()
}

/// How wrong these costs are about other packets, as a share of what those cost.
fn error(costs: &[Option<f64>], taken: &[usize], bursts: &Marks) -> f64 {
    let known = taken.iter().filter_map(|route| costs.get(*route).copied().flatten());
    let predicted: f64 = known.sum();
    let measured = bursts.sum() as f64;
    if measured == 0.0 { 0.0 } else { (predicted - measured) / measured }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(costs: &[u64], sizes: &[usize]) -> Marks {
        let mut at = 1_000;
        let mut marks = vec![at];
        for cost in [0].iter().chain(costs) {
            at += cost + 7;
            marks.push(at);
        }
        let lines = |numbers: Vec<String>| numbers.join("\n") + "\n";
        let marks = lines(marks.iter().map(u64::to_string).collect());
        let sizes = lines(sizes.iter().map(usize::to_string).collect());
        Marks::parse(&marks, &sizes).unwrap()
    }

    #[test]
    fn a_route_costs_what_its_packets_cost_less_what_bursts_save() {
        // Route 0 costs 500 alone and route 1 900; a packet in a burst of two costs 100 less.
        let taken = [0, 1, 0, 0, 1, 0, 0, 1];
        let alone: Vec<u64> = taken.iter().map(|route| [500, 900][*route]).collect();
        let pairs: Vec<u64> = alone.chunks(2).map(|pair| pair.iter().sum::<u64>() - 200).collect();
        let counted =
            Counted::of(&taken, 3, &marks(&alone, &[1; 8]), &marks(&pairs, &[2; 4])).unwrap();
        assert_eq!(counted.per_route, [Some(400.0), Some(800.0), None]);
        assert!(counted.error.abs() < 1e-12, "{}", counted.error);
        assert!((counted.mean - 550.0).abs() < 1e-9, "{}", counted.mean);
    }

    #[test]
    fn the_error_is_that_of_packets_that_were_not_learnt_from() {
        // The second half costs a tenth more in bursts than the first says.
        let taken = [0; 8];
        let bursts = marks(&[1_000, 1_000, 1_100, 1_100], &[2; 4]);
        let counted = Counted::of(&taken, 1, &marks(&[600; 8], &[1; 8]), &bursts).unwrap();
        assert!((counted.error + 1.0 / 11.0).abs() < 1e-9, "{}", counted.error);
    }

    #[test]
    fn counts_of_other_packets_are_refused() {
        let alone = marks(&[500, 500], &[1, 1]);
        let refusal = Counted::of(&[0], 1, &alone, &marks(&[900], &[2])).unwrap_err();
        assert!(
            refusal.contains("2 packets are counted alone, 2 in bursts, and 1 ran"),
            "{refusal}"
        );
        assert!(Counted::of(&[0, 0], 1, &alone, &marks(&[900], &[3])).is_err());
        assert_eq!(Marks::parse("5\n", "").unwrap_err(), "the counter left no marks");
        assert_eq!(Marks::parse("5\n6\n9\n", "").unwrap_err(), "1 bursts are counted of 0");
        assert_eq!(Marks::parse("5\nsix\n", "").unwrap_err(), "`six` is no number");
    }
}
