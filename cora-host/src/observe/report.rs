//! The report of a run: a table for people, a JSON object for scripts.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use cora_control::Drift;
use cora_runtime::link::message::Report;
use serde::{Deserialize, Serialize};

use crate::ingress::capture_notes::CaptureNotes;
use crate::ingress::ports::PortReport;
use crate::observe::ipfix::Records;

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
    /// Its total `capacity`: each side of each pair has space for that many.
    pub capacity: u64,
}

impl Filled {
    /// Whether new entries may soon find no place.
    const fn is_nearly_full(self) -> bool {
        self.entries * 10 >= self.capacity * 9
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
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The life of the halves of a run, all pairs together.
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
    /// Counts of each port, by its side.
    pub(crate) ports: BTreeMap<&'static str, PortReport>,
    /// Output frames that the ports dropped, by name.
    pub(crate) dropped: BTreeMap<&'static str, u64>,
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
    /// Why the run can't be relied on: packets without an account, or output that could not be
    /// written. Such a run fails.
    pub faults: Vec<String>,
    /// Counters of each side, all pairs together: of the last NIC and the last host, if some died.
    pub sides: Sides,
    /// Counters of each pair of NIC core and host worker, if there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Sides>,
    /// Number of changes of a flow's owner.
    pub migrations: u64,
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
    /// Measured against predicted costs, for each pair with a controller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
    /// From the first frame to the last, in nanoseconds of this machine.
    pub elapsed_ns: u64,
}

impl RunReport {
    /// The report with what does not add up in it among its faults.
    #[must_use]
    pub fn audited(mut self) -> Self {
        let total: u64 = self.outcomes.values().sum();
        if total != self.packets_in {
            let came = self.packets_in;
            self.faults.push(format!("{came} packets came in, but {total} have an outcome"));
        }
        let left = self.packets_out + self.not_taken();
        let sent = ["transmit", "redirect"].iter().filter_map(|name| self.outcomes.get(*name));
        let sent: u64 = sent.sum();
        // A packet that was in transfer when a half died may have left twice.
        if sent != left && self.lives.as_ref().is_none_or(Lives::are_whole) {
            self.faults.push(format!("{sent} packets were to leave, but {left} did"));
        }
        self.faults.extend(self.capture.ends_early.clone());
        self
    }

    /// Output frames that the ports dropped.
    fn not_taken(&self) -> u64 {
        self.ports.iter().flat_map(|ports| ports.dropped.values()).sum()
    }
}

impl RunReport {
    /// Program, mode and pages.
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nic = match self.nic {
            "emulated" => "emulated (aarch64 under qemu, as a Cortex-A72)",
            "native" => "native (a process of its own on this machine)",
            _ => "off",
        };
        let named = |pages: &str| match pages {
            "hugetlb" => "huge pages set aside (hugetlb)",
            "thp" => "transparent huge pages (thp)",
            _ => "small pages (4k)",
        };
        writeln!(f, "{} · plan {} {} · NIC {nic}", self.program, self.plan_name, self.plan)?;
        write!(f, "states of the host on {}", named(self.pages))?;
        match self.nic_pages {
            Some(pages) => writeln!(f, ", of the NIC on {}", named(pages))?,
            None => writeln!(f)?,
        }
        writeln!(f)
    }
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.sides(f)?;
        self.pairs(f)?;
        writeln!(f)?;
        if let Some(ports) = &self.ports {
            writeln!(f, "{ports}")?;
        }
        self.outcomes(f)?;
        if !self.capture.is_nothing() {
            write!(f, "\n{}", self.capture)?;
        }
        self.rooms(f)?;
        for drift in &self.drift {
            write!(f, "\nas the controller learned it\n{drift}")?;
        }
        if let Some(lives) = &self.lives {
            write!(f, "{lives}")?;
        }
        if !self.recovery.is_nothing() {
            let Recovery { flows, entries, .. } = self.recovery;
            writeln!(
                f,
                "{:>14} flows of a half that died went on, with {} durable entries",
                grouped(flows),
                grouped(entries)
            )?;
        }
        self.records(f)?;
        writeln!(f)?;
        let seconds = std::time::Duration::from_nanos(self.elapsed_ns).as_secs_f64();
        write!(
            f,
            "{} packets out · {} migrations · {} entries at the end · {seconds:.2} s",
            grouped(self.packets_out),
            grouped(self.migrations),
            grouped(self.entries)
        )
    }
}

impl fmt::Display for PortsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (side, port) in &self.ports {
            let PortReport { name, received, transmitted, link, .. } = port;
            let (received, transmitted) = (grouped(*received), grouped(*transmitted));
            writeln!(f, "{side}: {name} ({link}), {received} came, {transmitted} left")?;
            for (what, count) in port.dropped.iter().chain(&port.remarks) {
                writeln!(f, "  {what:<24}{:>14}", grouped(*count))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Lives {
    /// Nothing, if no half died.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = |times: &BTreeMap<&'static str, u64>, what: &str| {
            times.iter().map(|(half, times)| (*times, format!("{half} {what}"))).collect::<Vec<_>>()
        };
        let more = [
            (self.broke_protocol, "times the NIC broke the protocol and was ended".to_owned()),
            (
                self.fed_again,
                "frames that a dead NIC had not taken went to the next one".to_owned(),
            ),
            (self.damaged_copies, "copies of durable entries were damaged".to_owned()),
        ];
        let started = half(&self.restarts, "was started again");
        let still = half(&self.stood_still, "stood still and was ended");
        let times = |(count, what): (u64, String)| (count, format!("times the {what}"));
        let lines: Vec<_> = started.into_iter().chain(still).map(times).chain(more).collect();
        if lines.iter().any(|(count, _)| *count > 0) {
            writeln!(f)?;
        }
        for (count, what) in lines.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(f, "{:>14} {what}", grouped(count))?;
        }
        let mut pauses = self.pauses_us.clone();
        pauses.sort_unstable();
        if let (Some(median), Some(longest)) = (pauses.get(pauses.len() / 2), pauses.last()) {
            let (median, longest) = (grouped(*median), grouped(*longest));
            writeln!(
                f,
                "{median:>14} µs until both halves worked again (median; longest {longest})"
            )?;
        }
        Ok(())
    }
}

impl RunReport {
    /// A line per table that is nearly full, and lines for evicted and for refused entries.
    fn rooms(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, filled) in self.tables.iter().filter(|(_, filled)| filled.is_nearly_full()) {
            let Filled { entries, capacity } = *filled;
            let percent = entries * 100 / capacity.max(1);
            write!(f, "\nwarning: `{name}` is {percent} % full ({} of ", grouped(entries))?;
            writeln!(f, "{} entries): raise `capacity`, or shorten `idle`", grouped(capacity))?;
        }
        let Sides { nic, host } = &self.sides;
        let evicted = nic.evicted + host.evicted;
        if evicted > 0 {
            writeln!(f, "\n{} entries made room for others in full tables", grouped(evicted))?;
        }
        if host.refused > 0 {
            let refused = grouped(host.refused);
            writeln!(
                f,
                "\n{refused} entries came back from the NIC with a key that another had by then, and were dropped"
            )?;
        }
        Ok(())
    }

    /// Counters, side by side.
    fn sides(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<26}{:>14}{:>14}", "", "nic", "host")?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, nic: u64, host: Option<u64>| {
            let host = host.map_or_else(|| "-".into(), grouped);
            writeln!(f, "{name:<26}{:>14}{host:>14}", grouped(nic))
        };
        let Sides { nic, host } = &self.sides;
        row(f, "packets handled", nic.packets, Some(host.packets))?;
        row(f, "rolled back and punted", nic.punts, None)?;
        row(f, "forwarded to host", nic.passed_on, None)?;
        row(f, "held during migration", nic.held, None)?;
        row(f, "flows owned at the end", nic.flows, Some(host.flows))?;
        row(f, "flows moved to the NIC", nic.offloads, None)?;
        row(f, "offloads declined", nic.declined, Some(host.declined))?;
        row(f, "ring records taken", nic.ring_records, Some(host.ring_records))?;
        row(f, "busy, microseconds", nic.busy_ns / 1000, Some(host.busy_ns / 1000))
    }

    /// Packets by outcome, and their sum.
    fn outcomes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "outcomes")?;
        for (name, count) in &self.outcomes {
            writeln!(f, "  {name:<24}{:>14}", grouped(*count))?;
        }
        let total: u64 = self.outcomes.values().sum();
        let check = if total == self.packets_in { "= packets in" } else { "≠ packets in!" };
        writeln!(f, "  {:<24}{:>14}  {check} ({})", "sum", grouped(total), grouped(self.packets_in))
    }

    /// Records of ended entries, if they were exported.
    fn records(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Records { exported, lost, unsent, messages }) = &self.records {
            writeln!(f)?;
            writeln!(
                f,
                "{} records exported in {} messages · {} lost · {} not taken by the network or the disk",
                grouped(*exported),
                grouped(*messages),
                grouped(*lost),
                grouped(*unsent)
            )?;
        }
        Ok(())
    }

    /// A line per pair; none if there was only one.
    fn pairs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let row = |f: &mut fmt::Formatter<'_>, first: &str, rest: [&str; 4]| {
            write!(f, "{first:<12}")?;
            rest.iter().try_for_each(|column| write!(f, "{column:>14}"))?;
            writeln!(f)
        };
        writeln!(f)?;
        row(f, "pair", ["nic packets", "host packets", "punts", "to the NIC"])?;
        for (number, Sides { nic, host }) in self.pairs.iter().enumerate() {
            let counts = [nic.packets, host.packets, nic.punts, nic.offloads].map(grouped);
            row(f, &number.to_string(), counts.each_ref().map(String::as_str))?;
        }
        Ok(())
    }
}

/// A number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> RunReport {
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
            faults: Vec::new(),
            sides: Sides::default(),
            pairs: Vec::new(),
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

    #[test]
    fn finds_a_packet_without_outcome_and_one_that_did_not_leave() {
        let faults = |report: RunReport| report.audited().faults;
        assert_eq!(faults(report()), Vec::<String>::new());
        let lost = RunReport { packets_in: 4, ..report() };
        assert_eq!(faults(lost), ["4 packets came in, but 3 have an outcome"]);
        let kept = RunReport { packets_out: 1, ..report() };
        assert_eq!(faults(kept.clone()), ["2 packets were to leave, but 1 did"]);
        let dropped = [("link-down", 1)].into();
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

    #[test]
    fn tells_of_pairs_only_when_there_are_several() {
        let told = report().to_string();
        assert!(!told.contains("pair") && !told.contains("\n\n\n"), "{told}");
        let mut one = Sides::default();
        one.nic.packets = 1234;
        let told = RunReport { pairs: vec![one, Sides::default()], ..report() }.to_string();
        let row = "0                    1,234             0             0             0\n1 ";
        assert!(told.contains(row), "{told}");
    }

    #[test]
    fn warns_of_tables_that_are_nearly_full() {
        let filled = |entries| Filled { entries, capacity: 1_000 };
        let told = |entries| {
            RunReport { tables: [("Session".into(), filled(entries))].into(), ..report() }
                .to_string()
        };
        assert!(!told(899).contains("warning"), "{}", told(899));
        let warning = "warning: `Session` is 90 % full (900 of 1,000 entries): raise `capacity`, or shorten `idle`";
        assert!(told(900).contains(warning), "{}", told(900));
        // The host has as much space again for entries that return.
        assert!(told(1_900).contains("190 % full"), "{}", told(1_900));
        let mut made = report();
        made.sides.host.evicted = 7;
        assert!(made.to_string().contains("7 entries made room"), "{made}");
    }

    #[test]
    fn tells_of_halves_that_died_and_of_no_others() {
        let told = |lives| RunReport { lives: Some(lives), ..report() }.to_string();
        let whole = Lives { restarts: [("NIC", 0), ("host", 0)].into(), ..Lives::default() };
        assert_eq!(told(whole), report().to_string());
        let restarts = [("NIC", 2), ("host", 0)].into();
        let told = told(Lives { restarts, pauses_us: vec![900, 7_000], ..Lives::default() });
        assert!(told.contains("             2 times the NIC was started again\n"), "{told}");
        assert!(told.contains("7,000 µs until both halves worked again"), "{told}");
        assert!(!told.contains("host was"), "{told}");
    }

    #[test]
    fn groups_digits() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
