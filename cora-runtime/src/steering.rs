//! Steering: the bucket of a packet, and the shard that has the bucket.
//!
//! A shard is a pair of NIC core and host worker, or one of the two if each side
//! [receives its own buckets](Sides::Dealt). A program on several shards runs on each of them
//! alone: no shard sees another's states, rings or memory. The result equals that of one shard if
//! all packets that can reach an entry meet at the same shard. So packets are steered by
//! [bucket](cora_core::bucket), both directions of a flow alike, and each bucket is
//! [dealt](Deal) to one shard.
//!
//! A NIC does the same with its flow table or with receive-side scaling. Where a hash decides, any
//! hash gives the same results. Here it is the [hash of flows](cora_core::hash), with another key
//! than the tables': with the same key, each shard's table would get the keys of one range of the
//! hash.

use cora_core::app::{App, PlanFacts, Sides};
use cora_core::bucket::{Bucket, BucketSet, BucketsBy, Mark};
use cora_core::hash::FlowHasher;
use cora_core::key::{Endpoint, FiveTuple, Key, PacketKey};
use cora_core::packet::{Meta, Packet};

use crate::link::message::Stamp;

/// Makes the steering's hash differ from all others that use the run's seed.
const APART: u64 = 0x7374_6565_7269_6e67;

/// The shard of each bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal([u8; Bucket::COUNT]);

impl Deal {
    /// Deals to so many shards, counted from 0, at most as many as there are buckets: each has as
    /// many, or one more than others.
    #[must_use]
    pub fn even(shards: u16) -> Self {
        Self(core::array::from_fn(|bucket| nth_of(bucket, shards)))
    }

    /// The deal that a run under this plan begins with, on `number` NIC cores and as many host
    /// workers. Where each side receives its own buckets, the NIC's shards come first. Its buckets
    /// are spread over all numbers, as a sequence of low discrepancy.
    #[must_use]
    pub fn of_plan(plan: &PlanFacts, number: u16) -> Self {
        if plan.sides != Sides::Dealt {
            return Self::even(number);
        }
        Self(core::array::from_fn(|bucket| {
            let is_nics = Self::gives_nic(Bucket::new(bucket as u8), plan.nic_buckets);
            nth_of(bucket, number) + if is_nics { 0 } else { number as u8 }
        }))
    }

    /// All buckets at the host, on `number` NIC cores and as many host workers, where each side
    /// receives its own: a bucket's worker is the one that has it under a plan with pairs.
    #[must_use]
    pub fn of_hosts(number: u16) -> Self {
        Self(core::array::from_fn(|bucket| nth_of(bucket, number) + number as u8))
    }

    /// Whether a run begins with this bucket at the NIC, of `nic_buckets` that are dealt to it.
    #[must_use]
    pub const fn gives_nic(bucket: Bucket, nic_buckets: u16) -> bool {
        ((bucket.number() as u8).reverse_bits() as u16) < nic_buckets
    }

    /// The shard that has this bucket.
    #[inline(always)]
    #[must_use]
    pub const fn shard_of(&self, bucket: Bucket) -> usize {
        self.0[bucket.number()] as usize
    }

    /// Deals a bucket to a shard.
    pub const fn give(&mut self, bucket: Bucket, shard: u8) {
        self.0[bucket.number()] = shard;
    }

    /// The buckets of a shard.
    #[must_use]
    pub fn buckets_of(&self, shard: usize) -> BucketSet {
        Bucket::all().filter(|bucket| self.shard_of(*bucket) == shard).collect()
    }
}

/// The part that this bucket is in, of so many equal ones.
const fn nth_of(bucket: usize, parts: u16) -> u8 {
    (bucket * parts as usize / Bucket::COUNT) as u8
}

/// Marks packets, and steers them to shards.
#[derive(Clone, Copy, Debug)]
pub struct Steering {
    hasher: FlowHasher,
    deal: Deal,
}

impl Steering {
    /// Steers by this deal. The run's seed is secret from the network, so nobody outside can choose
    /// flows that all hash to one shard.
    #[must_use]
    pub const fn new(seed: u64, deal: Deal) -> Self {
        Self { hasher: Self::hasher(seed), deal }
    }

    /// The hash of keys that decides over their buckets, in a run with this seed.
    pub(crate) const fn hasher(seed: u64) -> FlowHasher {
        FlowHasher::new(seed ^ APART)
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
        let marked = |bucket| Mark { bucket, ..Mark::UNMARKED };
        if let Some(end) = A::BUCKETS_BY.end(packet.from_inside()) {
            return packet.flow().map_or(Mark::UNMARKED, |flow| {
                let opened_there = is_service(&flow.endpoint(end));
                flow.mark(if opened_there { end.opposite() } else { end })
            });
        }
        let bucket = if A::BUCKETS_BY == BucketsBy::Ports {
            packet.flow().map(|flow| self.bucket_of_ports(&flow))
        } else {
            let bucket = A::Group::of_packet(packet).map(|key| self.bucket_of(&key));
            match bucket {
                // A message without a key may run at any shard.
                Err(_) if A::MESSAGES => packet.flow().map(|flow| self.bucket_of(&flow)),
                bucket => bucket,
            }
        };
        bucket.map_or(Mark::UNMARKED, marked)
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
        (self.deal.shard_of(mark.bucket), Stamp { meta, ..stamp })
    }

    /// The bucket of packets with this group key, and of their replies, where that decides.
    #[inline]
    #[must_use]
    pub fn bucket_of<K: Key>(&self, key: &K) -> Bucket {
        Bucket::of_hash(key.hash(&self.hasher, true))
    }

    /// The bucket of packets with these ports, and of their replies, where both ports decide.
    #[inline]
    #[must_use]
    pub fn bucket_of_ports(&self, flow: &FiveTuple) -> Bucket {
        let (one, other) = (flow.source_port, flow.destination_port);
        let ports = u64::from(one.min(other)) << 16 | u64::from(one.max(other));
        let words = [u64::from(flow.protocol) << 32 | ports, 0];
        Bucket::of_hash(self.hasher.hash_pair(words))
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
        fn of_key<K: Key>(&self, key: &K) -> usize {
            self.deal.shard_of(self.bucket_of(key))
        }
    }

    #[test]
    fn both_directions_meet() {
        for shards in 1..=9 {
            let steering = Steering::new(7, Deal::even(shards));
            for number in 0..500 {
                let flow = flow(number);
                let shard = steering.of_key(&flow);
                assert!(shard < usize::from(shards));
                assert_eq!(steering.of_key(&flow.reversed()), shard);
                let bucket = steering.bucket_of_ports(&flow);
                let answer = FiveTuple { source: Address::v4([10; 4]), ..flow.reversed() };
                assert_eq!(steering.bucket_of_ports(&answer), bucket, "whoever answers");
            }
        }
    }

    #[test]
    fn golden_values() {
        let steering = Steering::new(1, Deal::even(8));
        let shards: Vec<usize> = (0..16).map(|number| steering.of_key(&flow(number))).collect();
        assert_eq!(shards, [2, 3, 2, 0, 0, 4, 1, 3, 0, 5, 0, 2, 7, 7, 1, 1]);
        assert_eq!(Steering::new(1, Deal::even(1)).of_key(&flow(3)), 0);
    }

    #[test]
    fn every_shard_has_its_share_of_buckets() {
        for shards in 1..=64 {
            let deal = Deal::even(shards);
            let counts = (0..shards).map(|shard| deal.buckets_of(shard.into()).len());
            let least = 256 / usize::from(shards);
            assert!(
                counts.into_iter().all(|count| (least..=least + 1).contains(&count)),
                "{shards}"
            );
        }
    }

    #[test]
    fn each_side_gets_its_buckets() {
        for (nic_buckets, number) in [(0, 1), (1, 1), (128, 2), (192, 3), (255, 1), (256, 4)] {
            let plan = PlanFacts { nic_buckets, ..PlanFacts::by_hand(Sides::Dealt) };
            let deal = Deal::of_plan(&plan, number);
            let of = |shards: core::ops::Range<u16>| -> usize {
                shards.map(|shard| deal.buckets_of(shard.into()).len()).sum()
            };
            let nic_buckets = usize::from(nic_buckets);
            assert_eq!((of(0..number), of(number..2 * number)), (nic_buckets, 256 - nic_buckets));
            let most = (0..number).map(|shard| deal.buckets_of(shard.into()).len()).max();
            assert!(most.unwrap_or(0) <= nic_buckets.div_ceil(number.into()) + 1, "{nic_buckets}");
        }
        let plan = PlanFacts::by_hand(Sides::Split);
        assert_eq!(Deal::of_plan(&plan, 5), Deal::even(5));
        let (pairs, hosts) = (Deal::even(5), Deal::of_hosts(5));
        assert!(Bucket::all().all(|it| hosts.shard_of(it) == 5 + pairs.shard_of(it)));
    }

    #[test]
    fn every_bucket_gets_its_share() {
        const FLOWS: u32 = if cfg!(miri) { 4_000 } else { 600_000 };
        for seed in 0..4 {
            let steering = Steering::new(seed, Deal::even(1));
            let mut counts = vec![0_u32; Bucket::COUNT];
            for number in 0..FLOWS {
                counts[steering.bucket_of(&flow(number)).number()] += 1;
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
        let steering = Steering::new(3, Deal::even(16));
        let source = SourceAddress(Address::v4([10, 1, 2, 3]));
        let inside = InsideAddress(source.0);
        // Both keys have the same words: neither has ports or the other end.
        assert_eq!(steering.of_key(&source), steering.of_key(&inside));
    }
}
