//! Frames truncated by a capture's snap length: whether all headers were captured.

use super::ip;
use super::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use super::layers::{Fault, Header, Layers, Part, Version, chunk, ethernet};
use super::transport;

/// Whether these first bytes of a frame contain all headers that [`Headers`](super::Headers) reads.
/// If so, zeros may replace the missing bytes without a visible difference for readers of headers.
/// Also true for a frame with damage within these bytes, since they show the damage.
pub fn has_all_headers(captured: &[u8]) -> bool {
    // A length past the end indicates truncation; other faults belong to the frame itself.
    Layers::parse(captured).flow_fault != Fault::Truncated || headers(captured).is_some()
}

/// Walks the headers; `None` if the bytes end within them.
fn headers(captured: &[u8]) -> Option<()> {
    let (ethertype, at) = ethernet(captured)?;
    let version = match ethertype {
        ETHERTYPE_IPV4 => Version::V4,
        ETHERTYPE_IPV6 => Version::V6,
        _ => return Some(()),
    };
    packet(captured, at, version)
}

/// The truncated IP packet at `at`.
fn packet(captured: &[u8], at: usize, version: Version) -> Option<()> {
    let mut header = Header::NONE;
    let read = match version {
        Version::V6 => ip::v6(captured, at, ip::Length::Quoted, &mut header),
        _ => ip::v4(captured, at, ip::Length::Quoted, &mut header),
    };
    match read {
        Ok(_) => {}
        Err(Fault::Truncated) => return None,
        // Damaged before the cut: the headers show it, regardless of the missing bytes.
        Err(_) => return Some(()),
    }
    let at = usize::from(header.transport);
    match header.part {
        Part::Later => Some(()),
        // The transport of a first fragment is read only up to the checksum.
        Part::First => transport::has_checksum(captured, version, header.protocol, at),
        Part::Whole => {
            let length = transport::header_bytes(captured, version, header.protocol, at)?;
            captured.get(at..at + length)?;
            match transport::quoted_at(captured, version, header.protocol, at) {
                Some(quoted) => quote(captured, quoted, version),
                None => Some(()),
            }
        }
    }
}

/// The packet that an ICMP error quotes: its header, and the eight bytes of its transport that RFC
/// 792 guarantees.
fn quote(captured: &[u8], at: usize, version: Version) -> Option<()> {
    let mut header = Header::NONE;
    let read = match version {
        Version::V6 => ip::v6(captured, at, ip::Length::Quoted, &mut header),
        _ => ip::v4(captured, at, ip::Length::Quoted, &mut header),
    };
    match read {
        Ok(_) if header.part == Part::Later => Some(()),
        Ok(_) => chunk::<8>(captured, header.transport.into()).map(|_| ()),
        Err(Fault::Truncated) => None,
        Err(_) => Some(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Meta, Packet};
    use super::*;
    use proptest::prelude::*;

    /// A frame of this type with these bytes as its payload.
    fn frame(ethertype: u16, packet: &[u8]) -> Vec<u8> {
        [&[2; 12][..], &ethertype.to_be_bytes(), packet].concat()
    }

    /// IPv4 with a correct checksum and 1,000 bytes behind the start of the transport.
    fn v4(protocol: u8, options: usize, fragment: u16, transport: &[u8]) -> Vec<u8> {
        let header = 20 + 4 * options;
        let total = (header + 1000) as u16;
        let mut packet = std::vec![0; header];
        packet[0] = 0x40 | (header / 4) as u8;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        (packet[8], packet[9]) = (64, protocol);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 192, 0, 2, 1]);
        packet[20..].fill(1);
        let sum = super::super::checksum::internet(&packet).to_be_bytes();
        packet[10..12].copy_from_slice(&sum);
        packet.extend(transport);
        packet.resize(total.into(), 0x77);
        packet
    }

    /// The same for IPv6, behind these extension headers.
    fn v6(next: u8, extensions: &[u8], transport: &[u8]) -> Vec<u8> {
        let mut packet = std::vec![0x60, 0, 0, 0];
        packet.extend(((extensions.len() + 1000) as u16).to_be_bytes());
        packet.extend([next, 64]);
        packet.extend([0x20; 16]);
        packet.extend([0x21; 16]);
        packet.extend(extensions);
        packet.extend(transport);
        packet.resize(40 + extensions.len() + 1000, 0x77);
        packet
    }

    const TCP: [u8; 20] = [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 1, 0, 0, 0, 0, 0];
    const UDP: [u8; 8] = [0, 1, 0, 2, 0x03, 0xe8, 0, 0];

    /// Frames with their header lengths in bytes.
    fn frames() -> Vec<(Vec<u8>, usize)> {
        let quoted = v4(17, 0, 0, &UDP);
        let error = [&[3, 3, 0, 0, 0, 0, 0, 0][..], &quoted[..40]].concat();
        std::vec![
            (frame(0x0800, &v4(6, 0, 0, &TCP)), 14 + 20 + 32),
            (frame(0x0800, &v4(6, 3, 0, &TCP)), 14 + 32 + 32),
            (frame(0x0800, &v4(17, 0, 0, &UDP)), 14 + 20 + 8),
            (frame(0x0800, &v4(132, 0, 0, &UDP)), 14 + 20 + 12),
            (frame(0x0800, &v4(1, 0, 0, &[8, 0, 0, 0, 0, 7, 0, 1])), 14 + 20 + 8),
            (frame(0x0800, &v4(1, 0, 0, &error)), 14 + 20 + 8 + 20 + 8),
            (frame(0x0800, &v4(47, 0, 0, &[0; 4])), 14 + 20),
            (frame(0x0800, &v4(17, 0, 0x2000, &UDP)), 14 + 20 + 8),
            (frame(0x0800, &v4(17, 0, 0x0010, &UDP)), 14 + 20),
            (frame(0x86dd, &v6(6, &[], &TCP)), 14 + 40 + 32),
            (frame(0x86dd, &v6(0, &[17, 0, 1, 4, 0, 0, 0, 0], &UDP)), 14 + 40 + 8 + 8),
            (frame(0x8100, &[&[0, 5, 8, 0][..], &v4(6, 0, 0, &TCP)].concat()), 18 + 20 + 32),
            (frame(0x88cc, &[0x77; 500]), 14),
        ]
    }

    /// All facts that headers give of a packet.
    fn told(frame: &mut [u8]) -> String {
        let packet = Packet::new(frame, Meta::default());
        std::format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {}",
            packet.flow(),
            packet.source(),
            packet.tcp(),
            packet.tcp_options(),
            packet.ttl(),
            packet.vlan(),
            packet.len()
        )
    }

    /// With fewer bytes the headers are truncated. With at least as many, zeros in place of the
    /// missing bytes change no result.
    #[test]
    fn headers_are_there_as_soon_as_their_last_byte_is() {
        for (number, (frame, headers)) in frames().into_iter().enumerate() {
            for length in 0..frame.len() {
                let has = has_all_headers(&frame[..length]);
                assert_eq!(has, length >= headers, "frame {number} cut at {length}");
                if has {
                    let mut padded = frame.clone();
                    padded[length..].fill(0);
                    assert_eq!(told(&mut padded), told(&mut frame.clone()), "{number} at {length}");
                }
            }
        }
    }

    proptest! {
        /// For arbitrary bytes: if all headers are reported present, later bytes change no result.
        #[test]
        fn what_was_not_captured_tells_nothing(
            which in any::<prop::sample::Index>(),
            changes in prop::collection::vec((12..90_usize, any::<u8>()), 0..4),
            length in 0..200_usize,
            other in any::<u8>(),
        ) {
            let frames = frames();
            let mut frame = frames[which.index(frames.len())].0.clone();
            for (at, byte) in changes {
                frame[at] = byte;
            }
            if has_all_headers(&frame[..length]) {
                let mut padded = frame.clone();
                padded[length..].fill(0);
                let zeros = told(&mut padded.clone());
                padded[length..].fill(other);
                prop_assert_eq!(told(&mut padded), zeros);
            }
        }
    }
}
