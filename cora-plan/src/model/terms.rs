//! The model at a rate as a search problem: its switches are the states, then the handlers; its
//! costs are host cores, and a little for cores of the NIC.

use super::cost::Costs;
use super::latency::Latencies;
use super::limits::{Limit, amount, limits};
use super::residence::{Residence, idle, with_place};
use super::ways::Packet;
use super::{NIC_CORE, Resource, Setting, size};
use crate::graph::StateNode;
use crate::nic::Port;
use crate::search::{ClassTerms, Problem, RouteTerms, Share, Switch, Terms};
use crate::vocabulary::{BUCKETS, Kind, Place, Sides};

/// The way of packets to the host if the host owns their flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// The NIC's cores receive every packet and forward it, as in Cora's runtime.
    Cores,
    /// The hardware's flow table has rules for flows of one side; packets that no rule matches go
    /// to the other side ([`Unmatched`]).
    Rules,
}

/// The side that the hardware sends packets to if no rule matches them. Flows of the other side
/// need rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unmatched {
    /// To the host, without a core of the NIC.
    #[default]
    Host,
    /// To the NIC's cores.
    Nic,
}

/// Packets of the NIC's buckets that need a state of the host, under `dealt`. Today's runtime has
/// none: there the NIC holds all that its buckets need. The others are for comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Punts {
    /// There are none.
    #[default]
    None,
    /// Their flow's entries move to the host and back, as under a split.
    Move,
    /// The entries go with the packet and return with it.
    Lend,
}

/// Operations of the flow table for each flow with rules: one rule for each direction, inserted and
/// removed.
const OPERATIONS: f64 = 4.0;

/// Rules that send everything else to the NIC's cores or tell the sides apart: one for each
/// direction of each of a card's two ports.
const PORT_RULES: f64 = 4.0;

/// Rules that deal the buckets: one for each bucket and direction. They stay as they are.
const BUCKET_RULES: f64 = 2.0 * BUCKETS as f64;

/// Converts nanoseconds times millions a second to cores.
const CORES: f64 = 1e-3;

/// Converts bytes times millions a second to gigabits a second.
const GIGABITS: f64 = 8e-3;

/// The problem at `mpps` million packets a second.
///
/// The host offers a flow after `after` packets. `place` fixes the side of a state or a handler (by
/// its index after the states); `None` leaves it open.
pub(crate) fn terms(
    setting: &Setting<'_>,
    mpps: f64,
    latencies: &Latencies,
    (sides, after): (Sides, u32),
    place: &dyn Fn(usize) -> Option<bool>,
) -> Problem {
    let rows = limits(setting);
    let after = f64::from(after);
    let at = At { costs: Costs { setting, latencies }, mpps, sides, after, rows: &rows };
    let states = setting.graph.states.len();
    let switches = (0..states + setting.graph.chain.len())
        .map(|number| Switch {
            fixed: place(number).or_else(|| by_kind(setting, sides, number)),
            uses: at.uses(|row| match row.resource {
                Resource::NicMemory if number < states => {
                    at_nic(&setting.graph.states[number], sides)
                }
                _ => 0.0,
            }),
        })
        .collect();
    let classes = (0..setting.classes.len()).map(|class| at.class(class)).collect();
    let limits = rows.iter().map(|row| amount(setting, *row)).collect();
    Problem { switches, classes, limits }
}

/// Decisions that a kind implies.
fn by_kind(setting: &Setting<'_>, sides: Sides, number: usize) -> Option<bool> {
    let Some(state) = setting.graph.states.get(number) else {
        // With a single handler at the host, a plan would have no shares.
        return (sides == Sides::Dealt || setting.graph.chain.len() < 2).then_some(true);
    };
    match (sides, state.kind) {
        (Sides::Dealt, Kind::Keyed) if setting.punts != Punts::None => None,
        (Sides::Split, Kind::Singleton)
            if state.region.is_some() && setting.nic.link.fetch_ns.is_some() =>
        {
            None
        }
        (Sides::HostOnly, _) | (Sides::Split, Kind::Singleton | Kind::PerBucket) => Some(false),
        (Sides::NicOnly | Sides::Dealt, _) | (Sides::Split, Kind::Commutative) => Some(true),
        (Sides::Split, Kind::Keyed | Kind::ReadMostly) => None,
    }
}

/// Whether a place includes the NIC.
pub(crate) fn is_at_nic(place: Place) -> bool {
    place != Place::Host
}

/// The rate and the inputs of costs.
pub(super) struct At<'a> {
    pub(super) costs: Costs<'a>,
    mpps: f64,
    pub(super) sides: Sides,
    /// Packets of a flow at the host before it offers the flow.
    after: f64,
    rows: &'a [Limit],
}

impl<'a> At<'a> {
    /// For costs of single packets, without a rate or limits.
    pub(super) const fn of(
        setting: &'a Setting<'a>,
        latencies: &'a Latencies,
        sides: Sides,
    ) -> Self {
        Self { costs: Costs { setting, latencies }, mpps: 0.0, sides, after: 1.0, rows: &[] }
    }
}

impl At<'_> {
    pub(super) fn uses(&self, of: impl Fn(&Limit) -> f64) -> Vec<f64> {
        self.rows.iter().map(of).collect()
    }

    fn class(&self, class: usize) -> ClassTerms {
        let setting = self.costs.setting;
        let first = first(setting, class);
        let weights = &setting.demand.weights[class];
        let packets = |weight: f64| self.mpps * setting.classes[class].share * weight;
        let waits = waits(setting.classes[class].opens, self.after);
        let mut away = Packet::default();
        let (mut messages, mut bytes) = (0.0, 0.0);
        let mut routes = Vec::new();
        for (route, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let owned_by_host =
                self.away(class, route).mix(first[route], self.away_first(class, route));
            away.nic += weight * owned_by_host.nic;
            away.host += weight * owned_by_host.host;
            if self.costs.is_inside(route) {
                messages += weight * owned_by_host.crossings;
                bytes += weight * owned_by_host.crossings * self.costs.message_bytes(route);
            } else {
                away.crossings += weight * owned_by_host.crossings;
                away.direct += weight * owned_by_host.direct;
            }
            let opening = self.opening(class, route);
            let (local, punted) = match self.sides {
                Sides::NicOnly => (self.local(class, route), self.local(class, route)),
                Sides::Dealt => {
                    let punted = match setting.punts {
                        Punts::None => self.local(class, route),
                        Punts::Move => self.punted(class, route),
                        Punts::Lend => self.lent(class, route),
                    };
                    (self.local(class, route), punted)
                }
                Sides::HostOnly | Sides::Split => {
                    let early = self.away(class, route);
                    let punted =
                        self.punted(class, route).mix(waits, early).mix(first[route], opening);
                    let local = if setting.shapes[route].writes_region {
                        punted
                    } else {
                        self.fetched(class, route).mix(waits, early).mix(first[route], opening)
                    };
                    (local, punted)
                }
            };
            routes.push(RouteTerms {
                needs: needs(setting, route),
                local: self.terms((class, Some(route)), packets(*weight), local, true),
                punted: self.terms((class, Some(route)), packets(*weight), punted, true),
            });
        }
        let residence = Residence::of(self, self.sides, class, self.mpps);
        let mut away = self.terms((class, None), packets(1.0), away, false);
        for (uses, row) in away.uses.iter_mut().zip(self.rows) {
            *uses += match row.resource {
                Resource::RingPackets => packets(1.0) * messages,
                Resource::RingBytes => packets(1.0) * bytes * GIGABITS,
                _ => 0.0,
            };
        }
        away.uses.iter_mut().zip(residence.away).for_each(|(uses, more)| *uses += more);
        routes.extend(residence.routes);
        ClassTerms {
            away,
            routes,
            carries: residence.carries,
            share: match self.sides {
                Sides::HostOnly => Share::Exactly(0.0),
                Sides::NicOnly => Share::Exactly(1.0),
                Sides::Split | Sides::Dealt => Share::UpTo(1.0),
            },
        }
    }

    /// Whether flows of this owner have rules.
    fn ruled(&self, owned: bool) -> bool {
        let setting = self.costs.setting;
        let by_rules = setting.steering == Steering::Rules && self.sides == Sides::Split;
        by_rules && owned == (setting.unmatched == Unmatched::Host)
    }

    /// Entries of the flow table for a part of a class's flows. Rules stay as long as the entries
    /// of their flow.
    fn rules(&self, class: usize, part: f64, owned: bool) -> f64 {
        let setting = self.costs.setting;
        let of = &setting.classes[class];
        if self.sides == Sides::Dealt {
            return part * of.share * BUCKET_RULES;
        }
        if setting.steering == Steering::Cores || self.sides == Sides::HostOnly {
            return 0.0;
        }
        let for_all = part * of.share * PORT_RULES;
        if !self.ruled(owned) {
            return for_all;
        }
        let keyed = setting.graph.states.iter().filter_map(|state| state.keyed.as_ref());
        let own = keyed.filter(|keyed| keyed.key == setting.group);
        let standing = |seconds| setting.traffic.standing(of, self.mpps, seconds);
        let own = own.map(|keyed| with_place(keyed, of.share, standing(idle(keyed))));
        for_all + part * own.fold(standing(0.0), f64::max)
    }

    /// Resource use of `packets` million such packets a second.
    fn terms(
        &self,
        (class, route): (usize, Option<usize>),
        packets: f64,
        packet: Packet,
        owned: bool,
    ) -> Terms {
        let of = &self.costs.setting.classes[class];
        let inside = route.filter(|route| self.costs.is_inside(*route));
        // What a handler sent is on no wire.
        let arrived = if inside.is_some() { 0.0 } else { packets };
        let bytes = inside.map_or_else(
            || self.costs.crossing_bytes(class),
            |route| self.costs.message_bytes(route),
        );
        let total = self.mpps * of.share;
        // A class's rules are counted once, and distributed over its routes by their packets.
        let part = if total > 0.0 { arrived / total } else { 0.0 };
        Terms {
            cost: packets * (packet.host + NIC_CORE * packet.nic) * CORES,
            uses: self.uses(|row| match row.resource {
                Resource::NicCores => packets * packet.nic * CORES,
                Resource::HostCores => packets * packet.host * CORES,
                Resource::RingPackets => packets * packet.crossings,
                Resource::RingBytes => packets * packet.crossings * bytes * GIGABITS,
                Resource::Wire => arrived * Port::on_wire(of.mean_bytes) * GIGABITS,
                Resource::Switch => arrived,
                Resource::Pcie => packets * packet.direct * of.mean_bytes * GIGABITS,
                Resource::FlowTable => self.rules(class, part, owned),
                Resource::FlowTableInserts if self.ruled(owned) => {
                    arrived * 1e6 * of.opens * OPERATIONS
                }
                _ => 0.0,
            }),
        }
    }
}

/// Bytes that a state takes at the NIC besides those that follow its flows.
fn at_nic(state: &StateNode, sides: Sides) -> f64 {
    let fetched = sides == Sides::Split && state.region.is_some();
    if fetched || follows_flows(state, sides) { 0.0 } else { size::whole(state) }
}

/// Whether a side has parts of a state by its share of the flows: entries, and under `dealt` the
/// values of its buckets.
pub(super) fn follows_flows(state: &StateNode, sides: Sides) -> bool {
    state.keyed.is_some() || (sides == Sides::Dealt && state.kind == Kind::PerBucket)
}

/// Whether a class has packets that need one of these switches.
pub(crate) fn punts(setting: &Setting<'_>, class: usize, off: u128) -> bool {
    let weights = setting.demand.weights[class].iter().enumerate();
    let mut taken = weights.filter(|(_, weight)| **weight > 0.0);
    taken.any(|(route, _)| needs(setting, route) & off != 0)
}

/// Switches that must be on for a route to run at the NIC.
fn needs(setting: &Setting<'_>, route: usize) -> u128 {
    let shape = &setting.shapes[route];
    let wanted = shape.reaches.iter().chain(&shape.runs).enumerate();
    wanted.filter(|(_, wanted)| **wanted).fold(0, |needs, (number, _)| needs | 1 << number)
}

/// Of the packets that are not the first of their flow: the share that comes before its flow is
/// offered.
pub(super) fn waits(opens: f64, after: f64) -> f64 {
    let others = 1.0 - opens;
    if others > 0.0 { ((after - 1.0) * opens / others).clamp(0.0, 1.0) } else { 0.0 }
}

/// Per route: the share of a class's packets on it that are the first of their flow. Routes that
/// make entries come first.
pub(super) fn first(setting: &Setting<'_>, class: usize) -> Vec<f64> {
    let weights = &setting.demand.weights[class];
    let opens = setting.classes[class].opens;
    let makes = |route: usize| setting.shapes[route].inserts > 0.0;
    // Messages that handlers sent are no packets; that their flows are new is left out.
    let inside = |route: usize| setting.demand.routes[route].inside;
    let making: f64 = weights
        .iter()
        .enumerate()
        .filter(|(route, _)| makes(*route) && !inside(*route))
        .map(|(_, w)| w)
        .sum();
    let (of_makers, of_others) = if making >= opens {
        (if making > 0.0 { opens / making } else { 0.0 }, 0.0)
    } else {
        (1.0, if making < 1.0 { (opens - making) / (1.0 - making) } else { 0.0 })
    };
    let of = |route: usize| match (inside(route), makes(route)) {
        (true, _) => 0.0,
        (false, true) => of_makers,
        (false, false) => of_others,
    };
    (0..weights.len()).map(of).collect()
}
