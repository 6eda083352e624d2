//! A plan: a decision, sealed with the hash that both binaries and the shared memory carry.

use std::collections::BTreeMap;

use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

use crate::decide::Decision;
use crate::graph::Graph;
use crate::words::{Place, Sides};

/// Version of the plan's JSON; a reader refuses others.
pub const SCHEMA: u32 = 1;

/// Of how many flows [`Plan::nic_share`] counts.
pub const SHARE_OF: u16 = 1024;

/// Where each state lives, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Key that ownership goes by, and that packets are steered to pairs by.
    pub group: String,
    /// State whose key that is; none when no state is keyed, or under `split` when none travels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_of: Option<String>,
    /// Per state that keeps the program on one pair of NIC core and host worker, one sentence: why, and what
    /// would be right. Without one, any number of pairs give the result of one.
    #[serde(default)]
    pub one_pair: BTreeMap<String, String>,
    /// The hash, as 16 hexadecimal digits.
    pub hash: String,
}

impl Plan {
    /// Seals a decision about `graph`. `sources` is the [`digest`] of the source text that was read.
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
            group: decision.group.key,
            group_of: decision.group.state,
            one_pair: decision.one_pair,
            hash: String::new(),
        };
        let sealed = (env!("CARGO_PKG_VERSION"), format!("{sources:016x}"), graph, &plan);
        plan.hash = format!("{:016x}", rapidhash_v3(pretty(&sealed).as_bytes()));
        plan
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
        assert!(Plan::from_json(&text.replace("\"schema\": 1", "\"schema\": 2")).is_err());
        assert!(Plan::from_json(&text.replace(&plan(3).hash, "xyz")).is_err());
    }
}
