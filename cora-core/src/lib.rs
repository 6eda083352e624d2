//! The words that a program uses, on both machines: packet, key, verdict, state, record. No policy,
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
//! | module | what |
//! | --- | --- |
//! | [`packet`] | a frame, its headers, its metadata; reading and rewriting |
//! | [`key`] | five-tuple and coarser keys |
//! | [`mac`] | pairs of Ethernet addresses as a key |
//! | [`verdict`] | transmit, drop with a named reason, pass, redirect |
//! | [`tcp`] | the states of a TCP connection, as a middlebox sees them |
//! | [`timeouts`] | how long a connection may be silent, by protocol and state |
//! | [`plain`] | data that may stand in a state |
//! | [`record`] | what is told of an entry that ended |
//! | [`state`] | tables, singletons, commutative and read-mostly states |
//! | [`sentence`] | what a side says when it can't go on |
//! | [`outcome`] | one named outcome per packet |
//! | [`prefetch`] | asking the cache for what is read soon |
//! | [`app`] | a whole program, as the runtimes see it |
//! | [`trace`] | what a packet does, for whoever measures |
#![cfg_attr(not(test), no_std)]

pub mod app;
pub mod hash;
pub mod key;
pub mod mac;
pub mod outcome;
pub mod packet;
pub mod plain;
pub mod prefetch;
pub mod record;
pub mod sentence;
pub mod state;
pub mod tcp;
pub mod timeouts;
pub mod trace;
pub mod verdict;
