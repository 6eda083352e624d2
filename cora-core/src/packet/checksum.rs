//! The internet checksum: computed whole (RFC 1071), updated incrementally (RFC 1624), verified.

use super::Packet;
use super::crc32c;
use super::flow::End;
use super::layers::{Fault, Layers, Part, Version, number};
use crate::key::protocol::{SCTP, UDP};
use crate::key::{Address, protocol};

/// The checksum of `bytes`, with zero in the checksum field.
#[inline]
pub fn internet(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// The checksum of a TCP, UDP or ICMPv6 segment between these two addresses, with zero in the
/// checksum field. UDP writes a checksum of 0 as 0xffff.
pub fn transport(source: Address, destination: Address, protocol: u8, segment: &[u8]) -> u16 {
    !fold(pseudo(source, destination, protocol, segment.len()) + sum(segment))
}

/// Whether all verifiable checksums of `packet` are correct: IPv4 header, the IPv4 header that an
/// ICMP error quotes, and for whole packets TCP, UDP, ICMP, ICMPv6 and SCTP. A UDP checksum of zero
/// means none, so it is not wrong.
///
/// `false` for packets that are not IP or don't parse.
pub fn verify(packet: &Packet<'_>) -> bool {
    let layers = packet.layers();
    if !layers.flow_fault.is_readable() {
        return false;
    }
    let bytes = packet.frame.get(..layers.end as usize).unwrap_or_default();
    let headers = [&layers.outer, &layers.inner];
    let headers_right = headers.iter().filter(|header| header.ip != 0).all(|header| {
        layers.version == Version::V6 || header_is_right(bytes, usize::from(header.ip))
    });
    headers_right && (layers.outer.part != Part::Whole || transport_is_right(&layers, bytes))
}

/// Whether an IPv4 header without options, not all zeros, has a correct checksum.
///
/// A ones' complement sum is the sum modulo 0xffff, in either byte order and for words of any width
/// (RFC 1071, 2 B and C). The checksum is correct if it is zero. Multiplication by the inverse of
/// 0xffff modulo 2⁶⁴ gives the quotient for multiples of 0xffff, here less than 2²⁰, and larger
/// numbers for all others.
#[inline(always)]
pub(super) fn is_right_without_options(header: [u32; 5]) -> bool {
    const INVERSE: u64 = 0xfffe_fffe_fffe_ffff;
    let sum: u64 = header.into_iter().map(u64::from).sum();
    sum.wrapping_mul(INVERSE) >> 20 == 0
}

/// The same for an IPv4 header with options, in whole words.
pub(super) fn is_right(header: &[u8]) -> bool {
    let words = header.as_chunks().0.iter();
    words.map(|word| u64::from(u32::from_ne_bytes(*word))).sum::<u64>().is_multiple_of(0xffff)
}

/// Whether the IPv4 header at `at` has a correct checksum.
fn header_is_right(packet: &[u8], at: usize) -> bool {
    let first = packet.get(at).copied().unwrap_or_default();
    let length = usize::from(first & 0x0f) * 4;
    packet.get(at..at + length).is_some_and(is_right)
}

/// Whether the transport checksum of a whole packet is correct. Also `true` for a transport that is
/// not read.
#[inline(never)]
pub(super) fn transport_is_right(layers: &Layers, bytes: &[u8]) -> bool {
    let outer = &layers.outer;
    let segment = bytes.get(usize::from(outer.transport)..).unwrap_or_default();
    if layers.network_fault != Fault::None {
        return false;
    }
    let source = layers.address(bytes, outer, End::Source);
    let destination = layers.address(bytes, outer, End::Destination);
    let is_right = |protocol, segment| transport(source, destination, protocol, segment) == 0;
    match outer.protocol {
        SCTP => crc32c::is_right(segment),
        protocol::ICMP if layers.version == Version::V4 => internet(segment) == 0,
        // The checksum covers the address of the last stop, which is unknown here.
        _ if outer.routed => true,
        UDP => {
            let length = number(segment, 4).unwrap_or_default();
            number(bytes, usize::from(outer.sum)).unwrap_or_default() == 0
                || segment
                    .get(..usize::from(length))
                    .is_some_and(|datagram| is_right(UDP, datagram))
        }
        protocol::TCP => is_right(protocol::TCP, segment),
        protocol::ICMPV6 if layers.version == Version::V6 => is_right(protocol::ICMPV6, segment),
        _ => true,
    }
}

/// Sum of `bytes` as numbers of 32 bits, of which both halves count alike (RFC 1071, 2 C); the last
/// one is padded with zeros.
///
/// The processor's byte order serves (RFC 1071, 2 B): several words are added at once in it.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 4];
    if let Some(place) = last.get_mut(..rest.len()) {
        place.copy_from_slice(rest);
    }
    let word = |word: &[u8; 4]| u64::from(u32::from_ne_bytes(*word));
    let sum = words.iter().map(word).sum::<u64>() + word(&last);
    u64::from(fold(sum).to_be())
}

/// Sum of the pseudo-header (RFC 9293, 3.1; RFC 8200, 8.1). IPv4 and IPv6 differ only in field
/// widths, which don't change the sum.
fn pseudo(source: Address, destination: Address, protocol: u8, length: usize) -> u64 {
    let address = |address: Address| match address.as_v4() {
        Some(octets) => sum(&octets),
        None => sum(&address.octets()),
    };
    address(source) + address(destination) + u64::from(protocol) + length as u64
}

/// Adds all carries back in. A number plus itself with swapped halves has the sum of both halves in
/// the upper half, including the carry of the lower one.
#[inline]
const fn fold(sum: u64) -> u16 {
    fold_word((sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32)
}

/// The same for 32 bits.
#[inline]
const fn fold_word(sum: u32) -> u16 {
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

/// The sum of both with the carry added back in; zero only if both are.
#[inline]
const fn add(a: u32, b: u32) -> u32 {
    let (sum, carry) = a.overflowing_add(b);
    sum.wrapping_add(carry as u32)
}

/// The change of a checksum by a change of the bytes that it covers: RFC 1624, equation 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change(u32);

impl Change {
    /// Nothing has changed.
    pub const NONE: Self = Self(0);

    /// `old` was replaced by `new`, of the same even length, at an even offset in the bytes that
    /// the checksum covers.
    #[inline]
    #[must_use]
    pub fn of(old: &[u8], new: &[u8]) -> Self {
        let pairs = old.chunks_exact(2).zip(new.chunks_exact(2));
        pairs.fold(Self::NONE, |change, (old, new)| {
            let [old, new] = [old, new].map(|pair| u16::from(pair[0]) << 8 | u16::from(pair[1]));
            change.and(Self::of_number(old, new))
        })
    }

    /// One number was replaced by another.
    #[inline]
    #[must_use]
    pub const fn of_number(old: u16, new: u16) -> Self {
        Self(!old as u32 + new as u32)
    }

    /// The same for 32 bits, as two halves.
    // With halves, the compiler knows that neither this nor a sum of a few changes carries.
    #[inline]
    #[must_use]
    pub const fn of_word(old: u32, new: u32) -> Self {
        Self((!old & 0xffff) + (!old >> 16) + (new & 0xffff) + (new >> 16))
    }

    /// Both changes.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(add(self.0, other.0))
    }

    /// The checksum after the change.
    #[inline]
    #[must_use]
    pub const fn applied_to(self, checksum: u16) -> u16 {
        !fold_word(add(!checksum as u32, self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(internet(&bytes), !0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: with the older equation the result is 0xffff.
        assert_eq!(Change::of_number(0x5555, 0x3285).applied_to(0xdd2f), 0x0000);
    }

    proptest! {
        #[test]
        fn folding_adds_all_carries(sum in prop_oneof![any::<u64>(), 0..0x3_0000_u64, (0..4_u64).prop_map(|few| few.wrapping_sub(2))]) {
            let mut slowly = sum;
            while slowly > 0xffff {
                slowly = (slowly & 0xffff) + (slowly >> 16);
            }
            prop_assert_eq!(u64::from(fold(sum)), slowly);
        }

        #[test]
        fn the_short_sum_of_a_header_says_what_the_whole_one_does(
            mut header in prop::array::uniform20(prop_oneof![any::<u8>(), Just(0), Just(0xff)]),
            summed in any::<bool>(),
            other_zero in any::<bool>(),
        ) {
            header[0] = 0x45;
            if summed {
                header[10..12].fill(0);
                let sum = internet(&header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                if other_zero && sum == 0 {
                    header[10..12].fill(0xff);
                }
            }
            let right = internet(&header) == 0;
            let words = header.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            let words: Vec<u32> = words.collect();
            prop_assert_eq!(is_right_without_options(words.try_into().unwrap()), right);
            prop_assert_eq!(is_right(&header), right);
            prop_assert!(right || !summed);
        }
    }

    proptest! {
        #[test]
        fn words_of_any_width_have_one_sum(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
            let pair = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |it| u64::from(*it));
            prop_assert_eq!(internet(&bytes), !fold(bytes.chunks(2).map(pair).sum()));
        }
    }

    #[test]
    fn an_odd_last_byte_is_the_upper_half() {
        assert_eq!(internet(&[0x12]), !0x1200);
        assert_eq!(internet(&[]), 0xffff);
    }

    #[test]
    fn a_change_agrees_with_computing_anew() {
        let mut bytes = *b"some bytes that a checksum covers!";
        for place in (0..bytes.len()).step_by(2) {
            for new in [[0, 0], [0xff, 0xff], [0x12, 0x34]] {
                let (before, old) = (internet(&bytes), [bytes[place], bytes[place + 1]]);
                bytes[place..place + 2].copy_from_slice(&new);
                assert_eq!(Change::of(&old, &new).applied_to(before), internet(&bytes));
            }
        }
    }
}
