//! The door of a run: every packet gets its mark here, and goes to the shard that has its bucket.
//!
//! What services there are follows from read-mostly states, whose versions change between two
//! packets. The door changes with them, at the same packet.

use std::collections::{HashSet, VecDeque};

use ahash::RandomState;
use cora_core::app::App;
use cora_core::key::{Address, Endpoint};
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::{Deal, Steering};
use serde::{Deserialize, Serialize};

use crate::ingress::versions::Changes;

/// The services of a version: the ends where connections are opened from the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Services(Vec<([u8; 16], u16, u8)>);

impl Services {
    /// Those of the versions in force in `app`.
    pub fn of<A: App>(app: &mut A) -> Self {
        let mut services = Vec::new();
        for number in 0..A::STATES {
            app.described(number).each_service(&mut |Endpoint { address, port, protocol }| {
                services.push((address.octets(), port, protocol));
            });
        }
        Self(services)
    }

    /// An operator's services, so nobody outside chooses the keys: any seed will do.
    fn as_set(&self) -> HashSet<Endpoint, RandomState> {
        let endpoint = |&(octets, port, protocol): &_| {
            let address = Address::v6(octets);
            Endpoint { address, port, protocol }
        };
        let mut set = HashSet::with_hasher(RandomState::with_seed(0));
        set.extend(self.0.iter().map(endpoint));
        set
    }
}

/// Marks packets, and deals them to shards.
#[derive(Debug)]
pub struct Door {
    steering: Steering,
    /// There is one shard.
    is_alone: bool,
    services: HashSet<Endpoint, RandomState>,
    /// Changes before later packets.
    changes: VecDeque<(u64, Services)>,
}

impl Door {
    /// A door that deals buckets so, by the hash with this seed.
    pub fn new(seed: u64, deal: Deal, services: &Services) -> Self {
        let steering = Steering::new(seed, deal);
        let (is_alone, services) = (deal == Deal::even(1), services.as_set());
        Self { steering, is_alone, services, changes: VecDeque::new() }
    }

    /// Changes will take force before packets with these numbers.
    pub(crate) fn will_change(&mut self, changes: &Changes) {
        let changes = changes.iter();
        self.changes = changes.map(|(number, change)| (*number, change.services.clone())).collect();
    }

    /// A change takes force before the next packet.
    pub(crate) fn change(&mut self, services: &Services) {
        self.services = services.as_set();
    }

    /// The shard for this frame, and its stamp with the packet's mark, if anybody reads one.
    pub fn steer<A: App>(&mut self, stamp: Stamp, frame: &mut [u8]) -> (usize, Stamp) {
        if self.is_alone && !A::MARKED {
            return (0, stamp);
        }
        while let Some((_, services)) =
            self.changes.pop_front_if(|(number, _)| *number <= stamp.number)
        {
            self.change(&services);
        }
        self.steering.steer::<A>(stamp, frame, |endpoint| {
            !self.services.is_empty() && self.services.contains(endpoint)
        })
    }
}
