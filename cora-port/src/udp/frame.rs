//! Datagrams as frames: the headers in front of a datagram that came, and the datagram in a frame
//! that is to leave.

use std::net::{IpAddr, SocketAddr};

use crate::checksum;

/// Bytes in front of a datagram: Ethernet, IPv6 and UDP.
pub(super) const HEAD: usize = 14 + 40 + UDP;
/// Bytes of a UDP header.
const UDP: usize = 8;
/// Bytes of an IPv4 header without options.
const IPV4: usize = 20;
/// Number of UDP among the protocols of IP.
const PROTOCOL: u8 = 17;
/// The least length of an Ethernet frame, without the check sequence (IEEE 802.3).
const LEAST: usize = 60;
/// Hop limit of what came: the kernel has taken it in, whatever it was.
const TTL: u8 = 64;

/// Ethernet addresses of the port and of all its peers. Both are made up, as a socket has none.
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// The two ends of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
}

/// Writes the headers in front of a datagram of `length` bytes that lies [`HEAD`] bytes behind the
/// start of `room`. Returns the frame. None if the ends differ in their version of IP, or the
/// datagram is longer than any.
pub(super) fn around<'a>(ends: &Ends, length: usize, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let datagram = u16::try_from(UDP + length).ok()?;
    let (network, kind) = match (ends.from.ip(), ends.to.ip()) {
        (IpAddr::V4(_), IpAddr::V4(_)) => (IPV4, [0x08, 0x00]),
        (IpAddr::V6(_), IpAddr::V6(_)) => (40, [0x86, 0xdd]),
        _ => return None,
    };
    let start = HEAD - UDP - network - 14;
    let end = (HEAD + length).max(start + LEAST);
    room.get_mut(HEAD + length..end)?.fill(0);
    let frame = room.get_mut(start..end)?;
    let (head, all) = frame.split_at_mut_checked(14 + network)?;
    let all = all.get_mut(..UDP + length)?;
    head.get_mut(..6)?.copy_from_slice(&OWN);
    head.get_mut(6..12)?.copy_from_slice(&PEER);
    head.get_mut(12..14)?.copy_from_slice(&kind);
    let pseudo = ip_header(ends, datagram, head.get_mut(14..)?)?;
    all.get_mut(..2)?.copy_from_slice(&ends.from.port().to_be_bytes());
    all.get_mut(2..4)?.copy_from_slice(&ends.to.port().to_be_bytes());
    all.get_mut(4..6)?.copy_from_slice(&datagram.to_be_bytes());
    all.get_mut(6..8)?.copy_from_slice(&pseudo.to_be_bytes());
    checksum::finish(all, 0, 6).then_some(frame)
}

/// Writes the IP header, and returns the sum of the pseudo-header.
fn ip_header(ends: &Ends, datagram: u16, out: &mut [u8]) -> Option<u16> {
    let pseudo = |addresses: &[u8]| {
        checksum::of_pseudo(addresses, u64::from(datagram) + u64::from(PROTOCOL))
    };
    match (ends.from.ip(), ends.to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let [high, low] = datagram.checked_add(IPV4 as u16)?.to_be_bytes();
            let fixed = [0x45, 0, high, low, 0, 0, 0x40, 0, TTL, PROTOCOL, 0, 0];
            out.get_mut(..12)?.copy_from_slice(&fixed);
            out.get_mut(12..16)?.copy_from_slice(&from.octets());
            out.get_mut(16..20)?.copy_from_slice(&to.octets());
            checksum::finish(out, 0, 10).then(|| pseudo(out.get(12..20).unwrap_or_default()))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let [high, low] = datagram.to_be_bytes();
            out.get_mut(..8)?.copy_from_slice(&[0x60, 0, 0, 0, high, low, PROTOCOL, TTL]);
            out.get_mut(8..24)?.copy_from_slice(&from.octets());
            out.get_mut(24..40)?.copy_from_slice(&to.octets());
            Some(pseudo(out.get(8..40)?))
        }
        _ => None,
    }
}

/// The datagram in a frame, and its ends. None if it is no whole UDP datagram. Checksums are not
/// looked at: the kernel makes them anew.
pub(super) fn within(frame: &[u8]) -> Option<(Ends, &[u8])> {
    let word = |at: usize| frame.get(at..)?.first_chunk().map(|it| u16::from_be_bytes(*it));
    let (mut kind, mut at) = (word(12)?, 14);
    while matches!(kind, 0x8100 | 0x88a8) && at <= 18 {
        kind = word(at + 2)?;
        at += 4;
    }
    let head = frame.get(at..)?;
    let (from, to, network): (IpAddr, IpAddr, usize) = match kind {
        0x0800 => {
            let head: &[u8; IPV4] = head.first_chunk()?;
            let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff;
            if head[0] >> 4 != 4 || head[9] != PROTOCOL || fragment != 0 {
                return None;
            }
            let [from, to] =
                [12, 16].map(|at| [head[at], head[at + 1], head[at + 2], head[at + 3]]);
            (from.into(), to.into(), usize::from(head[0] & 15) * 4)
        }
        0x86dd => {
            let head: &[u8; 40] = head.first_chunk()?;
            if head[0] >> 4 != 6 || head[6] != PROTOCOL {
                return None;
            }
            let address = |at: usize| head.get(at..)?.first_chunk::<16>().copied();
            (address(8)?.into(), address(24)?.into(), 40)
        }
        _ => return None,
    };
    let udp = at + network;
    let (from_port, to_port) = (word(udp)?, word(udp + 2)?);
    let length = usize::from(word(udp + 4)?).checked_sub(UDP)?;
    let contents = frame.get(udp + UDP..udp + UDP + length)?;
    let ends = Ends { from: SocketAddr::new(from, from_port), to: SocketAddr::new(to, to_port) };
    Some((ends, contents))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum::{Seen, look};

    fn ends(v4: bool) -> Ends {
        let (from, to) =
            if v4 { ("192.0.2.7:4000", "10.0.0.1:7") } else { ("[2001:db8::7]:4000", "[::1]:7") };
        Ends { from: from.parse().unwrap(), to: to.parse().unwrap() }
    }

    /// The frame of a datagram with these contents.
    fn made(ends: &Ends, contents: &[u8]) -> Vec<u8> {
        let mut room = vec![0xee; HEAD + contents.len().max(LEAST)];
        room[HEAD..HEAD + contents.len()].copy_from_slice(contents);
        around(ends, contents.len(), &mut room).unwrap().to_vec()
    }

    #[test]
    fn a_frame_holds_the_datagram_that_it_was_made_of() {
        for v4 in [true, false] {
            for length in [0, 1, 17, 18, 19, 1472, 65_507] {
                let contents: Vec<u8> = (0..length).map(|at: u32| at as u8).collect();
                let frame = made(&ends(v4), &contents);
                assert_eq!(within(&frame), Some((ends(v4), &contents[..])), "{v4} {length}");
                assert!(frame.len() >= LEAST);
                // Its checksum is not that of a sender which left it to a card.
                assert_eq!(look(&frame), Seen::AsItIs);
                let mut again = frame.clone();
                let udp = if v4 { 34 } else { 54 };
                let end = udp + UDP + contents.len();
                let addresses = if v4 { 26..34 } else { 22..54 };
                let more = (UDP + contents.len()) as u64 + 17;
                let pseudo = checksum::of_pseudo(&frame[addresses], more);
                again[udp + 6..udp + 8].copy_from_slice(&pseudo.to_be_bytes());
                checksum::finish(&mut again[udp..end], 0, 6);
                assert_eq!(again, frame, "the checksum is right");
            }
        }
    }

    #[test]
    fn what_is_no_datagram_is_none() {
        let good = made(&ends(true), b"contents");
        for (at, byte) in [(12, 9), (14, 0x65), (23, 6), (20, 0x20), (39, 7)] {
            let mut frame = good.clone();
            frame[at] = byte;
            assert_eq!(within(&frame), None, "{at}");
        }
        let mixed = Ends { to: "[::1]:7".parse().unwrap(), ..ends(true) };
        assert_eq!(around(&mixed, 0, &mut [0; 200]), None);
        assert_eq!(around(&ends(true), 65_530, &mut vec![0; 70_000]), None);
        let tagged = [&good[..12], &[0x81, 0, 0, 5], &good[12..]].concat();
        assert_eq!(within(&tagged), Some((ends(true), &b"contents"[..])));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_datagram_or_none(mut frame in prop::collection::vec(any::<u8>(), 0..120),
            kind in prop::sample::select(vec![[8, 0], [0x86, 0xdd], [0x81, 0]])) {
            if let Some(place) = frame.get_mut(12..14) {
                place.copy_from_slice(&kind);
            }
            if let Some((_, contents)) = within(&frame) {
                prop_assert!(contents.len() + 42 <= frame.len());
            }
        }
    }
}
