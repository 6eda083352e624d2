//! Counts of each way, per type of key and number of packets of the flow.

use std::collections::{BTreeMap, HashMap};

use ahash::RandomState;
use cora_core::key::{DestinationAddress, FiveTuple, InsideAddress, PacketKey, SourceAddress};
use cora_core::packet::Packet;

/// A way, by its number, and packets that took it.
pub(super) type Count = (u32, u64);

/// Counts by the flow's number of packets in all.
pub(super) type BySize = BTreeMap<u64, Vec<Count>>;

/// Values by type of key.
pub(super) type ByKey<T> = BTreeMap<&'static str, T>;

/// Types of keys that define classes of flows.
const KEYS: [&str; 4] = ["FiveTuple", "SourceAddress", "DestinationAddress", "InsideAddress"];

/// The keys of a packet's flow, in the order of [`KEYS`]: both directions have the same.
pub(super) type Keys = [Option<[u64; 5]>; KEYS.len()];

/// Per type of key, the ways of each flow's packets.
pub(super) struct Flows {
    by_key: [Kind; KEYS.len()],
}

struct Kind {
    numbers: HashMap<[u64; 5], usize, RandomState>,
    /// Per flow: `[way, packets]`.
    flows: Vec<Vec<Count>>,
    keyless: Vec<Count>,
}

impl Kind {
    fn new() -> Self {
        // The numbers do not depend on the seeds.
        let numbers = HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
        Self { numbers, flows: Vec::new(), keyless: Vec::new() }
    }
}

impl Flows {
    pub(super) fn of_all_keys() -> Self {
        Self { by_key: std::array::from_fn(|_| Kind::new()) }
    }

    pub(super) fn count(&mut self, keys: Keys, way: u32) {
        for (kind, key) in self.by_key.iter_mut().zip(keys) {
            let counts = match key {
                None => &mut kind.keyless,
                Some(key) => {
                    let next = kind.flows.len();
                    let number = *kind.numbers.entry(key).or_insert(next);
                    if number == next {
                        kind.flows.push(Vec::new());
                    }
                    &mut kind.flows[number]
                }
            };
            add(counts, way, 1);
        }
    }

    /// Returns, by type of key, the packets of each way: per number of packets of the flow, and
    /// without such a key.
    pub(super) fn tell(&self) -> (ByKey<BySize>, ByKey<Vec<Count>>) {
        let mut by_size = ByKey::new();
        let mut keyless = ByKey::new();
        for (name, kind) in KEYS.into_iter().zip(&self.by_key) {
            let sizes: &mut BySize = by_size.entry(name).or_default();
            for flow in &kind.flows {
                let packets = flow.iter().map(|(_, packets)| packets).sum();
                let counts = sizes.entry(packets).or_default();
                for (way, packets) in flow {
                    add(counts, *way, *packets);
                }
            }
            for counts in sizes.values_mut() {
                counts.sort_unstable();
            }
            let mut without = kind.keyless.clone();
            without.sort_unstable();
            keyless.insert(name, without);
        }
        (by_size, keyless)
    }
}

/// Returns the keys of the packet's flow.
pub(super) fn keys(packet: &Packet<'_>) -> Keys {
    [
        of::<FiveTuple>(packet),
        of::<SourceAddress>(packet),
        of::<DestinationAddress>(packet),
        of::<InsideAddress>(packet),
    ]
}

fn add(counts: &mut Vec<Count>, way: u32, packets: u64) {
    match counts.iter_mut().find(|(which, _)| *which == way) {
        Some((_, count)) => *count += packets,
        None => counts.push((way, packets)),
    }
}

/// Returns the key of the packet's flow: the lesser of the two directions'.
fn of<K: PacketKey>(packet: &Packet<'_>) -> Option<[u64; 5]> {
    let key = K::of_packet(packet).ok()?;
    let words = key.words();
    Some(key.reply().map_or(words, |reply| words.min(reply.words())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_told_by_the_size_of_their_flow() {
        let mut flows = Flows::of_all_keys();
        let flow = |number| [Some([number, 0, 0, 0, 0]), Some([1, 0, 0, 0, 0]), None, None];
        for (number, way) in [(7, 0), (7, 1), (8, 0), (7, 1), (9, 0)] {
            flows.count(flow(number), way);
        }
        let (by_size, keyless) = flows.tell();
        let tuples = &by_size["FiveTuple"];
        assert_eq!(tuples[&1], [(0, 2)], "two flows of one packet");
        assert_eq!(tuples[&3], [(0, 1), (1, 2)], "one of three");
        assert_eq!(by_size["SourceAddress"][&5], [(0, 3), (1, 2)]);
        assert_eq!(keyless["InsideAddress"], [(0, 3), (1, 2)]);
        assert!(keyless["FiveTuple"].is_empty());
    }
}
