//! A plan: a placement, sealed with the hash that both binaries and the shared memory carry.

use std::collections::BTreeMap;

use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::json::{pretty, rounded};
use crate::model::{Coefficients, Resource};
use crate::optimise::Planned;
use crate::placement::Placement;
use crate::traffic::Traffic;

/// Version of the plan's JSON; a reader refuses others.
pub const SCHEMA: u32 = 2;

/// The place of each state, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the program.
    pub app: String,
    /// `host-only`, `nic-only`, `split` or `dealt`.
    pub name: String,
    /// Places, owners and sides.
    #[serde(flatten)]
    pub placement: Placement,
    /// Request and prediction of a searched plan; `None` for a stated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<Searched>,
    /// The hash, as 16 hexadecimal digits.
    pub hash: String,
}

/// Request and prediction of a searched plan. Figures are rounded to six digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Name of the NIC profile.
    pub nic: String,
    /// Name of the traffic profile.
    pub traffic: String,
    /// Rate, in million packets a second.
    pub mpps: f64,
    /// Per class of flows, heaviest first: its name, and the share that the NIC is to own.
    pub shares: Vec<(String, f64)>,
    /// Host cores at that rate, by the model.
    pub host_cores: f64,
    /// Highest rate, by the model.
    pub ceiling_mpps: f64,
    /// The limiting resource.
    pub bottleneck: Resource,
    /// Costs of single operations, by the model. The costs that a run learns are compared with
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Coefficients>,
    /// Whether the plan is proven optimal under the model's costs for it.
    pub optimal: bool,
}

impl Plan {
    /// Seals a placement of `graph`. `sources` is the [`digest`] of the source text.
    ///
    /// The hash covers everything that both sides must agree on: graph, placement, source and the
    /// version of Cora. It excludes everything that differs between them: target, profile and time.
    pub fn seal(placement: Placement, graph: &Graph, sources: u64) -> Self {
        let mut plan = Self {
            schema: SCHEMA,
            app: graph.app.clone(),
            name: placement.sides.word().to_owned(),
            placement,
            searched: None,
            hash: String::new(),
        };
        let sealed = (env!("CARGO_PKG_VERSION"), format!("{sources:016x}"), graph, &plan);
        plan.hash = format!("{:016x}", rapidhash_v3(pretty(&sealed).as_bytes()));
        plan
    }

    /// Adds the request and the prediction. They are not part of the hash, because binaries only
    /// have to agree on the placement.
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

    /// The hash as a number, as in the binaries.
    pub fn hash_number(&self) -> u64 {
        u64::from_str_radix(&self.hash, 16).unwrap_or_default()
    }

    /// As JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// From JSON. Another schema or a malformed hash is an error, in a sentence.
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
        // Each length precedes its bytes, so two sets of files can't concatenate to the same bytes.
        for part in [name, text] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    rapidhash_v3(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement;
    use crate::statement::Statement;
    use crate::vocabulary::Sides;

    fn plan(sources: u64) -> Plan {
        let graph = Graph::new("nat");
        let placement =
            placement::run(&graph, &Statement::of(Sides::Split)).expect("nothing to refuse");
        Plan::seal(placement, &graph, sources)
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
