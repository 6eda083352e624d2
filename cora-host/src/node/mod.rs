//! The host half: its process beside a NIC, or its work without one.
//!
//! | module | contents |
//! | --- | --- |
//! | `back` | the host's channel to the NIC, with its queue |
//! | `beating` | a store of replicas that shows that its host lives |
//! | `board` | where the hosts of several shards exchange their parts of a merge |
//! | `catch_up` | records that a dead host left unread |
//! | `control_loop` | the controller of a shard, and the execution of its decisions |
//! | `direct` | egress to the wire without a NIC |
//! | `exchange` | the exchange of merges between the hosts of several shards |
//! | `half` | the host half, with the first version of its read-mostly states |
//! | `host_page` | the page shared by supervisor and host |
//! | `host_process` | the host half as a process |
//! | `questions` | an operator's questions and orders, and packets that are tapped |
//! | `received` | the NIC's other messages |
//! | `regions` | the regions of a host half, one after the other |
//! | `results` | the account of both sides at the end |
//! | `running` | the packet that the handlers run |
//! | `worker` | the host's half of the protocol, on its rings |

pub(crate) mod back;
mod beating;
pub(crate) mod board;
mod catch_up;
pub(crate) mod control_loop;
pub(crate) mod direct;
pub(crate) mod exchange;
pub(crate) mod half;
pub(crate) mod host_page;
pub(crate) mod host_process;
mod questions;
pub(crate) mod received;
mod regions;
pub(crate) mod results;
pub(crate) mod running;
pub(crate) mod worker;
