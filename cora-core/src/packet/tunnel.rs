//! Tunnels: a packet or a frame within another packet.
//!
//! | protocol | carries | standard |
//! | --- | --- | --- |
//! | VXLAN | a frame in UDP, port 4789 | RFC 7348 |
//! | Geneve | a frame in UDP, port 6081 | RFC 8926 |
//! | GTP-U | an IP packet in UDP, port 2152 | 3GPP TS 29.281 |
//! | GRE | an IP packet or a frame | RFC 2784, RFC 2890 |
//! | IP in IP | an IP packet | RFC 2003, RFC 2473, RFC 4213 |
//!
//! Headers are written without options and extensions, and read with them.

use super::checksum;
use super::ip_header::Network;
use super::layers::{
    ETHERTYPE, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Fault, Layers, Part, Version, chunk, number,
};
use super::translate::BadChecksum;
use super::transport::UDP_HEADER;
use super::{MAX_FRAME, Packet};
use crate::key::{Address, FiveTuple, protocol};
use crate::verdict::Reason;
use crate::verdict::reasons::{Malformed, NotIp, TooLong, Truncated};

/// The packet carries no other one that can be read.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NotTunnelled)`")]
pub const NotTunnelled: Reason = Reason::new("not-tunnelled");

const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;
const GTP_PORT: u16 = 2152;

/// The network's number counts (VXLAN).
const HAS_NETWORK: u8 = 0x08;
/// Geneve: a control message, or options that the reader must know.
const CONTROL_OR_CRITICAL: u8 = 0xc0;
/// The Ethernet type of a frame within a tunnel: transparent Ethernet bridging.
const BRIDGING: u16 = 0x6558;
/// GTP-U: version 1, protocol type GTP.
const GTP: u8 = 0x30;
/// GTP-U: four more bytes follow, of which the last announces extension headers.
const GTP_MORE: u8 = GTP_EXTENDED | 0x03;
const GTP_EXTENDED: u8 = 0x04;
/// GTP-U: a packet of a subscriber.
const G_PDU: u8 = 255;
/// Maximum number of extension headers of GTP-U that are read.
const MOST_EXTENSIONS: usize = 8;
/// GRE: the header has a checksum, a key, a sequence number.
const GRE_SUM: u8 = 0x80;
const GRE_KEY: u8 = 0x20;
const GRE_SEQUENCE: u8 = 0x10;

/// The protocol of a tunnel, with the number by which it tells tunnels apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encapsulation {
    /// VXLAN.
    Vxlan {
        /// Number of the network, 24 bits.
        network: u32,
    },
    /// Geneve.
    Geneve {
        /// Number of the network, 24 bits.
        network: u32,
    },
    /// GTP-U.
    GtpU {
        /// Tunnel endpoint identifier.
        tunnel: u32,
    },
    /// GRE.
    Gre {
        /// The key, if there is one.
        key: Option<u32>,
    },
    /// IP in IP.
    Ip,
}

/// What a tunnel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// An Ethernet frame.
    Frame,
    /// An IP packet.
    Ip,
}

/// The headers in front of a tunnel's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Source Ethernet address.
    pub mac_source: [u8; 6],
    /// Destination Ethernet address.
    pub mac_destination: [u8; 6],
    /// Where the tunnel begins.
    pub source: Address,
    /// Where it ends; of the same IP version.
    pub destination: Address,
    /// Source port, for protocols over UDP. Routers spread flows by it.
    pub source_port: u16,
    /// Time to live, hop limit.
    pub ttl: u8,
    /// Type of service, traffic class.
    pub class: u8,
}

/// The tunnel that a packet came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Its protocol and number.
    pub encapsulation: Encapsulation,
    /// Where it begins.
    pub source: Address,
    /// Where it ends.
    pub destination: Address,
    /// What it carries.
    pub carries: Inner,
    /// Offset of that in the frame.
    pub at: usize,
    /// Its end.
    pub end: usize,
}

impl Encapsulation {
    /// The destination port, for protocols over UDP.
    const fn port(self) -> Option<u16> {
        match self {
            Self::Vxlan { .. } => Some(VXLAN_PORT),
            Self::Geneve { .. } => Some(GENEVE_PORT),
            Self::GtpU { .. } => Some(GTP_PORT),
            Self::Gre { .. } | Self::Ip => None,
        }
    }

    /// Whether it carries frames when it is written here.
    const fn carries_frames(self) -> bool {
        matches!(self, Self::Vxlan { .. } | Self::Geneve { .. })
    }

    /// Writes its header for an inner packet of this version and length.
    fn write(self, inner: Version, length: usize) -> Result<([u8; 8], usize), Reason> {
        let [_, n2, n1, n0] = match self {
            Self::Vxlan { network } | Self::Geneve { network } => network.to_be_bytes(),
            _ => [0; 4],
        };
        let kind = if inner == Version::V6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 };
        let [kind_high, kind_low] = kind.to_be_bytes();
        Ok(match self {
            Self::Vxlan { .. } => ([HAS_NETWORK, 0, 0, 0, n2, n1, n0, 0], 8),
            Self::Geneve { .. } => {
                let [high, low] = BRIDGING.to_be_bytes();
                ([0, 0, high, low, n2, n1, n0, 0], 8)
            }
            Self::GtpU { tunnel } => {
                let length = u16::try_from(length).map_err(|_| TooLong)?;
                let ([high, low], [a, b, c, d]) = (length.to_be_bytes(), tunnel.to_be_bytes());
                ([GTP, G_PDU, high, low, a, b, c, d], 8)
            }
            Self::Gre { key: None } => ([0, 0, kind_high, kind_low, 0, 0, 0, 0], 4),
            Self::Gre { key: Some(key) } => {
                let [a, b, c, d] = key.to_be_bytes();
                ([GRE_KEY, 0, kind_high, kind_low, a, b, c, d], 8)
            }
            Self::Ip => ([0; 8], 0),
        })
    }
}

impl Packet<'_> {
    /// Puts the packet into a tunnel: outer headers in front of it, with lengths and checksums.
    /// VXLAN and Geneve carry the whole frame. The others carry its IP packet: Ethernet header,
    /// VLAN tags and padding are removed. The outer packet must not be fragmented ("don't
    /// fragment"). UDP has a checksum over IPv6 alone, where it is required.
    ///
    /// Refused with `malformed` if the ends are of two IP versions, `not-ip` or the fault of the IP
    /// header if the protocol carries IP packets and this is none, `too-long` or
    /// [`NoRoom`](super::NoRoom) if the frame would exceed the longest one or its tailroom. The
    /// packet is then unchanged.
    ///
    /// ```
    /// # use cora_core::key::Address;
    /// # use cora_core::packet::{Encapsulation, Meta, Outer, Packet, ROOM, Roomy};
    /// # let mut memory = [0; 60 + ROOM];
    /// # let mut packet = Packet::in_room(Roomy::new(&mut memory, 60), Meta::default());
    /// let outer = Outer {
    ///     source: Address::v4([192, 0, 2, 1]),
    ///     destination: Address::v4([203, 0, 113, 1]),
    ///     source_port: 0xc000,
    ///     ..Outer::default()
    /// };
    /// packet.encapsulate(&outer, Encapsulation::Vxlan { network: 42 })?;
    /// assert_eq!(packet.len(), 60 + 50);
    /// assert_eq!(packet.tunnel()?.encapsulation, Encapsulation::Vxlan { network: 42 });
    /// # Ok::<(), cora_core::verdict::Reason>(())
    /// ```
    #[inline(never)]
    pub fn encapsulate(&mut self, outer: &Outer, kind: Encapsulation) -> Result<(), Reason> {
        if outer.source.is_v4() != outer.destination.is_v4() {
            return Err(Malformed);
        }
        let (from, to) = if kind.carries_frames() {
            (0, self.length)
        } else {
            self.parsed.network_fault().check()?;
            (usize::from(self.layers().outer.ip), self.parsed.end())
        };
        let length = to - from;
        let (header, written) = kind.write(self.parsed.version(), length)?;
        let header = header.get(..written).unwrap_or_default();
        let udp = if kind.port().is_some() { UDP_HEADER } else { 0 };
        let behind = udp + header.len() + length;
        let protocol = match kind {
            _ if kind.port().is_some() => protocol::UDP,
            Encapsulation::Gre { .. } => protocol::GRE,
            _ if self.is_ipv6() => protocol::IPV6,
            _ => protocol::IPV4,
        };
        if behind + 40 > usize::from(u16::MAX) {
            return Err(TooLong);
        }
        let network = Network { class: outer.class, ttl: outer.ttl, protocol, length: behind };
        let ip = network.write(outer.source, outer.destination, 0);
        let mut head = [0; MOST_HEAD];
        let mut used = 0;
        let mut add = |bytes: &[u8]| {
            if let Some(place) = head.get_mut(used..used + bytes.len()) {
                place.copy_from_slice(bytes);
                used += bytes.len();
            }
        };
        let ethertype = if outer.source.is_v4() { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 };
        add(&outer.mac_destination);
        add(&outer.mac_source);
        add(&ethertype.to_be_bytes());
        add(ip.bytes());
        let transport = 14 + ip.bytes().len();
        if let Some(port) = kind.port() {
            add(&outer.source_port.to_be_bytes());
            add(&port.to_be_bytes());
            add(&(behind as u16).to_be_bytes());
            add(&[0; 2]);
        }
        add(header);
        self.put_around(from, to, head.get(..used).unwrap_or_default())?;
        if udp > 0 && !outer.source.is_v4() {
            let datagram = self.frame.get(transport..self.length).unwrap_or_default();
            let ends = (outer.source, outer.destination);
            let sum = checksum::transport(ends.0, ends.1, protocol::UDP, datagram);
            // Zero would say that there is none (RFC 768).
            let sum = if sum == 0 { u16::MAX } else { sum };
            self.put(transport + 6, &sum.to_be_bytes());
        }
        self.parse_again();
        Ok(())
    }

    /// Keeps only the bytes from `from` to `to`, behind this head.
    fn put_around(&mut self, from: usize, to: usize, head: &[u8]) -> Result<(), Reason> {
        let length = head.len() + to - from;
        if length > MAX_FRAME {
            return Err(TooLong);
        }
        if length > self.frame.len() {
            return Err(super::NoRoom);
        }
        self.length = to;
        self.put_in_place(0, from, head);
        Ok(())
    }

    /// The tunnel that the packet came through, by its outermost headers.
    ///
    /// Refused with the fault of the outer headers, with `fragment`, [`NotTunnelled`] if they
    /// announce no protocol that is read, or `truncated` if its header is cut off.
    #[inline(never)]
    pub fn tunnel(&self) -> Result<Tunnel, Reason> {
        self.parsed.network_fault().check()?;
        let layers = self.layers();
        let outer = layers.outer;
        if outer.part != Part::Whole {
            return Err(Fault::Fragment.reason());
        }
        let bytes = self.frame.get(..layers.end as usize).unwrap_or_default();
        let at = usize::from(outer.transport);
        let found = match outer.protocol {
            protocol::UDP => {
                self.parsed.flow_fault().check()?;
                let payload = self.payload_range();
                let datagram = bytes.get(..payload.end).unwrap_or_default();
                in_udp(datagram, number(datagram, at + 2).unwrap_or(0), payload.start)?
            }
            protocol::GRE => in_gre(bytes, at)?,
            protocol::IPV4 | protocol::IPV6 => {
                Found { encapsulation: Encapsulation::Ip, carries: Inner::Ip, at, end: bytes.len() }
            }
            _ => return Err(NotTunnelled),
        };
        let Found { encapsulation, carries, at, end } = found;
        let least = if carries == Inner::Frame { ETHERTYPE + 2 } else { 20 };
        if at + least > end {
            return Err(Truncated);
        }
        let (source, destination) = (self.source()?, self.destination()?);
        Ok(Tunnel { encapsulation, source, destination, carries, at, end })
    }

    /// The flow of the packet within a tunnel, as [`flow`](super::Headers::flow) has it.
    ///
    /// Refused as [`tunnel`](Self::tunnel), or with the reason that the inner packet has no flow.
    #[inline(never)]
    pub fn inner_flow(&self) -> Result<FiveTuple, Reason> {
        let Tunnel { carries, at, end, .. } = self.tunnel()?;
        let bytes = self.frame.get(..end).unwrap_or_default();
        let (bytes, layers) = match carries {
            Inner::Frame => {
                let frame = bytes.get(at..).unwrap_or_default();
                (frame, Layers::parse(frame))
            }
            Inner::Ip => (bytes, Layers::parse_ip(bytes, at)),
        };
        layers.flow_fault.check()?;
        Ok(layers.flow(bytes))
    }

    /// Takes the packet out of its tunnel, and returns the tunnel. A frame stands alone afterwards.
    /// An IP packet gets the outer frame's Ethernet header, with its VLAN tags.
    ///
    /// Refused as [`tunnel`](Self::tunnel), with [`BadChecksum`] if UDP or GRE has a wrong one, or
    /// `not-ip` if an IP packet is announced and neither version follows. The packet is then
    /// unchanged.
    #[inline(never)]
    pub fn decapsulate(&mut self) -> Result<Tunnel, Reason> {
        let tunnel = self.tunnel()?;
        let Tunnel { carries, at, end, .. } = tunnel;
        let layers = self.layers();
        let ip = usize::from(layers.outer.ip);
        let behind = self.frame.get(usize::from(layers.outer.transport)..layers.end as usize);
        let is_right = match tunnel.encapsulation {
            Encapsulation::Gre { .. } => gre_is_right(behind.unwrap_or_default()),
            _ => checksum::transport_is_right(
                &layers,
                self.frame.get(..layers.end as usize).unwrap_or_default(),
            ),
        };
        if !is_right {
            return Err(BadChecksum);
        }
        let first = self.frame.get(at).copied().unwrap_or(0);
        let kind = match (carries, first >> 4) {
            (Inner::Frame, _) => None,
            (Inner::Ip, 4) => Some(ETHERTYPE_IPV4),
            (Inner::Ip, 6) => Some(ETHERTYPE_IPV6),
            (Inner::Ip, _) => return Err(NotIp),
        };
        self.length = end;
        match kind {
            None => self.put_in_place(0, at, &[]),
            Some(kind) => self.put_in_place(ip - 2, at, &kind.to_be_bytes()),
        }
        self.parse_again();
        Ok(tunnel)
    }
}

/// Ethernet, IPv6, UDP and the longest header of a tunnel.
const MOST_HEAD: usize = 14 + 40 + UDP_HEADER + 8;

/// The beginning of what a tunnel carries.
struct Found {
    encapsulation: Encapsulation,
    carries: Inner,
    at: usize,
    end: usize,
}

/// Reads a tunnel's header at `at` in a UDP datagram to this port, which ends with `bytes`.
fn in_udp(bytes: &[u8], port: u16, at: usize) -> Result<Found, Reason> {
    if !matches!(port, VXLAN_PORT | GENEVE_PORT | GTP_PORT) {
        return Err(NotTunnelled);
    }
    let &[flags, kind, high, low, ..] = chunk::<8>(bytes, at).ok_or(Truncated)?;
    // VXLAN and Geneve use the first three bytes of it.
    let number = u32::from_be_bytes(*chunk(bytes, at + 4).ok_or(Truncated)?);
    let (network, word, end) = (number >> 8, u16::from_be_bytes([high, low]), bytes.len());
    match port {
        VXLAN_PORT if flags & HAS_NETWORK != 0 => {
            let encapsulation = Encapsulation::Vxlan { network };
            Ok(Found { encapsulation, carries: Inner::Frame, at: at + 8, end })
        }
        GENEVE_PORT if flags >> 6 == 0 && kind & CONTROL_OR_CRITICAL == 0 => {
            let carries = carried(word).ok_or(NotTunnelled)?;
            let encapsulation = Encapsulation::Geneve { network };
            Ok(Found { encapsulation, carries, at: at + 8 + usize::from(flags & 0x3f) * 4, end })
        }
        GTP_PORT if flags & 0xf0 == GTP && kind == G_PDU => {
            let end = Some(at + 8 + usize::from(word))
                .filter(|stated| *stated <= end)
                .ok_or(Truncated)?;
            let at = gtp_payload(bytes, at, flags)?;
            let encapsulation = Encapsulation::GtpU { tunnel: number };
            Ok(Found { encapsulation, carries: Inner::Ip, at, end })
        }
        _ => Err(NotTunnelled),
    }
}

/// Offset of the packet behind a GTP-U header with these flags, and its extension headers.
fn gtp_payload(bytes: &[u8], at: usize, flags: u8) -> Result<usize, Reason> {
    if flags & GTP_MORE == 0 {
        return Ok(at + 8);
    }
    let mut next = *bytes.get(at + 11).ok_or(Truncated)?;
    let mut at = at + 12;
    if flags & GTP_EXTENDED == 0 {
        return Ok(at);
    }
    for _ in 0..MOST_EXTENSIONS {
        if next == 0 {
            return Ok(at);
        }
        let words = usize::from(*bytes.get(at).ok_or(Truncated)?);
        if words == 0 {
            return Err(Malformed);
        }
        at += words * 4;
        next = *bytes.get(at - 1).ok_or(Truncated)?;
    }
    Err(NotTunnelled)
}

/// Reads a GRE header at `at`.
fn in_gre(bytes: &[u8], at: usize) -> Result<Found, Reason> {
    let &[flags, version, high, low] = chunk(bytes, at).ok_or(Truncated)?;
    if flags & !(GRE_SUM | GRE_KEY | GRE_SEQUENCE) != 0 || version != 0 {
        return Err(NotTunnelled);
    }
    let carries = carried(u16::from_be_bytes([high, low])).ok_or(NotTunnelled)?;
    let mut behind = at + 4;
    if flags & GRE_SUM != 0 {
        behind += 4;
    }
    let mut key = None;
    if flags & GRE_KEY != 0 {
        key = Some(u32::from_be_bytes(*chunk(bytes, behind).ok_or(Truncated)?));
        behind += 4;
    }
    if flags & GRE_SEQUENCE != 0 {
        behind += 4;
    }
    let encapsulation = Encapsulation::Gre { key };
    Ok(Found { encapsulation, carries, at: behind, end: bytes.len() })
}

/// Whether a GRE packet has no checksum, or a correct one.
fn gre_is_right(packet: &[u8]) -> bool {
    packet.first().is_none_or(|flags| flags & GRE_SUM == 0 || checksum::internet(packet) == 0)
}

/// The content that an Ethernet type announces.
const fn carried(kind: u16) -> Option<Inner> {
    match kind {
        BRIDGING => Some(Inner::Frame),
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(Inner::Ip),
        _ => None,
    }
}

/// 64 hops, and no addresses.
impl Default for Outer {
    fn default() -> Self {
        Self {
            mac_source: [0; 6],
            mac_destination: [0; 6],
            source: Address::v4([0; 4]),
            destination: Address::v4([0; 4]),
            source_port: 0,
            ttl: 64,
            class: 0,
        }
    }
}
