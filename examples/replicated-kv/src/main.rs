//! # replicated-kv: a key-value store on three nodes
//!
//! As iPipe has it: Multi-Paxos decides the order of commands, and a log-structured merge tree has
//! the values. Its memtable is in objects and travels with its Paxos group; its sorted tables, and
//! the merging of these, are at the host.
//!
//! | module | contents |
//! | --- | --- |
//! | `wire` | datagrams of clients and nodes |
//! | `nodes` | the three nodes |
//! | `replica` | a node's part in a group: messages and ticks |
//! | `acceptor` | promises, and the log |
//! | `leader` | candidates and leaders |
//! | `learner` | the state machine: chosen commands in order |
//! | `memtable` | a skip list in objects |
//! | `tables`, `shelf` | the sorted tables |
//!
//! Try it:  `cargo cora run replicated-kv --messages udp:127.0.0.1:7001 --config Nodes=node0.txt`,
//! with a line `me 0` in the file, and the same for 7002 and 7003.
//!
//! Expect:  a group is one flow; it moves with its log, its leader's state and its memtable.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

mod acceptor;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod history;
mod leader;
mod learner;
mod memtable;
mod nodes;
mod replica;
#[cfg(not(target_os = "none"))]
mod shelf;
mod tables;
mod wire;

cora::app!(replica::replica, replica::wake, learner::learner, learner::kept, tables::tables);
