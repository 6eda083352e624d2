//! Both halves of Cora in one process, under schedulers that choose the next step.
//!
//! A seed determines the whole run: the packets, their requests to the program, the order in which
//! the sides are served, and the planted faults. A failing run reports its seed, and that seed
//! fails again.
//!
//! | module | concept |
//! | --- | --- |
//! | [`apps`] | programs as the attributes would generate them |
//! | [`traffic`] | packets, and the results of a run on the host alone |
//! | `history` | a run one by one, which the host alone replays |
//! | [`hot`] | paced packets, of flows with changing popularity |
//! | [`frames`] | the packets' bytes |
//! | [`chaos`] | one seed after another |
//! | [`checker`] | all interleavings of a small scenario |
//! | [`runtime`] | the whole runtime on real rings, with faults |
//! | [`dealt`] | halves that each receive their own buckets, which move between them |
//! | [`queues`] | both halves joined by message queues, which can be sabotaged |
//! | [`link`] | the message queues |
//! | [`link_chaos`] | the link between host and card, on a network with faults |
//! | [`strangers`] | a NAT under kills: answers must reach only their clients |
//! | [`result`] | results of a run, and the difference of two runs |
//! | [`random`] | seeded random numbers |
//! | `replicas` | replicas of durable entries |
//! | `halves` | creation of halves |
//! | `nic_core` | a NIC half in its run loop |
//! | `words` | memory of rings, and processes that die between two stores |
//! | [`tell_runs`] | events of a run, line by line, for replays |
//! | `memory` | memory for the halves, freed after a run |
#![allow(
    missing_docs,
    reason = "programs and frames by hand, for the simulator's own tests: their modules say what they are"
)]
#![allow(clippy::missing_panics_doc, reason = "a simulator that is itself broken may panic")]

pub mod apps;
pub mod chaos;
pub mod checker;
pub mod dealt;
pub mod frames;
mod halves;
mod history;
pub mod hot;
pub mod link;
pub mod link_chaos;
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
