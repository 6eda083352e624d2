//! The counts of a live run so far: the parts that supervisor, wire and halves know.

use std::collections::BTreeMap;

use cora_core::app::App;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::control::socket::Asked;
use crate::ingress::capture::Cable as _;
use crate::observe::account::{add, add_words};
use crate::observe::counted::Counted;
use crate::observe::live::{OutcomesNow, Snapshot, Status};
use crate::observe::messages::Messages;
use crate::observe::report::{PortsReport, Sides};
use crate::run::live::{Live, Operator};
use crate::supervisor::Shard;

impl Operator<'_> {
    /// The run, now.
    pub(super) fn snapshot<A: App>(&self, live: &mut Live<'_>) -> Snapshot {
        let (mut tables, mut sides, mut shards) = (BTreeMap::new(), Sides::default(), Vec::new());
        let mut counted = Counted::default();
        for shard in &mut live.shards {
            let halves = shard.read();
            let Counted { outcomes, took } = shard.counted(&halves);
            add(&mut counted.outcomes, outcomes);
            add_words(&mut counted.took, &took);
            halves.add_tables(A::PLACES.iter().map(|(name, _)| *name), &mut tables);
            let shard = halves.shard(shard.waits());
            sides += shard.sides;
            shards.push(shard);
        }
        let (status, outcomes) = (self.status::<A>(live), outcomes::<A>(live, counted));
        let latency = live.cable.latency();
        let values = Map::new();
        let schema = "cora-snapshot/1";
        Snapshot { schema, status, outcomes, tables, sides, shards, latency, values }
    }

    fn status<A: App>(&self, live: &Live<'_>) -> Status {
        let (packets_in, packets_out) = live.cable.packets();
        let upgrades = self.upgrades();
        Status {
            program: A::NAME,
            plan: format!("{:016x}", A::PLAN.hash),
            plan_name: A::PLAN.name,
            file: self.own.clone(),
            pid: std::process::id(),
            version: live.configuration.number(),
            upgrades,
            carried: live.shards.iter().map(|shard| shard.page.carried()).sum(),
            generation: live.generation(),
            works: live.shards.iter().all(Shard::works),
            uptime_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            restarts: live.lives(upgrades).restarts,
            packets_in,
            packets_out,
        }
    }
}

fn outcomes<A: App>(live: &Live<'_>, counted: Counted) -> OutcomesNow {
    let Counted { mut outcomes, took } = counted;
    let at_the_wire = [("nic-away", live.nic_away()), ("too-long", live.cable.too_long)];
    let at_the_wire = at_the_wire.into_iter().filter(|(_, count)| *count > 0);
    add(&mut outcomes, at_the_wire.map(|(name, count)| (name.to_owned(), count)).collect());
    let (packets_in, packets_out) = live.cable.packets();
    let messages = A::MESSAGES.then(|| Messages::of(A::TAKERS, &took, packets_in, &outcomes));
    let settled = outcomes.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let sent = messages.as_ref().map_or(0, |messages| messages.sent);
    let unsettled = packets_in.saturating_add(sent).saturating_sub(settled);
    let ports = PortsReport { ports: live.cable.report(), dropped: live.cable.dropped() };
    OutcomesNow { packets_in, packets_out, outcomes, unsettled, messages, ports }
}

impl Snapshot {
    /// The part that is asked for.
    pub(super) fn answer(&self, asked: &Asked) -> Value {
        match asked {
            Asked::Outcomes => with_schema("cora-outcomes/1", &self.outcomes),
            Asked::Tables => with_schema("cora-tables/1", &json!({ "tables": self.tables })),
            Asked::Snapshot => serde_json::to_value(self).unwrap_or_default(),
            _ => {
                let mut status = with_schema("cora-status/1", &self.status);
                status["tables"] = json!(self.tables);
                if let Some(latency) = &self.latency {
                    status["latency"] = json!(latency);
                }
                status
            }
        }
    }
}

fn with_schema(schema: &str, of: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(of).unwrap_or_default();
    value["schema"] = schema.into();
    value
}

#[cfg(test)]
mod tests {
    use crate::control::socket::Asked;
    use crate::golden;
    use crate::observe::live::tests::{full, snapshot};

    #[test]
    fn answers_are_those_of_the_golden_files() {
        let full = full();
        golden::json("status", &full.answer(&Asked::Status));
        golden::json("outcomes", &full.answer(&Asked::Outcomes));
        golden::json("outcomes-least", &snapshot().answer(&Asked::Outcomes));
        golden::json("tables", &full.answer(&Asked::Tables));
        golden::json("snapshot", &full.answer(&Asked::Snapshot));
    }
}
