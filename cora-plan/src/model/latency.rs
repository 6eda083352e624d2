//! What a first touch of each state costs, per class of flows and side: from the working set that the side has under
//! given shares.

use super::cache::{Filled, Item, decay};
use super::shape::{Shape, lines};
use super::size::LINE;
use super::{Setting, Side, size};
use crate::words::Sides;

/// Bytes of the record of a flow's owner, and of a place in the index that finds it.
const RECORD: f64 = 64.0;
const INDEX: f64 = 16.0;

/// Expected latencies in nanoseconds: per state, per class; under a split, those of finding a flow's owner come last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Latencies {
    pub(super) nic: Vec<Vec<f64>>,
    pub(super) host: Vec<Vec<f64>>,
}

impl Latencies {
    /// With the NIC handling `at_nic` of each class's packets, and the host the rest.
    pub(crate) fn at(setting: &Setting<'_>, sides: Sides, at_nic: &[f64]) -> Self {
        let at_host: Vec<f64> = at_nic.iter().map(|share| 1.0 - share).collect();
        Self {
            nic: of(setting, Side::Nic, sides, at_nic),
            host: of(setting, Side::Host, sides, &at_host),
        }
    }

    /// With everything at both sides: no allocation has a larger working set.
    pub(crate) fn crowded(setting: &Setting<'_>, sides: Sides) -> Self {
        let all = vec![1.0; setting.classes.len()];
        Self {
            nic: of(setting, Side::Nic, sides, &all),
            host: of(setting, Side::Host, sides, &all),
        }
    }
}

fn of(setting: &Setting<'_>, side: Side, sides: Sides, parts: &[f64]) -> Vec<Vec<f64>> {
    let (tier, cores) = match side {
        Side::Nic => (&setting.nic.nic, setting.nic_cores()),
        // One worker: how many there will be is what is being asked.
        Side::Host => (&setting.nic.host, 1.0),
    };
    let states = 0..setting.graph.states.len();
    let mut items: Vec<StateItems> = states.map(|state| items(setting, state, parts)).collect();
    if sides == Sides::Split {
        items.push(owners(setting, side, parts));
    }
    let all: Vec<Item> =
        items.iter().flat_map(|items| items.bins.iter().map(|(_, item)| *item)).collect();
    let filled = Filled::new(tier, cores, &all);
    items.iter().map(|items| items.latency(&filled, setting.classes.len())).collect()
}

/// The things that a state is made of, each with the class it is of; none for those that all classes share.
struct StateItems {
    bins: Vec<(Option<usize>, Item)>,
}

impl StateItems {
    /// Per class: the mean over its packets.
    fn latency(&self, filled: &Filled, classes: usize) -> Vec<f64> {
        let mean = |wanted: Option<usize>| {
            let mine = || self.bins.iter().filter(|(class, _)| *class == wanted);
            let rate: f64 = mine().map(|(_, item)| item.rate).sum();
            let sum: f64 = mine().map(|(_, item)| item.rate * filled.latency(*item)).sum();
            (rate > 0.0).then(|| sum / rate)
        };
        let shared = mean(None).unwrap_or(0.0);
        (0..classes).map(|class| mean(Some(class)).unwrap_or(shared)).collect()
    }
}

/// Who owns which flow, as a side keeps it: a record of each flow of its own. The NIC is asked by every packet, and finds
/// by its index that a flow is not its own.
fn owners(setting: &Setting<'_>, side: Side, parts: &[f64]) -> StateItems {
    let classes = setting.classes.iter().enumerate().zip(parts);
    let bins = classes.flat_map(|((number, class), part)| {
        class.bins.iter().flat_map(move |bin| {
            let of = |part: f64, bytes: f64| {
                (Some(number), Item { count: bin.flows * part, bytes, rate: bin.share * part })
            };
            let others = if side == Side::Nic { 1.0 - part } else { 0.0 };
            [of(*part, RECORD + INDEX), of(others, INDEX)]
        })
    });
    StateItems { bins: bins.collect() }
}

/// Lines that so many things touch, each in one of `all` lines at random: few things have a line each, many share them. It
/// leaves a part `(1 − 1/all)ⁿ` untouched.
fn touched(all: f64, things: f64) -> f64 {
    if all > 0.0 { all * (1.0 - decay(things / all)) } else { 0.0 }
}

/// A sketch: each flow has a cell in each row. Keys coarser than flows touch fewer.
fn sketch(
    setting: &Setting<'_>,
    parts: &[f64],
    (rows, all): (f64, f64),
    touches: &dyn Fn(usize) -> f64,
) -> StateItems {
    let classes = setting.classes.iter().enumerate().zip(parts);
    let bins = classes.flat_map(|((number, class), part)| {
        let times = touches(number);
        class.bins.iter().map(move |bin| {
            let count = touched(all, bin.flows * part * rows);
            (Some(number), Item { count, bytes: LINE, rate: bin.share * part * times * rows })
        })
    });
    StateItems { bins: bins.collect() }
}

fn items(setting: &Setting<'_>, number: usize, parts: &[f64]) -> StateItems {
    let state = &setting.graph.states[number];
    let touches = |class: usize| -> f64 {
        let weights = &setting.demand.weights[class];
        let shapes = setting.shapes.iter().zip(weights);
        shapes.map(|(shape, weight): (&Shape, &f64)| shape.touches[number] * weight).sum()
    };
    let classes = || setting.classes.iter().enumerate().zip(parts);
    let rate: f64 =
        classes().map(|((number, class), part)| class.share * part * touches(number)).sum();
    let Some(keyed) = &state.keyed else {
        let count = (size::whole(state) / LINE).max(1.0).ceil();
        let rows = lines(state);
        if rows > 1.0 {
            return sketch(setting, parts, (rows, count), &touches);
        }
        // One value: its lines are touched alike.
        return StateItems { bins: vec![(None, Item { count, bytes: LINE, rate })] };
    };
    // Of a look-up's lines one is of the index, which few flows have for themselves and many share; the others are the entry's.
    let (all, keys, per_entry) =
        (size::index_lines(state), size::keys(state), size::entry_lines(state));
    let index_part = 1.0 / lines(state);
    let table = move |class: Option<usize>, flows: f64, rate: f64| {
        let index =
            Item { count: touched(all, flows * keys), bytes: LINE, rate: rate * index_part };
        let entries =
            Item { count: flows * per_entry, bytes: LINE, rate: rate * (1.0 - index_part) };
        [(class, index), (class, entries)]
    };
    if keyed.key == setting.group {
        let bins = classes().flat_map(|((number, class), part)| {
            let times = touches(number);
            class.bins.iter().flat_map(move |bin| {
                table(Some(number), bin.flows * part, bin.share * part * times)
            })
        });
        return StateItems { bins: bins.collect() };
    }
    // Another key than flows are owned by: its own popularity, thinned evenly.
    let part: f64 = classes().map(|((_, class), part)| class.share * part).sum();
    let own = setting.traffic.by_key.get(&keyed.key);
    let own = own.or_else(|| setting.traffic.by_key.get("FiveTuple"));
    let bins = own
        .into_iter()
        .flatten()
        .flat_map(|class| &class.bins)
        .flat_map(|bin| table(None, bin.flows * part.clamp(0.0, 1.0), bin.share * rate));
    StateItems { bins: bins.collect() }
}
