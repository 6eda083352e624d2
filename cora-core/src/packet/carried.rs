//! The flow of a parsed packet that is not on the [fast path](super::fast_path::FastFrame), as the
//! words that keys are hashed and compared by. Each word is written once and read once, whole: two
//! ports written separately and read together stall on store forwarding.

use super::fast_path;
use super::flow::End;
use crate::hash::FlowHasher;
use crate::key::{Address, FiveTuple, Key as _};

/// Mask of the destination port in the last word; the source port is above it.
pub(super) const PORT: u64 = 0xffff;

/// The words of a [`FiveTuple`], deliberately in another order. In the same order the compiler
/// merges these reads with the fast path's, at up to five more instructions per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The upper halves of source and destination.
    high: [u64; 2],
    /// The lower halves of source and destination.
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
    /// The words in canonical order.
    #[inline(always)]
    pub(super) const fn words(&self) -> [u64; 5] {
        let Self { high: [a, c], low: [b, d], last } = *self;
        [a, b, c, d, last]
    }

    /// The flow.
    #[inline(always)]
    pub(super) const fn flow(&self) -> FiveTuple {
        FiveTuple::of_words(&self.words())
    }

    /// The flow's [hash](crate::key::Key::hash). One copy of the code serves everything except
    /// the fast path: insertion, expiry, transfer.
    #[inline(never)]
    pub(crate) fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        let flow = self.flow();
        if flow.source.is_v4() & flow.destination.is_v4() {
            let addresses = self.low[0] << 32 | self.low[1] & u64::from(u32::MAX);
            return fast_path::hash(addresses, self.last, hasher, undirected);
        }
        self.hash_words(hasher, undirected)
    }

    /// The flow's hash if at least one end is known not to be IPv4.
    #[inline(always)]
    pub(super) fn hash_words(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        hasher.hash(&if undirected { self.flow().undirected() } else { self.words() })
    }

    /// Replaces the address of one end.
    #[inline(always)]
    pub(super) const fn set_address(&mut self, end: End, address: Address) {
        let [high, low] = address.halves();
        let at = end as usize;
        (self.high[at], self.low[at]) = (high, low);
    }

    /// Replaces the port of one end.
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
            let [source_port, destination_port] = ports;
            let mut flow = FiveTuple { source, destination, source_port, destination_port, protocol };
            let mut carried = Carried::from(flow);
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
