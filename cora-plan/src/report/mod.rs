//! What planning found, for people and for scripts.
//!
//! | module | what |
//! | --- | --- |
//! | [`facts`] | what is said, whatever it is said in |
//! | [`why`] | one sentence per state, handler, class |
//! | [`text`] | a page for the terminal, at most 100 columns |
//! | [`json`] | for scripts |
//! | [`html`] | one file that needs nothing else |
//! | [`explanation`] | why one thing is where it is |
//! | [`what_if`] | two plans beside each other |
//! | [`claim`] | many programs in one table |
//! | [`numbers`], [`words`] | how they are spelled |
//!
//! Pure functions from data to text. The same data give the same bytes; of a plan made twice only
//! the milliseconds of its search differ.

pub mod claim;
pub mod explanation;
pub mod facts;
pub mod html;
pub mod json;
pub mod numbers;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
pub mod what_if;
pub mod why;
pub mod words;

use crate::advice::curve::Series;
use crate::advice::sensitivity::Row;
use crate::graph::Graph;
use crate::nic::NicProfile;
use crate::planning::Planned;
use crate::statement::Statement;
use crate::traffic::Traffic;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The program.
    pub graph: &'a Graph,
    /// The profile that it was planned for.
    pub nic: &'a NicProfile,
    /// The traffic that it was planned for.
    pub traffic: &'a Traffic,
    /// What is stated of the plan. A place of line 0 was stated on the command line.
    pub statement: &'a Statement,
    /// What planning found.
    pub planned: &'a Planned,
    /// Hash of the sealed plan.
    pub hash: &'a str,
    /// Whether to say what the baselines would do.
    pub baselines: bool,
    /// On what path weights or instructions were measured; or why nothing was.
    pub measured: &'a str,
}

/// What planning again shows: for the page, which has room for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Host cores against throughput.
    pub curves: Vec<Series>,
    /// The plan under other traffic.
    pub sensitivity: Vec<Row>,
}
