//! Fragments of IP packets: which part of which packet they are.
//!
//! A fragment has no flow: only the first one has the ports. Which of them a program lets through
//! is the program's business; see [`Headers::flow`] for the effect of `?`, and
//! [`Headers::fragment`].

use super::layers::Version;
use super::{Headers, ip};

/// Which part of an IP packet a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpFragment {
    /// What the fragments of one packet have in common, beside addresses and protocol. IPv4 has the
    /// lower 16 bits.
    pub identification: u32,
    /// Where it stands in the packet's payload, in bytes.
    pub offset: u16,
    /// Whether others follow.
    pub more: bool,
}

impl Headers<'_> {
    /// Which part of an IP packet it is; `None` when it is whole, or its headers can't be read.
    ///
    /// Addresses and protocol are those of the whole packet, so that keys that are made of them are
    /// there. A five-tuple is not, not even of the first fragment: which side owns a flow is told
    /// by its key, and the others don't carry it.
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
