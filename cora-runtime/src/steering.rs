//! Steering: the choice of the pair of NIC core and host worker for a packet.
//!
//! A program on several pairs runs on each of them alone: no pair sees another's states, rings or
//! memory. The result equals that of one pair if all packets that can reach an entry meet at the
//! same pair. So packets are steered by group key, like ownership, and both directions of a flow
//! alike.
//!
//! A NIC does the same with receive-side scaling. Any hash of the group key gives the same results.
//! Here it is the [hash of flows](cora_core::hash), with another key than the tables': with the
//! same key, each pair's table would get the keys of one range of the hash.

use cora_core::hash::FlowHasher;
use cora_core::key::{Key, PacketKey};
use cora_core::packet::Packet;

/// Makes the steering's hash differ from all others that use the run's seed.
const APART: u64 = 0x7374_6565_7269_6e67;

/// Steers packets to pairs.
#[derive(Clone, Copy, Debug)]
pub struct Steering {
    hasher: FlowHasher,
    pairs: u32,
}

impl Steering {
    /// Steers to `pairs` pairs, counted from 0. The run's seed is secret from the network, so
    /// nobody outside can choose flows that all go to one pair.
    #[must_use]
    pub const fn new(seed: u64, pairs: u32) -> Self {
        Self { hasher: FlowHasher::new(seed ^ APART), pairs }
    }

    /// The pair for this packet, in a program with group key `K`. Packets without a key reach no
    /// entry by it: they go to the first pair, in order of arrival.
    #[inline]
    pub fn of_packet<K: PacketKey>(&self, packet: &Packet<'_>) -> u32 {
        K::of_packet(packet).map_or(0, |key| self.of_key(&key))
    }

    /// The pair for packets with this group key, and for their replies.
    #[inline]
    pub fn of_key<K: Key>(&self, key: &K) -> u32 {
        // Multiply and shift: as even as the hash is, without a division.
        let scaled = u128::from(key.hash(&self.hasher, true)) * u128::from(self.pairs);
        (scaled >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use cora_core::key::{Address, FiveTuple, InsideAddress, SourceAddress, protocol};
    use cora_core::packet::{Meta, Packet};

    use super::*;

    /// Clients of one network at one server: keys that a weak hash would not tell apart.
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
                    // Five standard deviations of a uniform distribution.
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
        // Both keys have the same words: neither has ports or the other end.
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
