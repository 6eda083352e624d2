//! The questions of a host inside to a server outside, by what an answer repeats.

use super::*;

/// The parts of a question that an answer has to repeat. The host that asked is the group of the
/// entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
pub(crate) struct Question {
    server: Address,
    port: u16,
    id: u16,
    name: Name,
}

impl PacketKey for Question {
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason> {
        let flow = packet.five_tuple()?;
        let (server, port) = if packet.from_inside() {
            (flow.destination, flow.source_port)
        } else {
            (flow.source, flow.destination_port)
        };
        if !is_with_server(packet, &flow) {
            return Err(NoFlow);
        }
        let message = Message::of(packet.payload())?;
        Ok(Self { server, port, id: message.id, name: message.name() })
    }
}

/// Whether it is of the UDP between a host inside and a DNS server outside.
pub(crate) fn is_with_server(packet: &Headers, flow: &FiveTuple) -> bool {
    let port = if packet.from_inside() { flow.destination_port } else { flow.source_port };
    flow.protocol == protocol::UDP && port == DNS && !packet.is_icmp_error()
}
