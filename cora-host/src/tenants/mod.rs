//! An agent: the ports of a NIC, shared by programs that are [attached](crate::attach).
//!
//! ```text
//!            ┌ its packets → queue ─ turn ─→ wire ring → NIC half → wire ring ─ gate ┐
//! port ─ book┤                                                                      ├→ port
//!            └ all others ──────────────────────────────────────────────────────────┘
//! ```
//!
//! A tenant gets the packets of its addresses, and no others; it sends from these addresses, or to
//! them. Its queue, its rings and its memory are its own: when they are full, that is its loss
//! alone. Its NIC half is a process without rights ([`process`]), which works in turns of its own.
//! Turns are given by deficit round robin over the time that they took ([`rounds`]): of that the
//! kernel's clock of the process tells, so no tenant has more of the processor than its share by
//! working outside of its turn. One that hangs is ended.
//!
//! | module | concept |
//! | --- | --- |
//! | [`agent`] | the agent's loop |
//! | `command` | its options, and its life |
//! | `book` | the tenant of each address, and of fragments |
//! | `gate` | the frames that a tenant may send |
//! | `image` | a process with the NIC halves of many tenants |
//! | `listener` | the socket at which programs are attached |
//! | `process` | the process of a NIC half: its rights, its limits, its clock |
//! | `program` | the file of a program: that it needs no loader |
//! | `queue` | packets of a tenant that wait for its turn |
//! | `rounds` | the order of turns, and their lengths |
//! | `status` | the counts of tenants, for an operator |
//! | `tenant` | a program that is attached |
//! | `turn` | its turns |
//! | `worker` | the process that works for a tenant |

pub(crate) mod agent;
mod book;
mod command;
mod gate;
mod image;
mod listener;
mod process;
mod program;
mod queue;
mod rounds;
mod status;
mod tenant;
mod turn;
mod worker;

pub use agent::Agent;
pub use command::{AgentArguments, serve};
pub use status::{AgentReport, TenantReport, ask};
