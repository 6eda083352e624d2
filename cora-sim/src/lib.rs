//! Both halves of Cora in one process, under schedulers that decide who goes next.
//!
//! Everything that a run does follows from its seed: which packets come, what they ask of the
//! program, in which order the sides are served, what is broken on purpose. A failing run tells its
//! seed, and that seed fails again.
//!
//! | module | concept |
//! | --- | --- |
//! | [`apps`] | programs as the attributes would write them |
//! | [`traffic`] | packets, and what a run on the host alone makes of them |
//! | [`hot`] | packets at a pace, of flows whose popularity changes |
//! | [`frames`] | the packets' bytes |
//! | [`chaos`] | one seed after another |
//! | [`checker`] | all interleavings of a small scenario |
//! | [`runtime`] | the whole runtime on real rings, with faults |
//! | [`queues`] | message by message over queues, which can be sabotaged |
//! | [`link`] | those queues |
//! | [`strangers`] | a NAT whose sides are killed: who hears which answer |
//! | [`result`] | what a run leaves behind, and how two differ |
//! | [`random`] | repeatable randomness |
//! | `replicas` | replicas of durable entries |
//! | `halves` | makes halves |
//! | `nic_core` | a NIC half in its run loop |
//! | `words` | memory of rings, and processes that die between two stores |
//! | [`tell_runs`] | what happens, line by line, for replays |
//! | `memory` | memory for the halves, given back after a run |
#![allow(
    missing_docs,
    reason = "programs and frames by hand, for the simulator's own tests: their modules say what they are"
)]
#![allow(clippy::missing_panics_doc, reason = "a simulator that is itself broken may panic")]

pub mod apps;
pub mod chaos;
pub mod checker;
pub mod frames;
mod halves;
pub mod hot;
pub mod link;
mod memory;
mod nic_core;
pub mod queues;
pub mod random;
mod replicas;
pub mod result;
pub mod runtime;
mod shelf;
mod story;
pub mod strangers;
pub mod traffic;
mod words;

pub use story::tell_runs;
