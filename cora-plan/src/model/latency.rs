//! What a first touch of each state costs, per class of flows and side: from the working set that
//! the side has under given shares.

use std::collections::BTreeSet;

use super::cache::{Filled, Item, decay};
use super::shape::{Shape, lines};
use super::size::LINE;
use super::{Setting, Side, size};
use crate::words::Sides;

/// Bytes of the record of a flow's owner, and of a place in the index that finds it.
const RECORD: f64 = 64.0;
const INDEX: f64 = 16.0;

/// How much of a latency that counts is the access's own; the rest is that of the slowest access in
/// its burst. Where all accesses miss, or all hit, both are the same. Fitted by `cargo xtask model`
/// (docs/accuracy.md); anything up to four fifths does nearly as well.
const OWN: f64 = 0.5;

/// Latencies that count, in nanoseconds: per state, per class; under a split, those of finding a
/// flow's owner come last.
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
            nic: of(setting, Side::Nic, sides, at_nic, StateItems::mixed),
            host: of(setting, Side::Host, sides, &at_host, StateItems::mixed),
        }
    }

    /// With everything at both sides, in bursts of the slowest class: no allocation has a larger
    /// working set, or slower bursts.
    pub(crate) fn crowded(setting: &Setting<'_>, sides: Sides) -> Self {
        let all = vec![1.0; setting.classes.len()];
        Self {
            nic: of(setting, Side::Nic, sides, &all, StateItems::slowest),
            host: of(setting, Side::Host, sides, &all, StateItems::slowest),
        }
    }
}

/// `burst` tells which accesses come together.
fn of(
    setting: &Setting<'_>,
    side: Side,
    sides: Sides,
    parts: &[f64],
    burst: fn(&StateItems, &Filled) -> f64,
) -> Vec<Vec<f64>> {
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
    let classes = setting.classes.len();
    items.iter().map(|items| items.latency(&filled, classes, burst(items, &filled))).collect()
}

/// The things that a state is made of, each with the class it is of; none for those that all
/// classes share.
struct StateItems {
    bins: Vec<(Option<usize>, Item)>,
}

impl StateItems {
    /// Per class: the mean over its packets, and what the slowest of their bursts adds.
    fn latency(&self, filled: &Filled, classes: usize, burst: f64) -> Vec<f64> {
        let counts = |own: f64| OWN * own + (1.0 - OWN) * burst;
        let of =
            |class| self.missed(filled, |of| of == class).map(|missed| filled.latency(&missed));
        let shared = of(None).map_or(0.0, counts);
        (0..classes).map(|class| of(Some(class)).map_or(shared, counts)).collect()
    }

    /// Per level, which part of the accesses of some classes misses it; none where there are no
    /// accesses.
    fn missed(&self, filled: &Filled, of: impl Fn(Option<usize>) -> bool) -> Option<Vec<f64>> {
        let mut missed: Vec<f64> = Vec::new();
        let mut rate = 0.0;
        for (_, item) in self.bins.iter().filter(|(class, item)| of(*class) && item.rate > 0.0) {
            rate += item.rate;
            let parts = filled.missed(*item);
            missed.resize(parts.len(), 0.0);
            missed.iter_mut().zip(parts).for_each(|(missed, part)| *missed += item.rate * part);
        }
        (rate > 0.0).then(|| missed.into_iter().map(|sum| sum / rate).collect())
    }

    /// The slowest access of bursts of all classes' packets.
    fn mixed(&self, filled: &Filled) -> f64 {
        self.missed(filled, |_| true).map_or(0.0, |missed| filled.slowest(&missed))
    }

    /// The slowest of bursts of one class's packets, of whichever class that is.
    fn slowest(&self, filled: &Filled) -> f64 {
        let classes: BTreeSet<_> = self.bins.iter().map(|(class, _)| *class).collect();
        let missed = classes.into_iter().filter_map(|class| self.missed(filled, |of| of == class));
        missed.map(|missed| filled.slowest(&missed)).fold(0.0, f64::max)
    }
}

/// Who owns which flow, as a side keeps it: a record of each flow of its own. The NIC is asked by
/// every packet, and finds by its index that a flow is not its own.
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

/// Lines that so many things touch, each in one of `all` lines at random: few things have a line
/// each, many share them. It leaves a part `(1 − 1/all)ⁿ` untouched.
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
    // Of a look-up's lines one is of the index, which few flows have for themselves and many share;
    // the others are the entry's.
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
