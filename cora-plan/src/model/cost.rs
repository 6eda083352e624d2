//! Nanoseconds of one packet, by side, class and route.

use super::latency::Latencies;
use super::{Setting, Side, size};
use crate::nic::Tier;

/// Costs at given latencies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a> {
    pub(super) setting: &'a Setting<'a>,
    pub(super) latencies: &'a Latencies,
}

impl Costs<'_> {
    fn tier(&self, side: Side) -> &Tier {
        match side {
            Side::Nic => &self.setting.nic.nic,
            Side::Host => &self.setting.nic.host,
        }
    }

    /// Whether runs of a route are of a message that a handler sent.
    pub(super) fn is_inside(&self, route: usize) -> bool {
        self.setting.demand.routes[route].inside
    }

    /// Crossing to the other side of a message that a handler sent, at one side.
    pub(super) fn message(&self, side: Side, route: usize) -> f64 {
        let link = &self.setting.nic.link;
        let fixed = match side {
            Side::Nic => link.nic_ns.value,
            Side::Host => link.host_ns.value,
        };
        // One way; the cost of the profile is that of a packet that returns.
        0.5 * fixed + self.message_bytes(route) * link.byte_ns.value
    }

    /// Bytes of the message of a route's runs, as it crosses.
    pub(super) fn message_bytes(&self, route: usize) -> f64 {
        let graph = self.setting.graph;
        let steps = self.setting.demand.routes[route].steps.first();
        let node = steps.and_then(|(handler, _)| graph.chain.get(*handler));
        let message = node.and_then(|node| graph.message(node.takes.as_ref()?));
        message.map_or(0.0, size::message)
    }

    /// Receiving, sending and copying a whole packet of this class.
    pub(super) fn packet(&self, side: Side, class: usize) -> f64 {
        let tier = self.tier(side);
        tier.packet_ns.value + self.bytes(class) * tier.byte_ns.value
    }

    /// The same at the host, for a frame that hardware hands to its driver. No core copies the
    /// frame; the host loads what its handlers get, which is the head of a long frame if they take
    /// headers alone.
    pub(super) fn handed_over(&self, class: usize) -> f64 {
        let driver = self.setting.nic.port.as_ref().map_or(0.0, |port| port.host_ns.value);
        driver + self.passed_on(class)
    }

    /// The same at the host, for a packet that the NIC's cores forwarded.
    pub(super) fn passed_on(&self, class: usize) -> f64 {
        let tier = self.tier(Side::Host);
        tier.packet_ns.value + self.crossing_bytes(class) * tier.byte_ns.value
    }

    /// Handler time of a packet on this route.
    pub(super) fn route(&self, side: Side, class: usize, route: usize) -> f64 {
        let tier = self.tier(side);
        let of = &self.setting.demand.routes[route];
        let (latencies, executed) = match side {
            Side::Nic => (&self.latencies.nic, of.nic),
            Side::Host => (&self.latencies.host, of.host),
        };
        let shape = &self.setting.shapes[route];
        let touches = shape.touches.iter().zip(latencies).map(|(touches, of)| touches * of[class]);
        // Each entry is freed later, by a handler or by expiry. The route that makes it pays for
        // both.
        let entries = shape.inserts * (tier.insert_ns.value + tier.remove_ns.value);
        executed.ns(tier) + touches.sum::<f64>() * tier.exposed.value + entries
    }

    /// Crossing to the host and back, at one side.
    pub(super) fn crossing(&self, side: Side, class: usize) -> f64 {
        let link = &self.setting.nic.link;
        let crossing = self.crossing_bytes(class);
        let carried = crossing * link.byte_ns.value;
        match side {
            // The rest of the frame is copied at the NIC: to a payload buffer and back.
            Side::Nic => {
                let rest = self.bytes(class) - crossing;
                link.nic_ns.value + carried + rest * self.tier(side).byte_ns.value
            }
            Side::Host => link.host_ns.value + carried,
        }
    }

    /// Waiting for the record of a flow's owner, which exists under a split only.
    pub(super) fn record(&self, side: Side, class: usize) -> f64 {
        let latencies = match side {
            Side::Nic => &self.latencies.nic,
            Side::Host => &self.latencies.host,
        };
        let owner = latencies.get(self.setting.graph.states.len());
        owner.map_or(0.0, |of| of[class]) * self.setting.nic.link.owner_exposed.value
    }

    /// Moving a flow one way, at one side.
    pub(super) fn moving(&self, side: Side) -> f64 {
        match side {
            Side::Nic => self.setting.nic.link.nic_move_ns.value,
            Side::Host => self.setting.nic.link.host_move_ns.value,
        }
    }

    /// Mean length of this class's frames.
    pub(super) fn bytes(&self, class: usize) -> f64 {
        self.setting.classes[class].mean_bytes
    }

    /// Mean bytes of a frame that cross. Under header split, a long frame counts only its head.
    pub(super) fn crossing_bytes(&self, class: usize) -> f64 {
        let class = &self.setting.classes[class];
        if self.setting.heads { class.head_bytes } else { class.mean_bytes }
    }
}
