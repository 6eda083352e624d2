//! Which pair of NIC core and host worker a packet goes to.
//!
//! A program runs on several pairs by running on each of them alone: no pair sees another's states,
//! rings or memory. That gives the result of one pair if all packets that can reach the same entry
//! meet at the same pair. So packets are steered by their group key, as ownership is, and both
//! directions of a flow alike.
//!
//! A NIC does the same with receive-side scaling. Which hash it takes makes no difference to
//! results, as long as it is one of the group key; here it is the [hash of flows](cora_core::hash),
//! keyed apart from the tables': if both were one, each pair's table would get the keys of one
//! stretch of the hash.

use cora_core::hash::FlowHasher;
use cora_core::key::Key;
use cora_core::packet::Headers;

/// What keys the steering apart from everything else that hashes with the run's seed.
const APART: u64 = 0x7374_6565_7269_6e67;

/// Steers packets to pairs.
#[derive(Clone, Copy, Debug)]
pub struct Steering {
    hasher: FlowHasher,
    pairs: u32,
}

impl Steering {
    /// Steers to so many pairs, counted from 0. The run's seed keeps it secret from the network who
    /// meets whom: nobody outside can choose flows that all go to one pair.
    #[must_use]
    pub const fn new(seed: u64, pairs: u32) -> Self {
        Self { hasher: FlowHasher::new(seed ^ APART), pairs }
    }

    /// The pair that this packet goes to, in a program whose group key is a `K`. Packets without
    /// one reach no entry by it: they go to the first pair, in their order.
    #[inline]
    pub fn of_packet<K: Key>(&self, packet: &Headers<'_>) -> u32 {
        K::of(packet).map_or(0, |key| self.of_key(&key))
    }

    /// The pair that packets with this group key go to, and those that answer them.
    #[inline]
    pub fn of_key<K: Key>(&self, key: &K) -> u32 {
        // Multiplied and shifted: as even as the hash is, and nothing is divided.
        let scaled = u128::from(key.hash(&self.hasher, true)) * u128::from(self.pairs);
        (scaled >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use cora_core::key::{Address, FiveTuple, InsideAddress, SourceAddress, protocol};
    use cora_core::packet::{Meta, Packet};

    use super::*;

    /// Clients of one network at one server, as a hash that is none would see them: all alike.
    fn flow(number: u32) -> FiveTuple {
        let [.., high, low] = number.to_be_bytes();
        FiveTuple {
            source: Address::v4([10, 0, high, low]),
            destination: Address::v4([192, 0, 2, 80]),
            source_port: (number >> 8) as u16,
            destination_port: 443,
            protocol: protocol::TCP,
        }
    }

    #[test]
    fn both_directions_meet() {
        for pairs in 1..=9 {
            let steering = Steering::new(7, pairs);
            for number in 0..500 {
                let flow = flow(number);
                let pair = steering.of_key(&flow);
                assert!(pair < pairs);
                assert_eq!(steering.of_key(&flow.reversed()), pair);
            }
        }
    }

    #[test]
    fn golden_values() {
        let steering = Steering::new(1, 8);
        let pairs: Vec<u32> = (0..16).map(|number| steering.of_key(&flow(number))).collect();
        assert_eq!(pairs, [2, 3, 2, 0, 0, 4, 1, 3, 0, 5, 0, 2, 7, 7, 1, 1]);
        assert_eq!(Steering::new(1, 1).of_key(&flow(3)), 0);
    }

    #[test]
    fn every_pair_gets_its_share() {
        const FLOWS: u32 = if cfg!(miri) { 400 } else { 60_000 };
        for pairs in [2, 3, 4, 7, 8, 16] {
            for seed in 0..4 {
                let steering = Steering::new(seed, pairs);
                let mut counts = vec![0_u32; pairs as usize];
                for number in 0..FLOWS {
                    counts[steering.of_key(&flow(number)) as usize] += 1;
                }
                let share = f64::from(FLOWS) / f64::from(pairs);
                for count in counts {
                    let off = (f64::from(count) - share).abs();
                    // Five standard deviations of a fair die.
                    assert!(off < 5.0 * share.sqrt(), "{count} of {share} among {pairs}");
                }
            }
        }
    }

    #[test]
    fn coarser_keys_steer_by_less() {
        let steering = Steering::new(3, 16);
        let source = SourceAddress(Address::v4([10, 1, 2, 3]));
        let inside = InsideAddress(source.0);
        // The same words; neither key knows of ports or of the other end.
        assert_eq!(steering.of_key(&source), steering.of_key(&inside));
    }

    #[test]
    fn a_packet_without_a_key_goes_to_the_first_pair() {
        let mut arp = [0_u8; 60];
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        let packet = Packet::new(&mut arp, Meta::default());
        for seed in 0..9 {
            assert_eq!(Steering::new(seed, 16).of_packet::<FiveTuple>(&packet), 0);
        }
    }
}
