//! Why there is no plan.

use thiserror::Error;

use crate::decide::PlanError;
use crate::model::Resource;

/// What speaks against an ask.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlanningError {
    /// The statement contradicts itself or the program.
    #[error(transparent)]
    Refused(#[from] PlanError),
    /// No allocation reaches the rate.
    #[error("no plan handles {mpps} million packets a second: {} run out", resource.words())]
    OutOfReach {
        /// The rate.
        mpps: f64,
        /// What runs out first, in the allocation that goes furthest.
        resource: Resource,
        /// The highest rate that a plan does handle; none where it was not looked for.
        nearest_mpps: Option<f64>,
    },
    /// A rate or a number of cores that is none.
    #[error("`{what}` is not a {kind}")]
    NoAsk {
        /// As given.
        what: String,
        /// `rate`, or `number of cores`.
        kind: &'static str,
    },
}

impl PlanningError {
    /// What would be right.
    pub fn cure(&self) -> String {
        match self {
            Self::Refused(error) => error.cure(),
            Self::OutOfReach { nearest_mpps: Some(nearest), .. } if *nearest > 0.0 => format!(
                "ask for {nearest} million packets a second at most, or take a profile with more of it"
            ),
            Self::OutOfReach { nearest_mpps: None, .. } => {
                "ask for less, or take a profile with more of it".to_owned()
            }
            Self::OutOfReach { .. } => {
                "no rate is low enough: the resource that runs out does not depend on it; lower `capacity` of states, or take a profile with more of it"
                    .to_owned()
            }
            Self::NoAsk { kind, .. } => format!("write a {kind} above 0"),
        }
    }
}
