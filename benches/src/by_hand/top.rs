//! The sixteen flows with the most bytes, unsorted until a report.
//!
//! A listed flow knows its place, so its increment is one comparison. Only an unlisted flow above
//! the minimum needs a search, and only a change of the minimum needs a search for the next one.
//! Equal values are ordered by key, as in `cora_core::state::commutative::TopK`.

use super::tuple::Ends;

const MOST: usize = 16;
/// Place of a flow that is not listed.
pub(super) const NO_PLACE: u8 = u8::MAX;

#[derive(Debug)]
pub(super) struct Top {
    /// 0 in an empty place.
    bytes: [u64; MOST],
    flows: [Ends; MOST],
    /// The place of the minimum.
    least: usize,
}

impl Top {
    pub(super) fn new() -> Self {
        Self { bytes: [0; MOST], flows: [Ends::default(); MOST], least: 0 }
    }

    /// Raises a flow to its new bytes; `place` is its stored place.
    #[inline(always)]
    pub(super) fn raise(&mut self, flow: &Ends, bytes: u64, place: &mut u8) {
        let at = usize::from(*place);
        if at < MOST && self.flows[at] == *flow {
            self.raise_at(at, bytes);
        } else if self.is_above(bytes, flow, self.least) {
            *place = self.enter(flow, bytes);
        }
    }

    /// Raises a listed flow. It never sinks, though the count of an idle flow starts anew.
    #[inline]
    fn raise_at(&mut self, at: usize, bytes: u64) {
        if bytes > self.bytes[at] {
            self.bytes[at] = bytes;
            if at == self.least {
                self.find_least();
            }
        }
    }

    /// Gives a place to a flow above the minimum.
    #[inline(never)]
    fn enter(&mut self, flow: &Ends, bytes: u64) -> u8 {
        let listed = self.flows.iter().position(|listed| listed == flow);
        let at = listed.unwrap_or(self.least);
        if listed.is_some() {
            self.raise_at(at, bytes);
        } else {
            (self.bytes[at], self.flows[at]) = (bytes, *flow);
            self.find_least();
        }
        at as u8
    }

    fn find_least(&mut self) {
        for at in 0..MOST {
            if self.is_above(self.bytes[self.least], &self.flows[self.least], at) {
                self.least = at;
            }
        }
    }

    #[inline(always)]
    fn is_above(&self, bytes: u64, flow: &Ends, at: usize) -> bool {
        let other = self.bytes[at];
        bytes > other || bytes == other && words(flow) < words(&self.flows[at])
    }

    /// Returns the flows and their bytes, in descending order.
    #[cfg(test)]
    pub(super) fn in_order(&self) -> Vec<(u64, Ends)> {
        let mut all: Vec<_> = self.bytes.into_iter().zip(self.flows).collect();
        all.retain(|(bytes, _)| *bytes > 0);
        all.sort_by_key(|(bytes, flow)| (std::cmp::Reverse(*bytes), words(flow)));
        all
    }
}

/// Returns the sort key of flows with equal bytes: addresses in the order of their octets, then
/// protocol and ports.
fn words(flow: &Ends) -> [u64; 5] {
    let Ends { source, destination, from, to, protocol } = *flow;
    let [a, b] = source.map(u64::swap_bytes);
    let [c, d] = destination.map(u64::swap_bytes);
    [a, b, c, d, u64::from(protocol) << 32 | u64::from(from) << 16 | u64::from(to)]
}

#[cfg(test)]
mod tests {
    use cora_core::key::{Address, FiveTuple};
    use cora_core::state::commutative::{Replica as _, TopK};

    use super::super::tuple::mapped;
    use super::*;

    #[test]
    fn keeps_what_the_example_keeps() {
        let (mut top, mut model) = (Top::new(), TopK::<FiveTuple, 16>::EMPTY);
        let mut flows = [(0, NO_PLACE); 64];
        for draw in 0..5_000_u64 {
            let number = crate::keys::mix(draw) as usize % flows.len();
            let octets = [10, 0, number as u8 % 7, number as u8];
            let (bytes, place) = &mut flows[number];
            // Now and then a flow begins anew, and has lost its place.
            (*bytes, *place) = if draw % 97 == 0 { (60, NO_PLACE) } else { (*bytes + 60, *place) };
            let (source, from) = (mapped(u32::from_ne_bytes(octets)), 9);
            top.raise(&Ends { source, from, ..Ends::default() }, *bytes, place);
            let key = FiveTuple {
                source: Address::v4(octets),
                destination: Address::v6([0; 16]),
                source_port: 9,
                ..FiveTuple::default()
            };
            model.raise(key, *bytes);
            model.begin(false);
            let kept: Vec<_> =
                top.in_order().iter().map(|(bytes, flow)| (words(flow), *bytes)).collect();
            let expected: Vec<_> = model
                .iter()
                .map(|(key, bytes)| (cora_core::key::Key::words(&key), bytes))
                .collect();
            assert_eq!(kept, expected);
        }
    }
}
