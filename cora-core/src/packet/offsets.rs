//! Where the layers of a packet begin, for programs that read what Cora does not.

use super::Headers;
use super::layers::Fault;

/// Offsets within the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// The IP header, behind the VLAN tags.
    pub ip: usize,
    /// The bytes behind all IP headers: the transport header, or of a later fragment its data.
    pub transport: usize,
    /// The payload, as [`payload`](super::Packet::payload) has it.
    pub payload: usize,
    /// The end of the IP packet. Bytes behind it are padding.
    pub end: usize,
}

impl Headers<'_> {
    /// Where the layers begin; `None` if the IP headers can't be read. If only the transport can't,
    /// the payload is empty, at the end of the packet.
    pub fn offsets(&self) -> Option<Offsets> {
        let layers = self.layers();
        if layers.network_fault != Fault::None {
            return None;
        }
        let end = layers.end as usize;
        let is_readable = layers.flow_fault.is_readable();
        let payload = if is_readable { self.payload_range().start } else { end };
        let (ip, transport) = (layers.outer.ip.into(), layers.outer.transport.into());
        Some(Offsets { ip, transport, payload, end })
    }
}
