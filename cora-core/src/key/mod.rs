//! Keys of keyed states. They also decide which packets belong together. This module has the keys
//! that are one address; [`Address`] is in `address`, the default key [`FiveTuple`] in
//! `five_tuple`, the pair of Ethernet addresses in `mac_pair`.

mod address;
mod five_tuple;
mod mac_pair;

use core::fmt;

pub use address::Address;
pub use five_tuple::{FiveTuple, PackedFiveTuple};
pub use mac_pair::MacPair;

use crate::hash::FlowHasher;
use crate::packet::Headers;
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;

/// A key that a packet carries.
///
/// Every key has one canonical form of five words, so ownership, hashes and the other side are
/// independent of its type.
pub trait Key: Plain + Eq + fmt::Debug {
    /// The key without padding, as entries store it: fewer bytes let more entries fit a cache line.
    type Packed: Copy + fmt::Debug + Send + 'static;

    /// Packs the key.
    fn pack(&self) -> Self::Packed;

    /// Restores a packed key.
    fn unpack(packed: &Self::Packed) -> Self;

    /// The key of this packet, or why it has none.
    fn of(packet: &Headers<'_>) -> Result<Self, Reason>;

    /// The key of packets in the reply direction. It is the key itself if both directions share it,
    /// and `None` if the reply key can't be derived.
    fn reply(&self) -> Option<Self>;

    /// The canonical form. Different keys of one type have different words.
    fn words(&self) -> [u64; 5];

    /// The address to group packets by: the first or the second of the two that the key may have.
    /// `None` if it has none.
    #[inline(always)]
    fn group_address(&self, second: bool) -> Option<Address> {
        let _ = second;
        None
    }

    /// Words that a key shares only with its [reply](Self::reply): those of the lesser of the two.
    #[inline]
    fn undirected(&self) -> [u64; 5] {
        let own = self.words();
        self.reply().map_or(own, |reply| own.min(reply.words()))
    }

    /// The key's hash: of its [`words`](Self::words), of the [`undirected`](Self::undirected) words
    /// if both directions must have the same hash, or of fewer words with the same information.
    /// Equal keys have equal hashes.
    #[inline(always)]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        hasher.hash(&if undirected { self.undirected() } else { self.words() })
    }

    /// The hash of the packet's key, if it has one. Override it if the packet knows more than the
    /// key, such as that it is IPv4.
    #[inline(always)]
    fn hash_of(packet: &Headers<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        Some(Self::of(packet).ok()?.hash(hasher, undirected))
    }
}

/// IP protocol numbers that Cora reads.
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP; its ports are at the offsets of TCP's.
    pub const SCTP: u8 = 132;
}

macro_rules! address_key {
    ($(#[$doc:meta])* $name:ident, $reads:ident, $reply:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub Address);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl Plain for $name {
            const SIZE: usize = Address::SIZE;
            #[inline]
            fn put(&self, out: &mut [u8]) {
                self.0.put(out);
            }
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                Address::get(bytes).map(Self)
            }
            fn describe(&self, to: &mut dyn Describe) {
                to.text(&self.0);
            }
        }

        impl Key for $name {
            type Packed = Self;
            #[inline]
            fn pack(&self) -> Self {
                *self
            }
            #[inline]
            fn unpack(packed: &Self) -> Self {
                *packed
            }
            #[inline]
            fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
                packet.$reads().map(Self)
            }
            #[inline]
            fn reply(&self) -> Option<Self> {
                let reply: fn(&Self) -> Option<Self> = $reply;
                reply(self)
            }
            #[inline(always)]
            fn group_address(&self, _: bool) -> Option<Address> {
                Some(self.0)
            }
            #[inline]
            fn words(&self) -> [u64; 5] {
                [self.0.high, self.0.low, 0, 0, 0]
            }
            #[inline]
            fn hash(&self, hasher: &FlowHasher, _: bool) -> u64 {
                hasher.hash_pair(self.0.halves())
            }
        }
    };
}

address_key! {
    /// The source address of a packet.
    SourceAddress, source, |_| None
}

address_key! {
    /// The destination address of a packet.
    DestinationAddress, destination, |_| None
}

address_key! {
    /// The address of the inside host: both directions of a flow carry the same one.
    InsideAddress, inside_address, |key| Some(*key)
}
