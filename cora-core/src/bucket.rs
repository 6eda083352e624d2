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
