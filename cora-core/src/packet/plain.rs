//! Rewriting frames as most are, see [`Layers::plain`](super::layers::Layers::plain): every field at its
//! fixed offset. [`rewrite`](super::rewrite) does the same for all frames.
//!
//! Checksums are followed in the machine's byte order: swapping the bytes of all numbers swaps those of
//! their sum (RFC 1071, 2 B).

use super::Headers;
use super::checksum::Change;
use super::flow::End;
use super::layers::{PLAIN, PLAIN_TCP_SUM, PLAIN_UDP_SUM};
use crate::key::{Address, protocol};

const V4_CHECKSUM: usize = 24;
const SOURCE: usize = 26;
const DESTINATION: usize = 30;
const SOURCE_PORT: usize = 34;
const DESTINATION_PORT: usize = 36;

impl Headers<'_> {
    /// Makes the packet come from or go to `address`, which is of IPv4.
    #[inline(always)]
    pub(super) fn readdress_plain(&mut self, end: End, address: Address) {
        // That long is the memory of every plain frame.
        let Some(head) = self.frame.first_chunk_mut() else { return };
        self.flow.set_address(end, address);
        let change = put_address(head, end, address);
        follow(head, self.layers.outer.protocol, change);
    }

    /// Makes the packet come from or go to `port`.
    #[inline(always)]
    pub(super) fn set_plain_port(&mut self, end: End, port: u16) {
        let Some(head) = self.frame.first_chunk_mut() else { return };
        self.flow.set_port(end, port);
        let change = put_port(head, end, port);
        follow(head, self.layers.outer.protocol, change);
    }

    /// Both; the transport's checksum follows once.
    #[inline(always)]
    pub(super) fn set_plain_endpoint(&mut self, end: End, address: Address, port: u16) {
        let Some(head) = self.frame.first_chunk_mut() else { return };
        self.flow.set_address(end, address);
        self.flow.set_port(end, port);
        let change = put_address(head, end, address).and(put_port(head, end, port));
        follow(head, self.layers.outer.protocol, change);
    }
}

/// Writes an address, and the header's checksum.
#[inline(always)]
fn put_address(head: &mut [u8; PLAIN], end: End, address: Address) -> Change {
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
fn put_port(head: &mut [u8; PLAIN], end: End, port: u16) -> Change {
    let at = match end {
        End::Source => SOURCE_PORT,
        End::Destination => DESTINATION_PORT,
    };
    let (old, new) = ([head[at], head[at + 1]], port.to_be_bytes());
    head[at..at + 2].copy_from_slice(&new);
    Change::of_number(u16::from_ne_bytes(old), u16::from_ne_bytes(new))
}

/// Lets the checksum of TCP or UDP follow.
#[inline(always)]
fn follow(head: &mut [u8; PLAIN], protocol: u8, change: Change) {
    if protocol != protocol::UDP {
        put_sum(head, PLAIN_TCP_SUM, change.applied_to(sum(head, PLAIN_TCP_SUM)));
        return;
    }
    // Zero says that there is none, so a sum of zero is written as the other zero (RFC 768).
    let old = sum(head, PLAIN_UDP_SUM);
    if old != 0 {
        let new = change.applied_to(old);
        put_sum(head, PLAIN_UDP_SUM, if new == 0 { 0xffff } else { new });
    }
}

/// A checksum, in the machine's byte order.
#[inline(always)]
fn sum(head: &[u8; PLAIN], at: usize) -> u16 {
    u16::from_ne_bytes([head[at], head[at + 1]])
}

/// Writes it.
#[inline(always)]
fn put_sum(head: &mut [u8; PLAIN], at: usize, sum: u16) {
    head[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::checksum::internet;
    use super::super::{Meta, Packet};
    use super::*;
    use proptest::prelude::*;

    /// 64 bytes of IPv4 with TCP or UDP, and any addresses, ports and checksums of transports.
    fn frame(udp: bool, filling: &[u8]) -> Vec<u8> {
        let mut frame = filling.to_vec();
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6]);
        frame[23] = if udp { protocol::UDP } else { protocol::TCP };
        if udp {
            frame[38..40].copy_from_slice(&[0, 26]);
        } else {
            frame[46] = 0x50;
        }
        frame[24..26].fill(0);
        let sum = internet(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
        frame
    }

    /// Rewrites all fields, both of an end at once; the frame and the flow afterwards.
    fn rewritten_by_ends(mut packet: Packet<'_>, new: [u8; 4], port: u16) -> (Vec<u8>, String) {
        packet.set_source_endpoint(Address::v4(new), port).unwrap();
        packet.set_destination_endpoint(Address::v4([new[3], new[2], 0, 1]), !port).unwrap();
        let flow = std::format!("{:?}", packet.flow().unwrap());
        (packet.frame().to_vec(), flow)
    }

    /// Likewise, one by one.
    fn rewritten(mut packet: Packet<'_>, new: [u8; 4], port: u16) -> (Vec<u8>, String) {
        packet.set_source(Address::v4(new)).unwrap();
        packet.set_source_port(port).unwrap();
        packet.set_destination(Address::v4([new[3], new[2], 0, 1])).unwrap();
        packet.set_destination_port(!port).unwrap();
        let flow = std::format!("{:?}", packet.flow().unwrap());
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
            let plain = Packet::new(&mut short, Meta::default());
            prop_assert!(plain.layers.is_plain);
            let short = rewritten(plain, new, port);
            let plain = Packet::new(&mut ends, Meta::default());
            prop_assert_eq!(&short, &rewritten_by_ends(plain, new, port));
            let mut long = Packet::unparsed(long.as_mut_slice().into(), Meta::default());
            long.parse_any();
            prop_assert!(!long.layers.is_plain);
            let long = rewritten(long, new, port);
            prop_assert_eq!(&short, &long);
            // The flow that is kept is the one that now stands there.
            let mut again = short.0;
            let flow = Packet::new(&mut again, Meta::default()).flow().unwrap();
            prop_assert_eq!(short.1, std::format!("{flow:?}"));
        }
    }
}
