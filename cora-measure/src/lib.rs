//! A program in memory: instruments that measure it, apart from the code that runs it.
//!
//! A program that is built with the feature `measure` of `cora` has the `main` of this crate. It
//! knows the instruments below, and hands every other command on to the command line of
//! `cora-host`. A program without the feature has none of this linked into it.
//!
//! ```text
//! <program> bench --in a.pcap [--half HALF | --shards N]   a pass per line of standard input
//! <program> trace --in a.pcap                             ways of packets; needs feature `trace`
//! <program> count --in a.pcap --half host|nic             marks between bursts, for an emulator
//! <program> nodes --in a.pcap --node A --config S=f …     nodes that talk to each other, in memory
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | `cli` | the instruments' command line |
//! | `cores` | a core for each of several threads |
//! | `traffic` | frames in memory |
//! | `replay` | speed of one half; `bench` |
//! | `scaling` | speed of several shards |
//! | `punt` | round trip of a punt |
//! | `thread_time` | processor time of a thread, and of a process |
//! | `throughput` | packets a second that both halves handle together |
//! | `dealt` | both halves at once, each with its own buckets, against each by itself |
//! | `random_moves` | random moves: results depend on no schedule; `run --moves random:SEED` |
//! | `migration` | cost of moving flows |
//! | `nodes` | several nodes of a program with messages, and a client; `nodes` |
//! | `adaptation` | both halves under changing traffic, with one controller or another |
//! | `in_memory` | both halves in this process, joined by a region |
//! | `instructions` | marks for an emulator that counts instructions; `count` |
//! | `paths` | ways of packets through the handlers; `trace` |

mod adaptation;
mod cli;
mod cores;
mod dealt;
mod in_memory;
mod instructions;
mod migration;
mod nodes;
mod paths;
mod punt;
mod random_moves;
mod replay;
mod scaling;
mod thread_time;
mod throughput;
mod traffic;

pub use cli::{main, main_with};
pub use thread_time::{ProcessTime, ThreadTime};
