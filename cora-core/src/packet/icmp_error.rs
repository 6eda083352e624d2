//! A packet becomes the ICMP error that answers it: a router says why it does not forward it.

use super::answer::FRESH_TTL;
use super::checksum;
use super::ip::{V4_HEADER, V6_HEADER};
use super::ip_header::Network;
use super::layers::{Part, Version};
use super::resize::NoRoom;
use super::transport::{self, ICMP_HEADER};
use super::{NotAnswered, Packet};
use crate::key::{Address, protocol};
use crate::verdict::Reason;
use crate::verdict::reasons::Malformed;

/// Why a router does not forward a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IcmpError {
    /// The hop limit ended here.
    TimeExceeded,
    /// No route leads to the destination.
    NoRoute,
    /// The destination is on a link of this router, and does not answer there.
    HostUnreachable,
    /// The destination has nothing at this port.
    PortUnreachable,
    /// A rule forbids it.
    Prohibited,
    /// It is longer than the MTU of the next link, in bytes from the IP header on.
    TooBig {
        /// That MTU.
        mtu: u32,
    },
}

/// The longest error over IPv4 (RFC 1812, 4.3.2.3).
const LONGEST_V4: usize = 576;
/// The longest error over IPv6: its minimum MTU (RFC 4443, 2.4 c).
const LONGEST_V6: usize = 1280;
/// The precedence of errors over IPv4: internetwork control (RFC 1812, 4.3.2.5).
const CONTROL: u8 = 0xc0;

impl IcmpError {
    /// The first eight bytes of the message, without a checksum (RFC 792, 1191, 1812 and 4443).
    const fn head(self, version: Version) -> [u8; ICMP_HEADER] {
        // Type and code over IPv4, and over IPv6.
        let (v4, v6) = match self {
            Self::TimeExceeded => ([11, 0], [3, 0]),
            Self::NoRoute => ([3, 0], [1, 0]),
            Self::HostUnreachable => ([3, 1], [1, 3]),
            Self::PortUnreachable => ([3, 3], [1, 4]),
            Self::Prohibited => ([3, 13], [1, 1]),
            Self::TooBig { .. } => ([3, 4], [2, 0]),
        };
        let is_v6 = matches!(version, Version::V6);
        let [kind, code] = if is_v6 { v6 } else { v4 };
        let mtu = match self {
            // IPv4 has only 16 bits for it (RFC 1191, 4).
            Self::TooBig { mtu } if !is_v6 && mtu > 0xffff => 0xffff,
            Self::TooBig { mtu } => mtu,
            _ => 0,
        };
        let [a, b, c, d] = mtu.to_be_bytes();
        [kind, code, 0, 0, a, b, c, d]
    }
}

impl Packet<'_> {
    /// Turns the packet into the ICMP error that answers it, from `router`, an address of yours, to
    /// its source. It quotes as much of the packet as fits: 548 bytes over IPv4, 1232 over IPv6,
    /// so call this before the packet is changed. Ethernet addresses are swapped, VLAN tags stay,
    /// and the hop limit is 64. Send it where it came in: `Redirect(packet.port())`.
    ///
    /// ```
    /// # use cora_core::key::Address;
    /// # use cora_core::packet::{IcmpError, Packet, TtlExceeded};
    /// # use cora_core::verdict::{Redirect, Transmit, Verdict};
    /// # const ROUTER: Address = Address::v4([192, 0, 2, 1]);
    /// fn one_hop_less(packet: &mut Packet<'_>) -> Verdict {
    ///     if packet.decrement_ttl() == Err(TtlExceeded) {
    ///         packet.turn_to_error(ROUTER, IcmpError::TimeExceeded)?;
    ///         return Redirect(packet.port());
    ///     }
    ///     Transmit
    /// }
    /// ```
    ///
    /// A router must limit the rate of its errors (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f): keep a
    /// budget in a state.
    ///
    /// Refused with the fault of the IP header or the reason of
    /// [`forwardable`](super::Headers::forwardable), [`NotAnswered`] for packets that must not be
    /// answered by an error (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e): ICMP errors and redirects, later
    /// fragments, packets to a group or a broadcast, on the link or beyond. Over IPv6, an error
    /// `TooBig` answers those to groups, too. Refused with `malformed` if `router` is of the other
    /// IP version, or with [`NoRoom`] if the frame would exceed its tailroom. The packet is then
    /// unchanged.
    #[inline(never)]
    pub fn turn_to_error(&mut self, router: Address, error: IcmpError) -> Result<(), Reason> {
        self.parsed.network_fault().check()?;
        self.forwardable()?;
        let (source, destination) = (self.source()?, self.destination()?);
        if router.is_v4() != source.is_v4() {
            return Err(Malformed);
        }
        let macs = (self.mac_source()?, self.mac_destination()?);
        let tells_mtu = self.is_ipv6() && matches!(error, IcmpError::TooBig { .. });
        let to_many = macs.1[0] & 1 == 1 || destination.is_group();
        if self.is_never_answered() || macs.0[0] & 1 == 1 || to_many && !tells_mtu {
            return Err(NotAnswered);
        }
        let layers = self.layers();
        let ip = usize::from(layers.outer.ip);
        let (header, longest, class, icmp) = if self.is_ipv4() {
            (V4_HEADER, LONGEST_V4, CONTROL, protocol::ICMP)
        } else {
            (V6_HEADER, LONGEST_V6, 0, protocol::ICMPV6)
        };
        let quoted = (self.parsed.end() - ip).min(longest - header - ICMP_HEADER);
        if ip + header + ICMP_HEADER + quoted > self.frame.len() {
            return Err(NoRoom);
        }
        let length = ICMP_HEADER + quoted;
        let network = Network { class, ttl: FRESH_TTL, protocol: icmp, length };
        let written = network.write(router, source, 0);
        self.length = ip + quoted;
        self.put_in_place(ip, ip, &error.head(layers.version));
        self.put_in_place(ip, ip, written.bytes());
        let at = ip + header;
        let message = self.frame.get(at..self.length).unwrap_or_default();
        let sum = if router.is_v4() {
            checksum::internet(message)
        } else {
            checksum::transport(router, source, icmp, message)
        };
        self.put(at + 2, &sum.to_be_bytes());
        self.parse_again();
        self.set_mac_destination(macs.0)?;
        self.set_mac_source(macs.1)
    }

    /// Whether no error answers it, wherever it goes: it says that of another packet, or is a
    /// fragment whose first one was answered.
    fn is_never_answered(&self) -> bool {
        let says_so = |(version, kind)| transport::is_never_answered(version, kind);
        self.layers().outer.part == Part::Later || self.icmp_kind().is_some_and(says_so)
    }
}
