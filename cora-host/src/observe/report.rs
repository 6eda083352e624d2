//! The report of a run, and its form for scripts: a JSON object. [`text`](crate::observe::text) has
//! the table for people.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use cora_control::Drift;
use cora_runtime::link::message::Report;
use serde::{Deserialize, Serialize};

use crate::ingress::capture_notes::CaptureNotes;
use crate::ingress::port_report::PortReport;
use crate::observe::buckets::BucketMoves;
use crate::observe::ipfix::Records;
use crate::observe::messages::Messages;

macro_rules! side {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// The counters of one side.
        #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
        pub struct Side {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl From<Report> for Side {
            fn from(report: Report) -> Self {
                let Report { $($field),* } = report;
                Self { $($field),* }
            }
        }

        impl AddAssign for Side {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

cora_runtime::side_counts!(side);

/// The fill level of a table, both sides together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filled {
    /// Its entries, including expired ones that were not noticed yet.
    pub entries: u64,
    /// Its total `capacity`: each side of each shard has space for that many.
    pub capacity: u64,
}

impl Filled {
    /// Whether new entries may soon find no place. A single entry is all that a state with the key
    /// `One` has.
    pub(super) const fn is_nearly_full(self) -> bool {
        self.entries > 1 && self.entries * 10 >= self.capacity * 9
    }
}

/// Both sides.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sides {
    /// The NIC.
    pub nic: Side,
    /// The host.
    pub host: Side,
}

/// The fields of the recovery counters.
macro_rules! recovery {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Flows and entries of halves that died, as the last host took them over.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Recovery {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl AddAssign for Recovery {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

recovery! {
    /// Flows that continued at the host, from replicas of their entries.
    flows,
    /// Entries of durable states that continued.
    entries,
    /// Replicas without a free place.
    refused,
    /// Flows that were in transfer to the NIC and stayed at the host.
    cancelled,
    /// Flows that had returned only in part.
    half_received,
    /// Missing entries of those flows.
    missing,
    /// Changes of durable entries that could not be replicated.
    uncopied,
    /// Replicas dropped, because state that their entries depend on was lost with the host.
    dropped,
}

impl AddAssign for Sides {
    fn add_assign(&mut self, other: Self) {
        self.nic += other.nic;
        self.host += other.host;
    }
}

impl AddAssign for Filled {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.capacity += other.capacity;
    }
}

impl Recovery {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The life of the halves of a run, all shards together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lives {
    /// Restarts of each half.
    pub restarts: BTreeMap<&'static str, u64>,
    /// How often each half was ended for lack of progress.
    pub stood_still: BTreeMap<&'static str, u64>,
    /// How often a NIC was ended because it broke the protocol.
    pub broke_protocol: u64,
    /// Frames that a dead NIC had not taken: the next one got them.
    pub fed_again: u64,
    /// Damaged replicas of durable entries, as found by hosts.
    pub damaged_copies: u64,
    /// Times from the death of a half until both worked again (µs).
    pub pauses_us: Vec<u64>,
    /// How often packets took the bypass to the host half, because the card was away.
    pub bypasses: u64,
    /// For how long in all (ms).
    pub bypass_ms: u64,
    /// How often the program was replaced; all other figures are from the time since.
    pub upgrades: u64,
    /// The version of read-mostly states in force at the end.
    pub version: u32,
    /// The last region's generation.
    pub generation: u64,
}

impl Lives {
    /// Whether no half died.
    fn are_whole(&self) -> bool {
        self.restarts.values().all(|times| *times == 0) && self.broke_protocol == 0
    }
}

/// The ports of a live run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortsReport {
    /// Counts of each port, by its name.
    pub(crate) ports: BTreeMap<String, PortReport>,
    /// Output frames that the ports dropped, or that no port was there for, by name.
    pub(crate) dropped: BTreeMap<String, u64>,
}

/// The report of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// `cora-run/2`.
    pub schema: &'static str,
    /// The program.
    pub program: &'static str,
    /// Hash of the plan, in hexadecimal.
    pub plan: String,
    /// The plan's name.
    pub plan_name: &'static str,
    /// How the NIC ran: `off`, `emulated`, `native`.
    pub nic: &'static str,
    /// The pages of the host's states: `4k`, `thp`, `hugetlb`.
    pub pages: &'static str,
    /// The pages of the NIC's states; `None` if it is off or emulated: its emulator decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_pages: Option<&'static str>,
    /// Packets that came in at the wire.
    pub packets_in: u64,
    /// Packets that left at the wire.
    pub packets_out: u64,
    /// Packets by outcome; each packet has exactly one.
    pub outcomes: BTreeMap<String, u64>,
    /// The messages, if the program takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// Why the run can't be relied on: packets without an account, or output that could not be
    /// written. Such a run fails.
    pub faults: Vec<String>,
    /// Counters of each side, all shards together: of the last NIC and the last host, if some died.
    pub sides: Sides,
    /// Counters of each shard of NIC core and host worker, if there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Sides>,
    /// Number of changes of a flow's owner.
    pub migrations: u64,
    /// Moves of buckets, where each side receives its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<BucketMoves>,
    /// Entries at the end in the fullest table, both sides together.
    pub entries: u64,
    /// Irregularities of the input capture, if there are any.
    #[serde(skip_serializing_if = "CaptureNotes::is_nothing")]
    pub capture: CaptureNotes,
    /// The ports of a live run.
    #[serde(flatten)]
    pub ports: Option<PortsReport>,
    /// The fill level of each table.
    pub tables: BTreeMap<String, Filled>,
    /// The life of the halves, if there is a NIC.
    #[serde(flatten)]
    pub lives: Option<Lives>,
    /// Flows and entries of halves that died, if there are any.
    #[serde(skip_serializing_if = "Recovery::is_nothing")]
    pub recovery: Recovery,
    /// Records of ended entries, if they were exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<Records>,
    /// Measured against predicted costs, for each shard with a controller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
    /// From the first frame to the last, in nanoseconds of this machine.
    pub elapsed_ns: u64,
}

impl RunReport {
    /// The report with what does not add up in it among its faults. Packets that pass leave, too,
    /// or no port carries them.
    #[must_use]
    pub fn audited(mut self, passes_leave: bool) -> Self {
        let total = self.outcomes.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let (came, messages) = (self.packets_in, self.messages());
        if total != came.saturating_add(messages) {
            let and = if messages > 0 {
                format!(" and {messages} messages were sent")
            } else {
                String::new()
            };
            self.faults.push(format!("{came} packets came in{and}, but {total} have an outcome"));
        }
        let left = self.packets_out.saturating_add(self.not_taken());
        let leaving = ["transmit", "redirect"].into_iter().chain(passes_leave.then_some("pass"));
        let sent = leaving.filter_map(|name| self.outcomes.get(name));
        let sent = sent.fold(0, |sum: u64, count| sum.saturating_add(*count));
        let made = self.sides.nic.made.saturating_add(self.sides.host.made);
        let sent = sent.saturating_add(made);
        // A packet that was in transfer when a half died may have left twice.
        if sent != left && self.lives.as_ref().is_none_or(Lives::are_whole) {
            self.faults.push(format!("{sent} packets were to leave, but {left} did"));
        }
        self.faults.extend(self.capture.ends_early.clone());
        self
    }

    /// Messages that handlers sent, at all halves. Each has an outcome, too.
    pub(super) fn messages(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.sent)
    }

    /// Output frames that the ports dropped.
    fn not_taken(&self) -> u64 {
        let dropped = self.ports.iter().flat_map(|ports| ports.dropped.values());
        dropped.fold(0, |sum, count| sum.saturating_add(*count))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::golden;
    use crate::observe::buckets::{BucketsByLoad, LoadMove, LoadSide};
    use crate::observe::live::{self, OutcomesNow};

    /// Three packets, two of which left.
    pub(in crate::observe) fn report() -> RunReport {
        RunReport {
            schema: "cora-run/2",
            program: "nf",
            plan: "0".into(),
            plan_name: "split",
            nic: "off",
            pages: "thp",
            nic_pages: None,
            packets_in: 3,
            packets_out: 2,
            outcomes: [("transmit".to_owned(), 2), ("not-ip".to_owned(), 1)].into(),
            messages: None,
            faults: Vec::new(),
            sides: Sides::default(),
            buckets: None,
            shards: Vec::new(),
            migrations: 0,
            entries: 0,
            capture: CaptureNotes::default(),
            tables: BTreeMap::new(),
            ports: None,
            lives: None,
            recovery: Recovery::default(),
            records: None,
            drift: Vec::new(),
            elapsed_ns: 1,
        }
    }

    /// With all that a report can have.
    fn full() -> RunReport {
        let OutcomesNow { messages, ports, .. } = live::tests::full().outcomes;
        let side = |shard| LoadSide { shard, packets_percent: 90, queue_percent: 98 };
        let moved = Some(LoadMove { buckets: 8, from: side(0), to: side(1) });
        let by_load = BucketsByLoad { moves: 2, first: moved, last: moved, ..Default::default() };
        let costs = serde_json::json!({
            "host_packet": 250.5, "host_move": 1.5, "nic_packet": 2.5, "nic_pass": 3.5, "nic_move": 4.5,
        });
        let drift = serde_json::json!({ "learned": costs, "expected": costs, "predicted": true });
        let restarts: BTreeMap<_, _> = [("NIC", 1), ("host", 0)].into();
        RunReport {
            nic: "native",
            nic_pages: Some("4k"),
            messages,
            faults: vec!["a.pcap: it is cut".to_owned()],
            shards: vec![Sides::default()],
            buckets: Some(BucketMoves { by_load: Some(by_load), ..Default::default() }),
            capture: CaptureNotes {
                ends_early: Some("a.pcap: it is cut".to_owned()),
                link_type: Some("raw IP"),
                ..CaptureNotes::default()
            },
            tables: [("Session".to_owned(), Filled { entries: 1, capacity: 8 })].into(),
            ports: Some(ports),
            lives: Some(Lives {
                restarts: restarts.clone(),
                stood_still: restarts,
                pauses_us: vec![900],
                ..Lives::default()
            }),
            recovery: Recovery { flows: 1, ..Recovery::default() },
            records: Some(Records::default()),
            drift: vec![serde_json::from_value(drift).expect("costs")],
            ..report()
        }
    }

    #[test]
    fn reports_are_those_of_the_golden_files() {
        golden::json("run", &full());
        golden::json("run-least", &report());
    }

    #[test]
    fn finds_a_packet_without_outcome_and_one_that_did_not_leave() {
        let faults = |report: RunReport| report.audited(false).faults;
        assert_eq!(faults(report()), Vec::<String>::new());
        let lost = RunReport { packets_in: 4, ..report() };
        assert_eq!(faults(lost), ["4 packets came in, but 3 have an outcome"]);
        let kept = RunReport { packets_out: 1, ..report() };
        assert_eq!(faults(kept.clone()), ["2 packets were to leave, but 1 did"]);
        let passed = [("transmit".to_owned(), 2), ("pass".to_owned(), 1)].into();
        let passes = RunReport { packets_out: 3, outcomes: passed, ..report() };
        assert_eq!(passes.clone().audited(true).faults, Vec::<String>::new());
        assert_eq!(faults(passes), ["2 packets were to leave, but 3 did"]);
        let dropped = [("link-down".to_owned(), 1)].into();
        let ports = Some(PortsReport { dropped, ..PortsReport::default() });
        assert_eq!(faults(RunReport { ports, ..kept.clone() }), Vec::<String>::new());
        for (times, doubtful) in [(0, true), (1, false)] {
            let lives = Some(Lives { restarts: [("NIC", times)].into(), ..Lives::default() });
            assert_eq!(!faults(RunReport { lives, ..kept.clone() }).is_empty(), doubtful);
        }
        let written = RunReport { faults: vec!["s.json: no room".into()], ..report() };
        assert_eq!(faults(written), ["s.json: no room"]);
        let ends_early = Some("a.pcap: it is cut".to_owned());
        let capture = CaptureNotes { ends_early, ..CaptureNotes::default() };
        let cut = RunReport { capture, ..report() };
        assert_eq!(faults(cut.clone()), ["a.pcap: it is cut"]);
        assert!(cut.to_string().contains("ends early, and all that is whole was handled: a.pcap"));
    }
}
