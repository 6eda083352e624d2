//! Packets for the router itself: it answers echo requests, and nothing listens at its ports.

use cora::prelude::*;

use crate::budget::Budget;

/// Answers, or takes the packet in.
pub(crate) fn answer(packet: &mut Packet, budget: &mut Budget, now: u32) -> Verdict {
    if packet.icmp_query() == Some(Query::Question) {
        budget.take_error(now)?;
        packet.turn_back()?;
        return Redirect(packet.port());
    }
    if packet.protocol()? == protocol::UDP {
        budget.take_error(now)?;
        let router = packet.destination()?;
        packet.turn_to_error(router, IcmpError::PortUnreachable)?;
        return Redirect(packet.port());
    }
    Pass
}
