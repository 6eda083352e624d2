//! The part of all packets that flows of some ranks have.

use cora_plan::traffic::{Bin, Class};

/// Share of the packets that the heaviest flows have, so many. `growth` is the factor to the flows
/// of these classes. Within a bin all flows are alike.
fn heaviest(classes: &[Class], growth: f64, mut flows: f64) -> f64 {
    let mut share = 0.0;
    for Bin { flows: there, share: of } in classes.iter().flat_map(|class| &class.bins) {
        let there = there * growth;
        let taken = there.min(flows);
        if there > 0.0 {
            share += of * taken / there;
        }
        flows -= taken;
    }
    share
}

/// Per class of a profile: the share that flows of the same ranks have in other traffic.
pub(super) fn of_ranks(profile: (&[Class], f64), traffic: (&[Class], f64)) -> Vec<f64> {
    let ((profile, growth), (traffic, other_growth)) = (profile, traffic);
    let mut rank = 0.0;
    let last = profile.len().saturating_sub(1);
    let shares = profile.iter().enumerate().map(|(number, class)| {
        let from = rank;
        rank += class.flows * growth;
        // The last class has all the rest.
        let to = if number == last { f64::INFINITY } else { rank };
        let upto = |rank| heaviest(traffic, other_growth, rank);
        upto(to) - upto(from)
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use cora_plan::traffic::Traffic;

    use super::*;

    fn shares(profile: &str, traffic: &str, growth: [f64; 2]) -> Vec<f64> {
        let [profile, traffic] = [profile, traffic].map(|name| Traffic::load(name).unwrap());
        let classes = |of: &Traffic| of.classes("FiveTuple").to_vec();
        of_ranks((&classes(&profile), growth[0]), (&classes(&traffic), growth[1]))
    }

    #[test]
    fn a_profile_has_its_own_shares() {
        let zipf = Traffic::load("zipf").unwrap();
        let own: Vec<f64> = zipf.classes("FiveTuple").iter().map(|class| class.share).collect();
        for (share, own) in shares("zipf", "zipf", [1.0; 2]).into_iter().zip(own) {
            assert!((share - own).abs() < 1e-6, "{share} {own}");
        }
    }

    #[test]
    fn ranks_are_those_of_the_profile() {
        // A hundred equal flows: its top ten have a tenth, ranks beyond the hundredth nothing.
        let of = shares("zipf:flows=1000,s=1.0", "uniform:flows=100", [1.0; 2]);
        assert!((of[0] - 0.1).abs() < 1e-9, "{of:?}");
        assert!((of.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{of:?}");
        assert!(of.last().unwrap().abs() < 1e-6, "{of:?}");
        // Ten times as many flows at this rate: the top ten have a hundredth.
        let grown = shares("zipf:flows=1000,s=1.0", "uniform:flows=100", [1.0, 10.0]);
        assert!((grown[0] - 0.01).abs() < 1e-9, "{grown:?}");
    }
}
