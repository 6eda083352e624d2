//! Processes, and what the system does to them.
//!
//! | module | contents |
//! | --- | --- |
//! | `child` | child processes: inherited files, and termination |
//! | `cores` | the processors of a shard |
//! | `log` | lines on standard error; failed writes are harmless |
//! | `sandbox` | the filter for system calls of the native NIC half |
//! | `signals` | the signals of a live run, and the threads that take them |
//! | `stack` | a thread with a stack for large values |

pub(crate) mod child;
pub(crate) mod cores;
pub(crate) mod log;
pub(crate) mod sandbox;
pub(crate) mod signals;
pub(crate) mod stack;
