//! Translation of ICMP messages between the IP versions: RFC 7915, sections 4.2 and 5.2.

/// The first eight bytes of a message, without a valid checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Saying {
    pub(super) head: [u8; 8],
    /// Length in bytes of the quoted packet, if the message gives it (RFC 4884). Extensions follow.
    quoted: Option<usize>,
}

/// IPv6's minimum MTU.
const LEAST_MTU: u32 = 1280;

impl Saying {
    pub(super) const fn quoted(&self) -> Option<usize> {
        self.quoted
    }

    /// Translates a message from IPv4 to IPv6; `None` if IPv6 has no equivalent.
    pub(super) const fn to_v6(head: [u8; 8]) -> Option<Self> {
        let [kind, code, ..] = head;
        let (kind, code, rest) = match (kind, code) {
            (8, _) => return Some(Self::query(128, head)),
            (0, _) => return Some(Self::query(129, head)),
            // IPv6 reports an unknown protocol as a parameter problem, with a pointer at its field.
            (3, 2) => (4, 1, 6),
            (3, 3) => (1, 4, 0),
            (3, 4) => (2, 0, v6_mtu(u16::from_be_bytes([head[6], head[7]]))),
            (3, 9 | 10 | 13 | 15) => (1, 1, 0),
            (3, 0 | 1 | 5..=8 | 11 | 12) => (1, 0, 0),
            (11, code) => (3, code, 0),
            (12, 0 | 2) => match v6_pointer(head[4]) {
                Some(pointer) => (4, 0, pointer),
                None => return None,
            },
            _ => return None,
        };
        Some(Self::complaint(kind, code, rest, head[5] as usize * 4))
    }

    /// Translates a message from IPv6 to IPv4; `None` if IPv4 has no equivalent.
    pub(super) const fn to_v4(head: [u8; 8]) -> Option<Self> {
        let [kind, code, ..] = head;
        let said = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let (kind, code, rest) = match (kind, code) {
            (128, _) => return Some(Self::query(8, head)),
            (129, _) => return Some(Self::query(0, head)),
            (1, 0 | 2 | 3) => (3, 1, 0),
            (1, 1) => (3, 10, 0),
            (1, 4) => (3, 3, 0),
            (2, _) => (3, 4, v4_mtu(said)),
            (3, code) => (11, code, 0),
            (4, 0) => match v4_pointer(said) {
                Some(pointer) => (12, 0, pointer << 24),
                None => return None,
            },
            (4, 1) => (3, 2, 0),
            _ => return None,
        };
        // Only these messages have the length; others use the byte for their own numbers.
        let words = if matches!(head[0], 1 | 3) { head[4] as usize } else { 0 };
        Some(Self::complaint(kind, code, rest, words * 8))
    }

    /// Identifier and sequence number stay.
    const fn query(kind: u8, head: [u8; 8]) -> Self {
        let [_, code, _, _, a, b, c, d] = head;
        Self { head: [kind, code, 0, 0, a, b, c, d], quoted: None }
    }

    const fn complaint(kind: u8, code: u8, rest: u32, quoted: usize) -> Self {
        let [a, b, c, d] = rest.to_be_bytes();
        let quoted = if quoted > 0 { Some(quoted) } else { None };
        Self { head: [kind, code, 0, 0, a, b, c, d], quoted }
    }
}

/// IPv6's header is 20 bytes longer, and its packets never get smaller than its minimum MTU.
/// Routers from before RFC 1191 report an MTU of zero.
const fn v6_mtu(mtu: u16) -> u32 {
    let mtu = mtu as u32 + 20;
    if mtu > LEAST_MTU { mtu } else { LEAST_MTU }
}

const fn v4_mtu(mtu: u32) -> u32 {
    let mtu = mtu.saturating_sub(20);
    if mtu > 0xffff { 0xffff } else { mtu }
}

/// The IPv6 field that corresponds to the IPv4 field at `pointer` (figure 3).
const fn v6_pointer(pointer: u8) -> Option<u32> {
    Some(match pointer {
        0 => 0,
        1 => 1,
        2 | 3 => 4,
        8 => 7,
        9 => 6,
        12..=15 => 8,
        16..=19 => 24,
        _ => return None,
    })
}

/// The inverse (figure 6).
const fn v4_pointer(pointer: u32) -> Option<u32> {
    Some(match pointer {
        0 => 0,
        1 => 1,
        4 | 5 => 2,
        6 => 9,
        7 => 8,
        8..=23 => 12,
        24..=39 => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_there_and_back_is_the_same() {
        // Messages with an exact equivalent in both versions.
        for head in [
            [8, 0, 0, 0, 1, 2, 3, 4],
            [0, 0, 0, 0, 1, 2, 3, 4],
            [3, 1, 0, 0, 0, 0, 0, 0],
            [3, 2, 0, 0, 0, 0, 0, 0],
            [3, 3, 0, 0, 0, 0, 0, 0],
            [3, 4, 0, 0, 0, 0, 0x05, 0xdc],
            [3, 10, 0, 0, 0, 0, 0, 0],
            [11, 0, 0, 0, 0, 0, 0, 0],
            [11, 1, 0, 0, 0, 0, 0, 0],
            [12, 0, 0, 0, 8, 0, 0, 0],
        ] {
            let there = Saying::to_v6(head).expect("there is one");
            assert_eq!(Saying::to_v4(there.head).map(|back| back.head), Some(head), "{there:?}");
        }
    }

    #[test]
    fn what_is_about_a_link_is_not_translated() {
        // Redirect, source quench, router advertisement; the same for IPv6, and an unknown option.
        for kind in [4, 5, 9] {
            assert_eq!(Saying::to_v6([kind, 0, 0, 0, 0, 0, 0, 0]), None);
        }
        for (kind, code) in [(137, 0), (133, 0), (135, 0), (4, 2)] {
            assert_eq!(Saying::to_v4([kind, code, 0, 0, 0, 0, 0, 0]), None);
        }
    }

    #[test]
    fn mtus_differ_by_the_headers() {
        assert_eq!(v6_mtu(1480), 1500);
        assert_eq!(v6_mtu(0), 1280);
        assert_eq!(v4_mtu(1500), 1480);
        assert_eq!(v4_mtu(u32::MAX), 0xffff);
        assert_eq!(v4_mtu(0), 0);
    }

    #[test]
    fn the_quote_ends_where_the_message_says() {
        let quoted = |saying: Option<Saying>| saying.and_then(|saying| saying.quoted());
        assert_eq!(quoted(Saying::to_v6([11, 0, 0, 0, 0, 32, 0, 0])), Some(128));
        assert_eq!(quoted(Saying::to_v4([3, 0, 0, 0, 16, 0, 0, 0])), Some(128));
        assert_eq!(quoted(Saying::to_v4([2, 0, 0, 0, 0, 0, 5, 0])), None);
    }
}
