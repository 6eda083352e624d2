//! Rewriting frames as most are, see [`Layers::plain`](super::layers::Layers::plain): every field at its
//! fixed offset. [`rewrite`](super::rewrite) does the same for all frames.
//!
//! Checksums are followed in the machine's byte order: swapping the bytes of all numbers swaps those of
//! their sum (RFC 1071, 2 B).

use super::Packet;
use super::checksum::Change;
use super::flow::End;
use super::layers::PLAIN_UDP;
use crate::key::{Address, protocol};

const V4_CHECKSUM: usize = 24;
const SOURCE: usize = 26;
const DESTINATION: usize = 30;
const SOURCE_PORT: usize = 34;
const DESTINATION_PORT: usize = 36;

impl Packet<'_> {
    /// Makes the packet come from or go to `address`, which is of IPv4.
    #[inline(always)]
    pub(super) fn readdress_plain(&mut self, end: End, address: Address) {
        let change = self.put_address(end, address);
        self.follow(change);
    }

    /// Makes the packet come from or go to `port`.
    #[inline(always)]
    pub(super) fn set_plain_port(&mut self, end: End, port: u16) {
        let change = self.put_port(end, port);
        self.follow(change);
    }

    /// Both; the transport's checksum follows once.
    #[inline(always)]
    pub(super) fn set_plain_endpoint(&mut self, end: End, address: Address, port: u16) {
        let change = self.put_address(end, address).and(self.put_port(end, port));
        self.follow(change);
    }

    /// Writes an address, and the header's checksum.
    #[inline(always)]
    fn put_address(&mut self, end: End, address: Address) -> Change {
        // That long is every plain frame.
        let Some(head) = self.frame.first_chunk_mut::<PLAIN_UDP>() else { return Change::NONE };
        let at = match end {
            End::Source => SOURCE,
            End::Destination => DESTINATION,
        };
        self.flow.set_address(end, address);
        let new = (address.bits() as u32).to_be_bytes();
        let old = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        head[at..at + 4].copy_from_slice(&new);
        let change = Change::of_word(u32::from_ne_bytes(old), u32::from_ne_bytes(new));
        let sum = u16::from_ne_bytes([head[V4_CHECKSUM], head[V4_CHECKSUM + 1]]);
        let sum = change.applied_to(sum).to_ne_bytes();
        head[V4_CHECKSUM..V4_CHECKSUM + 2].copy_from_slice(&sum);
        change
    }

    /// Writes a port.
    #[inline(always)]
    fn put_port(&mut self, end: End, port: u16) -> Change {
        let Some(head) = self.frame.first_chunk_mut::<PLAIN_UDP>() else { return Change::NONE };
        let at = match end {
            End::Source => SOURCE_PORT,
            End::Destination => DESTINATION_PORT,
        };
        self.flow.set_port(end, port);
        let (old, new) = ([head[at], head[at + 1]], port.to_be_bytes());
        head[at..at + 2].copy_from_slice(&new);
        Change::of_number(u16::from_ne_bytes(old), u16::from_ne_bytes(new))
    }

    /// Lets the checksum of TCP or UDP follow.
    #[inline(always)]
    fn follow(&mut self, change: Change) {
        let at = usize::from(self.layers.outer.sum);
        let Some(sum) = self.frame.get_mut(at..at + 2) else { return };
        let old = u16::from_ne_bytes([sum[0], sum[1]]);
        let mut new = change.applied_to(old);
        if self.layers.outer.protocol == protocol::UDP {
            // Zero says that there is none, so a sum of zero is written as the other zero (RFC 768).
            match (old, new) {
                (0, _) => new = 0,
                (_, 0) => new = 0xffff,
                _ => {}
            }
        }
        sum.copy_from_slice(&new.to_ne_bytes());
    }
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
            let plain = Packet::plain(short.as_mut_slice().into(), Meta::default()).expect("plain");
            let short = rewritten(plain, new, port);
            let plain = Packet::plain(ends.as_mut_slice().into(), Meta::default()).expect("plain");
            prop_assert_eq!(&short, &rewritten_by_ends(plain, new, port));
            let long = rewritten(Packet::parsed(long.as_mut_slice().into(), Meta::default()), new, port);
            prop_assert_eq!(&short, &long);
            // The flow that is kept is the one that now stands there.
            let mut again = short.0;
            let flow = Packet::new(&mut again, Meta::default()).flow().unwrap();
            prop_assert_eq!(short.1, std::format!("{flow:?}"));
        }
    }
}
