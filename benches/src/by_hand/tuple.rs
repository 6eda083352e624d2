//! The five-tuple of a frame, in its direction or in an order that both directions share, and its
//! hash.

/// Sender and receiver: the key of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct Ends {
    pub(crate) source: [u64; 2],
    pub(crate) destination: [u64; 2],
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) protocol: u32,
}

/// A connection's key: the smaller end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct Tuple {
    low: [u64; 2],
    high: [u64; 2],
    ports: u32,
    protocol: u32,
}

/// The fields that the fast path reads of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) tuple: Tuple,
    pub(crate) hash: u64,
    /// Whether it goes from the smaller end to the larger.
    pub(crate) ahead: bool,
    /// The TCP flags.
    pub(crate) flags: u8,
}

/// The third quarter of an IPv4-mapped IPv6 address, as the lower half of a word.
const V4_MAPPED: u64 = 0xffff_0000;

/// Returns an IPv4 address, in network order, as both words of an address.
#[inline]
pub(crate) const fn mapped(address: u32) -> [u64; 2] {
    [0, V4_MAPPED | (address as u64) << 32]
}

impl Ends {
    #[inline]
    pub(crate) fn hash(&self, seed: u64) -> u64 {
        let ports = u64::from(self.from) << 16 | u64::from(self.to);
        hash(self.source, self.destination, ports << 32 | u64::from(self.protocol), seed)
    }
}

impl Tuple {
    #[inline]
    pub(crate) const fn is_udp(&self) -> bool {
        self.protocol == 17
    }

    #[inline]
    fn hash(&self, seed: u64) -> u64 {
        hash(self.low, self.high, u64::from(self.ports) << 32 | u64::from(self.protocol), seed)
    }
}

/// Multiplies, and mixes both halves of the product.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Hashes five words, like wyhash.
#[inline]
fn hash(a: [u64; 2], b: [u64; 2], last: u64, seed: u64) -> u64 {
    let first = fold(a[0] ^ 0xa076_1d64_78bd_642f, a[1] ^ seed);
    let second = fold(b[0] ^ 0xe703_7ed1_a0b4_28db, b[1] ^ seed);
    fold(first ^ second, last ^ 0x8ebc_6af0_9c88_c6e3)
}

/// Bytes of a frame's headers up to TCP's, over IPv4.
pub(super) const HEADERS: usize = 54;
/// Bytes of a frame's headers up to TCP's, over IPv6.
const HEADERS_V6: usize = 74;

/// Reads the ends and the TCP flags of a TCP or UDP packet: over IPv4 without options and with a
/// sound header, or over IPv6 without extensions. `None` for other packets. A slow path also
/// handles frames shorter than TCP's headers.
#[inline(always)]
pub(crate) fn ends(frame: &[u8]) -> Option<(Ends, u8)> {
    if frame.get(12..14) == Some(&[0x86, 0xdd]) { ends_v6(frame) } else { ends_v4(frame) }
}

/// Reads the ends and flags over IPv4 alone.
#[inline(always)]
pub(crate) fn ends_v4(frame: &[u8]) -> Option<(Ends, u8)> {
    let head: &[u8; HEADERS] = frame.first_chunk()?;
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let total = usize::from(number(16));
    // Version and header length; no fragment; complete.
    if [head[12], head[13], head[14]] != [8, 0, 0x45]
        || number(20) & 0x3fff != 0
        || !(40..=frame.len() - 14).contains(&total)
        || !header_is_right([word(14), word(18), word(22), word(26), word(30)])
    {
        return None;
    }
    let protocol = head[23];
    if protocol != 17 && (protocol != 6 || !(20..=total - 20).contains(&header_bytes(head[46]))) {
        return None;
    }
    let (source, destination) = (mapped(word(26)), mapped(word(30)));
    let (from, to, protocol) = (number(34), number(36), u32::from(protocol));
    Some((Ends { source, destination, from, to, protocol }, head[47]))
}

/// Returns whether source and destination of a frame of [`ends`] may be forwarded, by the first
/// octets of IPv4. Other frames are left to a slow path.
#[inline(always)]
pub(crate) fn is_usual(frame: &[u8]) -> bool {
    static USUAL: [bool; 256] = {
        let mut usual = [true; 256];
        let mut first = 0;
        while first < 256 {
            usual[first] = !matches!(first, 0 | 127 | 169 | 224..);
            first += 1;
        }
        usual
    };
    let Some(head) = frame.first_chunk::<HEADERS>() else { return false };
    let (source, destination) = (&head[26..30], &head[30..34]);
    let both = USUAL[usize::from(source[0])] & USUAL[usize::from(destination[0])];
    head[12] != 8 || both && source != destination
}

/// Returns the bytes of a TCP header, by its offset byte.
const fn header_bytes(offset: u8) -> usize {
    (offset >> 4) as usize * 4
}

/// Returns whether the checksum of an IPv4 header is right (RFC 1071): sums with their carries are
/// sums modulo 0xffff.
#[inline(always)]
fn header_is_right(words: [u32; 5]) -> bool {
    words.into_iter().map(u64::from).sum::<u64>().is_multiple_of(0xffff)
}

/// Reads the ends and flags over IPv6; a separate function, so that IPv4 has the registers.
#[inline(never)]
fn ends_v6(frame: &[u8]) -> Option<(Ends, u8)> {
    let head: &[u8; HEADERS_V6] = frame.first_chunk()?;
    let address = |at: usize| {
        let octets: &[u8; 16] = head[at..].first_chunk()?;
        let whole = u128::from_le_bytes(*octets);
        Some([whole as u64, (whole >> 64) as u64])
    };
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (length, protocol) = (usize::from(number(18)), head[20]);
    if head[14] >> 4 != 6 || length + 54 > frame.len() {
        return None;
    }
    if protocol != 17 && (protocol != 6 || !(20..=length).contains(&header_bytes(head[66]))) {
        return None;
    }
    let (source, destination) = (address(22)?, address(38)?);
    let (from, to, protocol) = (number(54), number(56), u32::from(protocol));
    Some((Ends { source, destination, from, to, protocol }, head[67]))
}

/// Reads a frame into the order that both directions share.
#[inline(always)]
pub(crate) fn parse(frame: &[u8], seed: u64) -> Option<Parsed> {
    let (ends, flags) = ends(frame)?;
    let Ends { source, destination, from, to, protocol } = ends;
    let ahead = (source, from) <= (destination, to);
    let ports = |a: u16, b: u16| u32::from(a) << 16 | u32::from(b);
    let tuple = if ahead {
        Tuple { low: source, high: destination, ports: ports(from, to), protocol }
    } else {
        Tuple { low: destination, high: source, ports: ports(to, from), protocol }
    };
    Some(Parsed { hash: tuple.hash(seed), tuple, ahead, flags })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::segment;

    const ENDS: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 5_000), ([198, 18, 0, 1], 443)];

    fn changed(at: usize, value: u8) -> Option<(Ends, u8)> {
        let mut frame = segment(ENDS[0], ENDS[1], 0x10).to_vec();
        frame[at] = value;
        ends(&frame)
    }

    #[test]
    fn reads_frames_of_any_length_and_refuses_what_is_wrong() {
        let frame = segment(ENDS[0], ENDS[1], 0x10);
        let (read, flags) = ends(&frame).unwrap();
        assert_eq!((read.from, read.to, read.protocol, flags), (5_000, 443, 6, 0x10));
        let mut padded = frame.to_vec();
        padded.resize(1_514, 0);
        assert_eq!(ends(&padded), Some((read, flags)));
        assert_eq!(ends(&frame[..59]), None, "its packet ends behind it");
        assert_eq!(ends(&frame[..20]), None);
        assert_eq!(changed(22, 63), None, "the header's checksum is wrong");
        assert_eq!(changed(46, 0x40), None, "a TCP header of 16 bytes");
        assert_eq!(changed(46, 0x70), None, "one that ends behind its packet");
        assert_eq!(changed(12, 9), None, "not IP");
    }

    #[test]
    fn reads_ipv6() {
        let mut frame = vec![0; 80];
        frame[12..21].copy_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 26, 6]);
        (frame[22], frame[53]) = (0x20, 9);
        frame[54..58].copy_from_slice(&[1, 2, 3, 4]);
        (frame[66], frame[67]) = (0x50, 2);
        let (read, flags) = ends(&frame).unwrap();
        let expected = Ends {
            source: [0x20, 0],
            destination: [0, 9 << 56],
            from: 0x102,
            to: 0x304,
            protocol: 6,
        };
        assert_eq!((read, flags), (expected, 2));
        assert_eq!(ends(&frame[..79]), None, "its packet ends behind it");
    }
}
