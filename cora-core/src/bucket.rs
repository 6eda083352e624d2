//! Buckets: 256 classes of flows, each handled by one shard at a time.
//!
//! A bucket is a function of the packet's headers that a NIC can compute, so rules in hardware can
//! steer by it. Everything that is divided is divided by bucket, never by core or side: so results
//! don't depend on the number of shards.
//!
//! | [`BucketsBy`] | the bucket of a packet | for programs |
//! | --- | --- | --- |
//! | `Group` | the upper bits of a keyed hash of its group key | that derive reply keys |
//! | `Ports` | the same of protocol and both ports | that answer from another address |
//! | `InsidePort`, `OutsidePort` | bits 1 to 8 of the port at that end | that choose ports |
//!
//! Where a port decides, it is that of whoever opens connections. A [service](crate::key::Endpoint)
//! that is offered at that end is opened from the other one, so there the other end's port decides.
//! In hardware, each service is an exact rule per direction.
//!
//! The three kinds of keys that packets share an entry by have the same bucket in both directions.
//! Where a port decides, handlers choose the ports of replies, and may only choose those of the
//! packet's bucket ([`BucketPort`]). ICMP queries have their identifier in place of a port.

use core::fmt;

/// One of 256 classes of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bucket(u8);

impl Bucket {
    /// The number of buckets.
    pub const COUNT: usize = 256;

    /// The bucket with this number.
    #[inline(always)]
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// All buckets, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self)
    }

    /// Its number.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// The bucket of a port or an identifier of ICMP: bits 1 to 8. Bit 0 says little: Linux gives
    /// clients even ports before it gives odd ones.
    #[inline(always)]
    #[must_use]
    pub const fn of_port(port: u16) -> Self {
        Self((port >> 1) as u8)
    }

    /// The bucket of a keyed hash: its upper bits.
    #[inline(always)]
    #[must_use]
    pub const fn of_hash(hash: u64) -> Self {
        Self((hash >> 56) as u8)
    }

    /// The `nth` port of this bucket, counted from the block of 512 ports that `first` is in; each
    /// block has two. `None` beyond port 65535.
    ///
    /// ```
    /// use cora_core::bucket::Bucket;
    ///
    /// let bucket = Bucket::new(3);
    /// let ports = |nth| bucket.port(32_768, nth).map(|port| port.number());
    /// assert_eq!([ports(0), ports(1), ports(2)], [Some(32_774), Some(32_775), Some(33_286)]);
    /// assert_eq!((ports(127), ports(128)), (Some(65_031), None));
    /// ```
    #[inline]
    #[must_use]
    pub fn port(self, first: u16, nth: u16) -> Option<BucketPort> {
        let block = u32::from(first & !0x1ff) + u32::from(nth / 2) * 512;
        let port = block + u32::from(self.0) * 2 + u32::from(nth % 2);
        u16::try_from(port).ok().map(BucketPort)
    }
}

impl Bucket {
    /// Which of the ports that [`port`](Self::port) counts this one is; `None` if it is before
    /// `first`'s block, or of another bucket.
    #[inline]
    #[must_use]
    pub fn nth_of(self, first: u16, port: u16) -> Option<u16> {
        let block = port.checked_sub(first & !0x1ff)? / 512;
        (Self::of_port(port) == self).then_some(block * 2 + port % 2)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BucketSet([u64; Bucket::COUNT / 64]);

impl BucketSet {
    /// No bucket.
    pub const EMPTY: Self = Self([0; Bucket::COUNT / 64]);
    /// Every bucket.
    pub const ALL: Self = Self([u64::MAX; Bucket::COUNT / 64]);
    /// Length in bytes of its encoding.
    pub const BYTES: usize = Bucket::COUNT / 8;

    /// Whether the bucket is in the set.
    #[inline(always)]
    #[must_use]
    pub const fn has(&self, bucket: Bucket) -> bool {
        let number = bucket.number();
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// Adds a bucket.
    #[inline(always)]
    pub const fn add(&mut self, bucket: Bucket) {
        let number = bucket.number();
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Removes a bucket.
    #[inline]
    pub const fn remove(&mut self, bucket: Bucket) {
        let number = bucket.number();
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// Whether no bucket is in the set.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let [a, b, c, d] = self.0;
        a | b | c | d == 0
    }

    /// Number of buckets in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The buckets that are in this set, the other, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(core::array::from_fn(|nth| self.0[nth] | other.0[nth]))
    }

    /// The buckets of this set that are not in the other.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(core::array::from_fn(|nth| self.0[nth] & !other.0[nth]))
    }

    /// Whether the sets have a bucket in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, another)| one & another != 0)
    }

    /// The buckets, in order.
    pub fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        Bucket::all().filter(|bucket| self.has(*bucket))
    }

    /// Its encoding: a bit per bucket, the lowest first.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The set of this encoding: any bytes are one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut set = Self::EMPTY;
        for (word, bytes) in set.0.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        }
        set
    }
}

impl FromIterator<Bucket> for BucketSet {
    fn from_iter<T: IntoIterator<Item = Bucket>>(buckets: T) -> Self {
        let mut set = Self::EMPTY;
        buckets.into_iter().for_each(|bucket| set.add(bucket));
        set
    }
}

/// A port of a bucket, for replies that are to come back to that bucket: see [`Bucket::port`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketPort(u16);

impl BucketPort {
    /// The port's number.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The bucket that it is of.
    #[inline]
    #[must_use]
    pub const fn bucket(self) -> Bucket {
        Bucket::of_port(self.0)
    }
}

/// What decides the bucket of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketsBy {
    /// A keyed hash of the group key.
    Group,
    /// A keyed hash of protocol and ports, the same in both directions.
    Ports,
    /// The port at the inside end.
    InsidePort,
    /// The port at the outside end.
    OutsidePort,
}

impl BucketsBy {
    /// The end of a packet's flow whose port decides, if one does.
    #[inline(always)]
    #[must_use]
    pub const fn end(self, from_inside: bool) -> Option<End> {
        match self {
            Self::Group | Self::Ports => None,
            Self::InsidePort => Some(End::sent(from_inside)),
            Self::OutsidePort => Some(End::sent(!from_inside)),
        }
    }

    /// Whether a port decides, so that handlers may choose ports for replies.
    #[inline(always)]
    #[must_use]
    pub const fn is_port(self) -> bool {
        matches!(self, Self::InsidePort | Self::OutsidePort)
    }
}

/// An end of a packet's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum End {
    /// The end that sent the packet.
    #[default]
    Source,
    /// The end that it is for.
    Destination,
}

impl End {
    /// The sender, or the other end.
    #[inline(always)]
    const fn sent(is_sender: bool) -> Self {
        if is_sender { Self::Source } else { Self::Destination }
    }

    /// The other end.
    #[inline(always)]
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }
}

/// What steering notes on a packet, as a NIC's flow table does: its bucket, and the end of its flow
/// whose port decided that, where one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Mark {
    /// The packet's bucket.
    pub bucket: Bucket,
    /// The end whose port decided; [`End::Source`] where none did.
    pub end: End,
}

impl Mark {
    /// Before a packet was steered.
    pub const UNMARKED: Self = Self { bucket: Bucket::new(0), end: End::Source };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_all_buckets_are_all_ports() {
        let mut seen = std::vec![false; 65_536];
        for bucket in Bucket::all() {
            for port in (0..).map_while(|nth| bucket.port(1_024, nth)) {
                assert_eq!(port.bucket(), bucket);
                let nth = bucket.nth_of(1_024, port.number()).unwrap();
                assert_eq!(bucket.port(1_024, nth), Some(port));
                assert_eq!(bucket.nth_of(1_024, port.number() ^ 2), None);
                assert!(!core::mem::replace(&mut seen[usize::from(port.number())], true));
            }
        }
        assert_eq!(Bucket::new(0).nth_of(1_024, 1), None, "before the first");
        assert!(seen.iter().enumerate().all(|(port, seen)| *seen == (port >= 1_024)));
    }

    #[test]
    fn sets_of_buckets() {
        let numbers = [0, 63, 64, 255];
        let mut set: BucketSet = numbers.into_iter().map(Bucket::new).collect();
        assert!(set.iter().map(Bucket::number).eq(numbers.map(usize::from)));
        assert_eq!(BucketSet::from_bytes(&set.to_bytes()), set);
        assert_eq!((set.len(), BucketSet::ALL.without(set).len()), (4, 252));
        assert_eq!(BucketSet::ALL.without(set).or(set), BucketSet::ALL);
        assert!(set.meets(&BucketSet::ALL) && !set.meets(&BucketSet::ALL.without(set)));
        for number in numbers {
            set.remove(Bucket::new(number));
        }
        assert!(set.is_empty() && set == BucketSet::EMPTY);
    }

    #[test]
    fn an_end_is_told_by_the_port_of_arrival() {
        use BucketsBy::{Group, InsidePort, OutsidePort, Ports};
        use End::{Destination, Source};
        for (by, from_inside, end) in [
            (InsidePort, true, Some(Source)),
            (InsidePort, false, Some(Destination)),
            (OutsidePort, true, Some(Destination)),
            (OutsidePort, false, Some(Source)),
            (Group, true, None),
            (Ports, false, None),
        ] {
            assert_eq!(by.end(from_inside), end, "{by:?}");
        }
    }
}
