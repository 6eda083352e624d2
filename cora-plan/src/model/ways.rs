//! Ways of a packet: what each costs either side, and how it crosses.

use super::terms::{At, Steering, Unmatched};
use super::{Side, size};
use crate::vocabulary::Sides;

/// Resource use of one packet: nanoseconds at each side, and the way on which it crosses.
#[derive(Clone, Copy, Default)]
pub(super) struct Packet {
    pub(super) nic: f64,
    pub(super) host: f64,
    /// Over the rings.
    pub(super) crossings: f64,
    /// From hardware to the host.
    pub(super) direct: f64,
}

impl Packet {
    pub(super) fn mix(self, part: f64, other: Self) -> Self {
        let mix = |a: f64, b: f64| (1.0 - part) * a + part * b;
        Self {
            nic: mix(self.nic, other.nic),
            host: mix(self.host, other.host),
            crossings: mix(self.crossings, other.crossings),
            direct: mix(self.direct, other.direct),
        }
    }
}

impl At<'_> {
    /// A packet of a flow that the host owns.
    pub(super) fn away(&self, class: usize, route: usize) -> Packet {
        if self.costs.is_inside(route) {
            return self.message_away(class, route);
        }
        match (self.costs.setting.steering, self.sides) {
            (Steering::Rules, _) | (_, Sides::Dealt) => self.direct(class, route),
            (Steering::Cores, _) => self.forwarded(class, route),
        }
    }

    /// The first packet of a flow, which always runs at the host. No rule can match it yet.
    pub(super) fn away_first(&self, class: usize, route: usize) -> Packet {
        if self.costs.is_inside(route) {
            return self.message_away(class, route);
        }
        match (self.costs.setting.steering, self.costs.setting.unmatched, self.sides) {
            (Steering::Rules, Unmatched::Host, _)
            | (Steering::Rules, _, Sides::HostOnly)
            | (_, _, Sides::Dealt) => self.direct(class, route),
            (Steering::Cores, ..) | (Steering::Rules, Unmatched::Nic, _) => {
                self.forwarded(class, route)
            }
        }
    }

    /// A message that a handler sent, to a flow that the host owns. Under a split it crosses, as
    /// the arrivals that cause messages come at the NIC; where the host runs everything, none does.
    fn message_away(&self, class: usize, route: usize) -> Packet {
        let costs = &self.costs;
        let host = costs.route(Side::Host, class, route);
        if self.sides != Sides::Split {
            return Packet { host, ..Packet::default() };
        }
        Packet {
            nic: self.owner(class) + costs.message(Side::Nic, route),
            host: host + costs.record(Side::Host, class) + costs.message(Side::Host, route),
            crossings: 1.0,
            direct: 0.0,
        }
    }

    /// Hardware hands the whole frame to the host.
    fn direct(&self, class: usize, route: usize) -> Packet {
        let costs = &self.costs;
        let host = costs.handed_over(class) + costs.route(Side::Host, class, route);
        Packet { nic: 0.0, host, crossings: 0.0, direct: 1.0 }
    }

    /// A core of the NIC passes the packet on through the rings.
    fn forwarded(&self, class: usize, route: usize) -> Packet {
        let costs = &self.costs;
        Packet {
            nic: costs.packet(Side::Nic, class)
                + self.owner(class)
                + costs.crossing(Side::Nic, class),
            host: costs.passed_on(class)
                + costs.route(Side::Host, class, route)
                + costs.record(Side::Host, class)
                + costs.crossing(Side::Host, class),
            crossings: 1.0,
            direct: 0.0,
        }
    }

    pub(super) fn local(&self, class: usize, route: usize) -> Packet {
        let costs = &self.costs;
        let received = if costs.is_inside(route) { 0.0 } else { costs.packet(Side::Nic, class) };
        let nic = received + self.owner(class) + costs.route(Side::Nic, class, route);
        Packet { nic, ..Packet::default() }
    }

    /// The same under a split, where items of regions are at the host: each that the message reads
    /// is fetched, and at the end the number of commits.
    pub(super) fn fetched(&self, class: usize, route: usize) -> Packet {
        let local = self.local(class, route);
        let fetches: f64 = self.costs.setting.shapes[route].fetches.iter().sum();
        let fetch_ns = self.costs.setting.nic.link.fetch_ns.as_ref();
        match fetch_ns {
            Some(fetch_ns) if fetches > 0.0 => {
                Packet { nic: local.nic + (fetches + 1.0) * fetch_ns.value, ..local }
            }
            _ => local,
        }
    }

    /// Cost of the flow look-up at the NIC. Only a split needs it, and with rules the hardware does
    /// it.
    fn owner(&self, class: usize) -> f64 {
        match (self.sides, self.costs.setting.steering) {
            (Sides::Split, Steering::Cores) => {
                self.costs.setting.nic.link.owner_ns.value + self.costs.record(Side::Nic, class)
            }
            _ => 0.0,
        }
    }

    /// The packet ran at the NIC up to the missing state, which counts as its whole route. Its flow
    /// moves to the host and back.
    pub(super) fn punted(&self, class: usize, route: usize) -> Packet {
        let costs = &self.costs;
        let (nic, host) = (Side::Nic, Side::Host);
        if costs.is_inside(route) {
            let away = self.message_away(class, route);
            return Packet {
                nic: self.local(class, route).nic
                    + costs.message(nic, route)
                    + 2.0 * costs.moving(nic),
                host: away.host + 2.0 * costs.moving(host),
                ..away
            };
        }
        Packet {
            nic: self.local(class, route).nic
                + costs.crossing(nic, class)
                + 2.0 * costs.moving(nic),
            host: costs.passed_on(class)
                + costs.route(host, class, route)
                + costs.record(host, class)
                + costs.crossing(host, class)
                + 2.0 * costs.moving(host),
            crossings: 1.0,
            direct: 0.0,
        }
    }

    /// The packet ran at the NIC up to the missing state. The entries of its flow cross with it,
    /// and come back.
    pub(super) fn lent(&self, class: usize, route: usize) -> Packet {
        let (costs, setting) = (&self.costs, self.costs.setting);
        let entries: f64 = setting.graph.states.iter().map(size::moved_if_keyed).sum();
        let carried = 2.0 * entries * setting.nic.link.byte_ns.value;
        let (nic, host) = (Side::Nic, Side::Host);
        Packet {
            nic: self.local(class, route).nic + costs.crossing(nic, class) + carried,
            host: costs.passed_on(class)
                + costs.route(host, class, route)
                + costs.crossing(host, class)
                + carried,
            crossings: 1.0,
            direct: 0.0,
        }
    }

    /// The first packet of a flow runs at the host, which then hands the flow over.
    pub(super) fn opening(&self, class: usize, route: usize) -> Packet {
        let away = self.away_first(class, route);
        Packet {
            nic: away.nic + self.costs.moving(Side::Nic),
            host: away.host + self.costs.moving(Side::Host),
            ..away
        }
    }
}
