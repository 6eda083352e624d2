//! A flow in its bucket: the key of ownership where ports decide buckets.

use core::any::{Any, TypeId};
use core::fmt;

use super::{FiveTuple, HeaderKey, Key, PackedFiveTuple};
use crate::bucket::Bucket;
use crate::hash::FlowHasher;
use crate::packet::Headers;
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;

/// A five-tuple, and the bucket of the packets that carry it.
///
/// Where the port at one end decides the bucket, packets with the same five-tuple may be of two
/// buckets: one from inside, and another from outside with a forged source. They belong to two
/// flows, which two shards may own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InBucket {
    /// The bucket.
    pub bucket: Bucket,
    /// The five-tuple.
    pub flow: FiveTuple,
}

impl InBucket {
    /// The words of a key's entry in this bucket: the last word of a five-tuple has 24 bits to
    /// spare.
    #[inline(always)]
    #[must_use]
    pub const fn words_of([first, second, third, fourth, last]: [u64; 5], of: Bucket) -> [u64; 5] {
        [first, second, third, fourth, last | 1 << 48 | (of.number() as u64) << 40]
    }
}

impl fmt::Debug for InBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in bucket {}", self.flow, self.bucket)
    }
}

impl Plain for InBucket {
    const SIZE: usize = FiveTuple::SIZE + Bucket::SIZE;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.flow.put(out);
        self.bucket.put(out.get_mut(FiveTuple::SIZE..).unwrap_or_default());
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        let bucket = Bucket::get(bytes.get(FiveTuple::SIZE..)?)?;
        Some(Self { bucket, flow: FiveTuple::get(bytes)? })
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("bucket");
        self.bucket.describe(to);
        to.field("flow");
        self.flow.describe(to);
        to.close();
    }
}

/// An [`InBucket`] in 38 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed)]
pub struct PackedInBucket {
    flow: PackedFiveTuple,
    bucket: Bucket,
}

impl Key for InBucket {
    type Packed = PackedInBucket;

    #[inline(always)]
    fn pack(&self) -> PackedInBucket {
        PackedInBucket { flow: Key::pack(&self.flow), bucket: self.bucket }
    }

    #[inline(always)]
    fn unpack(packed: &PackedInBucket) -> Self {
        Self { bucket: packed.bucket, flow: Key::unpack(&{ packed.flow }) }
    }

    #[inline]
    fn reply(&self) -> Option<Self> {
        Some(Self { flow: self.flow.reversed(), ..*self })
    }

    #[inline(always)]
    fn in_table(&self) -> (&dyn Any, Option<Bucket>) {
        (&self.flow, Some(self.bucket))
    }

    #[inline(always)]
    fn type_in_table() -> TypeId {
        TypeId::of::<FiveTuple>()
    }

    #[inline]
    fn undirected(&self) -> [u64; 5] {
        Self::words_of(self.flow.undirected(), self.bucket)
    }

    #[inline]
    fn words(&self) -> [u64; 5] {
        Self::words_of(Key::words(&self.flow), self.bucket)
    }

    /// That of the five-tuple: hardly any is of two buckets.
    #[inline(always)]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        Key::hash(&self.flow, hasher, undirected)
    }
}

impl HeaderKey for InBucket {
    #[inline(always)]
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        Ok(Self { bucket: packet.meta().mark.bucket, flow: packet.flow()? })
    }

    #[inline(always)]
    fn hash_of(packet: &Headers<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        FiveTuple::hash_of(packet, hasher, undirected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Address;

    const FLOW: FiveTuple = FiveTuple {
        source: Address::v4([10, 0, 0, 1]),
        destination: Address::v4([192, 0, 2, 80]),
        source_port: u16::MAX,
        destination_port: u16::MAX,
        protocol: u8::MAX,
    };

    #[test]
    fn two_buckets_have_two_keys() {
        let [one, two] = [0, 255].map(|it| InBucket { bucket: Bucket::new(it), flow: FLOW });
        assert_ne!(one.words(), two.words());
        assert_ne!(one.words(), Key::words(&FLOW), "nor is bucket 0 no bucket");
        assert_eq!(Key::reply(&one).and_then(|it| Key::reply(&it)), Some(one));
        let hasher = FlowHasher::new(7);
        assert_eq!(Key::hash(&one, &hasher, true), Key::hash(&two, &hasher, true));
        for key in [one, two] {
            let mut bytes = [0; InBucket::SIZE];
            key.put(&mut bytes);
            assert_eq!(InBucket::get(&bytes), Some(key));
            assert_eq!(InBucket::get(&bytes[1..]), None);
            assert_eq!(InBucket::unpack(&key.pack()), key);
            assert_eq!(FiveTuple::of_words(&key.words()), FLOW);
        }
    }

    #[test]
    fn both_directions_are_of_one_bucket() {
        use crate::bucket::End;
        let (mark, back) = (FLOW.mark(End::Source), FLOW.reversed().mark(End::Destination));
        assert_eq!(mark.bucket, back.bucket);
        let key = InBucket { bucket: mark.bucket, flow: FLOW };
        let reply = InBucket { bucket: back.bucket, flow: FLOW.reversed() };
        assert_eq!(Key::reply(&key), Some(reply));
        assert_eq!(key.undirected(), reply.undirected());
    }
}
