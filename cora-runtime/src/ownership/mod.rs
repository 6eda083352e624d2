//! Ownership of flows and its changes: the protocol, without any I/O.
//!
//! Every packet enters at the NIC. The NIC has a record of each flow that it owns; the host owns
//! all others. Two first-in-first-out rings connect one NIC core and one host worker, and their
//! order is the whole protocol:
//!
//! ```text
//! punt      NIC   rolls back, Release(flow) Entry… Punt(packet)        → host owns, handles
//! offload   host  Offer(flow)                                          →
//!           NIC   holds the flow's packets,                 Fence      →
//!           host  has handled all before the fence: Transfer Entry…    →
//!           NIC   installs, runs held packets                            NIC owns
//! recall    host  Recall(flow)                                         →
//!           NIC   Release(flow) Entry…                                 → host owns
//! ```
//!
//! Either side may refuse. The NIC answers `Decline` to an offer that it has no room for. The host
//! sends `Withdraw` instead of `Transfer` if the flow gained or lost a key meanwhile, since packets
//! with the new key were not held. A NIC that can't install the flow after all sends everything
//! back as `Release`.
//!
//! A flow with many entries goes in parts ([`AT_ONCE`]). Packets of other flows run between its
//! entries, and its own wait at the NIC until the last entry has gone. No other flow leaves the
//! same side meanwhile. (From the NIC, flows of programs with durable states go at once.)
//!
//! # Order
//!
//! 1. *Within a flow.* Packets before the fence were passed on before it. Packets after it wait in
//!    one first-in-first-out queue until the transfer, and later packets wait behind them.
//! 2. *At the host, across flows.* A state pinned to the host may show the order in which flows
//!    reach it (which flow got which port). If a handler chooses the reply key of an entry that
//!    travels, a held packet may be about to make the key of a later packet of an unknown flow.
//!    Under a plan with such a state ([`PlanFacts::host_ordered`]), packets for the host wait
//!    behind held packets too. So the host sees packets in order of arrival, under every plan and
//!    every schedule.
//!
//! | module | concept |
//! | --- | --- |
//! | `nic` | the flows of the NIC |
//! | `host` | the flows of the host |
//! | `records` | records of flows |
//! | `lookup` | the known flow of a packet |
//! | `entries` | the entries of a flow, in all tables |
//! | `leaving` | a flow that leaves a side, in parts if it is large |
//! | `pacing` | number of entries between two bursts |
//! | `hold` | the queue of packets that wait for a handover |
//! | `bitmap` | occupancy bitmap of the records |
//! | [`Admission`] | conditions of the host's offers |
//!
//! [`PlanFacts::host_ordered`]: cora_core::app::PlanFacts::host_ordered

mod bitmap;
pub(crate) mod entries;
pub(crate) mod hold;
pub(crate) mod host;
mod leaving;
pub(crate) mod lookup;
pub(crate) mod nic;
mod pacing;
pub(crate) mod records;

#[cfg(test)]
#[path = "../../tests/counts/mod.rs"]
pub(crate) mod counts;
#[cfg(test)]
#[path = "../../tests/halves_support/mod.rs"]
pub(crate) mod halves_support;
#[cfg(test)]
pub(crate) mod said;

pub use host::admission::{Admission, Order};
pub use host::share_of;
pub use leaving::AT_ONCE;
pub use pacing::EntryPace;
