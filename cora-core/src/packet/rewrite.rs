//! Rewriting: addresses, ports, time to live, Ethernet addresses, with every checksum kept right.
//!
//! Checksums are updated by the difference (RFC 1624), so a packet that was damaged on its way
//! stays recognisably damaged. A change runs from the inside out:
//!
//! 1. The packet that an ICMP error quotes is rewritten at the opposite end, and its own checksums
//!    follow, as far as they are quoted.
//! 2. All of that lies within the ICMP message, so the ICMP checksum takes it in.
//! 3. The packet's own field is rewritten, and the checksums that cover it follow.

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

/// The packet has been through as many routers as it may.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(TtlExceeded)`")]
pub const TtlExceeded: Reason = Reason::new("ttl-exceeded");

impl Headers<'_> {
    /// Makes the packet come from `address`, which must be of the packet's IP version.
    ///
    /// In an ICMP error the quoted packet then goes to `address`: so a translator calls the same
    /// setters for an error as for other packets of the flow, in the error's own direction.
    ///
    /// Refused when the headers don't parse, and then nothing has changed; possible for fragments
    /// and for transports without ports.
    #[inline(always)]
    pub fn set_source(&mut self, address: Address) -> Result<(), Reason> {
        self.set_address(End::Source, address)
    }

    /// Makes the packet go to `address`; otherwise as [`Self::set_source`].
    #[inline(always)]
    pub fn set_destination(&mut self, address: Address) -> Result<(), Reason> {
        self.set_address(End::Destination, address)
    }

    /// Makes the flow's source port `port`; for a query of ICMP, its identifier, which is both
    /// ports. In an ICMP error, it is the quoted packet's destination port.
    ///
    /// Refused with the reason that [`Self::flow`] gives when the packet has no ports, and then
    /// nothing has changed.
    #[inline(always)]
    pub fn set_source_port(&mut self, port: u16) -> Result<(), Reason> {
        self.set_port(End::Source, port)
    }

    /// Makes the flow's destination port `port`; otherwise as [`Self::set_source_port`].
    #[inline(always)]
    pub fn set_destination_port(&mut self, port: u16) -> Result<(), Reason> {
        self.set_port(End::Destination, port)
    }

    /// Makes the flow's source this port of this address: as [`Self::set_source`] and
    /// [`Self::set_source_port`] together, for about half the work.
    ///
    /// Refused as either of them is, and then nothing has changed.
    #[inline(always)]
    pub fn set_source_endpoint(&mut self, address: Address, port: u16) -> Result<(), Reason> {
        self.set_endpoint(End::Source, address, port)
    }

    /// Makes the flow's destination this port of this address; otherwise as
    /// [`Self::set_source_endpoint`].
    #[inline(always)]
    pub fn set_destination_endpoint(&mut self, address: Address, port: u16) -> Result<(), Reason> {
        self.set_endpoint(End::Destination, address, port)
    }

    /// Counts one router: time to live or hop limit less one. Refused with [`TtlExceeded`] when
    /// the packet may go no further.
    #[inline]
    pub fn decrement_ttl(&mut self) -> Result<(), Reason> {
        let ttl = self.ttl()?;
        if ttl <= 1 {
            return Err(TtlExceeded);
        }
        self.set_ttl(ttl - 1);
        Ok(())
    }

    /// Writes the time to live of a packet with an IP header that parses.
    #[inline]
    pub(super) fn set_ttl(&mut self, ttl: u8) {
        // A change needs whole 16-bit words: in IPv4 the field is the upper half of one, in IPv6,
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

    /// Makes the frame come from this Ethernet address.
    #[inline]
    pub fn set_mac_source(&mut self, mac: [u8; 6]) -> Result<(), Reason> {
        self.set_mac(layers::MAC_SOURCE, mac)
    }

    /// Makes the frame go to this Ethernet address.
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
        if address.is_v4() && self.readdress_plain(end, address) {
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

    /// Only a packet that parses down to its checksums can keep them right.
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

    /// Rewrites one address, and the checksums of its header and transport, the latter with the
    /// change that has changed `within` the transport's payload. Returns all that it changed.
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
        if self.set_plain_port(end, port) {
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
        if address.is_v4() && self.set_plain_endpoint(end, address, port) {
            return Ok(());
        }
        core::hint::cold_path();
        self.set_any_endpoint(end, address, port)
    }

    #[inline(never)]
    fn set_any_endpoint(&mut self, end: End, address: Address, port: u16) -> Result<(), Reason> {
        // A packet with a flow has ports; the address is refused before anything is written.
        self.parsed.flow_fault().check()?;
        self.set_any_address(end, address)?;
        self.set_any_port(end, port)
    }

    /// Rewrites one port and the checksum of its transport. Returns all that it changed.
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

    /// Lets an SCTP checksum follow the change of a port. In a quoted packet it is left alone:
    /// the quote seldom holds all that it covers.
    fn apply_crc32c(&mut self, header: &Header, place: usize, difference: u16) {
        let at = usize::from(header.transport);
        let length = self.parsed.end().saturating_sub(at + place);
        let sum = at + crc32c::PLACE;
        let old = u32::from_le_bytes(self.read(sum));
        let new = old ^ crc32c::change(&difference.to_be_bytes(), length);
        self.replace(sum, &new.to_le_bytes());
    }

    /// Lets the transport's internet checksum, if it has one, follow a change.
    #[inline]
    pub(super) fn apply_transport(&mut self, header: &Header, change: Change) -> Change {
        let at = usize::from(header.sum);
        let old = self.read_u16(at);
        if at == 0 || old == 0 && header.protocol == protocol::UDP {
            // None at all; and in UDP, zero says that there is none (RFC 768).
            return Change::NONE;
        }
        let new = match change.applied_to(old) {
            0 => self.zero_checksum(header),
            new => new,
        };
        self.replace(at, &new.to_be_bytes())
    }

    /// How a checksum of zero is written: ones' complement has two zeros.
    #[cold]
    fn zero_checksum(&self, header: &Header) -> u16 {
        let (transport, sum) = (usize::from(header.transport), usize::from(header.sum));
        let bytes = |from, to| self.frame.get(from..to).unwrap_or_default().iter();
        match header.protocol {
            protocol::UDP | UDP_LITE | DCCP => 0xffff,
            // The only message that may be zeros throughout, an echo reply: its sum is the other
            // zero, which an update can't tell.
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

    /// Lets the internet checksum at `at` follow a change; returns its own.
    #[inline]
    pub(super) fn apply(&mut self, at: usize, change: Change) -> Change {
        let new = change.applied_to(self.read_u16(at));
        self.replace(at, &new.to_be_bytes())
    }

    /// As [`Self::replace`], of any even length: one copy for both lengths of addresses.
    #[inline]
    pub(super) fn replace_bytes(&mut self, at: usize, new: &[u8]) -> Change {
        let field = self.frame.get_mut(at..at.saturating_add(new.len()));
        let Some(field) = field else { return Change::NONE };
        let change = Change::of(field, new);
        field.copy_from_slice(new);
        change
    }

    /// Writes bytes at an offset that the parse found to be within the frame, and returns the
    /// change. Nothing happens otherwise, which the invariant of `Packet` excludes.
    #[inline]
    pub(super) fn replace<const N: usize>(&mut self, at: usize, new: &[u8; N]) -> Change {
        // Of a fixed length, so that neither a loop nor a call is left of it.
        let field = self.frame.get_mut(at..at.saturating_add(N)).and_then(<[u8]>::first_chunk_mut);
        let Some(field) = field else { return Change::NONE };
        let change = Change::of(field, new);
        *field = *new;
        change
    }
}

/// Where the IPv4 header has its checksum.
pub(super) const V4_CHECKSUM: usize = 10;
