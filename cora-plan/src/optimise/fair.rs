//! Strong baselines, for the evaluation protocol: each has every way of steering that there is for
//! Cora, the same division by bucket and the same memory, and may leave the card alone.
//!
//! - host-only: the host runs everything behind a plain NIC.
//! - nic-only: the NIC runs everything.
//! - state-only: each state has its place, and all flows go to the NIC. Its packets get there
//!   through the NIC's cores, or by rules; those that need a state of the host move with their
//!   entries.
//! - state-only, overflow: the same, and one share of all flows goes to the host.
//! - flow-only: each flow has a side and runs there wholly. Flows that ever need an indivisible
//!   state stay at the host; buckets of others are dealt.
//! - flow-only, first: the same, but packets that need such a state punt, the first ones of flows
//!   above all.
//!
//! Where a split carries less than a plain NIC, or nothing, it is host-only: it saves nothing then.

use super::allocation::{Freedom, optimise};
use super::candidate::{all, of};
use super::run::best;
use super::{Baseline, Inputs, baseline, rate};
use crate::model::{Prediction, Punts};
use crate::vocabulary::Sides;

/// A strong baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fair {
    /// The host runs everything behind a plain NIC.
    HostOnly,
    /// The NIC runs everything.
    NicOnly,
    /// Places for states; all flows at the NIC.
    StateOnly,
    /// Places for states; one share of all flows at the NIC.
    StateOverflow,
    /// A side for each flow, which runs there wholly.
    FlowOnly,
    /// A side for each flow; packets that need the other side punt.
    FlowFirst,
}

impl Fair {
    /// Every baseline, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::HostOnly,
        Self::NicOnly,
        Self::StateOnly,
        Self::StateOverflow,
        Self::FlowOnly,
        Self::FlowFirst,
    ];

    /// The word, as reports spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::HostOnly => "host-only",
            Self::NicOnly => "nic-only",
            Self::StateOnly => "state-only",
            Self::StateOverflow => "state-only-overflow",
            Self::FlowOnly => "flow-only",
            Self::FlowFirst => "flow-only-first",
        }
    }
}

/// The prediction of a baseline at a rate; `None` if it can't carry the rate.
pub fn fair(inputs: &Inputs<'_>, which: Fair, mpps: f64) -> Option<Prediction> {
    let plain = |baseline| {
        let plan = baseline::one(inputs, baseline, mpps);
        plan.feasible.then_some(plan.predicted)
    };
    let (freedom, punts) = match which {
        Fair::HostOnly => return plain(Baseline::HostOnly),
        Fair::NicOnly => return plain(Baseline::NicOnly),
        Fair::StateOnly => (Freedom::Places, Punts::Move),
        Fair::StateOverflow => (Freedom::PlacesAndShare, Punts::Move),
        Fair::FlowOnly => (Freedom::Flows, Punts::None),
        Fair::FlowFirst => (Freedom::FlowsThatPunt, Punts::None),
    };
    let split = search(inputs, Sides::Split, freedom, Punts::None, mpps);
    let dealt = search(inputs, Sides::Dealt, freedom, punts, mpps);
    cheapest([split, dealt, plain(Baseline::NicOnly), plain(Baseline::HostOnly)])
}

/// The prediction of host-only behind a plain NIC, whether or not it carries the rate.
pub fn plain(inputs: &Inputs<'_>, mpps: f64) -> Prediction {
    baseline::one(inputs, Baseline::HostOnly, mpps).predicted
}

/// The highest rate up to `most` at which a way to split needs at most `host_cores`; 0 if there is
/// none.
pub fn highest_of(most: f64, host_cores: f64, way: impl Fn(f64) -> Option<Prediction>) -> f64 {
    let within = |mpps| way(mpps).is_some_and(|found| found.host_cores <= host_cores + 1e-9);
    rate::search(most / 1_000.0, most, within).map_or(0.0, |border| border.below)
}

/// The prediction of Cora's best plan for today's runtime; `None` if there is none.
pub fn cora(inputs: &Inputs<'_>, mpps: f64) -> Option<Prediction> {
    let (_, found) = best(inputs, all(inputs), mpps).ok()?;
    Some(found.predicted)
}

/// The prediction of Cora's best plan, if the runtime could do more: deal buckets, leave states at
/// the host nevertheless, and lend a flow's entries to it for one packet.
pub fn later(inputs: &Inputs<'_>, mpps: f64) -> Option<Prediction> {
    let lent = search(inputs, Sides::Dealt, Freedom::All, Punts::Lend, mpps);
    cheapest([cora(inputs, mpps), lent])
}

fn cheapest<const N: usize>(found: [Option<Prediction>; N]) -> Option<Prediction> {
    found.into_iter().flatten().min_by(|a, b| a.cost().total_cmp(&b.cost()))
}

fn search(
    inputs: &Inputs<'_>,
    sides: Sides,
    freedom: Freedom,
    punts: Punts,
    mpps: f64,
) -> Option<Prediction> {
    let found = of(inputs, sides).into_iter().filter_map(|candidate| {
        let candidate = candidate.with_punts(punts);
        let found = optimise(&candidate.setting(inputs), &candidate, freedom, None, mpps);
        Some(found.ok()?.predicted)
    });
    found.min_by(|a, b| a.cost().total_cmp(&b.cost()))
}
