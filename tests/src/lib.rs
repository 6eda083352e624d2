//! What the tests of this package share: they build programs as a user would, by calling cargo, and
//! run them.
//!
//! | module | what |
//! | --- | --- |
//! | [`workshop`] | programs, built by cargo in a target directory of their own |
//! | [`process`] | commands that end in time, and what they leave behind |
//! | [`control`] | what a live run is asked |
//! | [`draw`] | numbers that follow from a seed |
//! | [`executable`] | programs and scripts that tests put in place and start |
//! | [`captures`] | captures, and replies sent to where a NAT or a balancer expects them |
//! | [`site`] | two networks and a program between them, whose halves may be killed |
//! | [`namespace`] | network namespaces, whose kernels talk through what is tested |
//! | [`conversations`] | TCP connections between two of them, every byte checked |
//! | [`altered`] | captures altered for a program |
//! | [`fragments`] | captures with packets in fragments |
//! | [`handshakes`] | connections that acknowledge the cookies of a SYN proxy |
//! | [`golden`] | results that are kept in files |
//! | [`well_formed`] | whether a text is well-formed XML |
//!
//! A helper that fails fails its test, with a sentence.
#![expect(clippy::missing_panics_doc, reason = "a helper that fails fails its test")]

pub mod altered;
pub mod captures;
pub mod control;
pub mod draw;
pub mod executable;
pub mod fragments;
pub mod golden;
pub mod handshakes;
pub mod process;
pub mod site;
pub mod well_formed;
pub mod workshop;

pub use cora_lab::conversations;
pub use cora_traffic::namespace;

/// A line for whoever runs the tests, also when they pass: the test harness keeps what `eprintln!`
/// says.
pub fn tell(text: &str) {
    use std::io::Write as _;
    // Nobody may be listening.
    let _told = writeln!(std::io::stderr(), "{text}");
}
