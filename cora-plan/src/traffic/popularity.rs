//! Distribution of packets over ranked flows, and over the addresses of their ends.
//!
//! Built-in profiles define it for flows; no publication says it for addresses. So it is defined
//! here: flows are dealt round robin, in the order of their rank, to the hosts inside and to the
//! servers outside (host `j` of `H` has the flows of rank `j`, `j + H`, `j + 2 H` …). Half of the
//! packets go in each direction. `cora-traffic` generates captures of the same names by the same
//! rule.

use std::collections::BTreeMap;

use super::Class;
use super::class::{self, Cell, cut, divided, named};
use super::frames::Frames;

/// Ranked flows. Ranks count from 1, and may be fractions if flows are averages.
pub(super) struct Popularity<'a> {
    /// The last rank.
    pub(super) ranks: f64,
    /// Share of all packets in the flows up to a rank.
    pub(super) share: &'a dyn Fn(f64) -> f64,
    /// Number of concurrent flows up to a rank.
    pub(super) flows: &'a dyn Fn(f64) -> f64,
    /// For a number of concurrent flows with a share of all packets: the share of all packets that
    /// open one of them.
    pub(super) opens: &'a dyn Fn(f64, f64) -> f64,
    /// Mean seconds that flows last, by their mean length in packets, if flows come and go with
    /// the rate.
    pub(super) seconds: Option<&'a dyn Fn(f64) -> f64>,
    /// Lengths of frames.
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
        by_key.into_iter().map(|(key, cells)| (key.to_owned(), self.classes(&cells))).collect()
    }

    fn ranked(&self) -> Vec<Cell> {
        let cell = |(above, end): (f64, f64)| {
            let flows = (self.flows)(end) - (self.flows)(above);
            let share = (self.share)(end) - (self.share)(above);
            let opens = (self.opens)(flows, share);
            let packets = if opens > 0.0 { share / opens } else { 0.0 };
            let lives = self.seconds.map_or(0.0, |seconds| opens * seconds(packets));
            Cell { flows, share, opens, lives, ..self.frames.of(share) }
        };
        steps(self.ranks).into_iter().map(cell).collect()
    }

    /// Addresses that the flows are dealt to. They outlive their flows, so they never open.
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

    fn classes(&self, cells: &[Cell]) -> Vec<Class> {
        let mut cells = cells.to_vec();
        // Heaviest first; rounded to nine digits, so that equal ones keep their order regardless of
        // the last bits.
        let rate = |cell: &Cell| class::nine_digits(cell.share / cell.flows);
        cells.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        let cells = divided(&cells);
        named(&cells, &cut(&cells), self.seconds.is_some())
    }
}

/// Intervals from 0 to the last rank, by the ends of bins and classes.
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

/// Addresses of both ends, each the source of half of the packets.
fn mixed(hosts: &[Cell], servers: &[Cell]) -> Vec<Cell> {
    let half = |cell: &Cell| Cell {
        share: cell.share / 2.0,
        bytes: cell.bytes / 2.0,
        rests: cell.rests / 2.0,
        ..*cell
    };
    hosts.iter().chain(servers).map(half).collect()
}
