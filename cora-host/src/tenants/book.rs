//! The tenant of each address. Packets with ports have one by these, and fragments by the first one
//! of their packet.

use std::collections::HashMap;

use ahash::RandomState;
use cora_core::bucket::End;
use cora_core::key::Endpoint;
use cora_core::packet::{Datagrams, Meta, Packet, Port};

/// Fragmented packets under way that are known.
const UNDER_WAY: usize = 64;

/// Addresses and their tenants.
#[derive(Debug)]
pub(super) struct Book {
    tenants: HashMap<Endpoint, usize, RandomState>,
    fragments: Box<Datagrams<UNDER_WAY>>,
}

/// Fragments that were seen so far.
pub(super) type Fragments = Datagrams<UNDER_WAY>;

/// The end of a flow that a tenant may have: packets from inside come from a server there, and
/// others go to one.
pub(super) const fn servers_end(from_inside: bool) -> End {
    if from_inside { End::Source } else { End::Destination }
}

impl Book {
    pub(super) fn new() -> Self {
        // Nobody but operators and servers chooses the addresses.
        let tenants = HashMap::with_hasher(RandomState::with_seed(0));
        Self { tenants, fragments: Box::default() }
    }

    /// The tenant of this packet, if there is one.
    pub(super) fn tenant_of(&mut self, frame: &mut [u8], meta: Meta) -> Option<usize> {
        if self.tenants.is_empty() {
            return None;
        }
        let flow = self.fragments.five_tuple(&Packet::new(frame, meta)).ok()?;
        let end = servers_end(meta.port == Port::INSIDE);
        self.tenants.get(&flow.endpoint(end)).copied()
    }

    /// The tenant of this address.
    pub(super) fn owner(&self, endpoint: &Endpoint) -> Option<usize> {
        self.tenants.get(endpoint).copied()
    }

    /// From now on packets for these addresses are this tenant's.
    pub(super) fn enter(&mut self, endpoints: &[Endpoint], tenant: usize) {
        self.tenants.extend(endpoints.iter().map(|endpoint| (*endpoint, tenant)));
    }

    /// Packets of this tenant pass by again.
    pub(super) fn strike(&mut self, tenant: usize) {
        self.tenants.retain(|_, its| *its != tenant);
    }
}
