//! Cost of the first touch of each state, per class of flows and side. It follows from the side's
//! working set under given shares.

use std::collections::BTreeSet;

use super::cache::{Filled, Item, decay};
use super::shape::{Shape, lines};
use super::size::LINE;
use super::{Setting, Side, size};
use crate::vocabulary::Sides;

/// Bytes of a flow's owner record, and of its slot in the index.
const RECORD: f64 = 64.0;
const INDEX: f64 = 16.0;

/// Weight of an access's own latency; the rest is the latency of the slowest access in its burst.
/// If all accesses miss, or all hit, both are the same. Fitted by `cargo xtask model`
/// (docs/accuracy.md); anything up to four fifths does nearly as well.
const OWN: f64 = 0.5;

/// Effective latencies in nanoseconds: per state, per class. Under a split, the look-up of a flow's
/// owner comes last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Latencies {
    pub(super) nic: Vec<Vec<f64>>,
    pub(super) host: Vec<Vec<f64>>,
}

impl Latencies {
    /// At a rate, with the NIC handling `at_nic` of each class's packets, and the host the rest.
    pub(crate) fn at(setting: &Setting<'_>, sides: Sides, at_nic: &[f64], mpps: f64) -> Self {
        let growth = setting.traffic.growth(mpps);
        let at_host: Vec<f64> = at_nic.iter().map(|share| 1.0 - share).collect();
        Self {
            nic: of(setting, Side::Nic, (sides, growth), at_nic, StateItems::mixed),
            host: of(setting, Side::Host, (sides, growth), &at_host, StateItems::mixed),
        }
    }

    /// With everything at both sides, in bursts of the slowest class. No allocation has a larger
    /// working set or slower bursts.
    pub(crate) fn crowded(setting: &Setting<'_>, sides: Sides, mpps: f64) -> Self {
        let growth = setting.traffic.growth(mpps);
        let all = vec![1.0; setting.classes.len()];
        Self {
            nic: of(setting, Side::Nic, (sides, growth), &all, StateItems::slowest),
            host: of(setting, Side::Host, (sides, growth), &all, StateItems::slowest),
        }
    }
}

/// `growth` is the factor of concurrent flows; `burst` selects the accesses that come together.
fn of(
    setting: &Setting<'_>,
    side: Side,
    (sides, growth): (Sides, f64),
    parts: &[f64],
    burst: fn(&StateItems, &Filled) -> f64,
) -> Vec<Vec<f64>> {
    let (tier, cores) = match side {
        Side::Nic => (&setting.nic.nic, setting.nic_cores()),
        // One worker, because the number of workers is the result.
        Side::Host => (&setting.nic.host, 1.0),
    };
    let states = 0..setting.graph.states.len();
    let mut items: Vec<StateItems> =
        states.map(|state| items(setting, state, parts, growth)).collect();
    if sides == Sides::Split {
        items.push(owners(setting, side, parts, growth));
    }
    let all: Vec<Item> =
        items.iter().flat_map(|items| items.bins.iter().map(|(_, item)| *item)).collect();
    let filled = Filled::new(tier, cores, &all);
    let classes = setting.classes.len();
    items.iter().map(|items| items.latency(&filled, classes, burst(items, &filled))).collect()
}

/// The items of a state, each with its class; `None` for items that all classes share.
struct StateItems {
    bins: Vec<(Option<usize>, Item)>,
}

impl StateItems {
    /// Per class: the mean over its packets, mixed with the slowest access of a burst.
    fn latency(&self, filled: &Filled, classes: usize, burst: f64) -> Vec<f64> {
        let counts = |own: f64| OWN * own + (1.0 - OWN) * burst;
        let of =
            |class| self.missed(filled, |of| of == class).map(|missed| filled.latency(&missed));
        let shared = of(None).map_or(0.0, counts);
        (0..classes).map(|class| of(Some(class)).map_or(shared, counts)).collect()
    }

    /// Per level, the share of misses among the accesses of some classes; `None` without accesses.
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

    /// The slowest access in bursts of all classes' packets.
    fn mixed(&self, filled: &Filled) -> f64 {
        self.missed(filled, |_| true).map_or(0.0, |missed| filled.slowest(&missed))
    }

    /// The slowest access in bursts of one class's packets; the maximum over the classes.
    fn slowest(&self, filled: &Filled) -> f64 {
        let classes: BTreeSet<_> = self.bins.iter().map(|(class, _)| *class).collect();
        let missed = classes.into_iter().filter_map(|class| self.missed(filled, |of| of == class));
        missed.map(|missed| filled.slowest(&missed)).fold(0.0, f64::max)
    }
}

/// The flow look-up of a side: a record for each flow of its own. Every packet asks the NIC, and an
/// index miss shows it that a flow is not its own.
fn owners(setting: &Setting<'_>, side: Side, parts: &[f64], growth: f64) -> StateItems {
    let classes = setting.classes.iter().enumerate().zip(parts);
    let bins = classes.flat_map(|((number, class), part)| {
        class.bins.iter().flat_map(move |bin| {
            let of = |part: f64, bytes: f64| {
                let count = bin.flows * growth * part;
                (Some(number), Item { count, bytes, rate: bin.share * part })
            };
            let others = if side == Side::Nic { 1.0 - part } else { 0.0 };
            [of(*part, RECORD + INDEX), of(others, INDEX)]
        })
    });
    StateItems { bins: bins.collect() }
}

/// Lines touched by `things`, each in one of `all` lines at random. Few things have a line each,
/// many share lines: a share of `(1 − 1/all)ⁿ` stays untouched.
fn touched(all: f64, things: f64) -> f64 {
    if all > 0.0 { all * (1.0 - decay(things / all)) } else { 0.0 }
}

/// A sketch: each flow has a cell in each row. Keys coarser than flows touch fewer.
fn sketch(
    setting: &Setting<'_>,
    parts: &[f64],
    growth: f64,
    (rows, all): (f64, f64),
    touches: &dyn Fn(usize) -> f64,
) -> StateItems {
    let classes = setting.classes.iter().enumerate().zip(parts);
    let bins = classes.flat_map(|((number, class), part)| {
        let times = touches(number);
        class.bins.iter().map(move |bin| {
            let count = touched(all, bin.flows * growth * part * rows);
            (Some(number), Item { count, bytes: LINE, rate: bin.share * part * times * rows })
        })
    });
    StateItems { bins: bins.collect() }
}

fn items(setting: &Setting<'_>, number: usize, parts: &[f64], growth: f64) -> StateItems {
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
            return sketch(setting, parts, growth, (rows, count), &touches);
        }
        // One value: all its lines are touched alike.
        return StateItems { bins: vec![(None, Item { count, bytes: LINE, rate })] };
    };
    // One line of a look-up belongs to the index: few flows have it to themselves, many share it.
    // The others are the entry's.
    let (all, keys, per_entry) =
        (size::index_lines(state), size::keys(state), size::entry_lines(state));
    let index_part = 1.0 / lines(state);
    let table = move |class: Option<usize>, flows: f64, rate: f64| {
        let flows = flows * growth;
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
    if keyed.key == "One" {
        return StateItems {
            bins: table(None, 1.0 / growth.max(f64::MIN_POSITIVE), rate).to_vec(),
        };
    }
    // Another key than the ownership key: its own popularity, thinned evenly.
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
