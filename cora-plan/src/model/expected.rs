//! The counters of a run, as the model expects them under an allocation: per packet of the wire.

use std::collections::BTreeMap;

use super::limits::limits;
use super::predict::{Point, is_local};
use super::residence::entries_after;
use super::terms::{first, waits};
use super::{Allocation, Resource, Setting};
use crate::search::evaluate;
use crate::vocabulary::Sides;

/// The expected counts of a run, per packet if nothing else is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// Packets that the NIC handles alone.
    pub at_nic: f64,
    /// Packets that cross to the host, punts among them.
    pub crossings: f64,
    /// Packets that a handler began at the NIC, and that the host runs.
    pub punts: f64,
    /// Flows that the host hands to the NIC: new ones, and those that a punt brought back.
    pub moves: f64,
    /// Nanoseconds of the NIC's cores.
    pub nic_ns: f64,
    /// Nanoseconds of the host's cores.
    pub host_ns: f64,
    /// Entries of each table, both sides together: not per packet.
    pub entries: BTreeMap<String, f64>,
}

/// Converts cores at a million packets a second to nanoseconds of a packet.
const NS: f64 = 1e3;

/// The counters at a rate, in million packets a second, of a run whose tables were empty `seconds`
/// ago.
pub(crate) fn expected(
    setting: &Setting<'_>,
    allocation: &Allocation,
    mpps: f64,
    seconds: f64,
) -> Expected {
    let at = Point::of(setting, allocation, mpps);
    let used = evaluate(&at.problem(mpps), &at.on, &at.shares).uses;
    let rows = limits(setting);
    let per_packet = |resource| {
        let row = rows.iter().position(|limit| limit.resource == resource);
        row.map_or(0.0, |row| used[row] / mpps)
    };
    let (at_nic, punts) = ran_at_nic(setting, &at);
    Expected {
        at_nic,
        crossings: per_packet(Resource::RingPackets),
        punts,
        moves: punts + handed_over(setting, &at),
        nic_ns: per_packet(Resource::NicCores) * NS,
        host_ns: per_packet(Resource::HostCores) * NS,
        entries: entries(setting, mpps, seconds),
    }
}

/// Packets that run at the NIC to their end, and those that need the host amid that, as costs have
/// them: behind the packets that come before their flow is handed over. Under other plans than a
/// split the side that has a packet runs it.
fn ran_at_nic(setting: &Setting<'_>, at: &Point<'_>) -> (f64, f64) {
    let (mut whole, mut punts) = (0.0, 0.0);
    for (class, (of, share)) in setting.classes.iter().zip(&at.shares).enumerate() {
        let split = at.sides == Sides::Split;
        let first = first(setting, class);
        let later = if split { 1.0 - waits(of.opens, f64::from(at.after)) } else { 1.0 };
        for (route, weight) in setting.demand.weights[class].iter().enumerate() {
            let ran = if split { (1.0 - first[route]) * later } else { 1.0 };
            let packets = of.share * share * weight * ran;
            let ends_here = !split || is_local(setting, &at.on, route);
            *(if ends_here { &mut whole } else { &mut punts }) += packets;
        }
    }
    (whole, punts)
}

/// New flows that move to the NIC, per packet: those with as many packets as the host wants to see
/// before.
fn handed_over(setting: &Setting<'_>, at: &Point<'_>) -> f64 {
    if at.sides != Sides::Split {
        return 0.0;
    }
    let classes = setting.classes.iter().zip(&at.shares);
    let long = classes.filter(|(class, _)| f64::from(at.after) * class.opens <= 1.0);
    long.map(|(class, share)| class.share * share * class.opens).sum()
}

fn entries(setting: &Setting<'_>, mpps: f64, seconds: f64) -> BTreeMap<String, f64> {
    let states = setting.graph.states.iter().enumerate();
    let keyed = states.filter(|(_, state)| state.keyed.is_some());
    let of = |state: usize| {
        let classes = 0..setting.classes.len();
        classes.map(|class| entries_after(setting, (state, class), mpps, seconds)).sum()
    };
    keyed.map(|(number, state)| (state.name.clone(), of(number))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demand::estimate;
    use crate::model::{Prediction, Steering, Unmatched, predict};
    use crate::sample;
    use crate::vocabulary::Place;

    /// The sample's NAT on the sample's traffic, with this share of all flows at the NIC.
    fn of(sides: Sides, share: f64, seconds: f64) -> (Expected, Prediction) {
        let (graph, nic, traffic) = (sample::nat(), sample::nic(), sample::traffic());
        let demand = estimate(&graph, traffic.classes("FiveTuple"));
        let steering = Steering::Cores;
        let setting = Setting::new(&graph, &nic, &traffic, &demand, "FiveTuple", true, steering);
        let places = [("PortPool", Place::Host), ("Session", Place::Travels)];
        let allocation = Allocation {
            sides,
            places: places.map(|(state, place)| (state.to_owned(), place)).into(),
            host_handlers: Vec::new(),
            group: "FiveTuple".to_owned(),
            shares: vec![share; 2],
            unmatched: Unmatched::default(),
        };
        let expected = expected(&setting, &allocation, 2.0, seconds);
        (expected, predict::predict(&setting, &allocation, 2.0))
    }

    #[test]
    fn each_packet_stays_or_crosses_and_times_are_those_of_the_prediction() {
        for (sides, share) in [(Sides::HostOnly, 0.0), (Sides::Split, 0.5), (Sides::Split, 1.0)] {
            let (expected, predicted) = of(sides, share, 1e9);
            let all = expected.at_nic + expected.crossings;
            assert!((all - 1.0).abs() < 1e-9, "{sides} {share}: {expected:?}");
            assert!((expected.host_ns * 2e-3 - predicted.host_cores).abs() < 1e-9, "{expected:?}");
            assert!((expected.nic_ns * 2e-3 - predicted.nic_cores).abs() < 1e-9, "{expected:?}");
        }
    }

    #[test]
    fn flows_are_handed_over_as_often_as_they_open_and_come_back() {
        // Of 60 % of the packets flows rarely open, and of 40 % with one packet in five.
        let opens = 0.6 * 0.000_1 + 0.4 * 0.2;
        let (whole, _) = of(Sides::Split, 1.0, 1e9);
        assert!((whole.moves - whole.punts - opens).abs() < 1e-12, "{whole:?}");
        let (half, _) = of(Sides::Split, 0.5, 1e9);
        assert!((half.moves * 2.0 / whole.moves - 1.0).abs() < 1e-9, "{half:?}");
        assert!(whole.punts < whole.crossings, "{whole:?}");
        let (none, _) = of(Sides::HostOnly, 0.0, 1e9);
        assert_eq!((none.punts, none.moves, none.crossings), (0.0, 0.0, 1.0));
    }

    #[test]
    fn a_table_fills_until_its_entries_expire() {
        let entries = |seconds| of(Sides::Split, 1.0, seconds).0.entries["Session"];
        let (early, idle, later) = (entries(0.25), entries(0.5), entries(60.0));
        assert!(early < idle, "{early} {idle}");
        assert!((later - idle).abs() < 1e-9, "entries go after half a second: {idle} {later}");
        assert_eq!(of(Sides::Split, 1.0, 1.0).0.entries.len(), 1, "one table");
    }
}
