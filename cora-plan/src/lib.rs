//! The state-flow graph as data, the plan that places it, and pictures of both.
//!
//! ```
//! use cora_plan::{Graph, Plan, Statement, decide};
//!
//! let graph = Graph::new("firewall");
//! let statement = Statement::parse("[plan]\nuse = \"split\"\n").expect("a statement");
//! let decision = decide::run(&graph, &statement).expect("nothing to refuse");
//! let plan = Plan::seal(decision, &graph, 0);
//! assert_eq!(plan.name, "split");
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`words`] | kind, place, sides |
//! | [`graph`] | handlers, states, and who touches what |
//! | [`ahead`] | which tables are looked up ahead of a packet's turn |
//! | [`statement`] | what the user says about the plan: `cora.toml`, or a plan's name |
//! | [`decide`] | graph + statement → decision, or everything that speaks against it |
//! | [`plan`] | a sealed decision: with the hash that both binaries carry |
//! | [`document`] | reading TOML with lines: all faults at once |
//! | [`figure`] | a number with its source |
//! | [`nic`] | NIC profiles: what a NIC and its host can do, and what it costs |
//! | [`traffic`] | traffic profiles: classes of flows by rate |
//! | [`demand`] | which ways packets take through the handlers, how often, and how long they are |
//! | [`model`] | what an allocation costs, and how far it goes |
//! | [`search`] | the best allocation, with its proof |
//! | [`planning`] | all of it in a row, and the baselines |
//! | [`advice`] | what another choice would cost, and what would have to change for it |
//! | [`report`] | all of it for people and scripts: text, JSON, HTML |
//! | [`picture`] | DOT, Mermaid, SVG |
//!
//! Everything is ordered: the same graph and statement give the same bytes.
#![forbid(unsafe_code)]
#![allow(
    clippy::cast_precision_loss,
    reason = "counts of flows, packets and bytes are far below 2^53"
)]

pub mod advice;
pub mod ahead;
pub mod decide;
pub mod demand;
pub mod document;
pub mod figure;
pub mod graph;
pub mod model;
mod nearest;
pub mod nic;
pub mod picture;
pub mod plan;
pub mod planning;
pub mod report;
#[cfg(test)]
mod sample;
pub mod search;
pub mod statement;
pub mod traffic;
pub mod words;

pub use decide::{Decision, PlanError};
pub use graph::Graph;
pub use nearest::nearest;
pub use plan::Plan;
pub use statement::{Statement, StatementError};
pub use words::{Kind, Place, Sides};
