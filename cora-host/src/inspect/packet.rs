//! Packets that an operator asks for, and how they are told.

use cora_core::key::{FiveTuple, PacketKey as _, Prefix};
use cora_core::packet::{Meta, Packet, Port};
use cora_runtime::tap::PacketFilter;

use crate::ingress::port_names::FIRST;

/// Protocols that have names here; others are numbers.
const PROTOCOLS: [(&str, u8); 5] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58), ("sctp", 132)];

/// Reads conditions: either address, either port, the protocol.
///
/// # Errors
/// A sentence with a right form.
pub(super) fn filter(
    net: Option<&str>,
    port: Option<u16>,
    protocol: Option<&str>,
) -> Result<PacketFilter, String> {
    let net = net.map(|text| {
        text.parse::<Prefix>()
            .map_err(|why| format!("`net` is a prefix such as 10.0.0.0/8; `{text}`: {why}"))
    });
    let protocol = protocol.map(|text| {
        let name = text.to_ascii_lowercase();
        let known = PROTOCOLS.iter().find(|(known, _)| *known == name);
        known.map(|(_, number)| *number).or_else(|| name.parse().ok()).ok_or_else(|| {
            format!("`protocol` is tcp, udp, icmp, icmpv6, sctp or a number, not `{text}`")
        })
    });
    Ok(PacketFilter { protocol: protocol.transpose()?, port, net: net.transpose()? })
}

/// The flow of a frame, if it is whole and has one.
pub(super) fn flow(frame: &[u8]) -> Option<String> {
    let mut bytes = frame.to_vec();
    let flow = FiveTuple::of_packet(&Packet::new(&mut bytes, Meta::default()));
    flow.ok().map(|flow| flow.to_string())
}

/// The name of a port, or its number.
pub(super) fn port_name(port: Port) -> String {
    let name = FIRST.get(usize::from(port.0)).map(|name| (*name).to_owned());
    name.unwrap_or_else(|| port.0.to_string())
}
