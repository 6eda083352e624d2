//! The runtime of the host half: it starts the NIC, implements the wire, handles the packets that
//! the NIC forwards, and reports.
//!
//! A program's `main` is [`main`], called by `cora::app!`. Its command line:
//!
//! ```text
//! <program> run --in a.pcap [OPTIONS]                         on a capture
//! <program> run --live inside=PORT,outside=PORT [OPTIONS]     between ports, until SIGINT
//! <program> run --file run.toml [OPTIONS]                     with the options of a file
//! <program> graph | plan                                      the built-in state-flow graph or
//!                                                             plan, as JSON
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `cli` | the command line |
//! | `attach` | programs at sockets: the client's end of an agent |
//! | `tenants` | an agent: the ports of a NIC, shared by attached programs |
//! | `card` | a card at the other end of a wire: the processes at both ends |
//! | `options` | the options of a run: command line, file, processes |
//! | `run` | the runs of a program: on a capture, between ports |
//! | `supervisor` | shards of halves; either half may die at any time |
//! | `node` | the host half, in its process |
//! | `control` | an operator's requests to a live run |
//! | `inspect` | its questions about entries and flows |
//! | [`ingress`] | frames in and out |
//! | `durability` | replicas of durable entries and singletons |
//! | `observe` | reports, records, states, progress |
//! | `process` | processes, signals, sandbox |
//! | `memory` | memory from the kernel |
//! | `spelling` | what was meant by a mistyped word |

// A line that can't be written must not end anything: `log` writes them all.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod attach;
mod card;
mod cli;
mod control;
mod durability;
mod error;
#[cfg(test)]
mod golden;
pub mod ingress;
mod inspect;
mod memory;
mod node;
mod observe;
mod options;
mod process;
mod run;
mod spelling;
mod supervisor;
mod tenants;

pub use card::agent::serve_as_card;
pub use cli::{command_line, main, main_with, perform};
pub use error::RunError;
pub use ingress::capture_notes::CaptureNotes;
pub use ingress::inside::{DEFAULT_INSIDE, Inside};
pub use memory::futex::SharedFutex;
pub use memory::map::{inherited_memory, shared_memory};
pub use memory::room::{Room, room};
pub use memory::supply::memory_for_states;
pub use node::control_loop::{AnyController, Controllers, NamedController};
pub use observe::ipfix::Records;
pub use observe::print::fail;
pub use observe::report::{Filled, RunReport, Side};
pub use options::nearest::read_command_line;
pub use options::{Moves, Run, RunOptions, configuration, shard_count, words};
pub use process::log::utc;
pub use process::stack::{stack_for, with_room_for};
pub use tenants::{
    AgentArguments, AgentReport, TenantReport, ask as ask_agent, serve as serve_tenants,
};

/// Parts of a run for `cora-measure`, which combines them in one process with traffic from memory,
/// and for `cora-bench`, which joins both ends of a link. So measurements use the production code.
pub mod parts {
    pub use crate::card::settings as link_settings;
    pub use crate::card::turn::Turns;
    pub use crate::card::watch::Watch;
    pub use crate::card::wire::{Party, Wire};
    pub use crate::ingress::capture::{Reading, Source};
    pub use crate::ingress::door::{Door, Services};
    pub use crate::ingress::rows::Rows;
    pub use crate::memory::cache_padded::{Apart, Bytes, bytes as bytes_apart};
    pub use crate::memory::given_back::GivenBack;
    pub use crate::memory::lent_outbox::LentOutbox;
    pub use crate::memory::pages::Pages;
    pub use crate::memory::supply::Supply;
    pub use crate::node::back::{Back, RING_BYTES};
    pub use crate::node::board::{Board, bytes as board_bytes};
    pub use crate::node::direct::Direct;
    pub use crate::node::exchange::Exchange;
    pub use crate::node::half::{configure, region_layout};
    pub use crate::node::worker::Worker;
    pub use crate::options::peer::Peer;
    pub use crate::tenants::Agent;
}

pub use cora_runtime::node::{Inherited, NicFiles, Order};

/// A program, as passed by `cora::app!`.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The NIC half for BlueField's Arm cores, an ELF executable; built with `--features nic`.
    pub nic_image: Option<&'static [u8]>,
    /// The NIC half for this machine: serves the regions of a file.
    pub native_nic: fn(files: NicFiles) -> i32,
    /// The same for many NIC halves in one process, as it is told; `None` unless the build has
    /// checked that the program may share one.
    pub native_halves: Option<fn(next: &mut dyn FnMut() -> Order)>,
    /// The state-flow graph.
    pub graph_json: &'static str,
    /// The plan.
    pub plan_json: &'static str,
}
