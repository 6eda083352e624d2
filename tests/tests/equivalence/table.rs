//! The table of the runs.

use std::fmt::Write as _;

use crate::way::{Feed, Left, Way};

/// Sums over the runs of a kind.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) runs: u64,
    pub(crate) packets: u64,
    pub(crate) nic: u64,
    pub(crate) host: u64,
    pub(crate) punts: u64,
    /// Changes of owner.
    pub(crate) moves: u64,
    /// Packets that waited for their flow.
    pub(crate) held: u64,
}

impl Row {
    pub(crate) fn add(&mut self, left: &Left) {
        self.runs += 1;
        self.packets += left.number("/packets_in");
        self.nic += left.number("/sides/nic/packets");
        self.host += left.number("/sides/host/packets");
        self.punts += left.number("/sides/nic/punts");
        self.moves += left.number("/migrations");
        self.held += left.number("/sides/nic/held");
    }
}

/// The rows of a program.
pub(crate) struct Table {
    pub(crate) text: String,
}

impl Default for Table {
    fn default() -> Self {
        let text = format!(
            "\n{:<19}{:<11}{:<10}{:<7}{:<8}{:>7}{:>5}{:>10}{:>10}{:>10}{:>8}{:>9}{:>9}",
            "program",
            "plan",
            "NIC",
            "fed",
            "moves by",
            "shards",
            "runs",
            "packets",
            "on NIC",
            "on host",
            "punts",
            "moves",
            "held"
        );
        Self { text }
    }
}

impl Table {
    pub(crate) fn add(&mut self, program: &str, way: Way, row: &Row) {
        let Way { plan, nic, feed, moves, shards } = way;
        let feed = if feed == Feed::Paced { "paced" } else { "whole" };
        let by = if moves.is_some() { "chance" } else { "plan" };
        let Row { runs, packets, nic: on_nic, host, punts, moves, held } = row;
        let _written = write!(
            self.text,
            "\n{program:<19}{plan:<11}{nic:<10}{feed:<7}{by:<8}{shards:>7}{runs:>5}{packets:>10}{on_nic:>10}{host:>10}{punts:>8}{moves:>9}{held:>9}"
        );
    }
}
