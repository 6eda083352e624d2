//! What the controller decided, and why.

use serde::{Deserialize, Serialize};

use super::digest::FlowId;
use super::settings::Admitted;

/// What should be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// From now on, other flows are offered.
    Admit(Admitted),
    /// A flow goes to the NIC.
    Offer(FlowId),
    /// A flow comes back.
    Recall(FlowId),
}

/// What was decided in one period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// In the order in which it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// The reasons, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl Decision {
    /// Whether nothing was decided, and nothing said.
    pub const fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.why.is_empty()
    }
}
