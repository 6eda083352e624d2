//! The fast path for most frames: parsed and rewritten at fixed offsets. [`layers`](super::layers)
//! and [`rewrite`](super::rewrite) do the same for all frames.
//!
//! Only the fields in which such frames differ are kept: an [arriving](super::Headers) packet costs
//! no stores for facts common to all.
//!
//! Checksums are updated in native byte order: swapping the bytes of all numbers swaps those of
//! their sum (RFC 1071, 2 B).

use core::hint;
use core::ops::Range;

use super::Headers;
use super::carried::PORT;
use super::checksum::{self, Change};
use super::flow::End;
use super::layers::{ETHERTYPE, ETHERTYPE_IPV4, Fault, Header, Layers, Version};
use crate::hash::FlowHasher;
use crate::key::Address;
use crate::key::protocol::{TCP, UDP};

/// The Ethernet type of IPv4 and the first byte of a header without options, as loaded in the order
/// of their bytes.
const BEGIN: u32 = 0x0045_0008;
/// Bits of IPv4's second word, as loaded in byte order, that are zero in a whole packet: the upper
/// half except "don't fragment".
const FRAGMENT: u32 = 0xffbf_0000;
/// Bytes of an untagged frame's headers, with TCP without options: the minimum memory of a
/// fast-path frame.
pub(super) const FAST_HEAD: usize = 54;
const IP: usize = 14;
/// Offset of the time to live.
pub(super) const FAST_TTL: usize = 22;
const V4_CHECKSUM: usize = 24;
const SOURCE: usize = 26;
const DESTINATION: usize = 30;
/// Offset of the transport's header.
pub(super) const FAST_TRANSPORT: usize = 34;
const SOURCE_PORT: usize = 34;
const DESTINATION_PORT: usize = 36;
/// Offset of a segment's checksum.
const TCP_SUM: usize = 50;
/// Offset of a segment's flags.
pub(super) const FAST_TCP_FLAGS: usize = 47;
/// Offset of a datagram's checksum.
const UDP_SUM: usize = 40;
/// Offset of a datagram's payload.
const UDP_PAYLOAD: usize = 42;

/// An IPv4 frame without options, with a correct header checksum, not a fragment, carrying TCP or
/// UDP, with no VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FastFrame {
    /// Both addresses as one number, the source's in the upper half. Stored as little-endian bytes,
    /// so that a new address is one write.
    addresses: [u8; 8],
    /// The protocol in the upper half, both ports in the lower half, the source's first: the last
    /// of a flow's [words](crate::key::Key::words). Also little-endian bytes.
    rest: [u8; 8],
    /// End of the IP packet.
    pub(super) end: u32,
}

impl FastFrame {
    /// `None` for all other frames.
    ///
    /// The first `length` bytes of `memory` are the frame. Reads may go beyond them without an
    /// effect: the header's end offsets are checked against `length`.
    #[inline(always)]
    pub(super) fn parse(memory: &[u8], length: usize) -> Option<Self> {
        let head: &[u8; FAST_HEAD] = memory.first_chunk()?;
        // Loads each word of the header once, for its fields and for the checksum.
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let header @ [lengths, part, transport, source, destination] =
            [word(IP), word(IP + 4), word(IP + 8), word(SOURCE), word(DESTINATION)];
        // The Ethernet type, then version and header length, then one arbitrary byte.
        if word(ETHERTYPE) & 0x00ff_ffff != BEGIN || part & FRAGMENT != 0 {
            hint::cold_path();
            return None;
        }
        let end = IP + usize::from(((lengths >> 16) as u16).swap_bytes());
        if end > length || !checksum::is_right_without_options(header) {
            hint::cold_path();
            return None;
        }
        let protocol = (transport >> 8) as u8;
        // Checked in each arm: one check behind the `match` would first materialise its result.
        match protocol {
            TCP if (FAST_HEAD..=end).contains(&segment(head)) => {}
            UDP if (UDP_PAYLOAD..=end).contains(&datagram(head).end) => {}
            _ => {
                hint::cold_path();
                return None;
            }
        }
        let addresses = (u64::from(destination) << 32 | u64::from(source)).swap_bytes();
        let ports = u64::from(word(SOURCE_PORT).swap_bytes());
        let rest = u64::from(protocol) << 32 | ports;
        let (addresses, rest) = (addresses.to_le_bytes(), rest.to_le_bytes());
        Some(Self { addresses, rest, end: end as u32 })
    }

    /// Both addresses as one number, the source's in the upper half.
    #[inline(always)]
    pub(super) const fn addresses(&self) -> u64 {
        u64::from_le_bytes(self.addresses)
    }

    /// The last of the flow's words.
    #[inline(always)]
    pub(super) const fn rest(&self) -> u64 {
        u64::from_le_bytes(self.rest)
    }

    /// The protocol: TCP or UDP.
    #[inline(always)]
    pub(super) const fn protocol(&self) -> u8 {
        let [_, _, _, _, protocol, ..] = self.rest;
        protocol
    }

    /// The address at one end.
    #[inline(always)]
    pub(super) const fn address(&self, end: End) -> Address {
        let octets = match end {
            End::Source => (self.addresses() >> 32) as u32,
            End::Destination => self.addresses() as u32,
        };
        Address::v4(octets.to_be_bytes())
    }

    /// The [words](crate::key::Key::words) of the flow.
    #[inline(always)]
    pub(super) const fn words(&self) -> [u64; 5] {
        let [a, b] = self.address(End::Source).halves();
        let [c, d] = self.address(End::Destination).halves();
        [a, b, c, d, self.rest()]
    }

    /// The [hash](crate::key::Key::hash) of the flow.
    #[inline(always)]
    pub(super) const fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        hash(self.addresses(), self.rest(), hasher, undirected)
    }

    /// The payload of the transport. Computed from the headers on each call, since few handlers
    /// need it.
    #[inline]
    pub(super) fn payload(&self, frame: &[u8]) -> Range<usize> {
        match frame.first_chunk() {
            Some(head) if self.protocol() == TCP => segment(head)..self.end as usize,
            Some(head) => datagram(head),
            None => 0..0,
        }
    }

    /// The offsets of the headers, in the representation of other frames.
    pub(super) const fn layers(&self) -> Layers {
        let sum = if self.protocol() == UDP { UDP_SUM } else { TCP_SUM } as u16;
        let (protocol, at) = (self.protocol(), FAST_TRANSPORT as u16);
        let outer =
            Header { ip: IP as u16, transport: at, ports: at, sum, protocol, ..Header::NONE };
        let mut layers = Layers::none(ETHERTYPE_IPV4, Version::V4, Fault::None);
        (layers.outer, layers.end) = (outer, self.end);
        layers
    }

    /// Replaces the address of one end.
    #[inline(always)]
    fn set_address(&mut self, end: End, address: Address) {
        let octets = (address.bits() as u32).to_le_bytes();
        let at = match end {
            End::Source => 4,
            End::Destination => 0,
        };
        self.addresses[at..at + 4].copy_from_slice(&octets);
    }

    /// Replaces the port of one end.
    #[inline(always)]
    fn set_port(&mut self, end: End, port: u16) {
        let at = match end {
            End::Source => 2,
            End::Destination => 0,
        };
        self.rest[at..at + 2].copy_from_slice(&port.to_le_bytes());
    }
}

/// The hash of an IPv4 flow, which fits two words.
#[inline(always)]
pub(super) const fn hash(addresses: u64, rest: u64, hasher: &FlowHasher, undirected: bool) -> u64 {
    if !undirected {
        return hasher.hash_pair([addresses, rest]);
    }
    // Its two ends, the lesser one first.
    let source = addresses >> 32 << 16 | rest >> 16 & PORT;
    let destination = (addresses & u32::MAX as u64) << 16 | rest & PORT;
    let (first, second) =
        if source <= destination { (source, destination) } else { (destination, source) };
    hasher.hash_pair([first | rest >> 32 << 48, second])
}

/// Offset of a segment's payload.
#[inline(always)]
fn segment(head: &[u8; FAST_HEAD]) -> usize {
    FAST_TRANSPORT + usize::from(head[46] >> 4) * 4
}

/// The payload of a datagram.
#[inline(always)]
fn datagram(head: &[u8; FAST_HEAD]) -> Range<usize> {
    UDP_PAYLOAD..FAST_TRANSPORT + usize::from(u16::from_be_bytes([head[38], head[39]]))
}

impl Headers<'_> {
    /// Sets the source or destination to `address`, which must be IPv4; `false` if the frame is not
    /// on the fast path.
    #[inline(always)]
    pub(super) fn readdress_fast(&mut self, end: End, address: Address) -> bool {
        let Some((head, fast)) = self.fast_mut() else { return false };
        fast.set_address(end, address);
        let change = put_address(head, end, address);
        follow(head, fast.protocol(), change);
        true
    }

    /// Sets the source or destination port; `false` if the frame is not on the fast path.
    #[inline(always)]
    pub(super) fn set_fast_port(&mut self, end: End, port: u16) -> bool {
        let Some((head, fast)) = self.fast_mut() else { return false };
        fast.set_port(end, port);
        let change = put_port(head, end, port);
        follow(head, fast.protocol(), change);
        true
    }

    /// Sets address and port together, with one update of the transport's checksum.
    #[inline(always)]
    pub(super) fn set_fast_endpoint(&mut self, end: End, address: Address, port: u16) -> bool {
        let Some((head, fast)) = self.fast_mut() else { return false };
        fast.set_address(end, address);
        fast.set_port(end, port);
        let change = put_address(head, end, address).and(put_port(head, end, port));
        follow(head, fast.protocol(), change);
        true
    }
}

/// Writes an address and updates the header's checksum.
#[inline(always)]
fn put_address(head: &mut [u8; FAST_HEAD], end: End, address: Address) -> Change {
    let at = match end {
        End::Source => SOURCE,
        End::Destination => DESTINATION,
    };
    let new = (address.bits() as u32).to_be_bytes();
    let old = [head[at], head[at + 1], head[at + 2], head[at + 3]];
    head[at..at + 4].copy_from_slice(&new);
    let change = Change::of_word(u32::from_ne_bytes(old), u32::from_ne_bytes(new));
    put_sum(head, V4_CHECKSUM, change.applied_to(sum(head, V4_CHECKSUM)));
    change
}

/// Writes a port.
#[inline(always)]
fn put_port(head: &mut [u8; FAST_HEAD], end: End, port: u16) -> Change {
    let at = match end {
        End::Source => SOURCE_PORT,
        End::Destination => DESTINATION_PORT,
    };
    let (old, new) = ([head[at], head[at + 1]], port.to_be_bytes());
    head[at..at + 2].copy_from_slice(&new);
    Change::of_number(u16::from_ne_bytes(old), u16::from_ne_bytes(new))
}

/// Updates the checksum of TCP or UDP.
#[inline(always)]
fn follow(head: &mut [u8; FAST_HEAD], protocol: u8, change: Change) {
    if protocol != UDP {
        put_sum(head, TCP_SUM, change.applied_to(sum(head, TCP_SUM)));
        return;
    }
    // Zero means no checksum, so a computed zero is written as 0xffff (RFC 768).
    let old = sum(head, UDP_SUM);
    if old != 0 {
        let new = change.applied_to(old);
        put_sum(head, UDP_SUM, if new == 0 { 0xffff } else { new });
    }
}

/// Reads a checksum, in native byte order.
#[inline(always)]
fn sum(head: &[u8; FAST_HEAD], at: usize) -> u16 {
    u16::from_ne_bytes([head[at], head[at + 1]])
}

/// Writes a checksum, in native byte order.
#[inline(always)]
fn put_sum(head: &mut [u8; FAST_HEAD], at: usize, sum: u16) {
    head[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::checksum::internet;
    use super::super::parsed::Parsed;
    use super::super::{Meta, Packet};
    use super::*;
    use crate::key::{FiveTuple, Key as _};
    use proptest::prelude::*;

    /// 64 bytes of IPv4 with TCP or UDP, with arbitrary addresses, ports and transport checksums.
    fn frame(udp: bool, filling: &[u8]) -> Vec<u8> {
        let mut frame = filling.to_vec();
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6]);
        frame[23] = if udp { UDP } else { TCP };
        if udp {
            frame[38..40].copy_from_slice(&[0, 26]);
        } else {
            frame[46] = 0x50;
        }
        sum_up(&mut frame);
        frame
    }

    /// Corrects the header's checksum.
    fn sum_up(frame: &mut [u8]) {
        frame[24..26].fill(0);
        let sum = internet(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
    }

    #[test]
    fn frames_of_the_fast_path_are_recognised() {
        for udp in [false, true] {
            assert!(FastFrame::parse(&frame(udp, &[0; 64]), 64).is_some());
        }
    }

    const HASHER: FlowHasher = FlowHasher::new(3);

    /// The packet's flow, after a check of its hash.
    fn flow_of(packet: &Packet<'_>) -> String {
        let flow = packet.flow().unwrap();
        for undirected in [false, true] {
            let hash = packet.flow_hash(&HASHER, undirected);
            assert_eq!(hash, Some(flow.hash(&HASHER, undirected)));
        }
        std::format!("{flow:?}")
    }

    /// Rewrites all fields, both of an end at once. Returns the new frame and the flow.
    fn rewritten_by_ends(mut packet: Packet<'_>, new: [u8; 4], port: u16) -> (Vec<u8>, String) {
        packet.set_source_endpoint(Address::v4(new), port).unwrap();
        packet.set_destination_endpoint(Address::v4([new[3], new[2], 0, 1]), !port).unwrap();
        let flow = flow_of(&packet);
        (packet.frame().to_vec(), flow)
    }

    /// The same, field by field.
    fn rewritten(mut packet: Packet<'_>, new: [u8; 4], port: u16) -> (Vec<u8>, String) {
        packet.set_source(Address::v4(new)).unwrap();
        packet.set_source_port(port).unwrap();
        packet.set_destination(Address::v4([new[3], new[2], 0, 1])).unwrap();
        packet.set_destination_port(!port).unwrap();
        let flow = flow_of(&packet);
        (packet.frame().to_vec(), flow)
    }

    proptest! {
        #[test]
        fn the_short_way_writes_what_the_long_one_does(
            udp in any::<bool>(),
            filling in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0xff)], 64),
            new in prop::array::uniform4(prop_oneof![any::<u8>(), Just(0), Just(0xff)]),
            port in any::<u16>(),
        ) {
            let frame = frame(udp, &filling);
            let (mut ends, mut short, mut long) = (frame.clone(), frame.clone(), frame);
            let fast = Packet::new(&mut short, Meta::default());
            prop_assert!(matches!(fast.parsed, Parsed::Fast(_)));
            let short = rewritten(fast, new, port);
            let fast = Packet::new(&mut ends, Meta::default());
            prop_assert_eq!(&short, &rewritten_by_ends(fast, new, port));
            let mut long = Packet::unparsed(long.as_mut_slice().into(), Meta::default());
            long.parse_any();
            prop_assert!(matches!(long.parsed, Parsed::Other(..)));
            let long = rewritten(long, new, port);
            prop_assert_eq!(&short, &long);
            // The flow kept in the packet equals the one parsed from the new frame.
            let mut again = short.0;
            let flow = Packet::new(&mut again, Meta::default()).flow().unwrap();
            prop_assert_eq!(short.1, std::format!("{flow:?}"));
        }

        /// For any change or truncation, the fast path and the general parse agree.
        #[test]
        fn the_short_way_finds_what_the_long_one_does(
            udp in any::<bool>(),
            changes in prop::collection::vec((12..48_usize, prop_oneof![any::<u8>(), 0..64_u8]), 0..3),
            summed in prop::bool::weighted(0.8),
            length in 30..64_usize,
        ) {
            let mut frame = frame(udp, &[0; 64]);
            for (at, byte) in changes {
                frame[at] = byte;
            }
            if summed {
                sum_up(&mut frame);
            }
            // The bytes behind the frame are tailroom.
            let in_room = frame.clone();
            for frame in [&frame[..], &frame[..length]] {
                if let Some(fast) = FastFrame::parse(&in_room, frame.len()) {
                    let parsed = Layers::parse(frame);
                    let flow = FiveTuple::of_words(&fast.words());
                    prop_assert_eq!(flow, parsed.flow(frame));
                    for undirected in [false, true] {
                        let hash = flow.hash(&HASHER, undirected);
                        prop_assert_eq!(fast.hash(&HASHER, undirected), hash);
                        let reversed = flow.reversed().hash(&HASHER, undirected);
                        prop_assert!(!undirected || reversed == hash);
                    }
                    prop_assert_eq!(fast.payload(&in_room), parsed.payload());
                    let mut layers = fast.layers();
                    let payload = fast.payload(&in_room);
                    layers.set_payload(payload.start, payload.end);
                    prop_assert_eq!(std::format!("{layers:?}"), std::format!("{parsed:?}"));
                }
            }
        }
    }
}
