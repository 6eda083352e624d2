//! Reasons for the lack of a plan.

use thiserror::Error;

use crate::model::Resource;
use crate::placement::PlanError;

/// A fault of an ask.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlanningError {
    /// The statement contradicts itself or the program.
    #[error(transparent)]
    Refused(#[from] PlanError),
    /// No allocation reaches the rate.
    #[error(
        "no plan handles {mpps} million packets a second: {} run out{}",
        resource.words(),
        cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default()
    )]
    OutOfReach {
        /// The rate.
        mpps: f64,
        /// The first exhausted resource, in the allocation with the highest rate.
        resource: Resource,
        /// The cause in the program, in a sentence without its full stop.
        cause: Option<String>,
        /// The highest feasible rate; `None` if it was not searched.
        nearest_mpps: Option<f64>,
    },
    /// More host cores than the profile has.
    #[error("the host of `{nic}` has {has} cores, and {cores} are asked for")]
    TooManyCores {
        /// The number, as given.
        cores: f64,
        /// Cores of the profile's host.
        has: f64,
        /// Name of the profile.
        nic: String,
    },
    /// A plan by which each side receives its own buckets, without a flow table that deals them.
    #[error(
        "`{nic}` has no flow table, and `dealt` needs one: its rules give each bucket to a side"
    )]
    NoFlowTable {
        /// Name of the profile.
        nic: String,
    },
    /// A malformed rate or number of cores.
    #[error("`{what}` is not a {kind}")]
    NoAsk {
        /// The text, as given.
        what: String,
        /// `rate`, or `number of cores`.
        kind: &'static str,
    },
}

impl PlanningError {
    /// The remedy.
    pub fn cure(&self) -> String {
        match self {
            Self::Refused(error) => error.cure(),
            Self::OutOfReach { resource, nearest_mpps: Some(nearest), .. } if *nearest > 0.0 => {
                format!(
                    "ask for {nearest} million packets a second at most, or {}",
                    more_of(*resource)
                )
            }
            Self::OutOfReach { resource, nearest_mpps: None, .. } => {
                format!("ask for less, or {}", more_of(*resource))
            }
            Self::OutOfReach { .. } => {
                "no rate is low enough: the resource that runs out does not depend on it; lower `capacity` of states, or take a profile with more of it"
                    .to_owned()
            }
            Self::TooManyCores { has, .. } => {
                format!("ask for {has} at most, or take a profile with more")
            }
            Self::NoFlowTable { .. } => "take a profile with `[flow_table]`, or write `use = \"split\"`, which needs none".to_owned(),
            Self::NoAsk { kind, .. } => format!("write a {kind} above 0"),
        }
    }
}

/// Where more of a resource comes from.
fn more_of(resource: Resource) -> &'static str {
    match resource {
        Resource::TableEntries => "raise `capacity` or shorten `idle`",
        _ => "take a profile with more of it",
    }
}
