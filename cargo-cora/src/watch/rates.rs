//! What changed between two snapshots of a run.
#![expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]

use serde_json::{Value, json};

use super::text::{each, number};

/// Two snapshots, and the time between them.
#[derive(Debug)]
pub(super) struct Rates<'a> {
    before: &'a Value,
    now: &'a Value,
    seconds: f64,
}

impl<'a> Rates<'a> {
    /// By the run's own clock. An upgraded run begins at zero: then there is no rate yet.
    pub(super) fn between(before: &'a Value, now: &'a Value) -> Self {
        let uptime = |of: &Value| number(&of["status"], "uptime_ms");
        let elapsed = uptime(now).saturating_sub(uptime(before));
        Self { before, now, seconds: elapsed as f64 / 1000.0 }
    }

    /// How fast the count at this place grows, a second.
    pub(super) fn of(&self, place: &[&str]) -> f64 {
        let at = |of: &Value| place.iter().fold(of, |of, name| &of[*name]).as_u64().unwrap_or(0);
        if self.seconds > 0.0 {
            at(self.now).saturating_sub(at(self.before)) as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// The share of a core that a side spends with packets.
    pub(super) fn busy(&self, side: &str) -> f64 {
        self.of(&["sides", side, "busy_ns"]) / 1e9
    }

    /// Flows that move to the NIC, and back to the host, a second.
    pub(super) fn moves(&self) -> [f64; 2] {
        // The NIC counts what came: the host counts offers that may come to nothing, too.
        ["offloads", "released"].map(|count| self.of(&["sides", "nic", count]))
    }

    /// For scripts: packets a second, in all and by outcome, and what both sides do.
    pub(super) fn json(&self) -> Value {
        let outcomes: serde_json::Map<String, Value> = each(&self.now["outcomes"]["outcomes"])
            .map(|(name, _)| (name.to_owned(), json!(self.of(&["outcomes", "outcomes", name]))))
            .collect();
        let side = |side: &str| {
            json!({
                "packets": self.of(&["sides", side, "packets"]),
                "punts": self.of(&["sides", side, "punts"]),
                "busy_cores": self.busy(side),
            })
        };
        let [to_nic, to_host] = self.moves();
        json!({
            "schema": "cora-top/1",
            "seconds": self.seconds,
            "packets_in": self.of(&["outcomes", "packets_in"]),
            "packets_out": self.of(&["outcomes", "packets_out"]),
            "outcomes": outcomes,
            "moves": { "to_nic": to_nic, "to_host": to_host },
            "nic": side("nic"),
            "host": side("host"),
            "snapshot": self.now,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(uptime_ms: u64, came: u64, busy_ns: u64) -> Value {
        json!({
            "status": { "uptime_ms": uptime_ms },
            "outcomes": { "packets_in": came, "outcomes": { "transmit": came } },
            "sides": { "nic": { "busy_ns": busy_ns }, "host": {} },
        })
    }

    #[test]
    fn rates_are_a_second_and_an_upgrade_begins_anew() {
        let (before, now) = (snapshot(1000, 100, 0), snapshot(3000, 700, 1_000_000_000));
        let rates = Rates::between(&before, &now);
        let told = rates.json();
        assert_eq!(
            (told["packets_in"].as_f64(), told["seconds"].as_f64()),
            (Some(300.0), Some(2.0))
        );
        assert_eq!(told["outcomes"]["transmit"].as_f64(), Some(300.0));
        assert_eq!(["nic", "host"].map(|side| format!("{:.1}", rates.busy(side))), ["0.5", "0.0"]);
        let moved = |offloads: u64, released: u64| {
            let mut of = snapshot(1000 * offloads, 0, 0);
            of["sides"]["nic"] = json!({ "offloads": offloads, "released": released });
            of
        };
        let (before, after) = (moved(1, 7), moved(5, 9));
        let told = Rates::between(&before, &after).json();
        assert_eq!(told["moves"], json!({ "to_nic": 1.0, "to_host": 0.5 }));
        let upgraded = snapshot(10, 5, 0);
        assert!(Rates::between(&now, &upgraded).of(&["outcomes", "packets_in"]).abs() < 1e-9);
    }
}
