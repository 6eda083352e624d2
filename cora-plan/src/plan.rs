//! A plan: a decision, sealed with the hash that both binaries and the shared memory carry.

use std::collections::BTreeMap;

use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

use crate::decide::Decision;
use crate::graph::Graph;
use crate::model::{Coefficients, Resource};
use crate::planning::Planned;
use crate::traffic::Traffic;
use crate::words::{Place, Sides};

/// Version of the plan's JSON; a reader refuses others.
pub const SCHEMA: u32 = 2;

/// Of how many flows [`Plan::nic_share`] counts.
pub const SHARE_OF: u16 = 1024;

/// Where each state lives, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the program.
    pub app: String,
    /// `host-only`, `nic-only` or `split`.
    pub name: String,
    /// Which side runs packets.
    pub sides: Sides,
    /// Place of each state.
    pub places: BTreeMap<String, Place>,
    /// Per state, one sentence: why it is there.
    pub reasons: BTreeMap<String, String>,
    /// Packets reach the host in the order of their arrival, even across flows.
    pub host_ordered: bool,
    /// No state travels: flows need no entry to be owned by the NIC.
    pub stateless_flows: bool,
    /// Of [`SHARE_OF`] flows, how many the NIC may own.
    pub nic_share: u16,
    /// Packets of a flow that the host handles before it offers the flow to the NIC; at least 1.
    pub offer_after: u32,
    /// Handlers that run at the host only.
    pub host_handlers: Vec<String>,
    /// Key that ownership goes by, and that packets are steered to pairs by.
    pub group: String,
    /// State whose key that is; none when no state is keyed, or under `split` when none travels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_of: Option<String>,
    /// Per state that keeps the program on one pair of NIC core and host worker, one sentence: why,
    /// and what would be right. Without one, any number of pairs give the result of one.
    #[serde(default)]
    pub one_pair: BTreeMap<String, String>,
    /// What the plan was searched for, and what is expected of it; none when it was stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<Searched>,
    /// The hash, as 16 hexadecimal digits.
    pub hash: String,
}

/// What a plan was searched for, and what is expected of it. Figures are rounded to six digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Name of the NIC profile.
    pub nic: String,
    /// Name of the traffic profile.
    pub traffic: String,
    /// Rate, in million packets a second.
    pub mpps: f64,
    /// Per class of flows, heaviest first: its name, and which share of it the NIC is to own.
    pub shares: Vec<(String, f64)>,
    /// Host cores at that rate, by the model.
    pub host_cores: f64,
    /// Highest rate, by the model.
    pub ceiling_mpps: f64,
    /// What limits it.
    pub bottleneck: Resource,
    /// What single things cost, by the model: what a run learns is held against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Coefficients>,
    /// Nothing is better, at the costs that the model has for this plan.
    pub optimal: bool,
}

impl Plan {
    /// Seals a decision about `graph`. `sources` is the [`digest`] of the source text that was
    /// read.
    ///
    /// The hash covers what both sides must agree on and nothing that differs between them: graph,
    /// decision, source and the version of Cora; neither target nor profile nor the time.
    pub fn seal(decision: Decision, graph: &Graph, sources: u64) -> Self {
        let mut plan = Self {
            schema: SCHEMA,
            app: graph.app.clone(),
            name: decision.sides.word().to_owned(),
            sides: decision.sides,
            places: decision.places,
            reasons: decision.reasons,
            host_ordered: decision.host_ordered,
            stateless_flows: decision.stateless_flows,
            nic_share: decision.nic_share,
            offer_after: decision.offer_after,
            host_handlers: decision.host_handlers,
            group: decision.group.key,
            group_of: decision.group.state,
            one_pair: decision.one_pair,
            searched: None,
            hash: String::new(),
        };
        let sealed = (env!("CARGO_PKG_VERSION"), format!("{sources:016x}"), graph, &plan);
        plan.hash = format!("{:016x}", rapidhash_v3(pretty(&sealed).as_bytes()));
        plan
    }

    /// The plan with what it was searched for. That is no part of the hash: binaries agree on what
    /// was decided.
    #[must_use]
    pub fn searched_for(self, planned: &Planned, traffic: &Traffic) -> Self {
        let classes = traffic.classes(&planned.allocation.group).iter();
        let shares = classes.zip(&planned.allocation.shares);
        let predicted = &planned.predicted;
        let searched = Searched {
            nic: planned.nic.clone(),
            traffic: planned.traffic.clone(),
            mpps: rounded(planned.mpps),
            shares: shares.map(|(class, share)| (class.name.clone(), rounded(*share))).collect(),
            host_cores: rounded(predicted.host_cores),
            ceiling_mpps: rounded(predicted.ceiling_mpps),
            bottleneck: predicted.bottleneck,
            costs: Some(planned.coefficients),
            optimal: planned.proof.optimal,
        };
        Self { searched: Some(searched), ..self }
    }

    /// The hash as the number that the binaries carry.
    pub fn hash_number(&self) -> u64 {
        u64::from_str_radix(&self.hash, 16).unwrap_or_default()
    }

    /// As JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// From JSON, refusing another schema or a hash that is none in a sentence.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let plan: Self =
            serde_json::from_str(text).map_err(|error| format!("not a plan: {error}"))?;
        if plan.schema != SCHEMA {
            return Err(format!(
                "a plan of schema {} where this Cora reads schema {SCHEMA}",
                plan.schema
            ));
        }
        if plan.hash.len() != 16 || u64::from_str_radix(&plan.hash, 16).is_err() {
            return Err(format!("`{}` is not the hash of a plan", plan.hash));
        }
        Ok(plan)
    }
}

/// A figure to six significant digits: sums of floating-point numbers differ in their last ones
/// between compilers.
pub(crate) fn rounded(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

/// Digest of source texts: pairs of file name and text, in any order.
pub fn digest<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> u64 {
    let sources: BTreeMap<&str, &str> = sources.into_iter().collect();
    let mut bytes = Vec::new();
    for (name, text) in sources {
        // Lengths in front, so that no two sets of files run together into the same bytes.
        for part in [name, text] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    rapidhash_v3(&bytes)
}

/// Ordered JSON with a newline at the end. Our types hold nothing that JSON can't say.
pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide;
    use crate::statement::Statement;

    fn plan(sources: u64) -> Plan {
        let graph = Graph::new("nat");
        let decision = decide::run(&graph, &Statement::of(Sides::Split)).expect("a decision");
        Plan::seal(decision, &graph, sources)
    }

    #[test]
    fn the_hash_follows_the_source_and_nothing_else() {
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1).hash, plan(2).hash);
        assert_eq!(format!("{:016x}", plan(1).hash_number()), plan(1).hash);
    }

    #[test]
    fn the_digest_knows_file_borders_and_not_the_order() {
        assert_eq!(digest([("a", "1"), ("b", "2")]), digest([("b", "2"), ("a", "1")]));
        assert_ne!(digest([("a", "12"), ("b", "")]), digest([("a", "1"), ("b", "2")]));
        assert_ne!(digest([("ab", "c")]), digest([("a", "bc")]));
    }

    #[test]
    fn json_round_trips_and_other_schemas_are_refused() {
        let text = plan(3).to_json();
        assert_eq!(Plan::from_json(&text), Ok(plan(3)));
        assert!(Plan::from_json(&text.replace("\"schema\": 2", "\"schema\": 3")).is_err());
        assert!(Plan::from_json(&text.replace(&plan(3).hash, "xyz")).is_err());
    }
}
