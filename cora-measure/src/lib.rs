//! A program in memory: what measures it, apart from what runs it.
//!
//! A program that is built with the feature `measure` of `cora` has the `main` of this crate. It
//! knows the instruments below, and hands every other command on to the command line of
//! `cora-host`. A program without the feature has none of this linked into it.
//!
//! ```text
//! <program> bench --in a.pcap [--half HALF | --pairs N]   a pass over the capture per line of standard input
//! <program> trace --in a.pcap                             which ways packets take, of a build with the feature `trace`
//! <program> count --in a.pcap --half host|nic             with a mark between bursts, for an emulator that counts
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | `cli` | the instruments' command line |
//! | `traffic` | frames in memory |
//! | `replay` | how fast one half is; `bench` |
//! | `scaling` | how fast several pairs are |
//! | `punt` | how long a punt's round trip takes |
//! | `thread_time` | how long a thread ran |
//! | `throughput` | how many packets a second both halves handle together |
//! | `random_moves` | moves by chance, to test that results depend on no schedule; `run --moves random:SEED` |
//! | `migration` | what it costs that flows move |
//! | `adaptation` | both halves under changing traffic, with one controller or another |
//! | `in_memory` | both halves in this process, joined by a region |
//! | `instructions` | marks for an emulator that counts instructions; `count` |
//! | `paths` | which ways packets take through the handlers; `trace` |

mod adaptation;
mod cli;
mod in_memory;
mod instructions;
mod migration;
mod paths;
mod punt;
mod random_moves;
mod replay;
mod scaling;
mod thread_time;
mod throughput;
mod traffic;

pub use cli::{main, main_with};
pub use thread_time::ThreadTime;
