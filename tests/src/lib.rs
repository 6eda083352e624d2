//! Helpers that the tests of this package share. They build programs as a user would, with cargo,
//! and run them.
//!
//! | module | contents |
//! | --- | --- |
//! | [`workshop`] | programs, built by cargo in a target directory of their own |
//! | [`process`] | commands with a time limit, and their output |
//! | [`control`] | requests to a live run |
//! | [`live_run`] | live runs, as an operator has them |
//! | [`served`] | programs that take messages, at a UDP socket |
//! | [`draw`] | numbers that follow from a seed |
//! | [`executable`] | programs and scripts that tests put in place and start |
//! | [`cases`] | programs on traffic with known outcomes, run in every way |
//! | [`captures`] | captures, and replies sent to the addresses that a NAT or a balancer expects |
//! | [`shared_nic`] | an agent between two networks, and programs that are attached there |
//! | [`site`] | two networks and a program between them; either half can be killed |
//! | [`machines`] | a host, and a card that is another machine |
//! | [`agent`] | the agent of such a card |
//! | [`card_site`] | a program on such a card, between a client and a server |
//! | [`accounts`] | counts in the report of a run |
//! | [`namespace`] | network namespaces; their kernels talk through the tested program |
//! | [`conversations`] | TCP connections between two of them, every byte checked |
//! | [`watch`] | how long the slowest of them stands still |
//! | [`altered`] | captures altered for a program |
//! | [`fragments`] | captures with packets in fragments |
//! | [`handshakes`] | connections that acknowledge the cookies of a SYN proxy |
//! | [`ipfix`] | IPFIX messages, read by the RFC |
//! | [`pcapng`] | the packets of a tap, and the comment of each |
//! | [`golden`] | results that are kept in files |
//! | [`well_formed`] | whether a text is well-formed XML |
//!
//! A helper that fails fails its test, with a sentence.
#![expect(clippy::missing_panics_doc, reason = "a helper that fails fails its test")]

pub mod accounts;
pub mod agent;
pub mod altered;
pub mod captures;
pub mod card_site;
pub mod cases;
pub mod control;
pub mod draw;
pub mod executable;
pub mod fragments;
pub mod golden;
pub mod handshakes;
pub mod ipfix;
pub mod live_run;
pub mod machines;
pub mod pcapng;
pub mod process;
pub mod served;
pub mod shared_nic;
pub mod site;
pub mod watch;
pub mod well_formed;
pub mod workshop;

pub use cora_lab::conversations;
pub use cora_traffic::namespace;

/// Prints a line to the user, also if the tests pass. The test harness captures `eprintln!`.
pub fn tell(text: &str) {
    use std::io::Write as _;
    // The stream may be closed.
    let _told = writeln!(std::io::stderr(), "{text}");
}
