//! The state-flow graph as data, the plan that places it, and pictures of both.
//!
//! ```
//! use cora_plan::{Graph, Plan, Statement, placement};
//!
//! let graph = Graph::new("firewall");
//! let statement = Statement::parse("[plan]\nuse = \"split\"\n").expect("a statement");
//! let placement = placement::run(&graph, &statement).expect("nothing to refuse");
//! let plan = Plan::seal(placement, &graph, 0);
//! assert_eq!(plan.name, "split");
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`vocabulary`] | kind, place, sides |
//! | `json`, `number` | how values and numbers are written |
//! | [`graph`] | handlers, states, and their accesses |
//! | [`ahead`] | tables to prefetch before a packet's turn |
//! | [`statement`] | the user's statements about the plan: `cora.toml`, or a plan's name |
//! | [`placement`] | graph + statement → the place of each state, or all faults |
//! | [`plan`] | a sealed placement, with the hash that both binaries carry |
//! | [`toml`] | a TOML reader with line numbers: all faults at once |
//! | [`figure`] | a number with its source |
//! | [`nic`] | NIC profiles: capacities and costs of a NIC and its host |
//! | [`traffic`] | traffic profiles: classes of flows by rate |
//! | [`demand`] | routes of packets through the handlers, their frequency and their instructions |
//! | [`model`] | the cost of an allocation, and its highest rate |
//! | [`search`] | the best allocation, with its proof |
//! | [`optimise`] | the search for a plan, and the baselines |
//! | [`protocol`] | the evaluation protocol: what plans save over strong baselines |
//! | [`what_if`] | the cost of another choice, and the change that would cause it |
//! | [`report`] | results for users and scripts: text, JSON, HTML |
//! | [`picture`] | DOT, Mermaid, SVG |
//!
//! Everything is ordered: the same graph and statement give the same bytes.
#![forbid(unsafe_code)]
#![allow(
    clippy::cast_precision_loss,
    reason = "counts of flows, packets and bytes are far below 2^53"
)]

pub mod ahead;
pub mod demand;
pub mod figure;
pub mod graph;
mod json;
pub mod model;
mod nearest;
pub mod nic;
pub mod number;
pub mod optimise;
pub mod picture;
pub mod placement;
pub mod plan;
pub mod protocol;
pub mod report;
#[cfg(test)]
mod sample;
pub mod search;
pub mod statement;
pub mod toml;
pub mod traffic;
pub mod vocabulary;
pub mod what_if;

pub use graph::Graph;
pub use nearest::nearest;
pub use placement::{Placement, PlanError};
pub use plan::Plan;
pub use statement::{Statement, StatementError};
pub use vocabulary::{Kind, Place, Sides};
