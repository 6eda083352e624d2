//! The host half and its NIC, in one process: a run on a capture.
//!
//! | module | contents |
//! | --- | --- |
//! | `back` | the host's channel to the NIC, with its queue |
//! | `capture_run` | one run, from the first frame to the report |
//! | `control_loop` | the controller of a run, and the execution of its decisions |
//! | `direct` | egress to the wire without a NIC |
//! | `merge` | the combined results of all pairs |
//! | `nic_process` | the NIC half's process, emulated or native: start and watch |
//! | `pair` | a pair of NIC core and host worker |
//! | `pairs` | a run on several of them |
//! | `received` | the NIC's other messages |
//! | `restart` | a NIC that died is followed by another one |
//! | `running` | the packet that the handlers run |
//! | `worker` | the host's half of the protocol, on its rings |

pub(crate) mod back;
pub(crate) mod capture_run;
pub(crate) mod control_loop;
pub(crate) mod direct;
pub(crate) mod merge;
pub(crate) mod nic_process;
pub(crate) mod pair;
pub(crate) mod pairs;
pub(crate) mod received;
pub(crate) mod restart;
pub(crate) mod running;
pub(crate) mod worker;
