//! Real programs talk through a program of Cora's, and then through the kernel in its place: what
//! they, captures and connection tables say is compared.
//!
//! ```text
//! clients ──wire── middle ──wire── router ──far── servers        namespaces, each with the kernel's own stack
//!                    │
//!                    ├ Cora: supervisor, NIC process, host process; flows moved by chance
//!                    └ the kernel: ip_forward, conntrack, nftables
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`program`] | programs that run there, and end in time |
//! | [`conversations`] | TCP connections between two of them, every byte checked |
//! | [`site`] | the namespaces of a trial, their addresses and routes |
//! | [`function`] | the network functions, and the kernel's rules that do the same |
//! | [`limits`] | programs that hold sources to a limit, and nftables' rules of the same limit |
//! | [`middle`] | what stands in the middle |
//! | [`checks`] | what programs do, and what they see of it |
//! | [`capture`] | captures on both sides of the middle, and what happened to packets in between |
//! | [`connections`] | connection tables, Cora's and the kernel's |
//! | [`verdict`] | both results beside each other, as a table and as JSON |
//! | [`trial`] | all of it |
//! | [`wires`] | frames a second on veth, beside DPDK and the kernel |
//!
//! Errors are sentences: what was tried, and what came of it.

pub mod capture;
pub mod checks;
pub mod connections;
pub mod conversations;
pub mod function;
pub mod limits;
pub mod middle;
pub mod program;
pub mod site;
pub mod trial;
pub mod verdict;
pub mod wires;

/// Why something can't be had here.
pub type Result<T> = std::result::Result<T, String>;
