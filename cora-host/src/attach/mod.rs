//! Programs at sockets: a server's program runs at an agent, which has the ports of a NIC.
//!
//! ```text
//! client: supervisor ── host half                 agent: ports, one turn after the other
//!    │ news          │ punt, back                    │ wire rings
//!    └───────────────┼──── control connection ───────┤
//!                    └───────────────────────── NIC half (confined, started by the agent)
//! ```
//!
//! The control connection is the attachment. Its first packet has the memory of the run, the file
//! of the program, and the server's sockets: from these the agent reads the addresses, so nobody
//! attaches to an address that he does not hold. When the connection closes, packets pass by.
//!
//! | module | concept |
//! | --- | --- |
//! | `address` | where packets are for: `udp:ADDRESS:PORT` |
//! | `proof` | a socket as the proof that its address is held |
//! | `letter` | the messages on the control connection |
//! | `rooms` | many NIC halves of a program in one process, each in a room of its own |
//! | `stub` | the client's process in the place of the NIC half |

pub(crate) mod address;
pub(crate) mod letter;
pub(crate) mod proof;
pub(crate) mod rooms;
pub(crate) mod stub;
