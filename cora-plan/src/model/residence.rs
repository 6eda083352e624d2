//! Entries and bytes of states, by the side that they live at.
//!
//! Entries that stand in a table follow from the rate by Little's law
//! ([`Traffic::standing`](crate::traffic::Traffic::standing)). An entry lives at the side that owns
//! its flow if its state travels, and at the host otherwise. It takes its own lines and its part of
//! the index there. States without a key count as a whole: at the host, and at the NIC if they are
//! there. Under `dealt` the values of a state per bucket are where their buckets are.

use super::limits::Limit;
use super::terms::{At, follows_flows};
use super::{Resource, Setting, Side, size};
use crate::graph::{Keyed, NEVER, StateNode};
use crate::number::grouped;
use crate::search::{RouteTerms, Terms};
use crate::traffic::Class;
use crate::vocabulary::{Kind, Sides};

/// Mean idle time-out, in seconds, of entries with idle times of their own (`idle_by`), whose
/// `idle` is only the longest one. After RFC 5382 (REQ-5) TCP that is closed or not yet open has
/// four minutes, after RFC 4787 (REQ-5) UDP has five; established connections have `idle`, but most
/// flows are closed before that (in `campus` 54 % of the flows are TCP, 43 % UDP).
pub const MEAN_IDLE: f64 = 300.0;

/// Seconds of a run, for entries that never expire: they stay until its end, or until their table
/// is full. No profile says how long a run is.
const WHOLE_RUN: f64 = 86_400.0;

/// Mean seconds after its last use for which an entry stands. One whose life ends is made again by
/// the next packet, so of an entry with a `life` this is the longest time.
pub fn idle(keyed: &Keyed) -> f64 {
    if keyed.stays() {
        return WHOLE_RUN;
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    let longest = seconds(keyed.idle_ns.min(keyed.life_ns.unwrap_or(NEVER)));
    if keyed.idle_by { longest.min(MEAN_IDLE) } else { longest }
}

/// Entries that stand of those that `want` a place, for a class with this share: where nothing
/// expires, the table fills, and the rest finds it full.
pub(super) fn with_place(keyed: &Keyed, share: f64, want: f64) -> f64 {
    if keyed.stays() { want.min(keyed.capacity as f64 * share) } else { want }
}

/// Entries of a class's flows in a keyed state, at a rate.
pub(super) fn entries(setting: &Setting<'_>, state: usize, class: usize, mpps: f64) -> f64 {
    entries_after(setting, (state, class), mpps, f64::INFINITY)
}

/// The same in a table that was empty so many seconds ago: until then no entry has been idle for
/// longer.
pub(super) fn entries_after(
    setting: &Setting<'_>,
    (state, class): (usize, usize),
    mpps: f64,
    seconds: f64,
) -> f64 {
    let Some(keyed) = &setting.graph.states[state].keyed else { return 0.0 };
    let (traffic, own) = (setting.traffic, &setting.classes[class]);
    if keyed.key == "One" {
        return own.share;
    }
    let standing = |class: &Class| {
        if traffic.by_key.contains_key(&keyed.key) {
            traffic.standing(class, mpps, idle(keyed).min(seconds))
        } else {
            // How often such a key is new is unknown; there are as many as flows at a time.
            class.flows * traffic.growth(mpps)
        }
    };
    if keyed.key == setting.group {
        return with_place(keyed, own.share, standing(own));
    }
    let all = traffic.classes(&keyed.key).iter().map(standing).sum::<f64>();
    if setting.graph.takes_messages() {
        // How many keys messages have is unknown. Their tables are taken as large enough.
        return (all * own.share).min(keyed.capacity as f64 * own.share);
    }
    with_place(keyed, own.share, all * own.share)
}

/// Entries and bytes of one class's part of a state.
#[derive(Clone, Copy)]
struct Part {
    state: usize,
    entries: f64,
    bytes: f64,
}

impl Part {
    fn of(setting: &Setting<'_>, state: usize, class: usize, mpps: f64) -> Self {
        let node = &setting.graph.states[state];
        if node.keyed.is_some() {
            let entries = entries(setting, state, class, mpps);
            return Self { state, entries, bytes: entries * size::entry(node) };
        }
        // All classes together have the whole.
        Self { state, entries: 0.0, bytes: setting.classes[class].share * size::whole(node) }
    }

    fn uses(self, row: &Limit, side: Side) -> f64 {
        match (row.resource, row.table) {
            (Resource::TableEntries, Some(table)) if table == (self.state, side) => self.entries,
            (Resource::NicMemory, _) if side == Side::Nic => self.bytes,
            (Resource::HostMemory, _) if side == Side::Host => self.bytes,
            _ => 0.0,
        }
    }
}

/// Uses of a class's entries and states.
pub(super) struct Residence {
    /// At the host, if the host owns the class.
    pub(super) away: Vec<f64>,
    /// If the NIC owns it: per state, at the host, as long as the state is not at the NIC.
    pub(super) routes: Vec<RouteTerms>,
    /// If the NIC owns it: per keyed state, at the NIC, if the state is there.
    pub(super) carries: Vec<(usize, Vec<f64>)>,
}

impl Residence {
    pub(super) fn of(at: &At<'_>, sides: Sides, class: usize, mpps: f64) -> Self {
        let setting = at.costs.setting;
        let states = setting.graph.states.iter().enumerate();
        let parts: Vec<(Part, &StateNode)> =
            states.map(|(state, node)| (Part::of(setting, state, class, mpps), node)).collect();
        let at_host = |part: Part| at.uses(|row| part.uses(row, Side::Host));
        let away = at.uses(|row| parts.iter().map(|(part, _)| part.uses(row, Side::Host)).sum());
        let routes = parts.iter().map(|(part, node)| {
            let replica = matches!(node.kind, Kind::Commutative | Kind::ReadMostly);
            let stays = replica && sides != Sides::NicOnly;
            let nothing = at.uses(|_| 0.0);
            RouteTerms {
                needs: 1 << part.state,
                local: Terms { cost: 0.0, uses: if stays { at_host(*part) } else { nothing } },
                punted: Terms { cost: 0.0, uses: at_host(*part) },
            }
        });
        let carried = parts.iter().filter(|(_, node)| follows_flows(node, sides));
        let carries =
            carried.map(|(part, _)| (part.state, at.uses(|row| part.uses(row, Side::Nic))));
        Self { away, routes: routes.collect(), carries: carries.collect() }
    }
}

/// A sentence about a table that is too small for the entries that stand: those at its side, if an
/// allocation says how many, otherwise all.
pub(crate) fn full(
    setting: &Setting<'_>,
    (state, side): (usize, Side),
    stand: Option<f64>,
    mpps: f64,
) -> String {
    let node = &setting.graph.states[state];
    let Some(keyed) = &node.keyed else { return String::new() };
    let place = match (stand, side) {
        (None, _) => "",
        (Some(_), Side::Nic) => " at the NIC",
        (Some(_), Side::Host) => " at the host",
    };
    let all = || (0..setting.classes.len()).map(|class| entries(setting, state, class, mpps)).sum();
    let stand_is_all = stand.is_none();
    let stand = stand.unwrap_or_else(all);
    let classes = setting.traffic.by_key.get(&keyed.key).into_iter().flatten();
    let opened: f64 = classes.map(|class| class.opened(mpps)).sum();
    let (stand, capacity) = (whole(stand), grouped(keyed.capacity));
    let each = if stand_is_all { " at each side" } else { "" };
    let table = format!("the table of `{}` has {capacity} entries{each}, and {stand}", node.name);
    if opened < 0.5 {
        return format!("{table} flows{place} want one");
    }
    let mean = if keyed.idle_by { " in the mean" } else { "" };
    format!(
        "{table} stand{place}: {} flows open a second, and an entry stays {} s{mean} after its last packet",
        whole(opened),
        seconds(idle(keyed))
    )
}

/// Seconds, with a digit behind the point if there are few.
fn seconds(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { whole(number) }
}

/// A number without its fraction, which is never negative here.
#[expect(clippy::cast_sign_loss, reason = "numbers of entries and seconds")]
fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::demand::estimate;
    use crate::graph::Graph;
    use crate::model::predict::predict;
    use crate::model::{Allocation, Prediction, Steering, Unmatched};
    use crate::sample;
    use crate::traffic::Traffic;
    use crate::vocabulary::Place;

    /// The sample's NAT with this capacity and idle time, on a traffic that opens flows.
    fn predicted(
        sides: Sides,
        share: f64,
        graph: &Graph,
        traffic: &Traffic,
        mpps: f64,
    ) -> Prediction {
        let (nic, demand) = (sample::nic(), estimate(graph, traffic.classes("FiveTuple")));
        let steering = Steering::Cores;
        let setting = Setting::new(graph, &nic, traffic, &demand, "FiveTuple", true, steering);
        let (pool, session) = match sides {
            Sides::HostOnly => (Place::Host, Place::Host),
            Sides::NicOnly => (Place::Nic, Place::Travels),
            Sides::Split | Sides::Dealt => (Place::Host, Place::Travels),
        };
        let places = [("PortPool".to_owned(), pool), ("Session".to_owned(), session)];
        let allocation = Allocation {
            sides,
            places: BTreeMap::from(places),
            host_handlers: Vec::new(),
            group: "FiveTuple".to_owned(),
            shares: vec![share; traffic.classes("FiveTuple").len()],
            unmatched: Unmatched::default(),
        };
        predict(&setting, &allocation, mpps)
    }

    fn nat(capacity: u64, idle_ms: u64) -> Graph {
        let mut graph = sample::nat();
        let session = graph.states[1].keyed.as_mut().expect("keyed");
        (session.capacity, session.idle_ns) = (capacity, idle_ms * 1_000_000);
        graph
    }

    fn tables(predicted: &Prediction) -> f64 {
        predicted.utilisation[&Resource::TableEntries]
    }

    #[test]
    fn a_table_is_as_full_at_the_host_as_at_the_nic() {
        let campus = Traffic::load("campus").expect("built in");
        for traffic in [&campus, &sample::traffic()] {
            for (capacity, idle, mpps) in [(65_536, 300_000, 0.01), (1 << 20, 300_000, 5.0)] {
                let graph = nat(capacity, idle);
                let of = |sides, share| predicted(sides, share, &graph, traffic, mpps);
                let (host, nic) = (of(Sides::HostOnly, 0.0), of(Sides::NicOnly, 1.0));
                assert!((tables(&host) / tables(&nic) - 1.0).abs() < 1e-9, "{host:?} {nic:?}");
                assert_eq!(host.unstable.is_empty(), tables(&host) <= 1.0, "{host:?}");
                // Two tables have room for twice as many.
                let half = of(Sides::Split, 0.5);
                assert!((tables(&half) / tables(&nic) - 0.5).abs() < 1e-9, "{half:?}");
            }
        }
    }

    #[test]
    fn entries_and_bytes_grow_with_rate_and_idle_time_at_either_side() {
        let campus = Traffic::load("campus").expect("built in");
        for (sides, share, memory) in [
            (Sides::HostOnly, 0.0, Resource::HostMemory),
            (Sides::NicOnly, 1.0, Resource::NicMemory),
        ] {
            let of = |idle, mpps| {
                let predicted = predicted(sides, share, &nat(1 << 20, idle), &campus, mpps);
                [tables(&predicted), predicted.utilisation[&memory]]
            };
            for (before, after) in [
                (of(30_000, 0.1), of(30_000, 0.2)),
                (of(30_000, 0.1), of(60_000, 0.1)),
                (of(300_000, 1.0), of(300_000, 12.0)),
            ] {
                assert!(
                    after[0] > 1.5 * before[0] && after[1] > 1.5 * before[1],
                    "{before:?} {after:?}"
                );
            }
            // Bytes are those of entries, whatever the declared capacity.
            let [_, small] = of(30_000, 0.1);
            let large = predicted(sides, share, &nat(1 << 30, 30_000), &campus, 0.1);
            assert!((large.utilisation[&memory] / small - 1.0).abs() < 1e-9, "{large:?}");
        }
    }

    #[test]
    fn each_side_has_the_bytes_of_its_share() {
        let traffic = sample::traffic();
        let bytes = |share| {
            let predicted = predicted(Sides::Split, share, &nat(1 << 20, 500), &traffic, 1.0);
            let used = |resource| predicted.utilisation.get(&resource).copied().unwrap_or_default();
            [used(Resource::NicMemory), used(Resource::HostMemory)].map(|used| used * 4e9)
        };
        let (none, some, all) = (bytes(0.0), bytes(0.25), bytes(1.0));
        // 20,100 flows, and 80,060 that open a second, for half of one.
        let entries = (20_100.0 + 40_030.0) * size::entry(&nat(1, 1).states[1]);
        let pool = size::whole(&nat(1, 1).states[0]);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(none[0] == 0.0 && close(none[1], entries + pool), "{none:?}");
        assert!(
            close(some[0], 0.25 * entries) && close(some[1], 0.75 * entries + pool),
            "{some:?}"
        );
        assert!(close(all[0], entries) && close(all[1], pool), "{all:?}");
    }

    #[test]
    fn at_the_highest_rate_a_resource_is_full_though_flows_follow_the_rate() {
        let campus = Traffic::load("campus").expect("built in");
        for (sides, share) in [(Sides::HostOnly, 0.0), (Sides::NicOnly, 1.0), (Sides::Split, 0.5)] {
            let graph = nat(1 << 30, 10);
            let most = predicted(sides, share, &graph, &campus, 0.01).ceiling_mpps;
            let used = predicted(sides, share, &graph, &campus, most).utilisation;
            let fullest = used.values().copied().fold(0.0, f64::max);
            assert!((fullest - 1.0).abs() < 1e-3, "{sides:?} at {most} Mpps: {used:?}");
        }
    }

    #[test]
    fn of_keys_that_the_profile_does_not_know_there_are_as_many_as_flows() {
        let campus = Traffic::load("campus").expect("built in");
        let year = 365 * 86_400_000;
        let mut graph = nat(1 << 20, year);
        graph.states[1].keyed.as_mut().expect("keyed").key = "Subscriber".to_owned();
        let entries = |mpps| {
            let predicted = predicted(Sides::HostOnly, 0.0, &graph, &campus, mpps);
            tables(&predicted) * f64::from(1 << 20)
        };
        for mpps in [0.001, 1.0] {
            let flows = campus.flows("FiveTuple", mpps);
            assert!((entries(mpps) / flows - 1.0).abs() < 1e-6, "{}", entries(mpps));
        }
    }

    #[test]
    fn entries_that_never_expire_fill_their_table_and_refuse_no_plan() {
        let campus = Traffic::load("campus").unwrap();
        let (sides, share) = (Sides::HostOnly, 0.0);
        let bytes = |graph: &Graph| {
            let predicted = predicted(sides, share, graph, &campus, 1.0);
            predicted.utilisation[&Resource::HostMemory]
        };
        let mut graph = nat(1 << 16, 1_000);
        graph.states[1].keyed.as_mut().unwrap().idle_ns = NEVER;
        let (small, session) = (bytes(&graph), graph.states[1].keyed.as_mut().unwrap());
        session.capacity *= 4;
        let large = bytes(&graph);
        assert!(small.is_finite() && small > 0.0, "{small}");
        assert!(small < large && large < 4.1 * small, "{small} {large}");
        let session = graph.states[1].keyed.as_mut().unwrap();
        session.life_ns = Some(2_000_000_000);
        assert!((idle(session) - 2.0).abs() < 1e-9, "a life ends it");
        session.idle_by = true;
        session.life_ns = None;
        assert!((idle(session) - MEAN_IDLE).abs() < 1e-9, "as entries say");
    }

    #[test]
    fn idle_times_of_entries_own_count_by_their_mean() {
        let mut graph = nat(1 << 20, 7_440_000);
        let session = graph.states[1].keyed.as_mut().expect("keyed");
        assert!((idle(session) - 7_440.0).abs() < 1e-9);
        session.idle_by = true;
        assert!((idle(session) - MEAN_IDLE).abs() < 1e-9);
        session.idle_ns = 30_000_000_000;
        assert!((idle(session) - 30.0).abs() < 1e-9, "no entry stays for longer than the longest");
    }
}
