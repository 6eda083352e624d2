//! Instructions and branch mispredictions per route, from counter readings at marks.
//!
//! A run with one packet between two marks shows the cost of each packet *alone*. The mean over the
//! packets of a route is the cost of that route, for any mix of routes. But packets are handled in
//! bursts, which share some work. So the program runs again in whole bursts, and the saving per
//! packet, the same for every packet, is subtracted. To test this model, the first half of the
//! bursts predicts the second.
//!
//! In a program with messages a packet causes several runs, each of a route. Then the cost of each
//! route is fitted (`fitted`).

use super::executed::{Executed, number};

/// Result of a counted run.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// Execution of each burst, without the marks.
    bursts: Vec<Executed>,
    /// Number of packets of each burst.
    sizes: Vec<usize>,
}

/// Execution of a packet by route, on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Execution of one packet; `None` for routes that no counted packet took.
    pub per_route: Vec<Option<Executed>>,
    /// The mean over all packets in bursts.
    pub mean: Executed,
    /// Relative error of the instructions when the first half of the bursts predicts the second, as
    /// a share of the measured ones.
    pub error: f64,
}

impl Marks {
    /// Reads counter readings, one mark a line: the instructions and mispredictions up to the mark.
    /// The first two marks have nothing between them. `sizes` has one line for each further
    /// interval: its number of packets.
    ///
    /// # Errors
    ///
    /// A sentence, if a line is not such a number.
    pub fn parse(marks: &str, sizes: &str) -> Result<Self, String> {
        let marks = marks.lines().map(Executed::parse).collect::<Result<Vec<_>, _>>()?;
        let sizes = sizes.lines().map(number).collect::<Result<Vec<usize>, _>>()?;
        let [nothing, first, ..] = marks[..] else {
            return Err("the counter left no marks".to_owned());
        };
        // The branches of a mark are learnt at once, so only the first mark has mispredictions.
        let mark = Executed { mispredictions: 0.0, ..first.beyond(nothing) };
        let bursts: Vec<Executed> =
            marks[1..].windows(2).map(|pair| pair[1].beyond(pair[0]).beyond(mark)).collect();
        if bursts.len() != sizes.len() {
            return Err(format!("{} bursts are counted of {}", bursts.len(), sizes.len()));
        }
        Ok(Self { bursts, sizes })
    }

    /// Number of packets.
    pub fn packets(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Execution of all bursts together.
    fn sum(&self) -> Executed {
        Executed::sum(self.bursts.iter().copied())
    }

    /// The first half of the bursts, and the rest.
    fn halves(&self) -> [Self; 2] {
        let half = self.bursts.len() / 2;
        let part = |bursts: &[Executed], sizes: &[usize]| Self {
            bursts: bursts.to_vec(),
            sizes: sizes.to_vec(),
        };
        let ((b, c), (s, t)) = (self.bursts.split_at(half), self.sizes.split_at(half));
        [part(b, s), part(c, t)]
    }
}

impl Counted {
    /// Computes the costs from the routes of each packet in order, and from the counts of these
    /// packets alone and in bursts.
    ///
    /// # Errors
    ///
    /// A sentence, if the two counts are not of the same packets.
    pub fn of(
        taken: &[Vec<usize>],
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
            mean: bursts.sum().map(|sum| sum / packets as f64),
            error,
        })
    }
}

/// The mean of each route alone, less the mean saving of a packet in bursts.
fn costs(
    taken: &[Vec<usize>],
    routes: usize,
    alone: &[Executed],
    bursts: &Marks,
) -> Vec<Option<Executed>> {
    if taken.iter().any(|taken| taken.len() != 1) {
        return super::fitted::costs(taken, routes, alone, bursts.sum());
    }
    let mut sums = vec![(0_u64, Executed::default()); routes];
    for (route, count) in taken.iter().flatten().zip(alone) {
        if let Some((packets, sum)) = sums.get_mut(*route) {
            *packets += 1;
            *sum = sum.zip(*count, |sum, count| sum + count);
        }
    }
    let all = Executed::sum(alone.iter().copied());
    let packets = taken.len().max(1) as f64;
    let saved = all.zip(bursts.sum(), |all, bursts| (all - bursts) / packets);
    let cost = |(packets, sum): (u64, Executed)| {
        (packets > 0).then(|| sum.map(|sum| sum / packets as f64).beyond(saved))
    };
    sums.into_iter().map(cost).collect()
}

/// Relative error of these costs in the instructions of other packets, as a share of the measured
/// ones.
fn error(costs: &[Option<Executed>], taken: &[Vec<usize>], bursts: &Marks) -> f64 {
    let known = taken.iter().flatten().filter_map(|route| costs.get(*route).copied().flatten());
    let predicted: f64 = known.map(|executed| executed.instructions).sum();
    let measured = bursts.sum().instructions;
    if measured == 0.0 { 0.0 } else { (predicted - measured) / measured }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One branch in a hundred instructions is mispredicted, and two of the first mark.
    fn marks(costs: &[u64], sizes: &[usize]) -> Marks {
        let (mut at, mut wrong) = (1_000, 48);
        let mut marks = vec![(at, wrong)];
        wrong += 2;
        for cost in [0].iter().chain(costs) {
            at += cost + 7;
            wrong += cost / 100;
            marks.push((at, wrong));
        }
        let lines = |numbers: Vec<String>| numbers.join("\n") + "\n";
        let marks = lines(marks.iter().map(|(at, wrong)| format!("{at} {wrong}")).collect());
        let sizes = lines(sizes.iter().map(usize::to_string).collect());
        Marks::parse(&marks, &sizes).unwrap()
    }

    #[test]
    fn a_route_costs_what_its_packets_cost_less_what_bursts_save() {
        // Route 0 costs 500 alone and route 1 costs 900; a packet in a burst of two costs 100 less.
        let taken = [0, 1, 0, 0, 1, 0, 0, 1].map(|route| vec![route]);
        let alone: Vec<u64> = taken.iter().map(|route| [500, 900][route[0]]).collect();
        let pairs: Vec<u64> = alone.chunks(2).map(|pair| pair.iter().sum::<u64>() - 200).collect();
        let counted =
            Counted::of(&taken, 3, &marks(&alone, &[1; 8]), &marks(&pairs, &[2; 4])).unwrap();
        let executed =
            |instructions: f64| Executed { instructions, mispredictions: instructions / 100.0 };
        assert_eq!(counted.per_route, [Some(executed(400.0)), Some(executed(800.0)), None]);
        assert!(counted.error.abs() < 1e-12, "{}", counted.error);
        assert!((counted.mean.instructions - 550.0).abs() < 1e-9, "{:?}", counted.mean);
        assert!((counted.mean.mispredictions - 5.5).abs() < 1e-9, "{:?}", counted.mean);
    }

    #[test]
    fn the_error_is_that_of_packets_that_were_not_learnt_from() {
        // The second half costs a tenth more in bursts than the first half predicts.
        let taken = [0; 8].map(|route| vec![route]);
        let bursts = marks(&[1_000, 1_000, 1_100, 1_100], &[2; 4]);
        let counted = Counted::of(&taken, 1, &marks(&[600; 8], &[1; 8]), &bursts).unwrap();
        assert!((counted.error + 1.0 / 11.0).abs() < 1e-9, "{}", counted.error);
    }

    #[test]
    fn counts_of_other_packets_are_refused() {
        let alone = marks(&[500, 500], &[1, 1]);
        let once = vec![0];
        let refusal =
            Counted::of(std::slice::from_ref(&once), 1, &alone, &marks(&[900], &[2])).unwrap_err();
        assert!(
            refusal.contains("2 packets are counted alone, 2 in bursts, and 1 ran"),
            "{refusal}"
        );
        assert!(Counted::of(&[once.clone(), once], 1, &alone, &marks(&[900], &[3])).is_err());
        let refusal = |marks, sizes| Marks::parse(marks, sizes).unwrap_err();
        assert_eq!(refusal("5 1\n", ""), "the counter left no marks");
        assert_eq!(refusal("5 1\n6 1\n9 2\n", ""), "1 bursts are counted of 0");
        assert_eq!(refusal("5 1\n6 1\n9 2\n", "one"), "`one` is not a number");
        assert_eq!(refusal("5 1\nsix 1\n", ""), "`six` is not a number");
        assert_eq!(refusal("5\n6\n", ""), "`5` is not two numbers", "an older counter's");
    }
}
