//! The flow that a parsed packet carries with it, as the words that keys are hashed and compared by: so each is
//! written once and read once, whole. (Ports written one by one and read together make the processor wait.)

use super::flow::End;
use crate::hash::FlowHasher;
use crate::key::{Address, FiveTuple, Key as _};

/// Where the destination's port stands in the last word; the source's is above it.
const PORT: u64 = 0xffff;

/// The words of a [`FiveTuple`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// In this order, what is zero of all flows of IPv4 is written at once.
#[repr(C)]
pub(crate) struct Carried {
    /// Of source and destination, the upper half.
    high: [u64; 2],
    /// Likewise, the lower half.
    low: [u64; 2],
    last: u64,
}

impl From<FiveTuple> for Carried {
    #[inline(always)]
    fn from(flow: FiveTuple) -> Self {
        let [a, b, c, d, last] = flow.words();
        Self { high: [a, c], low: [b, d], last }
    }
}

impl Carried {
    /// Before the packet is parsed: what all flows of IPv4 have in common.
    pub(super) const UNPARSED: Self = Self { high: [0; 2], low: [0; 2], last: 0 };

    /// Of a flow of IPv4 in a packet that was not parsed before, the rest.
    #[inline(always)]
    pub(super) const fn complete(&mut self, flow: &Self) {
        (self.low, self.last) = (flow.low, flow.last);
    }

    /// The flow of a protocol with these ports, the source's in the upper half.
    #[inline(always)]
    pub(super) const fn new(
        source: Address,
        destination: Address,
        ports: u32,
        protocol: u8,
    ) -> Self {
        let ([a, b], [c, d]) = (source.halves(), destination.halves());
        Self { high: [a, c], low: [b, d], last: (protocol as u64) << 32 | ports as u64 }
    }

    /// The flow.
    #[inline(always)]
    pub(super) const fn flow(&self) -> FiveTuple {
        let Self { high: [a, c], low: [b, d], last } = *self;
        FiveTuple::of_words(&[a, b, c, d, last])
    }

    /// The flow's [hash](crate::key::Key::hash). One copy for all that is no plain packet: insertion, expiry, what travels.
    #[inline(never)]
    pub(crate) fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        let flow = self.flow();
        if flow.source.is_v4() & flow.destination.is_v4() {
            return self.hash_v4(hasher, undirected);
        }
        core::hint::cold_path();
        hasher.hash(&if undirected { flow.undirected() } else { flow.words() })
    }

    /// Likewise, where it is known to be a flow of IPv4: of two words that tell all of it.
    #[inline(always)]
    pub(super) const fn hash_v4(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        let [source, destination] = [self.low[0] << 32, self.low[1] << 32];
        if !undirected {
            return hasher.hash_pair([source | destination >> 32, self.last]);
        }
        // The two ends, the lesser one first.
        let (source, destination) =
            (source | self.last >> 16 & PORT, destination | self.last & PORT);
        let (first, second) =
            if source <= destination { (source, destination) } else { (destination, source) };
        hasher.hash_pair([first | self.last >> 32 << 16, second])
    }

    /// Notes another address at one end.
    #[inline(always)]
    pub(super) const fn set_address(&mut self, end: End, address: Address) {
        let [high, low] = address.halves();
        let at = end as usize;
        (self.high[at], self.low[at]) = (high, low);
    }

    /// Notes another port at one end.
    #[inline(always)]
    pub(super) const fn set_port(&mut self, end: End, port: u16) {
        let shift = match end {
            End::Source => 16,
            End::Destination => 0,
        };
        self.last = self.last & !(PORT << shift) | (port as u64) << shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_flow_throughout(
            source: [u8; 16],
            destination: [u8; 4],
            ports: [u16; 2],
            protocol: u8,
            new: [u8; 16],
            port: u16,
        ) {
            let (source, destination) = (Address::v6(source), Address::v4(destination));
            let both = u32::from(ports[0]) << 16 | u32::from(ports[1]);
            let mut carried = Carried::new(source, destination, both, protocol);
            let [source_port, destination_port] = ports;
            let mut flow = FiveTuple { source, destination, source_port, destination_port, protocol };
            prop_assert_eq!(carried, Carried::from(flow));
            prop_assert_eq!(carried.flow(), flow);
            carried.set_address(End::Source, Address::v6(new));
            carried.set_port(End::Source, port);
            (flow.source, flow.source_port) = (Address::v6(new), port);
            prop_assert_eq!(carried.flow(), flow);
            carried.set_address(End::Destination, Address::v6(new));
            carried.set_port(End::Destination, port);
            (flow.destination, flow.destination_port) = (Address::v6(new), port);
            prop_assert_eq!(carried.flow(), flow);
        }
    }
}
