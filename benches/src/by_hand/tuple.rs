//! The five-tuple of a frame, as it travels or in an order that both directions share, and its hash.

/// Who sends to whom: the key of one direction.
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

/// What the fast path reads of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) tuple: Tuple,
    pub(crate) hash: u64,
    /// It goes from the smaller end to the larger.
    pub(crate) ahead: bool,
    /// The flags of TCP.
    pub(crate) flags: u8,
}

/// The third quarter of an IPv4 address written as IPv6, as the lower half of a word.
const V4_MAPPED: u64 = 0xffff_0000;

/// An IPv4 address, in network order, as both words of an address.
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

/// Both halves of a product, mixed.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Like wyhash, of five words.
#[inline]
fn hash(a: [u64; 2], b: [u64; 2], last: u64, seed: u64) -> u64 {
    let first = fold(a[0] ^ 0xa076_1d64_78bd_642f, a[1] ^ seed);
    let second = fold(b[0] ^ 0xe703_7ed1_a0b4_28db, b[1] ^ seed);
    fold(first ^ second, last ^ 0x8ebc_6af0_9c88_c6e3)
}

/// Reads TCP or UDP over IPv4 without options, or over IPv6 without extensions, as it travels, and the
/// flags of TCP; `None` for all else.
#[inline(always)]
pub(crate) fn ends(frame: &[u8; 60]) -> Option<(Ends, u8)> {
    let u16_at = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let u32_at =
        |at: usize| u32::from_ne_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let (source, destination, protocol, at) = match u16_at(12) {
        0x0800 => {
            let total = usize::from(u16_at(16));
            // Version and header length; no fragment; all of it there.
            if frame[14] != 0x45 || u16_at(20) & 0x3fff != 0 || !(40..=46).contains(&total) {
                return None;
            }
            (mapped(u32_at(26)), mapped(u32_at(30)), frame[23], 34)
        }
        0x86dd => {
            if frame[14] >> 4 != 6 || usize::from(u16_at(18)) > 6 {
                return None;
            }
            ([u64_at(22), u64_at(30)], [u64_at(38), u64_at(46)], frame[20], 54)
        }
        _ => return None,
    };
    if protocol != 6 && protocol != 17 || at + 20 > frame.len() {
        return None;
    }
    if protocol == 6 && frame[at + 12] >> 4 < 5 {
        return None;
    }
    let (from, to) = (u16_at(at), u16_at(at + 2));
    let protocol = u32::from(protocol);
    Some((Ends { source, destination, from, to, protocol }, frame[at + 13]))
}

/// Likewise, in the order that both directions share.
#[inline(always)]
pub(crate) fn parse(frame: &[u8; 60], seed: u64) -> Option<Parsed> {
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
