//! The words that both machines share: packet, key, verdict, state, ring and the protocol that
//! moves flows between the two sides. No policy, no I/O, no `std`.
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
//! | [`ring`] | the ring between two processes that don't trust each other |
//! | [`sentence`] | what a side says when it can't go on |
//! | [`steering`] | which pair of NIC core and host worker a packet goes to |
//! | [`region`] | what begins the shared memory |
//! | [`message`] | what travels on the ring |
//! | [`monitor`] | what a side sees of its own load |
//! | [`migration`] | who owns a flow, and how that changes |
//! | [`outcome`] | one named outcome per packet |
//! | [`prefetch`] | asking the cache for what is read soon |
//! | [`app`] | a whole program, as the runtimes see it |
//! | [`trace`] | what a packet does, for whoever measures |
#![cfg_attr(not(test), no_std)]

pub mod app;
pub mod hash;
pub mod key;
pub mod mac;
pub mod message;
pub mod migration;
pub mod monitor;
pub mod outcome;
pub mod packet;
pub mod plain;
pub mod prefetch;
pub mod record;
pub mod region;
pub mod ring;
pub mod sentence;
pub mod state;
pub mod steering;
pub mod tcp;
pub mod timeouts;
pub mod trace;
pub mod verdict;
