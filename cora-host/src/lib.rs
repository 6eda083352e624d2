//! The runtime of the host half: it starts the NIC, plays the wire, handles what the NIC passes on,
//! and reports.
//!
//! A program's `main` is [`main`]; `cora::app!` writes it. Its command line:
//!
//! ```text
//! <program> run --in a.pcap [OPTIONS]                         on a capture
//! <program> run --live inside=PORT,outside=PORT [OPTIONS]    between two ports, until SIGINT; either half may die
//! <program> run --file run.toml [OPTIONS]                    as the file says: options are those of `options`
//! <program> graph | plan                                     the state-flow graph and the plan that it was built with, as JSON
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`capture`] | pcap and pcapng files: read and written |
//! | `capture_clock` | the run's time, from the stamps of a capture |
//! | `capture_notes` | what there was to say of a capture |
//! | `command` | the command line |
//! | `control_loop` | which controller decides about moves, when, and how it is obeyed |
//! | `nearest` | what somebody meant who mistyped a word |
//! | `options` | the one description of a run: command line, file, processes |
//! | `run_file` | a run's options in a file |
//! | `run` | one run, from the first frame to the report |
//! | `pair` | a pair of NIC core and host worker |
//! | `pairs` | a run on several of them |
//! | `account` | what all pairs leave behind, put together |
//! | `apart` | what pairs write shares no cache line |
//! | `child` | what processes that it starts get of it, and what ends them |
//! | `cores` | which processors a pair runs on |
//! | `nic_process` | starting the NIC half, emulated or native, and noticing when it dies |
//! | `sandbox` | which system calls the native NIC half may make |
//! | `progress` | how far a run is, for somebody who watches |
//! | `wire` | the capture at the NIC's wire |
//! | `wire_end` | the wire's end of a region |
//! | `back` | the host's way to the NIC, and what waits for it |
//! | `worker` | the host's half of the protocol, on its rings |
//! | `direct` | packets to the wire, where there is no NIC between |
//! | `clock` | the time of a live wire |
//! | [`room`](room()) | the memory that is left for a run |
//! | `log` | lines on standard error, which end nothing when they can't be written |
//! | `signals` | which signals a live run obeys, and who hears them |
//! | `ipfix` | records of entries that ended, to a file or a collector |
//! | `state_out` | the final state, in canonical order |
//! | `report` | what a run tells: table and JSON |
//! | `supervisor` | a live run whose halves may die at any time |
//! | `supply` | memory for the states |
//! | `pages` | which pages that is on |
//! | `map` | memory from the kernel |
//! | `futex` | waiting for the NIC, asleep |

// A line that can't be written ends nothing: `log` writes them all.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod account;
mod apart;
mod back;
pub mod capture;
mod capture_clock;
mod capture_notes;
mod child;
mod clock;
mod command;
mod control_loop;
mod copies;
mod cores;
mod direct;
mod error;
mod futex;
mod inside;
mod ipfix;
mod log;
mod map;
mod nearest;
mod nic_process;
mod options;
mod pages;
mod pair;
mod pairs;
mod progress;
mod report;
mod revive;
mod room;
mod run;
mod run_file;
mod running;
mod sandbox;
mod signals;
mod stack;
mod state_out;
mod supervisor;
mod supply;
mod tally;
mod versions;
mod wire;
mod wire_end;
mod worker;

pub use capture_notes::CaptureNotes;
pub use command::{command_line, fail, main, main_with, perform};
pub use control_loop::{AnyController, Controllers, Moves, NamedController};
pub use error::RunError;
pub use futex::SharedFutex;
pub use inside::{DEFAULT_INSIDE, Inside};
pub use ipfix::Records;
pub use map::{inherited_memory, shared_memory};
pub use nearest::read_command_line;
pub use options::{Run, RunOptions, configuration, pair_count, words};
pub use report::{Filled, RunReport, Side};
pub use room::{Room, room};
pub use stack::with_room_for;
pub use supply::memory_for_states;

/// The parts of a run, for `cora-measure`, which puts them together in another way: in one process,
/// with traffic from memory. What is measured so is what runs.
pub mod parts {
    pub use crate::apart::{Apart, Bytes, bytes as bytes_apart};
    pub use crate::back::Back;
    pub use crate::direct::Direct;
    pub use crate::pages::Pages;
    pub use crate::pair::{RING_BYTES, layout as region_layout};
    pub use crate::run::configure;
    pub use crate::supply::Supply;
    pub use crate::wire::{Reading, Source};
    pub use crate::worker::Worker;
}

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
