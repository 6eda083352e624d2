//! The evaluation protocol: what plans save over strong baselines, over all rates that a wire
//! carries.
//!
//! 1. Tables get room for all entries that stand at the full wire, if their declared capacity is
//!    smaller (`tables`). Idle times stay as declared.
//! 2. At [`STEPS`] rates from 5 to 100 % of the wire every way to split the program is planned
//!    (`way`). A rate at which host-only would drop for want of memory is refused, with its reason.
//! 3. A row is contested if the card alone can't carry its rate, the host behind a plain NIC can,
//!    and needs a whole core for it (`row`). Only contested rows count in a summary (`summary`).
//! 4. Some numbers of the profile are known to an order of magnitude only. Their effect is shown at
//!    the middle of the contested band (`ranges`).
//!
//! `json`, `page` and `curves` write the results. Everything is a prediction of the model, and the
//! same on every machine.

mod curves;
mod json;
mod page;
mod ranges;
mod row;
mod summary;
mod tables;
#[cfg(test)]
mod tests;
mod way;

pub use curves::draw as curves;
pub use json::write as json;
pub use page::{not_dealt, ranges as ranges_table, sentence, sized, table};
pub use ranges::{Ranges, Varied};
pub use row::{Band, Refused, Row};
pub use summary::{Gain, Highest, Summary};
pub use tables::Sized;
pub use way::{Cores, Way};

use crate::nic::{NicProfile, Port};
use crate::placement;
use crate::statement::Statement;
use crate::traffic::Traffic;
use crate::vocabulary::Sides;
use crate::what_if::Case;

/// Number of rates.
pub const STEPS: u32 = 20;

/// Host cores at which the highest rates are compared.
pub const HOST_CORES: [u32; 3] = [1, 2, 4];

/// The traffics: a campus whose flows follow the rate, Zipf's law with as many openings, the same
/// in frames of 64 bytes, and connections of twenty packets to a thousand clients.
pub const TRAFFICS: [&str; 4] = [
    "campus",
    "imix",
    "zipf:flows=1000000,churn=0.012658",
    "zipf:flows=1000,s=0.99,bytes=195.9,churn=0.05",
];

/// The results of one program under one traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Name of the program.
    pub program: String,
    /// Name of the traffic profile.
    pub traffic: String,
    /// Highest rate of the wire, in million packets a second.
    pub wire_mpps: f64,
    /// Tables that got another capacity than declared.
    pub tables: Vec<Sized>,
    /// Why the program can't be dealt, one sentence each; empty if it can.
    pub not_dealt: Vec<String>,
    /// Rates that were planned.
    pub rows: Vec<Row>,
    /// Rates that host-only would drop packets at.
    pub refused: Vec<Refused>,
    /// Highest rates with given host cores.
    pub highest: Vec<Highest>,
    /// Over the contested band; `None` if no rate is contested.
    pub summary: Option<Summary>,
    /// At the middle of the contested band.
    pub ranges: Option<Ranges>,
}

/// Runs the protocol for a program and a traffic.
///
/// # Errors
/// A sentence, if the NIC's profile has no wire.
pub fn run(case: &Case) -> Result<Sheet, String> {
    with(case, STEPS, &HOST_CORES)
}

/// The same at so many rates, and for these numbers of host cores.
fn with(case: &Case, steps: u32, host_cores: &[u32]) -> Result<Sheet, String> {
    let wire_mpps = wire(&case.nic, &case.traffic)?;
    let (case, tables) = tables::sized(case, wire_mpps);
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for step in 1..=steps {
        match row::at(&case, wire_mpps * f64::from(step) / f64::from(steps)) {
            Ok(row) => rows.push(row),
            Err(refusal) => refused.push(refusal),
        }
    }
    let most = rows.last().map_or(0.0, |row| row.mpps);
    let summary = summary::of(&rows);
    let ranges = summary.as_ref().map(|summary| ranges::at(&case, summary.middle_mpps));
    Ok(Sheet {
        program: case.graph.app.clone(),
        traffic: case.traffic.name.clone(),
        wire_mpps,
        not_dealt: undealt(&case),
        tables,
        highest: summary::highest(&case, host_cores, most),
        rows,
        refused,
        summary,
        ranges,
    })
}

/// The refusals of a plan that deals the program's buckets.
fn undealt(case: &Case) -> Vec<String> {
    let refused = placement::run(&case.graph, &Statement::of(Sides::Dealt)).err();
    refused.into_iter().flatten().map(|error| error.to_string()).collect()
}

/// Packets a second that the wire and the card's switch carry, in millions.
fn wire(nic: &NicProfile, traffic: &Traffic) -> Result<f64, String> {
    let Some(port) = &nic.port else {
        return Err(format!(
            "the profile `{}` has no `[port]`, so no rate is the wire's; add its `gbps` and `mpps`",
            nic.name
        ));
    };
    let bits = traffic.classes("FiveTuple").iter();
    let bytes: f64 = bits.map(|class| class.share * Port::on_wire(class.mean_bytes)).sum();
    Ok((port.gbps.value * 1e3 / 8.0 / bytes).min(port.mpps.value))
}
