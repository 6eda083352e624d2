//! The five-tuple of a frame, in an order that both directions share, and its hash.

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

impl Tuple {
    #[inline]
    pub(crate) const fn is_udp(&self) -> bool {
        self.protocol == 17
    }

    #[inline]
    fn hash(&self, seed: u64) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let first = fold(self.low[0] ^ 0xa076_1d64_78bd_642f, self.low[1] ^ seed);
        let second = fold(self.high[0] ^ 0xe703_7ed1_a0b4_28db, self.high[1] ^ seed);
        let ports = u64::from(self.ports) << 32 | u64::from(self.protocol);
        fold(first ^ second, ports ^ 0x8ebc_6af0_9c88_c6e3)
    }
}

/// Reads TCP or UDP over IPv4 without options, or over IPv6 without extensions; `None` for all else.
#[inline]
pub(crate) fn parse(frame: &[u8; 60], seed: u64) -> Option<Parsed> {
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
            let mapped = |address: u32| [0, V4_MAPPED | u64::from(address) << 32];
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
    let ahead = (source, from) <= (destination, to);
    let ports = |a: u16, b: u16| u32::from(a) << 16 | u32::from(b);
    let protocol = u32::from(protocol);
    let tuple = if ahead {
        Tuple { low: source, high: destination, ports: ports(from, to), protocol }
    } else {
        Tuple { low: destination, high: source, ports: ports(to, from), protocol }
    };
    Some(Parsed { hash: tuple.hash(seed), tuple, ahead, flags: frame[at + 13] })
}
