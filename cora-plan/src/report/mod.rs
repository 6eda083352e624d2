//! Results of planning, for users and scripts.
//!
//! | module | contents |
//! | --- | --- |
//! | [`facts`] | contents, in any format |
//! | [`why`] | one sentence per state, handler, class |
//! | [`text`] | a page for the terminal, at most 100 columns |
//! | [`json`] | for scripts |
//! | [`html`] | a single self-contained file |
//! | [`messages`] | flows of messages, and whether their order depends on the plan |
//! | [`explanation`] | the explanation of one subject |
//! | [`what_if`] | two plans beside each other |
//! | [`claim`] | many programs in one table |
//! | `plot` | host cores over throughput, as SVG |
//! | [`numbers`], [`words`] | their spelling |
//!
//! Pure functions from data to text. The same data give the same bytes; two runs of planning differ
//! only in the milliseconds of the search.

pub mod claim;
pub mod explanation;
pub mod facts;
pub mod html;
pub mod json;
pub mod messages;
pub mod numbers;
pub(crate) mod plot;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub mod text;
pub mod what_if;
pub mod why;
pub mod words;

use crate::graph::Graph;
use crate::nic::NicProfile;
use crate::optimise::Planned;
use crate::statement::Statement;
use crate::traffic::Traffic;
use crate::what_if::curve::Series;
use crate::what_if::sensitivity::Row;

/// Inputs of a report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The program.
    pub graph: &'a Graph,
    /// The planned NIC profile.
    pub nic: &'a NicProfile,
    /// The planned traffic.
    pub traffic: &'a Traffic,
    /// The statement about the plan. A place with line 0 comes from the command line.
    pub statement: &'a Statement,
    /// The result of planning.
    pub planned: &'a Planned,
    /// Hash of the sealed plan.
    pub hash: &'a str,
    /// Whether to report the baselines.
    pub baselines: bool,
    /// The traffic of the measured path weights or instructions, or the reason that there is none.
    pub measured: &'a str,
}

/// Results of further planning, for the HTML page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Host cores over throughput.
    pub curves: Vec<Series>,
    /// The plan under other traffic.
    pub sensitivity: Vec<Row>,
}
