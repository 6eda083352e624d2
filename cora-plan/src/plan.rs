//! A plan: a placement, sealed with the hash that both binaries and the shared memory carry.

use std::collections::BTreeMap;

use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::graph::Graph;
use crate::json::{pretty, rounded};
use crate::model::{Coefficients, Resource};
use crate::nic::{FlowTable, NicProfile};
use crate::optimise::Planned;
use crate::placement::Placement;
use crate::traffic::Traffic;
use crate::vocabulary::Sides;

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
    /// Under [`Sides::Dealt`]: the flow table that deals the
    /// buckets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_table: Option<FlowTableFacts>,
    /// Request and prediction of a searched plan; `None` for a stated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<Searched>,
    /// The hash, as 16 hexadecimal digits.
    pub hash: String,
}

/// What a plan knows of the flow table of its NIC. The fields of a run's table have whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTableFacts {
    /// Maximum number of rules; at least 1.
    pub entries: u32,
    /// Insertions and removals of rules per second; at least 1.
    pub operations_per_s: u32,
    /// Time of one operation that waits for no other one, in nanoseconds. Profiles have no figure
    /// of it, so it is the time of one operation at that rate.
    pub delay_ns: u64,
}

impl FlowTableFacts {
    /// Those of a profile's flow table.
    fn of(table: &FlowTable) -> Self {
        let whole = |figure: &Figure| figure.value.round().clamp(1.0, f64::from(u32::MAX));
        // Both are whole numbers within the range.
        #[expect(clippy::cast_sign_loss, reason = "at least 1")]
        let [entries, operations_per_s] =
            [&table.entries, &table.inserts_per_s].map(|figure| whole(figure) as u32);
        Self { entries, operations_per_s, delay_ns: 1_000_000_000 / u64::from(operations_per_s) }
    }
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
            flow_table: None,
            searched: None,
            hash: String::new(),
        };
        let sealed = (env!("CARGO_PKG_VERSION"), format!("{sources:016x}"), graph, &plan);
        plan.hash = format!("{:016x}", rapidhash_v3(pretty(&sealed).as_bytes()));
        plan
    }

    /// Adds what is known of the NIC that the plan is for. It is not part of the hash, because
    /// only the supervisor of a run reads it.
    #[must_use]
    pub fn at(self, nic: &NicProfile) -> Self {
        let deals = self.placement.sides == Sides::Dealt;
        let flow_table = nic.flow_table.as_ref().filter(|_| deals).map(FlowTableFacts::of);
        Self { flow_table, ..self }
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
    use crate::statement::{Statement, Target};

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

    fn of_sides(sides: Sides, nic: &NicProfile) -> Plan {
        let graph = Graph::new("nat");
        let placement = placement::run(&graph, &Statement::of(sides)).expect("nothing to refuse");
        Plan::seal(placement, &graph, 1).at(nic)
    }

    #[test]
    fn a_plan_that_deals_has_the_flow_table_of_its_profile_beside_the_hash() {
        let nic = NicProfile::builtin(Target::NIC).expect("the default profile is built in");
        let dealt = of_sides(Sides::Dealt, &nic);
        let facts =
            FlowTableFacts { entries: 2_000_000, operations_per_s: 1_429, delay_ns: 699_790 };
        assert_eq!(dealt.flow_table, Some(facts));
        assert_eq!(Plan::from_json(&dealt.to_json()), Ok(dealt.clone()));
        let other = NicProfile::builtin("bluefield3").expect("it is built in");
        let at_other = of_sides(Sides::Dealt, &other);
        assert_eq!(at_other.flow_table.map(|facts| facts.delay_ns), Some(500_000));
        assert_eq!(at_other.hash, dealt.hash);
        for sides in [Sides::HostOnly, Sides::NicOnly, Sides::Split] {
            assert_eq!(of_sides(sides, &nic).flow_table, None, "{sides:?}");
        }
        // A rate below 1 is no table without a limit.
        let slow = |value| {
            let mut nic = nic.clone();
            let table = nic.flow_table.as_mut().expect("it has one");
            (table.inserts_per_s.value, table.entries.value) = (value, value);
            of_sides(Sides::Dealt, &nic).flow_table
        };
        let (least, most) = (slow(0.1).expect("facts"), slow(1e12).expect("facts"));
        assert_eq!((least.entries, least.operations_per_s), (1, 1));
        assert_eq!((least.delay_ns, most.delay_ns), (1_000_000_000, 0));
        assert_eq!(most.entries, u32::MAX);
    }

    #[test]
    fn json_round_trips_and_other_schemas_are_refused() {
        let text = plan(3).to_json();
        assert_eq!(Plan::from_json(&text), Ok(plan(3)));
        assert!(Plan::from_json(&text.replace("\"schema\": 2", "\"schema\": 3")).is_err());
        assert!(Plan::from_json(&text.replace(&plan(3).hash, "xyz")).is_err());
    }
}
