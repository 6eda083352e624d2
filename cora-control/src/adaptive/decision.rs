//! A decision of the controller, and its reasons.

use serde::{Deserialize, Serialize};

use super::digest::FlowId;
use super::settings::Admitted;

/// An action of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Changes the admission.
    Admit(Admitted),
    /// Offers a flow to the NIC.
    Offer(FlowId),
    /// Recalls a flow to the host.
    Recall(FlowId),
}

/// The decision of one period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The actions, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// The reasons, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl Decision {
    /// Returns whether there is no action and no reason.
    pub const fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.why.is_empty()
    }
}
