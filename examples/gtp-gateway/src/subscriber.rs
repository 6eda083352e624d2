//! Subscribers, by their addresses within the tunnel or without one.

use super::*;

/// A subscriber: both directions have the address. A subscriber of IPv6 has a /64, and uses any
/// address of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
pub(crate) struct Subscriber {
    pub(crate) address: Address,
}

impl PacketKey for Subscriber {
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason> {
        let address = address(packet)?;
        let interface = if address.is_v4() { 0 } else { u128::from(u64::MAX) };
        Ok(Self { address: Address::v6((address.bits() & !interface).to_be_bytes()) })
    }
}

/// The subscriber's address. A tunnel may carry fragments, so it is read without their ports.
pub(crate) fn address(packet: &Packet) -> Result<Address, Reason> {
    if !packet.from_inside() {
        return packet.destination();
    }
    let Tunnel { at, end, .. } = packet.tunnel()?;
    let inner = packet.frame().get(at..end).unwrap_or_default();
    let source = match inner.first().map(|byte| byte >> 4) {
        Some(4) => inner.get(12..).and_then(<[u8]>::first_chunk).map(|ip| Address::v4(*ip)),
        Some(6) => inner.get(8..).and_then(<[u8]>::first_chunk).map(|ip| Address::v6(*ip)),
        _ => return Err(NotIp),
    };
    source.ok_or(Truncated)
}
