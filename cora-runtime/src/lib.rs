//! What a node of Cora does, on any side: it runs packets through handlers, owns flows, passes them
//! on, and keeps copies of what is durable. No I/O, no `std`.
//!
//! Two halves make a program: [`NicHalf`](nic_half::NicHalf), where every packet enters, and
//! [`HostHalf`](host_half::HostHalf). Each takes messages and packets and gives some; whoever runs
//! it brings rings, ports and a clock.
//!
//! | module | what |
//! | --- | --- |
//! | [`link`] | rings between processes that don't trust each other, and what travels on them |
//! | [`exec`] | packets through handlers, a burst at a time |
//! | [`ownership`] | who owns a flow, and how that changes |
//! | [`durability`] | copies that outlive the side that owns what they are of |
//! | [`telemetry`] | what a side sees of its own load |
//! | [`channel`] | the way to the other side, and what is wrong with what comes from there |
//! | [`nic_half`], [`host_half`] | the two halves |
//! | [`steering`] | which pair of NIC core and host worker a packet goes to |
#![cfg_attr(not(test), no_std)]

pub mod channel;
pub mod durability;
pub mod exec;
pub mod host_half;
pub mod link;
pub mod nic_half;
pub mod ownership;
mod state_hash;
pub mod steering;
pub mod telemetry;
