//! The runtime of the host half: it starts the NIC, plays the wire, handles what the NIC passes on, and
//! reports.
//!
//! A program's `main` is [`main`]; `cora::app!` writes it. Its command line:
//!
//! ```text
//! <program> run --nic off|emulated|native [--pairs N] --in a.pcap [--out b.pcap] [--json] [--state-out f.json]
//!               [--config State=file]… [--inside prefix,…] [--pages 4k|thp|hugetlb] [--moves plan|adapt[:log]|random:SEED]
//!               [--ipfix FILE|udp:HOST:PORT]
//! <program> run --live inside=PORT,outside=PORT [--seconds N]    until SIGINT; either half may die
//! <program> bench --in a.pcap [--pairs N]    how fast it is in memory, a pass per line of standard input
//! <program> trace | count        what `cargo cora measure` asks for
//! <program> graph | plan         the state-flow graph and the plan that it was built with, as JSON
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`capture`] | pcap and pcapng files: read, written, compared flow by flow |
//! | [`census`] | what flows a capture holds |
//! | `command` | the command line |
//! | `trace` | which ways packets take through the handlers |
//! | `count` | the program in memory, with a mark between bursts |
//! | `bench` | the program in memory |
//! | `punts` | how long a punt's round trip takes |
//! | `moves` | what it costs that flows move |
//! | `in_memory` | both halves in this process, for those who measure them |
//! | `throughput` | how many packets a second both halves handle together |
//! | `adapt` | both halves under changing traffic, with one conductor or another |
//! | `scale` | the program in memory, on several pairs |
//! | [`conductor`] | who decides which flows move |
//! | `run` | one run, from the first frame to the report |
//! | `pair` | a pair of NIC core and host worker |
//! | `pairs` | a run on several of them |
//! | `account` | what all pairs leave behind, put together |
//! | `apart` | what pairs write shares no cache line |
//! | `cores` | which processors a pair runs on |
//! | `nic_process` | starting the NIC half, emulated or native, and noticing when it dies |
//! | `progress` | how far a run is, for somebody who watches |
//! | `wire` | the capture at the NIC's wire |
//! | `wire_end` | the wire's end of a region |
//! | `worker` | the host's half of the protocol, on its rings |
//! | `ipfix` | records of entries that ended, to a file or a collector |
//! | `state_out` | the final state, in canonical order |
//! | `report` | what a run tells: table and JSON |
//! | `supervisor` | a live run whose halves may die at any time |
//! | `supply` | memory for the states |
//! | `pages` | which pages that is on |
//! | `map` | memory from the kernel |
//! | `thread_time` | how long a thread ran |
//! | `futex` | waiting for the NIC, asleep |

mod account;
mod adapt;
mod apart;
mod bench;
pub mod capture;
pub mod census;
mod command;
pub mod conductor;
mod copies;
mod cores;
mod count;
mod error;
mod futex;
pub mod heads;
mod in_memory;
mod inside;
mod ipfix;
mod map;
mod moves;
mod nic_process;
mod pages;
mod pair;
mod pairs;
mod progress;
mod punts;
mod report;
mod revive;
mod run;
mod scale;
mod state_out;
mod supervisor;
mod supply;
mod tally;
mod thread_time;
mod throughput;
mod trace;
mod versions;
mod wire;
mod wire_end;
mod worker;

pub use command::{main, main_with};
pub use error::RunError;
pub use futex::SharedFutex;
pub use inside::Inside;
pub use ipfix::Records;
pub use map::{inherited_memory, shared_memory};
pub use report::{RunReport, Side};
pub use supply::memory_for_states;
pub use thread_time::ThreadTime;

/// A program, as `cora::app!` hands it over.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The NIC half for BlueField's Arm cores, an ELF executable; built with `--features nic`.
    pub nic_image: Option<&'static [u8]>,
    /// The NIC half for this machine: serves the region in the first bytes of a file.
    pub native_nic: fn(fd: i32, length: usize) -> i32,
    /// The state-flow graph.
    pub graph_json: &'static str,
    /// The plan.
    pub plan_json: &'static str,
}
