//! Which flows of messages are of this shard, where there are several.
//!
//! A datagram is steered to the shard that has the bucket of its message's key. A handler may send
//! to any flow: a message for one of another shard leaves as a frame at the port
//! [`ELSEWHERE`](cora_core::message::ELSEWHERE), and the wire's end passes it on to the shard that
//! has its bucket, in front of later datagrams. There it is an arrival like any other.

use cora_core::app::App;
use cora_core::bucket::{Bucket, BucketSet};
use cora_core::hash::FlowHasher;
use cora_core::key::{Key as _, PacketKey as _};
use cora_core::packet::Packet;

use crate::steering::{Deal, Steering};

/// The buckets of this shard.
#[derive(Debug)]
pub(crate) struct Home {
    own: BucketSet,
    hasher: FlowHasher,
    /// There are other shards.
    has_others: bool,
}

impl Home {
    /// There is one shard alone.
    pub(crate) const ALL: Self =
        Self { own: BucketSet::ALL, hasher: FlowHasher::new(0), has_others: false };

    /// The shard with this number, of so many, in the run with this seed. `None`: there is none.
    pub(crate) fn of((number, of): (u16, u16), seed: u64) -> Option<Self> {
        if number >= of || usize::from(of) > Bucket::COUNT {
            return None;
        }
        let own = Deal::even(of).buckets_of(number.into());
        Some(Self { own, hasher: Steering::hasher(seed), has_others: of > 1 })
    }

    /// Whether a message is handled here. One without a key is handled where it was sent.
    #[inline(always)]
    pub(crate) fn has<A: App>(&self, packet: &Packet<'_>) -> bool {
        !self.has_others || self.is_own::<A>(packet)
    }

    #[inline(never)]
    fn is_own<A: App>(&self, packet: &Packet<'_>) -> bool {
        if A::is_anywhere(packet) {
            return true;
        }
        A::Group::of_packet(packet)
            .is_ok_and(|key| self.own.has(Bucket::of_hash(key.hash(&self.hasher, true))))
    }
}
