//! An operator's questions about entries and flows of a live run, and orders for them.
//!
//! A thread of the supervisor's process asks the host half of each shard, on two rings in shared
//! memory, and the host half asks its NIC half. Each question is about some places of one table,
//! and the host half answers a few places between two of its rounds: a dump of a large table costs
//! the packets little, however long it takes. Decoding, filters and JSON are the thread's, so the
//! wire waits for none of it.
//!
//! Entries come and go, and flows move, while a table is listed. An entry that was there all the
//! time and did not move is listed once.
//!
//! | module | contents |
//! | --- | --- |
//! | `line` | the two rings of a host half |
//! | `caller` | the supervisor's end of them: a question, and its answers |
//! | `walk` | the tables of a run in order, and where a listing stopped |
//! | `question` | questions and orders, as they are asked |
//! | `filter` | which entries are meant |
//! | `row` | an entry as JSON, with the reason for its place |
//! | `packet` | packets that are asked for, and how they are told |
//! | `entries` | the entries that a packet finds, and the effects of its run |
//! | `rehearsal` | a packet's run on copies of states |
//! | `tracing` | packets on their way through the handlers |
//! | `events` | the log's lines about orders |
//! | `lost` | losses of a tap |
//! | `tapping` | copies of packets, as a capture |
//! | `watching` | one of the two, under way |
//! | `answers` | answers about entries, and orders |
//! | `values` | values of states without keys |
//! | `inspector` | the thread |

mod answers;
mod caller;
mod entries;
mod events;
mod filter;
pub(crate) mod inspector;
pub(crate) mod line;
mod lost;
mod packet;
pub(crate) mod question;
mod rehearsal;
mod row;
mod tapping;
mod tracing;
mod values;
mod walk;
mod watching;
