//! Steering: the bucket of a packet, and the shard that has the bucket.
//!
//! A shard is a pair of NIC core and host worker. A program on several shards runs on each of them
//! alone: no shard sees another's states, rings or memory. The result equals that of one shard if
//! all packets that can reach an entry meet at the same shard. So packets are steered by
//! [bucket](cora_core::bucket), both directions of a flow alike, and each bucket is at one shard.
//!
//! A NIC does the same with its flow table or with receive-side scaling. Where a hash decides, any
//! hash gives the same results. Here it is the [hash of flows](cora_core::hash), with another key
//! than the tables': with the same key, each shard's table would get the keys of one range of the
//! hash.

use cora_core::app::App;
use cora_core::bucket::{Bucket, BucketSet, BucketsBy, Mark};
use cora_core::hash::FlowHasher;
use cora_core::key::{Endpoint, FiveTuple, Key, PacketKey};
use cora_core::packet::{Meta, Packet};

use crate::link::message::Stamp;

/// Makes the steering's hash differ from all others that use the run's seed.
const APART: u64 = 0x7374_6565_7269_6e67;

/// Steers packets to shards.
#[derive(Clone, Copy, Debug)]
pub struct Steering {
    hasher: FlowHasher,
    shards: u32,
}

impl Steering {
    /// Steers to `shards` shards, counted from 0; at most as many as there are buckets. The run's
    /// seed is secret from the network, so nobody outside can choose flows that all hash to one
    /// shard.
    #[must_use]
    pub const fn new(seed: u64, shards: u32) -> Self {
        Self { hasher: FlowHasher::new(seed ^ APART), shards }
    }

    /// The mark of this packet; `is_service` says where connections are opened from the other end.
    /// Packets without a key reach no entry by it: they are of the first bucket, in order of
    /// arrival.
    #[inline]
    pub fn mark<A: App>(
        &self,
        packet: &Packet<'_>,
        is_service: impl FnOnce(&Endpoint) -> bool,
    ) -> Mark {
        let of_hash = |hash| Mark { bucket: Bucket::of_hash(hash), ..Mark::UNMARKED };
        if let Some(end) = A::BUCKETS_BY.end(packet.from_inside()) {
            return packet.flow().map_or(Mark::UNMARKED, |flow| {
                let opened_there = is_service(&flow.endpoint(end));
                flow.mark(if opened_there { end.opposite() } else { end })
            });
        }
        let hash = if A::BUCKETS_BY == BucketsBy::Ports {
            packet.flow().map(|flow| self.hash_of_ports(&flow))
        } else {
            A::Group::of_packet(packet).map(|key| self.hash_of_key(&key))
        };
        hash.map_or(Mark::UNMARKED, of_hash)
    }

    /// The shard for this frame, and its stamp with the packet's mark.
    #[inline]
    pub fn steer<A: App>(
        &self,
        stamp: Stamp,
        frame: &mut [u8],
        is_service: impl FnOnce(&Endpoint) -> bool,
    ) -> (usize, Stamp) {
        let mark = self.mark::<A>(&Packet::new(frame, stamp.meta), is_service);
        let meta = Meta { mark, ..stamp.meta };
        (self.shard_of(mark.bucket) as usize, Stamp { meta, ..stamp })
    }

    /// The shard that has this bucket: each has as many, or one more than others.
    #[inline]
    #[must_use]
    pub const fn shard_of(&self, bucket: Bucket) -> u32 {
        // Multiply and shift: without a division.
        (bucket.number() as u32 * self.shards) >> 8
    }

    /// The buckets of this one of so many shards.
    #[must_use]
    pub fn buckets_of(shard: u32, shards: u32) -> BucketSet {
        let steering = Self::new(0, shards);
        Bucket::all().filter(|bucket| steering.shard_of(*bucket) == shard).collect()
    }

    /// The hash of packets with this group key, and of their replies.
    #[inline]
    fn hash_of_key<K: Key>(&self, key: &K) -> u64 {
        key.hash(&self.hasher, true)
    }

    /// The hash of packets with these ports, and of their replies.
    #[inline]
    fn hash_of_ports(&self, flow: &FiveTuple) -> u64 {
        let (one, other) = (flow.source_port, flow.destination_port);
        let ports = u64::from(one.min(other)) << 16 | u64::from(one.max(other));
        self.hasher.hash_pair([u64::from(flow.protocol) << 32 | ports, 0])
    }
}

#[cfg(test)]
mod tests {
    use cora_core::key::{Address, InsideAddress, SourceAddress, protocol};

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

    impl Steering {
        fn of_key<K: Key>(&self, key: &K) -> u32 {
            self.shard_of(Bucket::of_hash(self.hash_of_key(key)))
        }
    }

    #[test]
    fn both_directions_meet() {
        for shards in 1..=9 {
            let steering = Steering::new(7, shards);
            for number in 0..500 {
                let flow = flow(number);
                let shard = steering.of_key(&flow);
                assert!(shard < shards);
                assert_eq!(steering.of_key(&flow.reversed()), shard);
                let hash = steering.hash_of_ports(&flow);
                let answer = FiveTuple { source: Address::v4([10; 4]), ..flow.reversed() };
                assert_eq!(steering.hash_of_ports(&answer), hash, "whoever answers");
            }
        }
    }

    #[test]
    fn golden_values() {
        let steering = Steering::new(1, 8);
        let shards: Vec<u32> = (0..16).map(|number| steering.of_key(&flow(number))).collect();
        assert_eq!(shards, [2, 3, 2, 0, 0, 4, 1, 3, 0, 5, 0, 2, 7, 7, 1, 1]);
        assert_eq!(Steering::new(1, 1).of_key(&flow(3)), 0);
    }

    #[test]
    fn every_shard_has_its_share_of_buckets() {
        for shards in 1..=64 {
            let steering = Steering::new(0, shards);
            let mut counts = vec![0_u32; shards as usize];
            Bucket::all().for_each(|bucket| counts[steering.shard_of(bucket) as usize] += 1);
            let least = 256 / shards;
            assert!(counts.iter().all(|count| (least..=least + 1).contains(count)), "{shards}");
        }
    }

    #[test]
    fn every_bucket_gets_its_share() {
        const FLOWS: u32 = if cfg!(miri) { 4_000 } else { 600_000 };
        for seed in 0..4 {
            let steering = Steering::new(seed, 1);
            let mut counts = vec![0_u32; Bucket::COUNT];
            for number in 0..FLOWS {
                let hash = steering.hash_of_key(&flow(number));
                counts[Bucket::of_hash(hash).number()] += 1;
            }
            let share = f64::from(FLOWS) / 256.0;
            for count in counts {
                let off = (f64::from(count) - share).abs();
                // Five standard deviations of a uniform distribution.
                assert!(off < 5.0 * share.sqrt(), "{count} of {share}");
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
}
