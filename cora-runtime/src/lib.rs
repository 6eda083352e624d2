//! A node of Cora, on any side. It runs packets through handlers, owns flows, hands them over, and
//! keeps replicas of durable state. No I/O, no `std`.
//!
//! A program has two halves: [`NicHalf`](nic_half::NicHalf), where packets enter, and
//! [`HostHalf`](host_half::HostHalf). Each consumes and produces packets and messages. The
//! surrounding runtime supplies rings, ports and a clock.
//!
//! | module | concept |
//! | --- | --- |
//! | [`link`] | rings between processes that don't trust each other, and their messages |
//! | [`exec`] | runs packets through handlers, burst by burst |
//! | `cascade` | messages that handlers send, and what they bring about |
//! | [`classes`] | messages whose handler takes long wait behind the bursts |
//! | [`ownership`] | who owns a flow, and how that changes |
//! | [`dealing`] | buckets that move between shards |
//! | [`durability`] | replicas that outlive the owner of the state |
//! | `hooks` | hooks of expired entries, under a plan with two sides |
//! | `merges` | commutative states that handlers read as of the last merge |
//! | [`telemetry`] | the load of a side, measured by itself |
//! | `questions` | entries listed, removed and moved for an operator |
//! | [`tap`] | copies of chosen packets for an operator |
//! | [`channel`] | the outbox to the other side, and protocol errors |
//! | [`nic_half`], [`host_half`] | the two halves |
//! | [`node`] | the run loop of a NIC core |
//! | [`steering`] | choice of the pair of NIC core and host worker for a packet |
#![cfg_attr(not(test), no_std)]

mod cascade;
pub mod channel;
pub mod classes;
pub mod dealing;
pub mod durability;
pub mod exec;
mod hooks;
pub mod host_half;
pub mod link;
mod merges;
pub mod nic_half;
pub mod node;
pub mod ownership;
mod questions;
mod state_hash;
pub mod steering;
pub mod tap;
pub mod telemetry;

pub use cascade::TOO_MANY_MESSAGES;
