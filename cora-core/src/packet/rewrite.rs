//! Rewriting of addresses, ports, time to live and Ethernet addresses. Every checksum stays
//! correct.
//!
//! Checksums are updated incrementally (RFC 1624), so a damaged packet remains recognisable. A
//! change proceeds from the inside out:
//!
//! 1. The packet that an ICMP error quotes is rewritten at the opposite end, and its own checksums
//!    are updated, as far as they are quoted.
//! 2. All of that lies within the ICMP message, so the ICMP checksum is updated for it.
//! 3. The packet's own field is rewritten, and the checksums that cover it are updated.

use super::Headers;
use super::checksum::Change;
use super::crc32c;
use super::flow::End;
use super::layers::{self, Header, Layers, Version};
use super::parsed::Parsed;
use super::transport::{DCCP, UDP_LITE};
use crate::key::{Address, protocol};
use crate::verdict::Reason;
use crate::verdict::reasons::{Malformed, Truncated};

/// The packet has passed the maximum number of routers.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(TtlExceeded)`")]
pub const TtlExceeded: Reason = Reason::new("ttl-exceeded");

impl Headers<'_> {
    /// Sets the source to `address`, which must be of the packet's IP version.
    ///
    /// In an ICMP error, this sets the destination of the quoted packet to `address`. So a
    /// translator calls the same setters for an error as for other packets of the flow, in the
    /// error's own direction.
    ///
    /// Refused if the headers don't parse, with the packet unchanged. Fragments and transports
    /// without ports are accepted.
    #[inline(always)]
    pub fn set_source(&mut self, address: Address) -> Result<(), Reason> {
        self.set_address(End::Source, address)
    }

    /// Sets the destination to `address`; otherwise as [`Self::set_source`].
    #[inline(always)]
    pub fn set_destination(&mut self, address: Address) -> Result<(), Reason> {
        self.set_address(End::Destination, address)
    }

    /// Sets the flow's source port; for an ICMP query, its identifier, which is both ports. In an
    /// ICMP error, it sets the quoted packet's destination port.
    ///
    /// Refused with the reason that [`Self::flow`] gives if the packet has no ports, with the
    /// packet unchanged.
    #[inline(always)]
    pub fn set_source_port(&mut self, port: u16) -> Result<(), Reason> {
        self.set_port(End::Source, port)
    }

    /// Sets the flow's destination port; otherwise as [`Self::set_source_port`].
    #[inline(always)]
    pub fn set_destination_port(&mut self, port: u16) -> Result<(), Reason> {
        self.set_port(End::Destination, port)
    }

    /// Sets the flow's source address and port: as [`Self::set_source`] and
    /// [`Self::set_source_port`] together, for about half the work.
    ///
    /// Refused as either of them, with the packet unchanged.
    #[inline(always)]
    pub fn set_source_endpoint(&mut self, address: Address, port: u16) -> Result<(), Reason> {
        self.set_endpoint(End::Source, address, port)
    }

    /// Sets the flow's destination address and port; otherwise as [`Self::set_source_endpoint`].
    #[inline(always)]
    pub fn set_destination_endpoint(&mut self, address: Address, port: u16) -> Result<(), Reason> {
        self.set_endpoint(End::Destination, address, port)
    }

    /// Decrements the time to live or hop limit, as a router does. Refused with [`TtlExceeded`] if
    /// it would become zero.
    #[inline]
    pub fn decrement_ttl(&mut self) -> Result<(), Reason> {
        let ttl = self.ttl()?;
        if ttl <= 1 {
            return Err(TtlExceeded);
        }
        self.set_ttl(ttl - 1);
        Ok(())
    }

    /// Writes the time to live of a packet with a parsed IP header.
    #[inline]
    pub(super) fn set_ttl(&mut self, ttl: u8) {
        // A change needs whole 16-bit words. In IPv4 the field is the upper half of one; in IPv6,
        // where no checksum covers it, the lower.
        let at = self.ttl_at();
        if self.is_ipv4() {
            let [_, protocol] = self.read(at);
            let change = self.replace(at, &[ttl, protocol]);
            // The checksum is the next word.
            self.apply(at + 2, change);
        } else {
            let [next] = self.read(at - 1);
            self.replace(at - 1, &[next, ttl]);
        }
    }

    /// Sets the frame's source Ethernet address.
    #[inline]
    pub fn set_mac_source(&mut self, mac: [u8; 6]) -> Result<(), Reason> {
        self.set_mac(layers::MAC_SOURCE, mac)
    }

    /// Sets the frame's destination Ethernet address.
    #[inline]
    pub fn set_mac_destination(&mut self, mac: [u8; 6]) -> Result<(), Reason> {
        self.set_mac(layers::MAC_DESTINATION, mac)
    }

    fn set_mac(&mut self, at: usize, mac: [u8; 6]) -> Result<(), Reason> {
        let field = self.here_mut().get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        *field.ok_or(Truncated)? = mac;
        Ok(())
    }

    #[inline(always)]
    fn set_address(&mut self, end: End, address: Address) -> Result<(), Reason> {
        if address.is_v4() && self.readdress_fast(end, address) {
            return Ok(());
        }
        core::hint::cold_path();
        self.set_any_address(end, address)
    }

    #[inline(never)]
    fn set_any_address(&mut self, end: End, address: Address) -> Result<(), Reason> {
        self.rewritable()?;
        match (self.parsed.version(), address.as_v4()) {
            (Version::V4, Some(octets)) => self.readdress(end, &octets),
            (Version::V6, None) => self.readdress(end, &address.octets()),
            _ => return Err(Malformed),
        }
        if let Parsed::Other(_, flow) = &mut self.parsed {
            flow.set_address(end, address);
        }
        Ok(())
    }

    /// Only a packet with readable headers down to its checksums can keep these correct.
    #[inline]
    fn rewritable(&self) -> Result<(), Reason> {
        self.parsed.network_fault().check()?;
        let fault = self.parsed.flow_fault();
        if fault.is_readable() { Ok(()) } else { fault.check() }
    }

    #[inline(never)]
    fn readdress(&mut self, end: End, new: &[u8]) {
        let Layers { outer, inner, .. } = &self.layers();
        let within = if inner.ip == 0 {
            Change::NONE
        } else {
            self.readdress_header(inner, end.opposite(), new, Change::NONE)
        };
        self.readdress_header(outer, end, new, within);
    }

    /// Rewrites one address, and updates the checksums of its header and transport, the latter also
    /// for the change `within` the transport's payload. Returns the sum of all changes.
    #[inline(never)]
    fn readdress_header(
        &mut self,
        header: &Header,
        end: End,
        new: &[u8],
        within: Change,
    ) -> Change {
        let address = self.replace_bytes(self.parsed.version().address_at(header, end), new);
        let mut all = address;
        if self.is_ipv4() {
            all = all.and(self.apply(usize::from(header.ip) + V4_CHECKSUM, address));
        }
        let covers_address =
            header.protocol != protocol::ICMP && !(header.routed && end == End::Destination);
        let covered = if covers_address { address.and(within) } else { within };
        all.and(self.apply_transport(header, covered))
    }

    #[inline(always)]
    fn set_port(&mut self, end: End, port: u16) -> Result<(), Reason> {
        if self.set_fast_port(end, port) {
            return Ok(());
        }
        core::hint::cold_path();
        self.set_any_port(end, port)
    }

    #[inline(never)]
    fn set_any_port(&mut self, end: End, port: u16) -> Result<(), Reason> {
        self.parsed.flow_fault().check()?;
        let layers = self.layers();
        let Layers { outer, inner, .. } = &layers;
        if inner.ip == 0 {
            self.readdress_port(outer, end, port);
        } else {
            let within = self.readdress_port(inner, end.opposite(), port);
            self.apply_transport(outer, within);
        }
        if let Parsed::Other(_, flow) = &mut self.parsed {
            for each in [End::Source, End::Destination] {
                if end == each || layers.shares_ports() {
                    flow.set_port(each, port);
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn set_endpoint(&mut self, end: End, address: Address, port: u16) -> Result<(), Reason> {
        if address.is_v4() && self.set_fast_endpoint(end, address, port) {
            return Ok(());
        }
        core::hint::cold_path();
        self.set_any_endpoint(end, address, port)
    }

    #[inline(never)]
    fn set_any_endpoint(&mut self, end: End, address: Address, port: u16) -> Result<(), Reason> {
        // A packet with a flow has ports. An invalid address is refused before anything is written.
        self.parsed.flow_fault().check()?;
        self.set_any_address(end, address)?;
        self.set_any_port(end, port)
    }

    /// Rewrites one port and updates the checksum of its transport. Returns the sum of all changes.
    #[inline]
    fn readdress_port(&mut self, header: &Header, end: End, port: u16) -> Change {
        let place = if end == End::Destination && !header.identifier { 2 } else { 0 };
        let at = usize::from(header.ports) + place;
        let old = self.read_u16(at);
        let change = self.replace(at, &port.to_be_bytes());
        if header.protocol == protocol::SCTP && header.ip == self.layers().outer.ip {
            self.apply_crc32c(header, place, old ^ port);
        }
        change.and(self.apply_transport(header, change))
    }

    /// Updates an SCTP checksum for the change of a port. Not called for a quoted packet: the quote
    /// seldom contains all bytes that the checksum covers.
    fn apply_crc32c(&mut self, header: &Header, place: usize, difference: u16) {
        let at = usize::from(header.transport);
        let length = self.parsed.end().saturating_sub(at + place);
        let sum = at + crc32c::PLACE;
        let old = u32::from_le_bytes(self.read(sum));
        let new = old ^ crc32c::change(&difference.to_be_bytes(), length);
        self.replace(sum, &new.to_le_bytes());
    }

    /// Updates the transport's internet checksum, if it has one.
    #[inline]
    pub(super) fn apply_transport(&mut self, header: &Header, change: Change) -> Change {
        let at = usize::from(header.sum);
        let old = self.read_u16(at);
        if at == 0 || old == 0 && header.protocol == protocol::UDP {
            // No checksum field; or UDP without a checksum, written as zero (RFC 768).
            return Change::NONE;
        }
        let new = match change.applied_to(old) {
            0 => self.zero_checksum(header),
            new => new,
        };
        self.replace(at, &new.to_be_bytes())
    }

    /// The representation of a zero checksum: ones' complement has two zeros.
    #[cold]
    fn zero_checksum(&self, header: &Header) -> u16 {
        let (transport, sum) = (usize::from(header.transport), usize::from(header.sum));
        let bytes = |from, to| self.frame.get(from..to).unwrap_or_default().iter();
        match header.protocol {
            protocol::UDP | UDP_LITE | DCCP => 0xffff,
            // An all-zero echo reply, the only message that may be zero throughout: its sum is the
            // other zero, which an update can't distinguish.
            protocol::ICMP
                if bytes(transport, sum)
                    .chain(bytes(sum + 2, self.parsed.end()))
                    .all(|byte| *byte == 0) =>
            {
                0xffff
            }
            _ => 0,
        }
    }

    /// Updates the internet checksum at `at`; returns the change of the checksum itself.
    #[inline]
    pub(super) fn apply(&mut self, at: usize, change: Change) -> Change {
        let new = change.applied_to(self.read_u16(at));
        self.replace(at, &new.to_be_bytes())
    }

    /// As [`Self::replace`], for any even length: one copy serves both address lengths.
    #[inline]
    pub(super) fn replace_bytes(&mut self, at: usize, new: &[u8]) -> Change {
        let field = self.frame.get_mut(at..at.saturating_add(new.len()));
        let Some(field) = field else { return Change::NONE };
        let change = Change::of(field, new);
        field.copy_from_slice(new);
        change
    }

    /// Writes bytes at an offset that the parse found within the frame, and returns the change.
    /// Otherwise nothing happens, which the invariant of `Packet` excludes.
    #[inline]
    pub(super) fn replace<const N: usize>(&mut self, at: usize, new: &[u8; N]) -> Change {
        // The fixed length eliminates loop and call.
        let field = self.frame.get_mut(at..at.saturating_add(N)).and_then(<[u8]>::first_chunk_mut);
        let Some(field) = field else { return Change::NONE };
        let change = Change::of(field, new);
        *field = *new;
        change
    }
}

/// Offset of the checksum in the IPv4 header.
pub(super) const V4_CHECKSUM: usize = 10;
