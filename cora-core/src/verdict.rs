//! The fate of a packet.
//!
//! A handler returns a [`Verdict`]: `Ok` says how the packet leaves, `Err` that it does not. As a
//! plain `Result`, it lets `?` work on everything that can refuse a packet: a header that does not
//! parse, a full table, a segment that its connection does not allow.

use core::fmt;

use crate::packet::Port;

/// The result of a handler for its packet.
pub type Verdict = Result<Forward, Stop>;

/// How a packet goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Leaves at the [opposite](Port::opposite) of the port where it came in.
    Transmit,
    /// Goes to the local network stack of the NIC's machine.
    Pass,
    /// Leaves at a port that the handler chose.
    Redirect(Port),
    /// Ends here: the handler has done what was asked for.
    Done,
}

/// The packet leaves at the [opposite](Port::opposite) of the port where it came in.
#[expect(non_upper_case_globals, reason = "reads as the verdict it is: `Transmit`")]
pub const Transmit: Verdict = Ok(Forward::Transmit);

/// The packet goes to the local network stack.
#[expect(non_upper_case_globals, reason = "reads as the verdict it is: `Pass`")]
pub const Pass: Verdict = Ok(Forward::Pass);

/// The message, or the packet, ends here: the handler has done what was asked for.
#[expect(non_upper_case_globals, reason = "reads as the verdict it is: `Done`")]
pub const Done: Verdict = Ok(Forward::Done);

/// The packet leaves at `port`. In a run without that port it is dropped as `no-port`.
#[expect(non_snake_case, reason = "reads as the verdict it is: `Redirect(port)`")]
#[inline]
pub const fn Redirect(port: Port) -> Verdict {
    Ok(Forward::Redirect(port))
}

/// The packet is dropped, and counted under the name of `reason`.
#[expect(non_snake_case, reason = "reads as the verdict it is: `Drop(NotAllowed)`")]
#[inline]
pub const fn Drop(reason: Reason) -> Verdict {
    Err(Stop::drop(reason))
}

/// Why a handler stopped without forwarding its packet.
///
/// Opaque on purpose: a handler passes it on with `?` and makes one with [`Drop()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(Cause);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Drop(Reason),
    Punt,
}

impl Stop {
    /// The packet is dropped for `reason`.
    #[inline]
    pub const fn drop(reason: Reason) -> Self {
        Self(Cause::Drop(reason))
    }

    /// The handler accessed a state that this side does not hold: the packet goes to the other
    /// side. Only generated code makes one.
    #[doc(hidden)]
    #[inline]
    pub const fn punt() -> Self {
        Self(Cause::Punt)
    }

    /// The reason of a drop, or `None` for a punt.
    #[inline]
    pub const fn reason(&self) -> Option<Reason> {
        match self.0 {
            Cause::Drop(reason) => Some(reason),
            Cause::Punt => None,
        }
    }
}

impl From<Reason> for Stop {
    // Cold and not inlined, so that verdicts of forwarded packets stay in whole registers.
    #[cold]
    #[inline(never)]
    fn from(reason: Reason) -> Self {
        Self::drop(reason)
    }
}

/// A named reason to drop a packet.
///
/// Cora's own are in [`reasons`]; a program adds its own with
/// `const SynFlood: Reason = Reason::new("syn-flood");`. Reports count by the name.
// Only the name: at two words, the reason of a refused packet is returned in registers.
#[derive(Clone, Copy)]
pub struct Reason {
    name: &'static str,
}

impl Reason {
    /// Maximum length of names, in bytes, that reports keep whole.
    pub const MAX_NAME: usize = 40;

    /// A reason with this name: lower case, words joined by `-`, at most [`Self::MAX_NAME`] bytes.
    ///
    /// # Panics
    /// If the name is empty or too long; in a `const`, that is an error at build time.
    pub const fn new(name: &'static str) -> Self {
        assert!(!name.is_empty(), "a drop reason needs a name");
        assert!(name.len() <= Self::MAX_NAME, "the name of a drop reason has at most 40 bytes");
        Self { name }
    }

    /// The name that reports count by.
    #[inline]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// A number derived from the name: equal names have equal numbers.
    #[inline]
    pub const fn id(&self) -> u32 {
        fnv1a(self.name.as_bytes())
    }
}

impl PartialEq for Reason {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Usually it is the same string.
        core::ptr::eq(self.name, other.name) || self.name == other.name
    }
}

impl Eq for Reason {}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// FNV-1a, 32 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub(crate) const fn fnv1a(bytes: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// The reasons of Cora itself, and common ones for programs.
#[expect(non_upper_case_globals, reason = "read as the reasons they are: `Drop(NotAllowed)`")]
pub mod reasons {
    use super::Reason;

    /// The policy does not allow this packet.
    pub const NotAllowed: Reason = Reason::new("not-allowed");
    /// Neither IPv4 nor IPv6.
    pub const NotIp: Reason = Reason::new("not-ip");
    /// A header extends beyond the end of the packet.
    pub const Truncated: Reason = Reason::new("truncated");
    /// A header contradicts itself: a version or an address is impossible.
    pub const Malformed: Reason = Reason::new("malformed");
    /// A length in the IPv4 header is impossible: less than 20 bytes for the header, or a packet
    /// shorter than its header.
    pub const BadIpLength: Reason = Reason::new("bad-ip-length");
    /// The checksum of the IPv4 header is wrong: it was damaged on its way (RFC 1812, 5.2.2).
    pub const BadIpChecksum: Reason = Reason::new("bad-ip-checksum");
    /// More IPv6 extension headers than Cora reads.
    pub const TooManyHeaders: Reason = Reason::new("too-many-headers");
    /// A length of the transport is impossible: less than 20 bytes for the TCP header, less than 8
    /// for the UDP datagram.
    pub const BadTransportLength: Reason = Reason::new("bad-transport-length");
    /// A fragment of an IP packet, which carries no whole flow key.
    pub const Fragment: Reason = Reason::new("fragment");
    /// A transport without ports or identifiers, so without a flow key.
    pub const NoFlow: Reason = Reason::new("no-flow");
    /// A keyed state has no free place for another entry.
    pub const TableFull: Reason = Reason::new("table-full");
    /// The reply key of a new entry belongs to another entry.
    pub const KeyTaken: Reason = Reason::new("key-taken");
    /// The key of a new entry does not belong to its packet's group of flows.
    pub const ForeignKey: Reason = Reason::new("foreign-key");
    /// There is no room for another object, or for the objects of another flow.
    pub const NoRoomForObjects: Reason = Reason::new("no-room-for-objects");
    /// No object may be so long.
    pub const ObjectTooLong: Reason = Reason::new("object-too-long");
    /// The flow has no object with this id.
    pub const NoSuchObject: Reason = Reason::new("no-such-object");
    /// A copy of bytes that the object does not have.
    pub const OutsideObject: Reason = Reason::new("outside-object");
    /// The region has no item with this number.
    pub const NoSuchItem: Reason = Reason::new("no-such-item");
    /// The run reads and writes more items of a region than it may.
    pub const TooManyItems: Reason = Reason::new("too-many-items");
    /// A TCP segment that the state of its connection does not allow.
    pub const BadTcpState: Reason = Reason::new("bad-tcp-state");
    /// From an address that no host behind a router has. See
    /// [`forwardable`](crate::packet::Headers::forwardable), also for the four below.
    pub const MartianSource: Reason = Reason::new("martian-source");
    /// To an address that no router sends to.
    pub const MartianDestination: Reason = Reason::new("martian-destination");
    /// Source and destination are equal.
    pub const Land: Reason = Reason::new("land");
    /// IPv4 with a source route that has stops left.
    pub const SourceRouted: Reason = Reason::new("source-routed");
    /// IPv6 with a routing header of type 0 that has stops left.
    pub const RoutingHeader: Reason = Reason::new("routing-header");
    /// An ICMP redirect, at a translator.
    pub const IcmpRedirect: Reason = Reason::new("icmp-redirect");
    /// From inside to the translator's own address, which has no route.
    pub const Hairpin: Reason = Reason::new("hairpin");
    /// Longer than the maximum frame length of the rings.
    pub const TooLong: Reason = Reason::new("too-long");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_mark_carries_a_reason_out() {
        fn handler(full: bool) -> Verdict {
            let inserted: Result<(), Reason> = if full { Err(reasons::TableFull) } else { Ok(()) };
            inserted?;
            Transmit
        }
        assert_eq!(handler(false), Transmit);
        assert_eq!(handler(true), Drop(reasons::TableFull));
    }

    #[test]
    fn a_punt_is_not_a_drop() {
        assert_eq!(Stop::punt().reason(), None);
        assert_eq!(Stop::drop(reasons::NotIp).reason(), Some(reasons::NotIp));
    }
}
