//! Transport checksums that a sender on this machine left to its card.
//!
//! The checksum field of such a frame holds the sum of the pseudo-header alone; a card would add
//! the rest. Between two ends of a veth there is no card. AF_PACKET marks each such frame; AF_XDP
//! doesn't. There the port inspects the frame: the field equals the pseudo-header's sum, and the
//! checksum is wrong. A damaged frame matches once in 65,536.

/// The place of a frame's checksum, and the bytes that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transport {
    /// First byte of the transport's header.
    start: usize,
    /// The end of its payload.
    end: usize,
    /// Place of the checksum.
    field: usize,
    /// The pseudo-header's sum, folded.
    pseudo: u16,
    is_udp: bool,
}

/// The state of a frame's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Right, wrong or none: the frame is handed over as it is.
    AsItIs,
    /// Left unfinished by a local sender.
    Unfinished,
}

/// Finishes a checksum over the bytes from `start` on. The field, `offset` bytes behind `start`,
/// holds the sum of the other bytes covered. Returns whether it is within the frame.
pub(crate) fn finish(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let place = start + offset;
    if frame.get(place..place + 2).is_none() {
        return false;
    }
    write(frame, start, frame.len(), place, offset == 6);
    true
}

/// Returns the sum of a pseudo-header: of these addresses, and of its other words.
pub(crate) fn of_pseudo(addresses: &[u8], others: u64) -> u16 {
    fold(sum(addresses) + others)
}

/// Returns whether a frame's checksum is unfinished.
pub(crate) fn look(frame: &[u8]) -> Seen {
    match unfinished(frame) {
        Some(_) => Seen::Unfinished,
        None => Seen::AsItIs,
    }
}

/// Finishes an unfinished checksum; returns whether it was one.
pub(crate) fn finish_by_look(frame: &mut [u8]) -> bool {
    let Some(Transport { start, end, field, is_udp, .. }) = unfinished(frame) else { return false };
    write(frame, start, end, field, is_udp);
    true
}

fn write(frame: &mut [u8], start: usize, end: usize, place: usize, is_udp: bool) {
    let sum = !fold(sum(frame.get(start..end).unwrap_or_default()));
    // Zero would mean that there is no checksum.
    let sum = if is_udp && sum == 0 { 0xffff } else { sum };
    if let Some(field) = frame.get_mut(place..place + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

fn unfinished(frame: &[u8]) -> Option<Transport> {
    let found = transport(frame)?;
    let field = word(frame, found.field)?;
    if field != found.pseudo || (found.is_udp && field == 0) {
        return None;
    }
    // The checksum may still be right.
    let whole = sum(frame.get(found.start..found.end)?) + u64::from(found.pseudo);
    (fold(whole) != 0xffff).then_some(found)
}

/// Finds the header of TCP or UDP behind Ethernet, VLAN tags and IP; none in a fragment.
fn transport(frame: &[u8]) -> Option<Transport> {
    let (mut kind, mut at) = (word(frame, 12)?, 14);
    while matches!(kind, 0x8100 | 0x88a8) && at <= 18 {
        kind = word(frame, at + 2)?;
        at += 4;
    }
    let (protocol, start, end, addresses) = match kind {
        0x0800 => version_4(frame, at)?,
        0x86dd => version_6(frame, at)?,
        _ => return None,
    };
    let length = end.checked_sub(start)?;
    let (offset, least, is_udp) = match protocol {
        6 => (16, 20, false),
        17 => (6, 8, true),
        _ => return None,
    };
    if length < least || end > frame.len() {
        return None;
    }
    let pseudo = of_pseudo(addresses, length as u64 + u64::from(protocol));
    Some(Transport { start, end, field: start + offset, pseudo, is_udp })
}

/// Protocol, start and end of the IP payload, and the addresses.
type Within<'a> = (u8, usize, usize, &'a [u8]);

fn version_4(frame: &[u8], at: usize) -> Option<Within<'_>> {
    let head = frame.get(at..at + 20)?;
    let fragment = word(head, 6)? & 0x3fff;
    if head[0] >> 4 != 4 || fragment != 0 {
        return None;
    }
    let (header, total) = (usize::from(head[0] & 15) * 4, usize::from(word(head, 2)?));
    (header >= 20).then_some((head[9], at + header, at + total, &head[12..20]))
}

fn version_6(frame: &[u8], at: usize) -> Option<Within<'_>> {
    let head = frame.get(at..at + 40)?;
    let (mut protocol, mut start) = (head[6], at + 40);
    let end = start + usize::from(word(head, 4)?);
    // Hop-by-hop and destination options. With a routing header, the pseudo-header differs.
    for _ in 0..4 {
        if !matches!(protocol, 0 | 60) {
            break;
        }
        let options = frame.get(start..start + 2)?;
        protocol = options[0];
        start += (usize::from(options[1]) + 1) * 8;
    }
    Some((protocol, start, end, &head[8..40]))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|pair| u16::from_be_bytes(*pair))
}

fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>() + last
}

const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame with a right checksum and so many VLAN tags.
    fn frame(six: bool, udp: bool, tags: usize, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        let (header, protocol) = if udp { (8, 17) } else { (20, 6) };
        let length = header + payload.len();
        if six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((length as u16).to_be_bytes());
            frame.extend([protocol, 64]);
            frame.extend([0xfd; 16]);
            frame.extend([0xfe; 16]);
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((20 + length as u16).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let start = frame.len();
        frame.extend(vec![0; header]);
        frame[start..start + 4].copy_from_slice(&[0x30, 0x39, 0, 80]);
        frame.extend(payload);
        let found = transport(&frame).unwrap();
        assert_eq!((found.start, found.end, found.is_udp), (start, frame.len(), udp));
        let right = !fold(sum(&frame[start..]) + u64::from(found.pseudo));
        let right = if udp && right == 0 { 0xffff } else { right };
        frame[found.field..found.field + 2].copy_from_slice(&right.to_be_bytes());
        frame
    }

    #[test]
    fn a_known_checksum() {
        // RFC 1071's example: the sum is 0xddf2.
        assert_eq!(fold(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(fold(sum(&[1])), 0x0100, "an odd byte is the upper one");
    }

    #[test]
    fn fragments_and_others_are_left_alone() {
        let mut fragment = frame(false, true, 0, b"abcd");
        fragment[14 + 6] |= 0x20;
        assert_eq!(transport(&fragment), None);
        assert_eq!(transport(b"too short"), None);
        assert_eq!(look(&[0; 60]), Seen::AsItIs);
    }

    proptest! {
        #[test]
        fn what_was_left_unfinished_becomes_what_it_was(
            six in any::<bool>(), udp in any::<bool>(), tags in 0_usize..3,
            payload in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let right = frame(six, udp, tags, &payload);
            let found = transport(&right).unwrap();
            let mut left = right.clone();
            left[found.field..found.field + 2].copy_from_slice(&found.pseudo.to_be_bytes());
            let mut told = left.clone();
            prop_assert!(finish(&mut told, found.start, found.field - found.start));
            prop_assert_eq!(&told, &right);
            if left != right {
                prop_assert_eq!(look(&left), Seen::Unfinished);
                prop_assert!(finish_by_look(&mut left));
            }
            prop_assert_eq!(left, right);
        }

        /// A frame that was damaged on its way stays damaged.
        #[test]
        fn what_is_right_or_damaged_stays_as_it_is(
            six in any::<bool>(), udp in any::<bool>(),
            payload in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(),
            change in 1_u8..,
        ) {
            let mut sent = frame(six, udp, 0, &payload);
            let before = sent.clone();
            prop_assert!(!finish_by_look(&mut sent));
            prop_assert_eq!(&sent, &before);
            let found = transport(&sent).unwrap();
            let at = found.start + at.index(found.end - found.start);
            sent[at] ^= change;
            let damaged = sent.clone();
            let looks_so = sent[found.field..found.field + 2] == found.pseudo.to_be_bytes();
            prop_assert_eq!(finish_by_look(&mut sent), looks_so);
            prop_assert_eq!(sent == damaged, !looks_so);
        }

        #[test]
        fn any_bytes_are_looked_at(mut bytes in prop::collection::vec(any::<u8>(), 0..120), six: bool) {
            if bytes.len() > 14 {
                bytes[12..15].copy_from_slice(if six { &[0x86, 0xdd, 0x60] } else { &[8, 0, 0x45] });
            }
            let before = bytes.clone();
            let was = finish_by_look(&mut bytes);
            prop_assert_eq!(was, look(&before) == Seen::Unfinished);
            finish(&mut bytes, 60, 16);
        }
    }
}
