//! SCTP's checksum, CRC32c (RFC 9260, appendix A), updated incrementally for a change near the
//! packet's start.

/// Offset of the checksum in the SCTP header.
pub(super) const PLACE: usize = 8;

/// Castagnoli's polynomial, bit-reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = rest >> 1 ^ (POLYNOMIAL * (rest & 1));
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

#[inline]
fn step(rest: u32, byte: u8) -> u32 {
    rest >> 8 ^ TABLE[usize::from(rest as u8 ^ byte)]
}

/// The XOR of old and new checksum when the bytes at the start of `length` bytes change by
/// `difference` (old XOR new). The CRC is linear, so a damaged packet keeps a wrong checksum.
pub(super) fn change(difference: &[u8], length: usize) -> u32 {
    let rest = difference.iter().fold(0, |rest, byte| step(rest, *byte));
    (difference.len()..length).fold(rest, |rest, _| step(rest, 0))
}

/// Whether an SCTP packet has a correct checksum.
pub(super) fn is_right(packet: &[u8]) -> bool {
    let Some((before, rest)) = packet.split_at_checked(PLACE) else { return false };
    let Some((sum, after)) = rest.split_first_chunk() else { return false };
    let rest = [before, &[0; 4], after].into_iter().fold(!0, over);
    !rest == u32::from_le_bytes(*sum)
}

/// Continues the CRC over more bytes.
#[inline(never)]
fn over(rest: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(rest, |rest, byte| step(rest, *byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        // RFC 3720, B.4: 32 bytes of zeros; and the check value of the CRC catalogues.
        let crc = |bytes: &[u8]| !bytes.iter().fold(!0, |rest, byte| step(rest, *byte));
        assert_eq!(crc(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_change_agrees_with_computing_anew() {
        let mut packet = *b"\x12\x34\x56\x78tag!\0\0\0\0and a chunk of odd length";
        let seal = |packet: &mut [u8]| {
            packet[8..12].fill(0);
            let crc = !packet.iter().fold(!0, |rest, byte| step(rest, *byte));
            packet[8..12].copy_from_slice(&crc.to_le_bytes());
            crc
        };
        let before = seal(&mut packet);
        assert!(is_right(&packet));
        let difference = [0x12 ^ 0xab, 0x34 ^ 0xcd];
        packet[..2].copy_from_slice(&[0xab, 0xcd]);
        assert!(!is_right(&packet));
        assert_eq!(before ^ change(&difference, packet.len()), seal(&mut packet));
    }
}
