//! The counters of a run: of its report, or between two snapshots.
#![expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]

use std::collections::BTreeMap;

use cora_plan::vocabulary::Sides;
use serde_json::Value;

use crate::failure::Failure;

/// A side's counters. Names are those of docs/json.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) packets: u64,
    pub(super) punts: u64,
    pub(super) passed_on: u64,
    pub(super) offloads: u64,
    pub(super) declined: u64,
    pub(super) busy_ns: u64,
    pub(super) ring_records: u64,
}

/// The fill of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) entries: u64,
    /// Entries that made room for others; a report does not have them by table.
    pub(super) evicted: u64,
}

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Packets that came in at the wire.
    pub(super) packets: u64,
    pub(super) nic: Side,
    pub(super) host: Side,
    pub(super) tables: BTreeMap<String, Table>,
    /// Entries that made room for others, in all tables.
    pub(super) evicted: u64,
    /// Packets that found a table full.
    pub(super) table_full: u64,
}

impl Side {
    fn read(of: &Value) -> Self {
        let count = |name: &str| of[name].as_u64().unwrap_or(0);
        Self {
            packets: count("packets"),
            punts: count("punts"),
            passed_on: count("passed_on"),
            offloads: count("offloads"),
            declined: count("declined"),
            busy_ns: count("busy_ns"),
            ring_records: count("ring_records"),
        }
    }

    /// The counts since then; `None` if a counter began anew.
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            packets: self.packets.checked_sub(before.packets)?,
            punts: self.punts.checked_sub(before.punts)?,
            passed_on: self.passed_on.checked_sub(before.passed_on)?,
            offloads: self.offloads.checked_sub(before.offloads)?,
            declined: self.declined.checked_sub(before.declined)?,
            busy_ns: self.busy_ns.checked_sub(before.busy_ns)?,
            ring_records: self.ring_records.checked_sub(before.ring_records)?,
        })
    }
}

impl Counts {
    /// Those of a run's report: `cora-run/2`.
    pub(super) fn of_report(report: &Value) -> Result<Self, Failure> {
        schema(report, "cora-run/2")?;
        let (nic, host) = sides(report);
        let evicted = [&report["sides"]["nic"], &report["sides"]["host"]];
        Ok(Self {
            packets: report["packets_in"].as_u64().unwrap_or(0),
            nic,
            host,
            tables: tables(report),
            evicted: evicted.map(|side| side["evicted"].as_u64().unwrap_or(0)).iter().sum(),
            table_full: report["outcomes"]["table-full"].as_u64().unwrap_or(0),
        })
    }

    /// Those between two snapshots of a run: `cora-snapshot/1`. Tables are those of the later one.
    pub(super) fn between(before: &Value, now: &Value) -> Result<Self, Failure> {
        let began_anew = || {
            Failure::Failed(
                "a half of the run was restarted between the two looks, or another build took its place: ask again"
                    .to_owned(),
            )
        };
        let whole = |name: &str| now["status"][name] == before["status"][name];
        if !["restarts", "upgrades", "generation"].into_iter().all(whole) {
            return Err(began_anew());
        }
        let since = |place: &[&str]| {
            let at = |of: &Value| place.iter().fold(of, |of, name| &of[*name]).as_u64();
            at(now).unwrap_or(0).checked_sub(at(before).unwrap_or(0)).ok_or_else(began_anew)
        };
        let ((nic, host), (nic_before, host_before)) = (sides(now), sides(before));
        let (tables, earlier) = (tables(now), tables(before));
        let evicted = |tables: &BTreeMap<String, Table>| -> u64 {
            tables.values().map(|table| table.evicted).sum()
        };
        Ok(Self {
            packets: since(&["outcomes", "packets_in"])?,
            nic: nic.since(nic_before).ok_or_else(began_anew)?,
            host: host.since(host_before).ok_or_else(began_anew)?,
            evicted: evicted(&tables).saturating_sub(evicted(&earlier)),
            tables,
            table_full: since(&["outcomes", "outcomes", "table-full"])?,
        })
    }

    /// Takes the shorter time of each side, of another run on the same packets.
    pub(super) fn least_busy(&mut self, other: &Self) {
        for (side, other) in [(&mut self.nic, other.nic), (&mut self.host, other.host)] {
            side.busy_ns = side.busy_ns.min(other.busy_ns);
        }
    }

    /// Packets with handlers that came to either side first, by the sides' own counters: outcomes
    /// are told more often than these.
    pub(super) fn arrived(&self, sides: Sides) -> f64 {
        let (nic, host) = (self.nic, self.host);
        let arrived = match sides {
            Sides::Dealt => nic.packets + host.packets,
            Sides::HostOnly | Sides::NicOnly | Sides::Split => {
                nic.packets + nic.punts + nic.passed_on
            }
        };
        arrived as f64
    }
}

fn schema(of: &Value, wanted: &str) -> Result<(), Failure> {
    if of["schema"] == wanted {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the program tells `{}` where this command reads `{wanted}`: build both from the same version of Cora",
        of["schema"].as_str().unwrap_or("nothing")
    )))
}

/// Refuses a snapshot of another version.
pub(super) fn is_snapshot(of: &Value) -> Result<(), Failure> {
    schema(of, "cora-snapshot/1")
}

fn sides(of: &Value) -> (Side, Side) {
    let sides = &of["sides"];
    (Side::read(&sides["nic"]), Side::read(&sides["host"]))
}

fn tables(of: &Value) -> BTreeMap<String, Table> {
    let tables = of["tables"].as_object().into_iter().flatten();
    let count = |table: &Value, name: &str| table[name].as_u64().unwrap_or(0);
    let read = |table: &Value| Table {
        entries: count(table, "entries"),
        evicted: count(table, "evicted"),
    };
    tables.map(|(name, table)| (name.clone(), read(table))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn snapshot(packets: u64, restarts: u64) -> Value {
        json!({
            "schema": "cora-snapshot/1",
            "status": { "restarts": { "NIC": restarts }, "upgrades": 0, "generation": 1 },
            "outcomes": { "packets_in": packets, "outcomes": { "table-full": packets / 10 } },
            "sides": {
                "nic": { "packets": packets / 2, "passed_on": packets / 4, "punts": packets / 4 },
                "host": { "packets": packets / 2 },
            },
            "tables": { "Session": { "entries": 7, "evicted": packets / 5 } },
        })
    }

    #[test]
    fn counts_are_those_between_two_looks_and_fills_those_of_the_later() {
        let counts = Counts::between(&snapshot(100, 1), &snapshot(500, 1)).unwrap();
        assert_eq!((counts.packets, counts.table_full, counts.evicted), (400, 40, 80));
        assert_eq!((counts.nic.packets, counts.host.packets), (200, 200));
        assert_eq!(counts.tables["Session"].entries, 7);
        assert!((counts.arrived(Sides::Split) - 400.0).abs() < 1e-9);
        assert!((counts.arrived(Sides::Dealt) - 400.0).abs() < 1e-9);
    }

    #[test]
    fn counters_that_began_anew_are_no_difference() {
        for (before, now) in
            [(snapshot(100, 0), snapshot(500, 1)), (snapshot(500, 0), snapshot(100, 0))]
        {
            let why = Counts::between(&before, &now).unwrap_err().to_string();
            assert!(why.contains("ask again"), "{why}");
        }
    }

    #[test]
    fn the_shorter_time_of_each_side_counts() {
        let busy = |nic, host| {
            let [nic, host] = [nic, host].map(|busy_ns| Side { busy_ns, ..Side::default() });
            Counts { packets: 7, nic, host, ..Counts::default() }
        };
        let mut counts = busy(30, 5);
        counts.least_busy(&busy(20, 9));
        assert_eq!(counts, busy(20, 5));
    }

    #[test]
    fn another_version_is_refused() {
        let why = Counts::of_report(&json!({ "schema": "cora-run/9" })).unwrap_err().to_string();
        assert!(why.contains("`cora-run/9`") && why.contains("`cora-run/2`"), "{why}");
        assert!(is_snapshot(&json!({})).unwrap_err().to_string().contains("`nothing`"));
    }
}
