//! The type of an ICMP message.

use super::Headers;
use super::layers::{Part, Version};
use crate::key::protocol::{ICMP, ICMPV6};

impl Headers<'_> {
    /// Type and code of an ICMP message, the type in the upper byte; `None` for other packets and
    /// for fragments. For an error, they are the error's own, not those of the quoted packet.
    #[inline(never)]
    pub fn icmp_type_and_code(&self) -> Option<u16> {
        let layers = self.layers();
        let is_icmp = matches!(
            (layers.version, layers.outer.protocol),
            (Version::V4, ICMP) | (Version::V6, ICMPV6)
        );
        // `sum` is the offset of the checksum: if it was found, type and code before it exist.
        let is_there = is_icmp && layers.outer.part == Part::Whole && layers.outer.sum > 0;
        is_there.then(|| self.read_u16(layers.outer.transport.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Meta, Packet};

    /// The result for IPv4 of this protocol, with these bytes and this fragment offset.
    fn found(protocol: u8, fragment: u8, message: &[u8]) -> Option<u16> {
        let mut frame = vec![0; 34];
        frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        frame[17] = 20 + message.len() as u8;
        (frame[21], frame[22], frame[23]) = (fragment, 64, protocol);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 192, 0, 2, 1]);
        let sum = super::super::checksum::internet(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
        frame.extend(message);
        Packet::new(&mut frame, Meta::default()).icmp_type_and_code()
    }

    #[test]
    fn messages_have_a_type_and_other_packets_none() {
        assert_eq!(found(1, 0, &[8, 0, 0, 0, 0, 7, 0, 1]), Some(0x0800));
        assert_eq!(found(1, 0, &[13, 5, 0, 0, 0, 7, 0, 1]), Some(0x0d05));
        assert_eq!(found(1, 0, &[9, 16, 0, 0, 0, 0, 0, 0]), Some(0x0910), "not a flow's");
        assert_eq!(found(17, 0, &[8, 0, 0, 0, 0, 8, 0, 0]), None);
        assert_eq!(found(6, 0, &[8; 20]), None);
        assert_eq!(found(1, 4, &[8, 0, 0, 0, 0, 7, 0, 1]), None, "a later fragment");
        assert_eq!(found(1, 0, &[8, 0]), None, "cut");
    }
}
