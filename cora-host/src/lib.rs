//! The runtime of the host half: it starts the NIC, implements the wire, handles the packets that
//! the NIC forwards, and reports.
//!
//! A program's `main` is [`main`], called by `cora::app!`. Its command line:
//!
//! ```text
//! <program> run --in a.pcap [OPTIONS]                         on a capture
//! <program> run --live inside=PORT,outside=PORT [OPTIONS]     between two ports, until SIGINT;
//!                                                             either half may die
//! <program> run --file run.toml [OPTIONS]                     with the options of a file
//! <program> graph | plan                                      the built-in state-flow graph or
//!                                                             plan, as JSON
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`capture`] | reading and writing of pcap and pcapng files |
//! | `capture_clock` | the run time, from the stamps of a capture |
//! | `capture_notes` | irregularities of a capture |
//! | `command` | the command line |
//! | `control_loop` | the controller of a run, and the execution of its decisions |
//! | `nearest` | suggestions for mistyped words |
//! | `options` | the options of a run: command line, file, processes |
//! | `run_file` | a run's options in a file |
//! | `run` | one run, from the first frame to the report |
//! | `pair` | a pair of NIC core and host worker |
//! | `pairs` | a run on several of them |
//! | `account` | the combined results of all pairs |
//! | `apart` | cache padding for data of different pairs |
//! | `child` | child processes: inherited files, and termination |
//! | `cores` | the processors of a pair |
//! | `nic_process` | the NIC half's process, emulated or native: start and watch |
//! | `sandbox` | the filter for system calls of the native NIC half |
//! | `progress` | progress of a run, for a user at a terminal |
//! | `wire` | a capture as the NIC's wire |
//! | `wire_end` | the wire's end of a region |
//! | `back` | the host's channel to the NIC, with its queue |
//! | `worker` | the host's half of the protocol, on its rings |
//! | `direct` | egress to the wire without a NIC |
//! | `clock` | the time of a live wire |
//! | [`room`](room()) | the memory available to a run |
//! | `log` | lines on standard error; failed writes are harmless |
//! | `signals` | the signals of a live run, and the threads that take them |
//! | `ipfix` | records of ended entries, to a file or a collector |
//! | `state_out` | the final state, in canonical order |
//! | `report` | the report of a run: table and JSON |
//! | `supervisor` | a live run; either half may die at any time |
//! | `supply` | memory for the states |
//! | `pages` | the page sizes of that memory |
//! | `map` | memory from the kernel |
//! | `futex` | waiting for the NIC, asleep |

// A line that can't be written must not end anything: `log` writes them all.
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
mod received;
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

/// Parts of a run for `cora-measure`, which combines them in one process with traffic from memory.
/// So measurements use the production code.
pub mod parts {
    pub use crate::apart::{Apart, Bytes, bytes as bytes_apart};
    pub use crate::back::{Back, RING_BYTES};
    pub use crate::direct::Direct;
    pub use crate::pages::Pages;
    pub use crate::pair::layout as region_layout;
    pub use crate::run::configure;
    pub use crate::supply::Supply;
    pub use crate::wire::{Reading, Source};
    pub use crate::worker::Worker;
}

/// A program, as passed by `cora::app!`.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The NIC half for BlueField's Arm cores, an ELF executable; built with `--features nic`.
    pub nic_image: Option<&'static [u8]>,
    /// The NIC half for this machine: serves the region in the first `length` bytes of a file.
    pub native_nic: fn(fd: i32, length: usize) -> i32,
    /// The state-flow graph.
    pub graph_json: &'static str,
    /// The plan.
    pub plan_json: &'static str,
}
