//! Real programs talk through a program of Cora's, and through the kernel in its place. The lab
//! compares their results, the captures and the connection tables.
//!
//! ```text
//! clients ──wire── middle ──wire── router ──far── servers   namespaces, each with a kernel stack
//!                    │
//!                    ├ Cora: supervisor, NIC process, host process; flows moved by chance
//!                    └ the kernel: ip_forward, conntrack, nftables
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`program`] | programs that run there, and end in time |
//! | [`conversations`] | TCP connections between two of them, every byte checked |
//! | [`site`] | the namespaces of a trial, their addresses and routes |
//! | [`function`] | the network functions, and the kernel's rules that do the same |
//! | [`limits`] | programs that hold sources to a limit, and nftables' rules of the same limit |
//! | [`sockets`] | servers with programs before their sockets, and without |
//! | [`middle`] | the box in the middle |
//! | [`checks`] | the programs' actions, and the results that they see |
//! | [`capture`] | captures on both sides of the middle, and the packets' fate in between |
//! | [`connections`] | connection tables, Cora's and the kernel's |
//! | [`verdict`] | both results beside each other, as a table and as JSON |
//! | [`trial`] | all of it |
//! | [`wires`] | frames a second on veth, beside DPDK and the kernel |
//!
//! Errors are sentences: the attempt, and its outcome.

pub mod capture;
pub mod checks;
pub mod connections;
pub mod conversations;
pub mod function;
pub mod limits;
pub mod middle;
pub mod program;
pub mod site;
pub mod sockets;
pub mod trial;
pub mod verdict;
pub mod wires;

/// A result, or the reason of a failure as a sentence.
pub type Result<T> = std::result::Result<T, String>;
