//! The vocabulary of a program, for both machines: packet, key, verdict, state, record. No policy,
//! no I/O, no `std`.
//!
//! ```
//! use cora_core::verdict::{Drop, Transmit, Verdict, reasons::NotAllowed};
//!
//! fn handler(allowed: bool) -> Verdict {
//!     if !allowed {
//!         return Drop(NotAllowed);
//!     }
//!     Transmit
//! }
//! assert!(handler(true).is_ok());
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`packet`] | a frame, its headers, its metadata; reading and rewriting |
//! | [`key`] | five-tuple, pair of Ethernet addresses, and coarser keys |
//! | [`verdict`] | transmit, drop with a named reason, pass, redirect |
//! | [`conntrack`] | the states of a TCP connection, as a middlebox sees them |
//! | [`timeouts`] | idle times of connections, by protocol and state |
//! | [`plain`] | plain data, which may be stored in a state |
//! | [`short`] | its short form, for the wire |
//! | [`bytes`] | text or bytes of varying length, as plain data |
//! | [`record`] | records of ended entries |
//! | [`config`] | configuration files, as states read them |
//! | [`state`] | tables, objects, singletons, commutative and read-mostly states |
//! | [`sentence`] | fatal errors as text, without `core::fmt` |
//! | [`message`] | messages, which handlers take and send |
//! | [`outbox`] | what handlers send besides the packet that they handle |
//! | [`outcome`] | one named outcome per packet |
//! | [`prefetch`] | prefetch of cache lines |
//! | [`app`] | a whole program, as the runtimes see it |
//! | [`trace`] | a trace of a packet's run, for measurements |
#![cfg_attr(not(test), no_std)]

#[cfg(not(target_os = "none"))]
extern crate alloc;

pub mod app;
pub mod bucket;
pub mod bytes;
pub mod config;
pub mod conntrack;
pub mod hash;
pub mod key;
pub mod message;
pub mod outbox;
pub mod outcome;
pub mod packet;
pub mod plain;
pub mod prefetch;
pub mod record;
pub mod sentence;
pub mod short;
pub mod state;
pub mod timeouts;
pub mod timer;
pub mod trace;
pub mod verdict;
