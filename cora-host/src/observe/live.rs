//! The counts of a live run so far. Everything that shows a running system shows this.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cora_runtime::telemetry::{Read, Table};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ingress::latency::Latency;
use crate::observe::messages::Messages;
use crate::observe::report::{PortsReport, Side, Sides};

/// A live run, at one moment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Snapshot {
    /// `cora-snapshot/1`.
    pub(crate) schema: &'static str,
    pub(crate) status: Status,
    pub(crate) outcomes: OutcomesNow,
    pub(crate) tables: BTreeMap<&'static str, TableNow>,
    /// Counters of each side, all shards together.
    pub(crate) sides: Sides,
    pub(crate) shards: Vec<ShardNow>,
    /// How long packets take from wire to wire, where the wire is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency: Option<Latency>,
    /// Values of states without keys, for a scrape.
    #[serde(skip)]
    pub(crate) values: Map<String, Value>,
}

/// The program, and whether it works.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) program: &'static str,
    pub(crate) plan: String,
    pub(crate) plan_name: &'static str,
    /// The program's file.
    pub(crate) file: PathBuf,
    /// The supervisor's process.
    pub(crate) pid: u32,
    /// The version of read-mostly states in force.
    pub(crate) version: u32,
    /// How often another build took the program's place.
    pub(crate) upgrades: u64,
    /// Entries carried over from the build before.
    pub(crate) carried: u64,
    pub(crate) generation: u64,
    /// Whether all halves are at work, and have moved within a second.
    pub(crate) works: bool,
    /// Since the run began, or the last upgrade (ms).
    pub(crate) uptime_ms: u64,
    /// Restarts of each half.
    pub(crate) restarts: BTreeMap<&'static str, u64>,
    pub(crate) packets_in: u64,
    pub(crate) packets_out: u64,
}

/// Packets by outcome.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OutcomesNow {
    pub(crate) packets_in: u64,
    pub(crate) packets_out: u64,
    /// Packets by outcome, and messages.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Those that have none yet: they are under way, or in a round that is not told yet, or were
    /// lost with a half that died, which the end of the run tells apart.
    pub(crate) unsettled: u64,
    /// The messages, if the program takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Messages>,
    #[serde(flatten)]
    pub(crate) ports: PortsReport,
}

/// A table, both sides and all shards together.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct TableNow {
    /// Its entries, including expired ones that were not noticed yet.
    pub(crate) entries: u64,
    /// Entries that all sides and shards have room for.
    pub(crate) capacity: u64,
    pub(crate) entries_at_nic: u64,
    pub(crate) entries_at_host: u64,
    /// Entries that made room for others.
    pub(crate) evicted: u64,
    /// Entries that expired.
    pub(crate) expired: u64,
}

/// A shard.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ShardNow {
    #[serde(flatten)]
    pub(crate) sides: Sides,
    /// Bursts by number of packets: 1, 2–3, 4–7, and so on.
    pub(crate) bursts_at_nic: Vec<u64>,
    pub(crate) bursts_at_host: Vec<u64>,
    /// Bytes that wait on each ring.
    pub(crate) rings: BTreeMap<&'static str, u64>,
}

/// The counters of both halves of a shard, as they were read.
#[derive(Debug)]
pub(crate) struct HalvesRead {
    pub(crate) nic: Read,
    pub(crate) host: Read,
}

impl HalvesRead {
    /// Adds the tables of states with these names. Of a NIC half's, no more is believed than fits.
    pub(crate) fn add_tables(
        &self,
        names: impl Iterator<Item = &'static str>,
        to: &mut BTreeMap<&'static str, TableNow>,
    ) {
        for (state, name) in names.enumerate() {
            let Some(host) = self.host.table(state) else { continue };
            let nic = self.nic.table(state).unwrap_or_default();
            let nic = Table { entries: nic.entries.min(host.capacity), ..nic };
            let table = to.entry(name).or_default();
            table.entries += host.entries + nic.entries;
            table.capacity += host.capacity;
            table.entries_at_nic += nic.entries;
            table.entries_at_host += host.entries;
            table.evicted = table.evicted.saturating_add(host.evicted).saturating_add(nic.evicted);
            table.expired = table.expired.saturating_add(host.expired).saturating_add(nic.expired);
        }
    }

    /// The shard, with these bytes on its rings.
    pub(crate) fn shard(&self, rings: BTreeMap<&'static str, u64>) -> ShardNow {
        let side = |read: &Read| Side::from(read.report());
        ShardNow {
            sides: Sides { nic: side(&self.nic), host: side(&self.host) },
            bursts_at_nic: self.nic.bursts().to_vec(),
            bursts_at_host: self.host.bursts().to_vec(),
            rings,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use cora_runtime::telemetry::{COUNTER_WORDS, Counters};
    use serde_json::json;

    use super::*;
    use crate::ingress::port_report::PortReport;

    pub(crate) fn snapshot() -> Snapshot {
        let nic = Side { punts: 4, busy_ns: 2_000_000_007, ..Side::default() };
        let shard = ShardNow {
            sides: Sides { nic, host: Side::default() },
            bursts_at_nic: vec![1, 5],
            bursts_at_host: Vec::new(),
            rings: [("punt", 64)].into(),
        };
        let session = TableNow { entries: 4, entries_at_nic: 3, ..TableNow::default() };
        Snapshot {
            schema: "cora-snapshot/1",
            status: Status {
                program: "nf",
                plan: "0f".into(),
                plan_name: "split",
                file: "/bin/nf".into(),
                pid: 1,
                version: 1,
                upgrades: 0,
                carried: 0,
                generation: 1,
                works: true,
                uptime_ms: 1500,
                restarts: [("NIC", 1)].into(),
                packets_in: 9,
                packets_out: 6,
            },
            outcomes: OutcomesNow {
                packets_in: 9,
                packets_out: 6,
                outcomes: [("transmit".to_owned(), 6), ("not\"ip\\".to_owned(), 2)].into(),
                unsettled: 1,
                messages: None,
                ports: PortsReport::default(),
            },
            tables: [("Session", session)].into(),
            sides: shard.sides,
            shards: vec![shard],
            latency: None,
            values: Map::new(),
        }
    }

    /// With all that a snapshot can have: a program of messages, between ports.
    pub(crate) fn full() -> Snapshot {
        let mut of = snapshot();
        let took = [6, 2, 7, 0, 1, 3, 4];
        of.outcomes.messages = Some(Messages::of(&["ask"], &took, 9, &of.outcomes.outcomes));
        let port = PortReport {
            number: 0,
            name: "tap:a".into(),
            received: 9,
            transmitted: 6,
            dropped: [("link-down".to_owned(), 1)].into(),
            remarks: [("truncated".to_owned(), 0)].into(),
            link: "up".into(),
            mtu: 1500,
            checksums: "whole".into(),
            notes: Vec::new(),
        };
        of.values.insert("Seen".into(), json!({ "bytes": 7, "of": [{ "port": 9, "open": true }] }));
        of.values.insert("Total".into(), json!(5));
        let latency = of.latency.get_or_insert_default();
        for ns in [900, 1_500, 3_000_000_000] {
            latency.took(ns);
        }
        of.outcomes.ports = PortsReport {
            ports: [("inside".to_owned(), port)].into(),
            dropped: [("no-port".to_owned(), 2)].into(),
        };
        of
    }

    #[test]
    fn tables_of_both_sides_are_added_and_a_nic_is_not_believed() {
        let counters = || -> (&'static [AtomicU64], Counters) {
            let words: Vec<AtomicU64> = (0..COUNTER_WORDS).map(|_| AtomicU64::new(0)).collect();
            let words: &[AtomicU64] = words.leak();
            (words, Counters::new(words).expect("they are enough"))
        };
        let ((at_nic, nic), (at_host, host)) = (counters(), counters());
        // The second state has a table: entries, capacity, evicted, expired.
        for (words, told) in [(at_nic, [u64::MAX, 1, u64::MAX, 2]), (at_host, [5, 8, 1, 0])] {
            for (word, told) in words[64 + 4..].iter().zip(told) {
                word.store(told, Ordering::Relaxed);
            }
        }
        let halves = HalvesRead { nic: nic.read(), host: host.read() };
        let mut tables = BTreeMap::new();
        for _ in 0..2 {
            halves.add_tables(["Pool", "Session"].into_iter(), &mut tables);
        }
        assert_eq!(tables.keys().copied().collect::<Vec<_>>(), ["Session"]);
        let of = &tables["Session"];
        assert_eq!((of.entries, of.capacity, of.entries_at_nic), (26, 16, 16));
        assert_eq!((of.evicted, of.expired), (u64::MAX, 4));
    }
}
