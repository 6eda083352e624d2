//! Writes NIC profiles such that reading gives an equal one.

use std::fmt::Write as _;

use super::{FlowTable, Link, NicProfile, Port, Rule, Tier};
use crate::figure::Figure;

impl NicProfile {
    /// The profile as a file. [`parse`](Self::parse) gives an equal profile.
    pub fn to_toml(&self) -> String {
        let mut page = Page(String::new());
        page.string("name", &self.name);
        page.string("title", &self.title);
        page.tier("nic", &self.nic);
        page.tier("host", &self.host);
        if let Some(port) = &self.port {
            page.port(port);
        }
        page.link(&self.link);
        if let Some(table) = &self.flow_table {
            page.flow_table(table);
        }
        page.0
    }
}

struct Page(String);

impl Page {
    fn tier(&mut self, name: &str, tier: &Tier) {
        self.head(&format!("[{name}]"));
        self.string("core", &tier.core);
        self.figures(&[
            ("cores", &tier.cores),
            ("busy", &tier.busy),
            ("instruction_ns", &tier.instruction_ns),
            ("mispredict_ns", &tier.mispredict_ns),
            ("packet_ns", &tier.packet_ns),
            ("byte_ns", &tier.byte_ns),
            ("memory_ns", &tier.memory_ns),
            ("exposed", &tier.exposed),
            ("insert_ns", &tier.insert_ns),
            ("remove_ns", &tier.remove_ns),
            ("state_bytes", &tier.state_bytes),
        ]);
        for cache in &tier.caches {
            self.head(&format!("[[{name}.cache]]"));
            self.figures(&[
                ("bytes", &cache.bytes),
                ("latency_ns", &cache.latency_ns),
                ("shared_by", &cache.shared_by),
            ]);
        }
    }

    fn link(&mut self, link: &Link) {
        self.head("[link]");
        self.figures(&[
            ("nic_ns", &link.nic_ns),
            ("host_ns", &link.host_ns),
            ("byte_ns", &link.byte_ns),
            ("owner_ns", &link.owner_ns),
            ("owner_exposed", &link.owner_exposed),
            ("mpps", &link.mpps),
            ("gbps", &link.gbps),
            ("nic_move_ns", &link.nic_move_ns),
            ("host_move_ns", &link.host_move_ns),
        ]);
        if let Some(fetch_ns) = &link.fetch_ns {
            self.figures(&[("fetch_ns", fetch_ns)]);
        }
    }

    fn port(&mut self, port: &Port) {
        self.head("[port]");
        self.figures(&[
            ("gbps", &port.gbps),
            ("mpps", &port.mpps),
            ("pcie_gbps", &port.pcie_gbps),
            ("host_ns", &port.host_ns),
        ]);
    }

    fn flow_table(&mut self, table: &FlowTable) {
        self.head("[flow_table]");
        self.figures(&[("entries", &table.entries), ("inserts_per_s", &table.inserts_per_s)]);
        let words: Vec<String> =
            table.expresses.iter().copied().map(Rule::word).map(quoted).collect();
        self.line(&format!("expresses = [{}]", words.join(", ")));
    }

    fn head(&mut self, head: &str) {
        self.line("");
        self.line(head);
    }

    fn string(&mut self, key: &str, text: &str) {
        self.line(&format!("{key} = {}", quoted(text)));
    }

    fn figures(&mut self, figures: &[(&str, &Figure)]) {
        for (key, Figure { value, source }) in figures {
            let (word, text) = (source.word(), quoted(source.text()));
            self.line(&format!("{key} = {{ value = {value}, {word} = {text} }}"));
        }
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
}

/// A basic string of TOML: quotation marks, backslashes and control characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            character if character.is_control() => {
                // Writing to a string can't fail.
                let _written = write!(out, "\\u{:04X}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}
