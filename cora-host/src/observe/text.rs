//! The report of a run as a table for people.

use std::collections::BTreeMap;
use std::fmt;

use crate::ingress::port_report::PortReport;
use crate::observe::ipfix::Records;
use crate::observe::report::{Filled, Lives, PortsReport, Recovery, RunReport, Sides};

impl RunReport {
    /// Program, mode and pages.
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nic = match self.nic {
            "emulated" => "emulated (aarch64 under qemu, as a Cortex-A72)",
            "native" => "native (a process of its own on this machine)",
            "card:window" => "card (a kernel of its own, joined by a window of memory)",
            "card:ethernet" => "card (a kernel of its own, joined by Ethernet)",
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
        self.shards(f)?;
        if let Some(buckets) = &self.buckets {
            write!(f, "{buckets}")?;
        }
        writeln!(f)?;
        if let Some(ports) = &self.ports {
            writeln!(f, "{ports}")?;
        }
        self.outcomes(f)?;
        if let Some(messages) = &self.messages {
            write!(f, "\n{messages}")?;
        }
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
        let mut ports: Vec<_> = self.ports.iter().collect();
        ports.sort_by_key(|(_, port)| port.number);
        for (called, port) in ports {
            let PortReport { number, name, received, transmitted, link, .. } = port;
            let (received, transmitted) = (grouped(*received), grouped(*transmitted));
            write!(f, "{called}")?;
            if *number > 1 && called.parse() != Ok(*number) {
                write!(f, " (port {number})")?;
            }
            writeln!(f, ": {name} ({link}), {received} came, {transmitted} left")?;
            for (what, count) in port.dropped.iter().chain(&port.remarks) {
                writeln!(f, "  {what:<24}{:>14}", grouped(*count))?;
            }
        }
        if let Some(count) = self.dropped.get("no-port") {
            writeln!(f, "to ports that are not there")?;
            writeln!(f, "  {:<24}{:>14}", "no-port", grouped(*count))?;
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
            (self.bypasses, "times packets took the bypass, since the card was away".to_owned()),
            (self.bypass_ms, "ms they took it in all".to_owned()),
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
        if nic.made + host.made > 0 {
            row(f, "sent besides", nic.made, Some(host.made))?;
        }
        if nic.messages + host.messages > 0 {
            row(f, "messages sent", nic.messages, Some(host.messages))?;
        }
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
        let total = self.outcomes.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let messages = self.messages();
        let all = self.packets_in.saturating_add(messages);
        let sign = if total == all { "=" } else { "≠" };
        let what = if messages == 0 { "packets in" } else { "packets in and messages sent" };
        let end = if total == all { "" } else { "!" };
        writeln!(f, "  {:<24}{:>14}  {sign} {what}{end} ({})", "sum", grouped(total), grouped(all))
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

    /// A line per shard; none if there was only one.
    fn shards(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shards.is_empty() {
            return Ok(());
        }
        let row = |f: &mut fmt::Formatter<'_>, first: &str, rest: [&str; 4]| {
            write!(f, "{first:<12}")?;
            rest.iter().try_for_each(|column| write!(f, "{column:>14}"))?;
            writeln!(f)
        };
        writeln!(f)?;
        row(f, "shard", ["nic packets", "host packets", "punts", "to the NIC"])?;
        for (number, Sides { nic, host }) in self.shards.iter().enumerate() {
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
    use crate::observe::report::tests::report;

    #[test]
    fn tells_of_shards_only_when_there_are_several() {
        let told = report().to_string();
        assert!(!told.contains("shard") && !told.contains("\n\n\n"), "{told}");
        let mut one = Sides::default();
        one.nic.packets = 1234;
        let told = RunReport { shards: vec![one, Sides::default()], ..report() }.to_string();
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
        // A state with the key `One` has no room for another one.
        let one = [("Top".into(), Filled { entries: 1, capacity: 1 })].into();
        let told = RunReport { tables: one, ..report() }.to_string();
        assert!(!told.contains("warning"), "{told}");
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
    fn tells_of_ports_in_the_order_of_their_numbers() {
        let port = |number: u8| PortReport {
            number,
            name: format!("tap:t{number}"),
            received: 1_000,
            transmitted: 2,
            dropped: [("link-down".to_owned(), u64::from(number))].into(),
            remarks: BTreeMap::new(),
            link: "up".to_owned(),
            mtu: 1500,
            checksums: "as they came".to_owned(),
            notes: Vec::new(),
        };
        let ports = [("inside", 0), ("outside", 1), ("5", 5), ("a", 2)];
        let ports = ports.map(|(name, number)| (name.to_owned(), port(number))).into();
        let ports = PortsReport { ports, dropped: [("no-port".to_owned(), 1_234)].into() };
        let told = ports.to_string();
        let heads: Vec<_> = told.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(
            heads,
            [
                "inside: tap:t0 (up), 1,000 came, 2 left",
                "outside: tap:t1 (up), 1,000 came, 2 left",
                "a (port 2): tap:t2 (up), 1,000 came, 2 left",
                "5: tap:t5 (up), 1,000 came, 2 left",
                "to ports that are not there",
            ]
        );
        assert!(told.ends_with("no-port                          1,234\n"), "{told}");
    }

    #[test]
    fn groups_digits() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
