//! Link types: Ethernet, and those with a made-up Ethernet header.
//!
//! | link type | bytes before the packet |
//! | --- | --- |
//! | 1 (Ethernet) | the header; maybe a check sequence behind the frame, if the capture says so |
//! | 12, 14, 101 (raw IP), 228 (IPv4), 229 (IPv6) | none |
//! | 0 (BSD loopback), 108 (OpenBSD loopback) | four bytes: the address family |
//! | 113 (Linux cooked) | sixteen bytes |
//! | 276 (Linux cooked, version 2) | twenty bytes |
//!
//! A made-up header has the addresses [`DESTINATION`] and [`SOURCE`], which are locally
//! administered. A cooked packet keeps its sender's address if that is one of Ethernet, and a
//! broadcast goes to all. The bytes before the packet are taken off.
//! <https://www.tcpdump.org/linktypes.html>

use super::input::Order;

/// The source of packets that tell no address.
pub const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The destination of packets that tell no address.
pub const DESTINATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Bytes of the made-up header.
pub(super) const HEADER: usize = 14;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// A reserved type, which no protocol uses.
const UNKNOWN: u16 = 0xffff;
/// From this value on the field is a type, below it a length.
const FIRST_TYPE: u16 = 0x0600;
/// The largest length in the field.
const LONGEST: usize = 1500;
/// The packet type of a cooked packet that was sent to all.
const TO_ALL: u16 = 1;

/// The treatment of captures of other link types than Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LinkTypes {
    /// They are refused.
    #[default]
    Ethernet,
    /// An Ethernet header is made up where it can be.
    MadeUp,
}

/// A link type that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet,
    RawIp,
    RawIpv4,
    RawIpv6,
    /// In the byte order of the capturing machine, which is unknown.
    Loopback,
    Cooked,
    Cooked2,
}

impl Link {
    /// Returns the link type with this number, if it can be read so.
    pub(super) fn of(number: u32, allowed: LinkTypes) -> Option<Self> {
        let link = Self::known(number)?;
        (link == Self::Ethernet || allowed == LinkTypes::MadeUp).then_some(link)
    }

    /// Whether an Ethernet header can be made up.
    pub(super) fn can_be_made_up(number: u32) -> bool {
        Self::known(number).is_some_and(|link| link != Self::Ethernet)
    }

    const fn known(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Ethernet,
            12 | 14 | 101 => Self::RawIp,
            228 => Self::RawIpv4,
            229 => Self::RawIpv6,
            0 | 108 => Self::Loopback,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            _ => return None,
        })
    }

    /// Bytes before the packet.
    pub(super) const fn before(self) -> usize {
        match self {
            Self::Ethernet | Self::RawIp | Self::RawIpv4 | Self::RawIpv6 => 0,
            Self::Loopback => 4,
            Self::Cooked => 16,
            Self::Cooked2 => 20,
        }
    }

    /// Returns the Ethernet header for a frame of this link type. Missing bytes count as zeros.
    pub(super) fn header(self, frame: &[u8]) -> [u8; HEADER] {
        let mut before = [0; 20];
        before.iter_mut().zip(frame).for_each(|(place, byte)| *place = *byte);
        let number = |at: usize| Order::Big.u16(&before, at);
        let packet = frame.get(self.before()..).unwrap_or_default();
        let (mut source, mut destination) = (SOURCE, DESTINATION);
        let kind = match self {
            Self::RawIpv4 => IPV4,
            Self::RawIpv6 => IPV6,
            Self::Loopback => of_family(Order::Big.u32(&before, 0)),
            Self::Cooked | Self::Cooked2 => {
                let (length, address, to, protocol) = match self {
                    Self::Cooked => (number(4), 6, number(0), number(14)),
                    _ => (u16::from(before[11]), 12, u16::from(before[10]), number(0)),
                };
                if length == 6 {
                    source.copy_from_slice(&before[address..address + 6]);
                }
                if to == TO_ALL {
                    destination = [0xff; 6];
                }
                // A frame without a type has its length there.
                if protocol >= FIRST_TYPE { protocol } else { packet.len().min(LONGEST) as u16 }
            }
            Self::RawIp | Self::Ethernet => match packet.first().map(|first| first >> 4) {
                Some(4) => IPV4,
                Some(6) => IPV6,
                _ => UNKNOWN,
            },
        };
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(&destination);
        header[6..12].copy_from_slice(&source);
        header[12..].copy_from_slice(&kind.to_be_bytes());
        header
    }
}

/// Returns the Ethernet type for an address family, in either byte order: 2 everywhere, and for
/// IPv6 as NetBSD, FreeBSD, macOS and Linux number it.
const fn of_family(family: u32) -> u16 {
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => IPV4,
        10 | 24 | 28 | 30 => IPV6,
        _ => UNKNOWN,
    }
}

/// Returns the name of a common link type: <https://www.tcpdump.org/linktypes.html>.
pub(super) const fn name(link: u32) -> &'static str {
    match link {
        0 => "BSD loopback",
        1 => "Ethernet",
        6 => "Token Ring",
        9 => "PPP",
        12 | 14 | 101 => "raw IP",
        105 => "IEEE 802.11",
        108 => "OpenBSD loopback",
        113 => "Linux cooked",
        127 => "802.11 with radiotap",
        195 => "IEEE 802.15.4",
        228 => "raw IPv4",
        229 => "raw IPv6",
        276 => "Linux cooked, version 2",
        _ => "",
    }
}
