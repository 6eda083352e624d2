//! The TCP header, as far as a middlebox needs it.

use core::fmt;

use super::Headers;
use super::fast_path::{FAST_TCP_FLAGS, FAST_TRANSPORT};
use super::layers::Fault;
use super::parsed::Parsed;
use super::transport::TCP_HEADER;
use crate::key::protocol;

/// The flags of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The sender sends no more data.
    pub const FIN: Self = Self(0x01);
    /// The sender opens the connection.
    pub const SYN: Self = Self(0x02);
    /// The connection is reset or does not exist.
    pub const RST: Self = Self(0x04);
    /// Deliver to the application at once.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// Congestion was experienced (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether SYN is set.
    #[inline]
    pub const fn syn(self) -> bool {
        self.contains(Self::SYN)
    }

    /// Whether ACK is set.
    #[inline]
    pub const fn ack(self) -> bool {
        self.contains(Self::ACK)
    }

    /// Whether FIN is set.
    #[inline]
    pub const fn fin(self) -> bool {
        self.contains(Self::FIN)
    }

    /// Whether RST is set.
    #[inline]
    pub const fn rst(self) -> bool {
        self.contains(Self::RST)
    }
}

impl core::ops::BitOr for TcpFlags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
        let mut names = NAMES.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1);
        let Some((_, first)) = names.next() else { return f.write_str("none") };
        f.write_str(first)?;
        names.try_for_each(|(_, name)| write!(f, " {name}"))
    }
}

/// The header of a TCP segment: a copy of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; valid if the ACK flag is set.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window as written in the header, not scaled.
    pub window: u16,
    /// Bytes of the header including options: 20 to 60.
    pub header_len: u8,
    /// Bytes behind the header.
    pub payload_len: u32,
}

impl Headers<'_> {
    /// The flags of the TCP header; `None` if [`Self::tcp`] is `None`.
    #[inline]
    pub fn tcp_flags(&self) -> Option<TcpFlags> {
        // Saves code size in the NIC's program.
        if cfg!(target_os = "none") {
            return self.tcp_flags_of_any();
        }
        let Some((head, fast)) = self.fast() else {
            core::hint::cold_path();
            return self.tcp_flags_of_any();
        };
        (fast.protocol() == protocol::TCP).then_some(TcpFlags(head[FAST_TCP_FLAGS]))
    }

    /// The flags if the frame is not on the fast path.
    #[inline(never)]
    fn tcp_flags_of_any(&self) -> Option<TcpFlags> {
        self.tcp_flags_at(self.tcp_at()?)
    }

    /// The flags of the header at `at`.
    #[inline(always)]
    fn tcp_flags_at(&self, at: usize) -> Option<TcpFlags> {
        Some(TcpFlags(*self.frame.get(at + 13)?))
    }

    /// Offset of the TCP header, if there is one.
    #[inline]
    pub(super) fn tcp_at(&self) -> Option<usize> {
        let (protocol, at) = match &self.parsed {
            Parsed::Fast(fast) => (fast.protocol(), FAST_TRANSPORT),
            Parsed::Other(layers, _) if layers.flow_fault == Fault::None => {
                (layers.outer.protocol, usize::from(layers.outer.transport))
            }
            _ => return None,
        };
        (protocol == protocol::TCP).then_some(at)
    }

    /// The TCP header; `None` for other transports, fragments, and packets that don't parse.
    #[inline]
    pub fn tcp(&self) -> Option<TcpHeader> {
        let at = self.tcp_at()?;
        let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, offset, flags, w0, w1, ..]: [u8;
            TCP_HEADER] = self.read(at);
        Some(TcpHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            seq: u32::from_be_bytes([q0, q1, q2, q3]),
            ack: u32::from_be_bytes([a0, a1, a2, a3]),
            flags: TcpFlags(flags),
            window: u16::from_be_bytes([w0, w1]),
            header_len: (offset >> 4) * 4,
            payload_len: self.payload_range().len() as u32,
        })
    }
}
