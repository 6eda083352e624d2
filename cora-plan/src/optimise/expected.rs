//! The counters of a run under a plan that is there, for a comparison with those that it has.

use super::Inputs;
use super::candidate::Candidate;
use crate::model::expected as model;
use crate::model::{Allocation, Expected, Unmatched};
use crate::placement::Placement;
use crate::traffic::{Class, Traffic};
use crate::vocabulary::{BUCKETS, SHARE_OF, Sides};

/// The expected counts of a run of an allocation at a rate, in million packets a second, `seconds`
/// after its tables were empty.
pub fn expected(inputs: &Inputs<'_>, allocation: &Allocation, mpps: f64, seconds: f64) -> Expected {
    let candidate = Candidate::new(inputs, allocation.sides, &allocation.group)
        .with_unmatched(allocation.unmatched);
    model(&candidate.setting(inputs), allocation, mpps, seconds)
}

/// The allocation that a runtime makes of a placement on this traffic: flows with fewer packets
/// than the host wants to see stay there, and of all others the NIC owns the same share.
pub fn allocated(placement: &Placement, traffic: &Traffic) -> Allocation {
    let (whole, buckets) = (f64::from(SHARE_OF), f64::from(BUCKETS));
    let of = |class: &Class| match placement.sides {
        Sides::HostOnly => 0.0,
        Sides::NicOnly => 1.0,
        Sides::Dealt => f64::from(placement.nic_buckets) / buckets,
        Sides::Split if f64::from(placement.offer_after) * class.opens > 1.0 => 0.0,
        Sides::Split => f64::from(placement.nic_share) / whole,
    };
    Allocation {
        sides: placement.sides,
        places: placement.places.clone(),
        host_handlers: placement.host_handlers.clone(),
        group: placement.group.clone(),
        shares: traffic.classes(&placement.group).iter().map(of).collect(),
        unmatched: Unmatched::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement;
    use crate::sample;
    use crate::statement::{Stated, Statement};

    fn shares(statement: &Statement) -> Vec<f64> {
        let placement = placement::run(&sample::nat(), statement).expect("nothing to refuse");
        allocated(&placement, &sample::traffic()).shares
    }

    #[test]
    fn shares_are_those_that_the_runtime_knows() {
        assert_eq!(shares(&Statement::of(Sides::HostOnly)), [0.0, 0.0]);
        assert_eq!(shares(&Statement::of(Sides::NicOnly)), [1.0, 1.0]);
        let split = Statement {
            nic_share: Some(Stated { what: 0.25, line: 0 }),
            ..Statement::of(Sides::Split)
        };
        assert_eq!(shares(&split), [0.25, 0.25]);
        // The second class has flows of five packets.
        assert_eq!(shares(&Statement { offer_after: 5, ..split.clone() }), [0.25, 0.25]);
        assert_eq!(shares(&Statement { offer_after: 6, ..split }), [0.25, 0.0]);
    }
}
