//! How the packets are shared among ranked flows, and what follows for the addresses of their ends.
//!
//! Built-in profiles say how flows share the packets; nothing published says how addresses do. So
//! it is stated here: flows are dealt out in turn, in the order of their rank, to the hosts inside
//! and to the servers outside (host `j` of `H` has the flows of rank `j`, `j + H`, `j + 2 H` …),
//! and half of the packets go either way. Captures that `cora-traffic` generates under the same
//! names are made so.

use std::collections::BTreeMap;

use super::Class;
use super::class::{self, Cell, cut, divided, named};
use super::frames::Frames;

/// Ranked flows. Ranks count from 1, and may be fractions where flows are averages.
pub(super) struct Popularity<'a> {
    /// The last rank.
    pub(super) ranks: f64,
    /// Share of all packets that the flows up to a rank have.
    pub(super) share: &'a dyn Fn(f64) -> f64,
    /// Flows at a time up to a rank.
    pub(super) flows: &'a dyn Fn(f64) -> f64,
    /// Of so many flows at a time with this share of all packets: the share of all packets that are
    /// the first of one of them.
    pub(super) opens: &'a dyn Fn(f64, f64) -> f64,
    /// How long frames are.
    pub(super) frames: Frames,
    /// Hosts inside.
    pub(super) hosts: f64,
    /// Servers outside.
    pub(super) servers: f64,
}

impl Popularity<'_> {
    /// Classes by each of the [keys](super::KEYS).
    pub(super) fn by_key(&self) -> BTreeMap<String, Vec<Class>> {
        let hosts = self.dealt(self.hosts);
        let ends = mixed(&hosts, &self.dealt(self.servers));
        let by_key = [
            ("FiveTuple", self.ranked()),
            ("InsideAddress", hosts),
            ("SourceAddress", ends.clone()),
            ("DestinationAddress", ends),
        ];
        by_key.into_iter().map(|(key, cells)| (key.to_owned(), classes(&cells))).collect()
    }

    fn ranked(&self) -> Vec<Cell> {
        let cell = |(above, end): (f64, f64)| {
            let flows = (self.flows)(end) - (self.flows)(above);
            let share = (self.share)(end) - (self.share)(above);
            let opens = (self.opens)(flows, share);
            Cell { flows, share, opens, ..self.frames.of(share) }
        };
        steps(self.ranks).into_iter().map(cell).collect()
    }

    /// Addresses to which the flows are dealt out in turn. They outlive their flows, so they open
    /// never.
    fn dealt(&self, addresses: f64) -> Vec<Cell> {
        let cell = |(above, end): (f64, f64)| {
            let mut share = 0.0;
            let mut dealt = 0.0;
            while dealt + above < self.ranks {
                let to = (dealt + end).min(self.ranks);
                share += (self.share)(to) - (self.share)(dealt + above);
                dealt += addresses;
            }
            Cell { flows: end - above, share, ..self.frames.of(share) }
        };
        steps(addresses.min(self.ranks)).into_iter().map(cell).collect()
    }
}

/// From 0 to the last rank in the steps of bins and classes.
fn steps(ranks: f64) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    let mut above = 0.0;
    for end in class::ends().into_iter().filter(|end| *end < ranks).chain([ranks]) {
        if end > above {
            steps.push((above, end));
            above = end;
        }
    }
    steps
}

/// Addresses of both ends: half of the packets come from either.
fn mixed(hosts: &[Cell], servers: &[Cell]) -> Vec<Cell> {
    let half = |cell: &Cell| Cell {
        share: cell.share / 2.0,
        bytes: cell.bytes / 2.0,
        rests: cell.rests / 2.0,
        ..*cell
    };
    hosts.iter().chain(servers).map(half).collect()
}

fn classes(cells: &[Cell]) -> Vec<Class> {
    let mut cells = cells.to_vec();
    // Heaviest first; nine digits, so that equal ones stay in their order whatever the last bits
    // are.
    let rate = |cell: &Cell| class::nine_digits(cell.share / cell.flows);
    cells.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let cells = divided(&cells);
    named(&cells, &cut(&cells))
}
