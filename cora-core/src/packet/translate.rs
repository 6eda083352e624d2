//! Translation between IP versions: the algorithm of RFC 7915, for packets with a flow.
//!
//! 1. An ICMP message is converted to its equivalent in the other version ([`Saying`]), or the
//!    packet is refused.
//! 2. The packet that an error quotes gets its new header. Its transport's checksum is updated, as
//!    far as it is quoted.
//! 3. The packet itself gets its new header. Checksums of TCP and UDP are updated (RFC 1624), so
//!    damage stays recognisable. An ICMP checksum is verified and then computed anew (RFC 5508,
//!    requirement 3).
//! 4. The frame is parsed again.

use super::Packet;
use super::checksum::{self, Change};
use super::flow::End;
use super::icmp::Saying;
use super::ip::V6_HEADER;
use super::ip_header::Network;
use super::layers::{Header, Layers};
use super::resize::NoRoom;
use super::transport::{ICMP_HEADER, TCP_HEADER};
use crate::key::{Address, protocol};
use crate::packet::MAX_FRAME;
use crate::verdict::Reason;
use crate::verdict::reasons::{Malformed, TooLong};

/// The other IP version has no equivalent: source routes, ICMP messages about links.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NotTranslated)`")]
pub const NotTranslated: Reason = Reason::new("not-translated");

/// An ICMP message with a wrong checksum.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(BadChecksum)`")]
pub const BadChecksum: Reason = Reason::new("bad-checksum");

/// The change of a transport's checksum if the ends `old` are replaced by `new`. Protocol and
/// length contribute alike in both versions.
fn ends_change(old: [Address; 2], new: [Address; 2]) -> Change {
    let mut all = Change::NONE;
    for (address, is_new) in old.map(|it| (it, false)).into_iter().chain(new.map(|it| (it, true))) {
        // The prefix of a mapped address does not belong to the IPv4 address.
        let bytes = match address.as_v4() {
            Some(four) => (u32::from_be_bytes(four) as u128).to_be_bytes(),
            None => address.octets(),
        };
        let nothing = [0; 16];
        let (from, to) = if is_new { (&nothing, &bytes) } else { (&bytes, &nothing) };
        all = all.and(Change::of(from, to));
    }
    all
}

impl Packet<'_> {
    /// Translates an IPv4 packet into IPv6, or the reverse. Its flow then goes from `source` to
    /// `destination`, both of the other version. This is the flow in the sense of
    /// [`flow`](super::Headers::flow). In an ICMP error, the quoted packet has the reverse flow,
    /// and the error itself comes from `sender`. In all other packets the sender is the source.
    ///
    /// Ports and identifiers stay; set them afterwards. The time to live stays; see
    /// [`decrement_ttl`](super::Headers::decrement_ttl). Options, extension headers, padding of the
    /// frame and extensions of ICMP errors (RFC 4884) are removed. IPv4 packets of up to 1,260
    /// bytes may be fragmented on their way, and get an identification. Longer ones get "don't
    /// fragment" (RFC 7915, 5.1).
    ///
    /// Refused with the reason that [`flow`](super::Headers::flow) gives, [`NotTranslated`],
    /// [`BadChecksum`], `malformed` if an address is of the wrong version, [`NoRoom`] or `too-long`
    /// if the frame would exceed its tailroom. The packet is then unchanged.
    #[inline(never)]
    pub fn translate(
        &mut self,
        source: Address,
        destination: Address,
        sender: Address,
    ) -> Result<(), Reason> {
        self.parsed.flow_fault().check()?;
        let layers = self.layers();
        let Layers { outer, inner, end, .. } = layers;
        let from_v4 = self.is_ipv4();
        if [source, destination, sender].iter().any(|address| address.is_v4() == from_v4) {
            return Err(Malformed);
        }
        if outer.routed || inner.routed {
            return Err(NotTranslated);
        }
        let is_icmp = matches!(outer.protocol, protocol::ICMP | protocol::ICMPV6);
        let saying = if is_icmp { Some(self.translated_saying(&layers)?) } else { None };
        let quotes = inner.ip != 0;
        let end = saying.as_ref().and_then(Saying::quoted).map_or(end as usize, |quoted| {
            // Includes ports and checksum, even if the given length is shorter.
            let least = usize::from(inner.transport) + TCP_HEADER;
            let says = usize::from(outer.transport) + ICMP_HEADER + quoted;
            says.max(least).min(end as usize)
        });
        let header_length = if from_v4 { V6_HEADER } else { 20 };
        let taken = |header: Header| usize::from(header.transport - header.ip);
        let inner_taken = if quotes { taken(inner) } else { 0 };
        let inner_put = if quotes { header_length } else { 0 };
        let length = end - taken(outer) - inner_taken + header_length + inner_put;
        if length > MAX_FRAME {
            return Err(TooLong);
        }
        if length > self.frame.len() {
            return Err(NoRoom);
        }
        self.length = end;
        let outer_sender = if quotes { sender } else { source };
        if quotes {
            let ends = [destination, source];
            let header = self.network(inner, None).write(ends[0], ends[1], 0);
            self.translate_quoted(inner, ends);
            self.exchange(inner, header.bytes());
        } else if !is_icmp {
            self.translate_checksum(outer, [source, destination]);
        }
        let behind = self.length - usize::from(outer.transport);
        let identification = self.identification(&outer);
        let header =
            self.network(outer, Some(behind)).write(outer_sender, destination, identification);
        self.exchange(outer, header.bytes());
        self.put(usize::from(outer.ip) - 2, if from_v4 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        if let Some(saying) = saying {
            self.say(usize::from(outer.ip) + header.length, &saying, [outer_sender, destination]);
        }
        self.parse_again();
        Ok(())
    }

    /// The packet's ICMP message in the other version.
    fn translated_saying(&self, layers: &Layers) -> Result<Saying, Reason> {
        let bytes = self.frame.get(..layers.end as usize).unwrap_or_default();
        if !checksum::transport_is_right(layers, bytes) {
            return Err(BadChecksum);
        }
        let head = self.read(usize::from(layers.outer.transport));
        let said = if self.is_ipv4() { Saying::to_v6(head) } else { Saying::to_v4(head) };
        said.ok_or(NotTranslated)
    }

    /// An identification for the fragments of this packet, derived from its transport's beginning,
    /// checksum and time. Other packets between the same ends get another one, and it is the same
    /// under every plan. Never 0.
    fn identification(&self, header: &Header) -> u16 {
        let beginning = u32::from_be_bytes(self.read(usize::from(header.transport) + 4));
        let sum = self.read_u16(usize::from(header.sum));
        let mixed = self.now() ^ u64::from(beginning) << 32 ^ u64::from(sum) << 16;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16 | 1
    }

    /// The fields of a header. For the packet itself, the length of the rest is known.
    #[inline(never)]
    fn network(&self, header: Header, behind: Option<usize>) -> Network {
        let at = usize::from(header.ip);
        let headers = usize::from(header.transport - header.ip);
        let (class, ttl, total) = if self.is_ipv4() {
            let ([class], [ttl]) = (self.read(at + 1), self.read(at + 8));
            (class, ttl, usize::from(self.read_u16(at + 2)))
        } else {
            let [ttl] = self.read(at + 7);
            ((self.read_u16(at) >> 4) as u8, ttl, V6_HEADER + usize::from(self.read_u16(at + 4)))
        };
        let protocol = match header.protocol {
            protocol::ICMP => protocol::ICMPV6,
            protocol::ICMPV6 => protocol::ICMP,
            other => other,
        };
        let length = behind.unwrap_or_else(|| total.saturating_sub(headers));
        Network { class, ttl, protocol, length }
    }

    fn ends_of(&self, header: &Header) -> [Address; 2] {
        [End::Source, End::Destination].map(|end| {
            let at = self.parsed.version().address_at(header, end);
            if self.is_ipv6() { Address::v6(self.read(at)) } else { Address::v4(self.read(at)) }
        })
    }

    /// Updates the checksum of TCP or UDP for its new ends. IPv6 requires a UDP checksum.
    fn translate_checksum(&mut self, header: Header, ends: [Address; 2]) {
        let at = usize::from(header.sum);
        let is_whole = header.ip == self.layers().outer.ip;
        if header.protocol == protocol::UDP && self.read_u16(at) == 0 && is_whole {
            let transport = usize::from(header.transport);
            let length = usize::from(self.read_u16(transport + 4));
            let datagram = self.frame.get(transport..transport + length).unwrap_or_default();
            let sum = checksum::transport(ends[0], ends[1], protocol::UDP, datagram);
            self.put(at, &if sum == 0 { 0xffff } else { sum }.to_be_bytes());
            return;
        }
        let change = ends_change(self.ends_of(&header), ends);
        self.apply_transport(&header, change);
    }

    /// Translates the transport of the packet that an error quotes.
    fn translate_quoted(&mut self, header: Header, ends: [Address; 2]) {
        let at = usize::from(header.transport);
        let [kind, code] = self.read(at);
        let (new, proto) = match (header.protocol, kind) {
            (protocol::ICMP, 8) => (128, protocol::ICMPV6),
            (protocol::ICMP, _) => (129, protocol::ICMPV6),
            (protocol::ICMPV6, 128) => (8, protocol::ICMPV6),
            (protocol::ICMPV6, _) => (0, protocol::ICMPV6),
            _ => return self.translate_checksum(header, ends),
        };
        // An ICMPv6 checksum covers ends, length and protocol; an ICMP checksum does not.
        let length = self.network(header, None).length as u16;
        let none = [Address::v4([0; 4]); 2];
        let (ends, pseudo) = if header.protocol == protocol::ICMP {
            let added = Change::of_number(0, length).and(Change::of_number(0, u16::from(proto)));
            (ends_change(none, ends), added)
        } else {
            let lost = Change::of_number(length, 0).and(Change::of_number(u16::from(proto), 0));
            (ends_change(self.ends_of(&header), none), lost)
        };
        let kinds = Change::of(&[kind, code], &[new, code]);
        self.put(at, &[new]);
        self.apply_transport(&header, ends.and(pseudo).and(kinds));
    }

    /// Writes the message and its checksum; the packet ends with the frame.
    fn say(&mut self, at: usize, saying: &Saying, ends: [Address; 2]) {
        let mut head = saying.head;
        [head[2], head[3]] = [0; 2];
        self.put(at, &head);
        let message = self.frame.get(at..self.length).unwrap_or_default();
        let sum = if ends[0].is_v4() {
            checksum::internet(message)
        } else {
            checksum::transport(ends[0], ends[1], protocol::ICMPV6, message)
        };
        self.put(at + 2, &sum.to_be_bytes());
    }

    /// Replaces an IP header, including all options and extensions, by another.
    fn exchange(&mut self, old: Header, new: &[u8]) {
        self.put_in_place(usize::from(old.ip), usize::from(old.transport), new);
    }
}
