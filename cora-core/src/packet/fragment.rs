//! Fragments of IP packets: identification and offset.
//!
//! A fragment has no flow: only the first one has the ports. The program decides which fragments to
//! forward; see [`Headers::flow`] for the effect of `?`, and [`Headers::fragment`].

use super::layers::Version;
use super::{Headers, ip};

/// The position of a fragment in its IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpFragment {
    /// Common to all fragments of one packet, together with addresses and protocol. IPv4 uses the
    /// lower 16 bits.
    pub identification: u32,
    /// Offset in the packet's payload, in bytes.
    pub offset: u16,
    /// Whether more fragments follow.
    pub more: bool,
}

impl Headers<'_> {
    /// The position of this fragment; `None` if the packet is whole, or its headers can't be read.
    ///
    /// Addresses and protocol are those of the whole packet, so keys made of them work. A
    /// five-tuple does not, even for the first fragment: the key decides the owner of a flow, and
    /// the other fragments don't carry it.
    pub fn fragment(&self) -> Option<IpFragment> {
        if !self.is_fragment() {
            return None;
        }
        let layers = self.layers();
        let (at, transport) = (usize::from(layers.outer.ip), usize::from(layers.outer.transport));
        if layers.version == Version::V4 {
            let word = self.read_u16(at + 6);
            let identification = u32::from(self.read_u16(at + 4));
            return Some(IpFragment {
                identification,
                offset: word << 3,
                more: word & 0x2000 != 0,
            });
        }
        let [_, _, high, low, identification @ ..] =
            ip::fragment_header(self.frame, at, transport)?;
        let word = u16::from_be_bytes([high, low]);
        Some(IpFragment {
            identification: u32::from_be_bytes(identification),
            offset: word & 0xfff8,
            more: word & 1 != 0,
        })
    }
}
