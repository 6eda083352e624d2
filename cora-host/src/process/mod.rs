//! Processes, and what the system does to them.
//!
//! | module | contents |
//! | --- | --- |
//! | `child` | child processes: inherited files, and termination |
//! | `cores` | the processors of a shard |
//! | `inquiry` | questions of a run to its card, by way of the relay |
//! | `log` | the log: parts, levels, places, limits, and the words of other processes |
//! | `nic_half` | the processes that are a NIC half, or in the place of one |
//! | `notify` | messages to a service manager about a live run |
//! | `sandbox` | the filter for system calls of the native NIC half |
//! | `signals` | the signals of a live run, and the threads that take them |
//! | `stack` | a thread with a stack for large values |

pub(crate) mod child;
pub(crate) mod cores;
pub(crate) mod inquiry;
pub(crate) mod log;
pub(crate) mod nic_half;
pub(crate) mod notify;
pub(crate) mod sandbox;
pub(crate) mod signals;
pub(crate) mod stack;
