//! The report of a live run at its end.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::ingress::ports::PortReport;
use crate::observe::report::{Filled, warn_of_full};

/// The results of a live run, from its supervisor.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LiveReport {
    /// `cora-live/1`.
    pub(crate) schema: &'static str,
    /// The program.
    pub(crate) program: &'static str,
    /// Hash of its plan.
    pub(crate) plan: String,
    /// Frames that came.
    pub(crate) packets_in: u64,
    /// Frames that left.
    pub(crate) packets_out: u64,
    /// Outcomes of all frames that came, by name; each frame has one.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Frames that the wire dropped, by name.
    pub(crate) dropped: BTreeMap<&'static str, u64>,
    /// Counts of each port, by its side.
    pub(crate) ports: BTreeMap<&'static str, PortReport>,
    /// Frames that a dead NIC had not taken: the next one got them.
    pub(crate) fed_again: u64,
    /// Restarts of each half.
    pub(crate) restarts: BTreeMap<&'static str, u64>,
    /// How often each half was ended for lack of progress.
    pub(crate) stood_still: BTreeMap<&'static str, u64>,
    /// How often a NIC was ended because it broke the protocol.
    pub(crate) broke_protocol: u64,
    /// Damaged replicas of durable entries, as found by hosts.
    pub(crate) damaged_copies: u64,
    /// The fill level of each table.
    pub(crate) tables: BTreeMap<&'static str, Filled>,
    /// Times from the death of a half until both worked again (µs).
    pub(crate) pauses_us: Vec<u64>,
    /// How often the program was replaced; all other figures are from the time since.
    pub(crate) upgrades: u64,
    /// The version of read-mostly states in force at the end.
    pub(crate) version: u32,
    /// The last region's generation.
    pub(crate) generation: u64,
    /// Counts of the last host and the last NIC, and the outcomes of all frames that they got;
    /// `None` if the host did not reach its end.
    pub(crate) halves: Option<Value>,
    /// Why the run can't account for all packets.
    #[serde(skip)]
    pub(crate) faults: Vec<String>,
}

impl LiveReport {
    /// Inconsistencies; empty if all is well.
    pub(crate) fn faults(&self) -> Vec<String> {
        let failures = self.halves.as_ref().and_then(|halves| halves["failures"].as_array());
        let failures = failures.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        self.faults.iter().cloned().chain(failures).collect()
    }

    /// The outcomes of packets and of records.
    fn outcomes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "outcomes")?;
        for (name, count) in &self.outcomes {
            writeln!(f, "{count:>12} {name}")?;
        }
        let Some(halves) = &self.halves else {
            return writeln!(f, "the host half ended without an account");
        };
        let Some(records) = halves["records"].as_object() else { return Ok(()) };
        write!(f, "records")?;
        for (name, count) in records {
            write!(f, " · {count} {name}")?;
        }
        writeln!(f)
    }
}

impl fmt::Display for LiveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (plan {})", self.program, self.plan)?;
        writeln!(f, "{:>12} frames came, {} left", self.packets_in, self.packets_out)?;
        for (side, port) in &self.ports {
            let PortReport { name, received, transmitted, link, .. } = port;
            writeln!(f, "{side}: {name} ({link}), {received} came, {transmitted} left")?;
            for (what, count) in port.dropped.iter().chain(&port.remarks) {
                writeln!(f, "{count:>12} {what}")?;
            }
        }
        self.outcomes(f)?;
        warn_of_full(f, &self.tables)?;
        for (half, times) in &self.restarts {
            writeln!(f, "{times:>12} times the {half} was started again")?;
        }
        for (half, times) in self.stood_still.iter().filter(|(_, times)| **times > 0) {
            writeln!(f, "{times:>12} times the {half} stood still and was ended")?;
        }
        for (count, what) in [
            (self.broke_protocol, "times the NIC broke the protocol and was ended"),
            (self.damaged_copies, "copies of durable entries were damaged"),
        ] {
            if count > 0 {
                writeln!(f, "{count:>12} {what}")?;
            }
        }
        let mut pauses = self.pauses_us.clone();
        pauses.sort_unstable();
        if let (Some(median), Some(longest)) = (pauses.get(pauses.len() / 2), pauses.last()) {
            writeln!(
                f,
                "{median:>12} µs until both halves worked again (median; longest {longest})"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(halves: Option<Value>) -> LiveReport {
        LiveReport {
            schema: "cora-live/1",
            program: "nf",
            plan: "0".into(),
            packets_in: 9,
            packets_out: 7,
            outcomes: BTreeMap::new(),
            dropped: BTreeMap::new(),
            ports: BTreeMap::new(),
            fed_again: 0,
            restarts: BTreeMap::new(),
            stood_still: BTreeMap::new(),
            broke_protocol: 0,
            damaged_copies: 0,
            tables: BTreeMap::new(),
            pauses_us: Vec::new(),
            upgrades: 0,
            version: 1,
            generation: 1,
            halves,
            faults: Vec::new(),
        }
    }

    #[test]
    fn the_text_has_outcomes_and_records() {
        let records = json!({ "exported": 5, "lost": 0, "unsent": 2, "messages": 1 });
        let outcomes = BTreeMap::from([("transmit".into(), 7), ("not-allowed".into(), 2)]);
        let told = LiveReport { outcomes, ..report(Some(json!({ "records": records }))) };
        let told = told.to_string();
        assert!(told.contains("           2 not-allowed\n           7 transmit\n"), "{told}");
        assert!(told.contains("5 exported") && told.contains("2 unsent"), "{told}");
        assert!(report(None).to_string().contains("without an account"));
    }

    #[test]
    fn what_could_not_be_written_is_a_fault() {
        let fine = report(Some(json!({ "outcomes": {} })));
        assert_eq!(fine.faults(), Vec::<String>::new());
        let full = report(Some(json!({ "failures": ["s.json: no room", "f.ipfix: no room"] })));
        assert_eq!(full.faults(), ["s.json: no room", "f.ipfix: no room"]);
        let both = LiveReport { faults: vec!["a sum is wrong".into()], ..full };
        assert_eq!(both.faults(), ["a sum is wrong", "s.json: no room", "f.ipfix: no room"]);
    }
}
