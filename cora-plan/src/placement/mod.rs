//! From graph and statement to the place of each state.
//!
//! 1. Every state gets the place that follows from its kind and the sides that run (`places`).
//! 2. Stated places replace them; each is checked against the kind (`places`).
//! 3. The ownership key is the coarsest key of the travelling states (`group`).
//! 4. Every place gets its reason, in words (`reasons`).
//! 5. What decides the bucket of a packet follows from the keys of replies (`buckets`); states that
//!    restrict the program to one shard are reported, in words (`one_shard`).
//! 6. Under `dealt` there is a shard at each side at least, so such states are refused (`dealt`).
//!
//! All refusals are reported at once. A searched plan is a statement that
//! [`planning`](crate::optimise) writes: [`run`] is a pure function of graph and statement.

mod buckets;
mod dealt;
mod group;
mod host_handlers;
mod one_shard;
mod places;
mod reasons;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use group::{Group, is_address};
pub use places::allowed as allowed_places;

use crate::graph::{Graph, Keyed, StateNode, Under};
use crate::nearest::nearest;
use crate::statement::Statement;
use crate::vocabulary::{BucketsBy, Kind, Place, SHARE_OF, Sides};

/// Places, owners and sides. [`Plan::seal`](crate::plan::Plan::seal) makes a plan of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The sides that run packets.
    pub sides: Sides,
    /// Place of each state.
    pub places: BTreeMap<String, Place>,
    /// Per state, one sentence: the reason for its place.
    pub reasons: BTreeMap<String, String>,
    /// Packets must reach the host in the order of their arrival, even across flows.
    pub host_ordered: bool,
    /// No state travels: flows need no entry to be owned by the NIC.
    pub stateless_flows: bool,
    /// Number of flows of [`SHARE_OF`] that the NIC may own.
    pub nic_share: u16,
    /// Under [`Sides::Dealt`]: buckets that the NIC gets, of
    /// [`BUCKETS`](crate::vocabulary::BUCKETS); otherwise 0.
    #[serde(default, skip_serializing_if = "is_none_dealt")]
    pub nic_buckets: u16,
    /// Packets of a flow that the host handles before it offers the flow to the NIC; at least 1.
    pub offer_after: u32,
    /// Handlers that run at the host only.
    pub host_handlers: Vec<String>,
    /// The key of ownership and of steering to pairs.
    pub group: String,
    /// What decides the bucket of a packet, and with it the shard.
    #[serde(default)]
    pub buckets_by: BucketsBy,
    /// The state of that key; `None` if no state is keyed, or under `split` if none travels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_of: Option<String>,
    /// Per state that restricts the program to one pair of NIC core and host worker, one sentence:
    /// the reason and the remedy. If the map is empty, any number of pairs gives the result of one.
    #[serde(default)]
    pub one_shard: BTreeMap<String, String>,
}

impl<'a> From<&'a Placement> for Under<'a> {
    fn from(placement: &'a Placement) -> Self {
        Self {
            sides: placement.sides,
            places: &placement.places,
            host_handlers: &placement.host_handlers,
            host_ordered: placement.host_ordered,
        }
    }
}

/// A fault of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A place for a state that the program lacks.
    #[error("the program has no state `{name}`")]
    UnknownState {
        /// The name.
        name: String,
        /// The nearest known name.
        near: Option<String>,
        /// All names.
        known: Vec<String>,
        /// Line of `cora.toml`.
        line: usize,
    },
    /// A state can't be pinned to the NIC while the host runs handlers too.
    #[error(
        "`{state}` can't be pinned to the NIC under `split`: the host side runs handlers that need it"
    )]
    PinnedToNic {
        /// The state.
        state: String,
        /// Its kind.
        kind: Kind,
        /// Handlers that need it.
        handlers: Vec<String>,
        /// Line of `cora.toml`.
        line: usize,
    },
    /// A place that the state's kind does not allow.
    #[error("`{state}` is {kind} and can't be placed as `{place}`: {because}")]
    NotItsPlace {
        /// The state.
        state: String,
        /// Its kind.
        kind: Kind,
        /// The place.
        place: Place,
        /// The reason.
        because: &'static str,
        /// Places that its kind allows.
        allowed: &'static [Place],
        /// Line of `cora.toml`.
        line: usize,
    },
    /// One side runs everything, so there is nothing to place.
    #[error("`{what}` is stated, but under `{sides}` {because}")]
    NothingToState {
        /// The stated item.
        what: String,
        /// The sides that run packets.
        sides: Sides,
        /// The reason that it can't be stated.
        because: &'static str,
        /// Line of `cora.toml`.
        line: usize,
    },
    /// Two travelling states with entries that can't move together.
    #[error("`{first}` and `{second}` can't both travel: {because}")]
    NoCommonGroup {
        /// A state.
        first: String,
        /// Another one.
        second: String,
        /// The reason.
        because: String,
    },
    /// A state or a timer that keeps the program on one shard, under a plan with one at each side.
    #[error("`{name}` can't be dealt by bucket: {because}")]
    NotByBucket {
        /// The state or the timer.
        name: String,
        /// The reason and the remedy.
        because: String,
    },
    /// A handler that runs at the host alone, under a plan without a host for it.
    #[error("`{handler}` runs at the host alone (`at = host`), and under `{sides}` {because}")]
    NeedsHost {
        /// The handler.
        handler: String,
        /// The sides that run packets.
        sides: Sides,
        /// The reason that it can't.
        because: &'static str,
    },
}

impl PlanError {
    /// The line of `cora.toml` at fault, if there is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::UnknownState { line, .. }
            | Self::PinnedToNic { line, .. }
            | Self::NotItsPlace { line, .. }
            | Self::NothingToState { line, .. } => Some(*line),
            Self::NoCommonGroup { .. } | Self::NotByBucket { .. } | Self::NeedsHost { .. } => None,
        }
    }

    /// The remedy.
    pub fn cure(&self) -> String {
        match self {
            Self::UnknownState { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownState { known, .. } if known.is_empty() => {
                "remove the line: the program has no states".to_owned()
            }
            Self::UnknownState { known, .. } => {
                format!("write one of `{}`", known.join("`, `"))
            }
            Self::PinnedToNic { state, kind, handlers, .. } => {
                let place = places::by_kind(*kind, Sides::Split);
                let users = handlers.join("`, `");
                format!(
                    "place `{state}` as `{place}`, or run everything at the NIC with \
                     `use = \"nic-only\"`; it is used by `{users}`"
                )
            }
            Self::NotItsPlace { allowed, .. } => {
                let allowed: Vec<&str> = allowed.iter().map(|place| place.word()).collect();
                format!("write `{}`, or remove the line", allowed.join("` or `"))
            }
            Self::NothingToState { .. } => "remove the line, or write `use = \"split\"`".to_owned(),
            Self::NeedsHost { handler, .. } => format!(
                "plan with `use = \"split\"` or `use = \"host-only\"`, or take `at = host` away from \
                 `{handler}`"
            ),
            Self::NotByBucket { .. } => {
                "or plan with `use = \"split\"`, which keeps it at the host".to_owned()
            }
            Self::NoCommonGroup { first, second, .. } => format!(
                "say `within = …` of the one with the finer key, and name the coarser key there; or pin \
                 one of them in `cora.toml`: under `[plan.places]`, `{second} = \"host\"` or \
                 `{first} = \"host\"`"
            ),
        }
    }
}

/// Decides, or returns every fault.
pub fn run(graph: &Graph, statement: &Statement) -> Result<Placement, Vec<PlanError>> {
    let mut errors = Vec::new();
    let places = places::run(graph, statement, &mut errors);
    let group = group::run(graph, &places, statement.sides, &mut errors);
    let nic_share = share(statement, &mut errors);
    if statement.sides == Sides::Dealt {
        dealt::check(graph, &group, &mut errors);
    }
    host_handlers::check(graph, statement.sides, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let reasons = reasons::run(graph, statement, &places, &group);
    // Hooks and timers run between two packets at the host, the same two under every plan.
    let host_ordered = statement.sides == Sides::Split
        && (graph.timed().next().is_some()
            || graph
                .states
                .iter()
                .any(|state| order_shows(state, places.get(&state.name).copied())));
    Ok(Placement {
        sides: statement.sides,
        stateless_flows: !places.values().any(|place| *place == Place::Travels),
        host_ordered,
        one_shard: one_shard::run(graph, &group, statement.sides),
        buckets_by: buckets::run(graph, &group),
        offer_after: statement.offer_after.max(1),
        host_handlers: host_handlers::run(graph, statement),
        nic_share,
        nic_buckets: dealt::buckets(statement),
        group: group.key,
        group_of: group.state,
        reasons,
        places,
    })
}

/// The states that restrict a program to one pair if `key` steers packets, each with its reason.
pub(crate) fn one_shard(graph: &Graph, key: &str) -> BTreeMap<String, String> {
    // Timers don't matter to a choice among the sides that have a host.
    one_shard::run(graph, &Group { key: key.to_owned(), state: None }, Sides::Split)
}

/// Whether `dealt` is possible if `key` decides buckets.
pub(crate) fn can_be_dealt(graph: &Graph, key: &str) -> bool {
    let mut errors = Vec::new();
    dealt::check(graph, &Group { key: key.to_owned(), state: None }, &mut errors);
    errors.is_empty()
}

/// Whether entries of `state` may travel with flows of owner key `key`.
pub(crate) fn is_group_for(key: &str, state: &StateNode) -> bool {
    key == MESSAGE || group::traveller(state).is_none_or(|traveller| group::will_do(key, traveller))
}

/// The state with the key that groups all flows of the program under every plan, if there is one:
/// an address, or a group that `within` names. A packet then finds only entries of its own group.
pub fn group_of_program(graph: &Graph) -> Option<&StateNode> {
    group::of_program(graph)
}

pub use group::MESSAGE;

/// Whether results depend on the order in which packets of different flows reach the host.
fn order_shows(state: &StateNode, place: Option<Place>) -> bool {
    match place {
        // No result depends on the order of reads, so a read-mostly state needs no order.
        Some(Place::Host) => state.kind != Kind::ReadMostly,
        // A packet that waits at the NIC may choose a reply key, and any other packet may carry
        // that key.
        Some(Place::Travels) => state.keyed.as_ref().is_some_and(Keyed::translates),
        // What the NIC reads of it is of no order with the host's writes.
        Some(Place::Nic | Place::Replica | Place::Divided | Place::Fetched) | None => false,
    }
}

/// Number of flows of 1024 that the NIC may own.
fn share(statement: &Statement, errors: &mut Vec<PlanError>) -> u16 {
    let whole = match statement.sides {
        // Under `dealt` no flow is offered.
        Sides::HostOnly | Sides::Dealt => 0,
        Sides::NicOnly | Sides::Split => SHARE_OF,
    };
    let Some(stated) = statement.nic_share else { return whole };
    if statement.sides != Sides::Split {
        errors.push(PlanError::NothingToState {
            what: "nic-share".to_owned(),
            sides: statement.sides,
            because: match statement.sides {
                Sides::Dealt => "whole buckets are dealt, and `nic-buckets` says how many",
                _ => "one side owns every flow",
            },
            line: stated.line,
        });
        return whole;
    }
    // The statement's check bounds the share to 0 to 1024. The cast truncates, so round first.
    #[expect(clippy::cast_sign_loss, reason = "clamped to 0 and above")]
    let share = (stated.what.clamp(0.0, 1.0) * f64::from(SHARE_OF)).round() as u16;
    share
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_dealt(buckets: &u16) -> bool {
    *buckets == 0
}

fn unknown_state(graph: &Graph, name: &str, line: usize) -> PlanError {
    let known: Vec<String> = graph.states.iter().map(|state| state.name.clone()).collect();
    let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
    PlanError::UnknownState { name: name.to_owned(), near, known, line }
}

#[cfg(test)]
mod tests;
