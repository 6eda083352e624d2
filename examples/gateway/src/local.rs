//! Packets for the router itself: it answers echo requests, and nothing listens at its ports.

use cora::prelude::*;

use crate::Errors;

/// Answers, or takes the packet in.
pub(crate) fn answer(packet: &mut Packet, errors: &mut Errors, now: u32) -> Verdict {
    if packet.icmp_query() == Some(Query::Question) {
        errors.take(now)?;
        packet.turn_back()?;
        return Redirect(packet.port());
    }
    if packet.protocol()? == protocol::UDP {
        errors.take(now)?;
        let router = packet.destination()?;
        packet.turn_to_error(router, IcmpError::PortUnreachable)?;
        return Redirect(packet.port());
    }
    Pass
}
