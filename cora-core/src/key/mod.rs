//! Keys of keyed states. They also decide which packets belong together. This module has the keys
//! that are one address; [`Address`] is in `address`, the default key [`FiveTuple`] in
//! `five_tuple`, the pair of Ethernet addresses in `mac_pair`, one of them in `mac`,
//! a prefix of addresses in `prefix`, a flow in its bucket in `in_bucket`, keys
//! of replies in `answer`, an end of a connection in `endpoint`, keys that no packet carries in
//! `one`.

mod address;
mod answer;
mod endpoint;
mod entry_key;
mod five_tuple;
mod in_bucket;
mod mac;
mod mac_pair;
mod one;
mod prefix;

use core::any::{Any, TypeId};
use core::fmt;

pub use address::Address;
pub use answer::Answer;
pub use endpoint::Endpoint;
pub use entry_key::{EntryKey, PackedWithin, Within};
pub use five_tuple::{FiveTuple, PackedFiveTuple};
pub use in_bucket::{InBucket, PackedInBucket};
pub use mac::{Mac, NotMac};
pub use mac_pair::MacPair;
pub use one::One;
pub use prefix::{Prefix, PrefixError};

use crate::bucket::{Bucket, End};
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::config::FromColumns;
use crate::hash::FlowHasher;
use crate::packet::{Headers, Packet};
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;

/// What a keyed state is looked up by: plain data that can be compared and hashed.
///
/// `#[derive(Key)]` implements it. Every key has one canonical form of five words, so ownership,
/// hashes and the other side are independent of its type.
pub trait Key: Plain + Eq + fmt::Debug {
    /// The key without padding, as entries store it: fewer bytes let more entries fit a cache line.
    type Packed: Copy + fmt::Debug + Send + 'static;

    /// Packs the key.
    fn pack(&self) -> Self::Packed;

    /// Restores a packed key.
    fn unpack(packed: &Self::Packed) -> Self;

    /// The key of packets in the reply direction. It is the key itself if both directions share it,
    /// and `None` if the reply key can't be derived.
    fn reply(&self) -> Option<Self>;

    /// Whether [`words`](Self::words) are those of the encoding, and nothing else.
    #[doc(hidden)]
    const ENCODED: bool = false;

    /// The canonical form. Different keys of one type have different words. Without an own
    /// implementation they are the encoding, of which 40 bytes fit.
    #[inline]
    fn words(&self) -> [u64; 5] {
        words_of(self)
    }

    /// The address to group packets by: the first or the second of the two that the key may have.
    /// `None` if it has none.
    #[inline(always)]
    fn group_address(&self, second: bool) -> Option<Address> {
        let _ = second;
        None
    }

    /// The port, or ICMP identifier, at an end of the flow; `None` if the key has none.
    #[inline(always)]
    fn port_at(&self, end: End) -> Option<u16> {
        let _ = end;
        None
    }

    /// The key as entries of tables have it, and the bucket that it is of, for a key that is of
    /// one bucket.
    #[doc(hidden)]
    #[inline(always)]
    fn in_table(&self) -> (&dyn Any, Option<Bucket>) {
        (self, None)
    }

    /// The type of the key that [`Self::in_table`] returns.
    #[doc(hidden)]
    #[inline(always)]
    fn type_in_table() -> TypeId {
        TypeId::of::<Self>()
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
        let words = if undirected { self.undirected() } else { self.words() };
        let [first, second, ..] = words;
        // Two words are hashed faster than five.
        if const { Self::ENCODED && Self::SIZE <= 16 } {
            hasher.hash_pair([first, second])
        } else {
            hasher.hash(&words)
        }
    }
}

/// A key that a packet's headers tell: all of Cora's keys.
#[diagnostic::on_unimplemented(
    message = "no headers tell a `{Self}`",
    label = "not read from headers",
    note = "`impl HeaderKey for {Self}` reads it from headers, `impl PacketKey for {Self}` from the \
            whole packet"
)]
pub trait HeaderKey: Key {
    /// The key of this packet, or the reason that it has none.
    fn of(packet: &Headers<'_>) -> Result<Self, Reason>;

    /// The hash of the packet's key, if it has one. Override it if the packet knows more than the
    /// key, such as that it is IPv4.
    #[inline(always)]
    fn hash_of(packet: &Headers<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        Some(Self::of(packet).ok()?.hash(hasher, undirected))
    }
}

/// A key that a packet tells, by its headers or its payload. Every [`HeaderKey`] is one. A key that
/// is made of the payload, such as the number of a tunnel, implements this trait instead:
///
/// ```
/// # use cora_core::key::{HeaderKey, Key, PacketKey, SourceAddress};
/// # use cora_core::packet::Packet;
/// # use cora_core::verdict::{Reason, reasons::Truncated};
/// # fn number<Tunnel: From<u32>>(packet: &Packet<'_>) -> Result<Tunnel, Reason> {
/// let bytes = packet.payload().get(4..8).and_then(|bytes| bytes.first_chunk()).ok_or(Truncated)?;
/// Ok(Tunnel::from(u32::from_be_bytes(*bytes)))
/// # }
/// ```
///
/// The key is a function of the packet as it came in, and of nothing else: both sides and the
/// steering to pairs compute it, and must agree.
#[diagnostic::on_unimplemented(
    message = "no packet tells a `{Self}`",
    label = "not a key that packets carry",
    note = "`impl HeaderKey for {Self}` reads it from headers, `impl PacketKey for {Self}` from the \
            whole packet"
)]
pub trait PacketKey: Key {
    /// Whether it may read the payload. Then long frames cross to the host as a whole.
    const READS_PAYLOAD: bool = true;

    /// The key of this packet, or the reason that it has none.
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason>;

    /// The hash of the packet's key, if it has one.
    #[doc(hidden)]
    #[inline(always)]
    fn hash_of_packet(packet: &Packet<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        Some(Self::of_packet(packet).ok()?.hash(hasher, undirected))
    }
}

impl<K: HeaderKey> PacketKey for K {
    const READS_PAYLOAD: bool = false;

    #[inline(always)]
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason> {
        Self::of(packet)
    }

    #[inline(always)]
    fn hash_of_packet(packet: &Packet<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        Self::hash_of(packet, hasher, undirected)
    }
}

/// Maximum size in bytes of a derived key: its [`words`](Key::words) have one byte left.
const MOST_BYTES: usize = 39;

/// Checks the size of a derived key, for generated code.
///
/// # Panics
/// If it is too long; in a `const`, that is an error at build time.
#[doc(hidden)]
pub const fn fits<K: Key>() {
    assert!(
        K::SIZE <= MOST_BYTES,
        "CORA0135: the fields of a key have more than 39 bytes; `cargo cora explain 135` says more"
    );
}

/// The words of an encoding.
#[inline]
fn words_of<K: Plain>(key: &K) -> [u64; 5] {
    let mut bytes = [0; 40];
    key.put(&mut bytes);
    let (words, _) = bytes.as_chunks();
    core::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_le_bytes(*word)))
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
    /// IPv4 within IP (RFC 2003).
    pub const IPV4: u8 = 4;
    /// IPv6 within IP (RFC 4213).
    pub const IPV6: u8 = 41;
    /// GRE (RFC 2784).
    pub const GRE: u8 = 47;
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

        impl FromColumns for $name {
            const COLUMNS: &'static [&'static str] = &["address"];

            #[cfg(not(target_os = "none"))]
            fn from_columns(file: &mut dyn config::File) -> Option<Self> {
                config::read(file, "address").map(Self)
            }
        }

        impl HeaderKey for $name {
            #[inline]
            fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
                packet.$reads().map(Self)
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
