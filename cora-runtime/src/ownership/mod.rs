//! Who owns a flow, and how that changes: the protocol, without any I/O.
//!
//! Every packet enters at the NIC. The NIC's [`Flows`] say which flows it owns; absence means the
//! host. Between one NIC core and one host worker run two first-in-first-out rings, and the order
//! of the rings is the whole protocol:
//!
//! ```text
//! punt      NIC   rolls back, Release(flow) Entry… Punt(packet)        → host owns, handles
//! offload   host  Offer(flow)                                          →
//!           NIC   holds the flow's packets,                 Fence      →
//!           host  has handled all before the fence: Transfer Entry…    →
//!           NIC   installs, runs what it held                            NIC owns
//! recall    host  Recall(flow)                                         →
//!           NIC   Release(flow) Entry…                                 → host owns
//! ```
//!
//! Either side may say no: the NIC answers `Decline` to an offer that it has no room for; the host
//! sends `Withdraw` instead of `Transfer` when the flow gained or lost a key meanwhile (packets
//! with the new key were not held); a NIC that can't install after all sends everything back as
//! `Release`.
//!
//! A flow with many entries goes bit by bit ([`AT_ONCE`]): packets of others run between its
//! entries, and those of its own wait at the NIC until the last one has gone. No other flow leaves
//! the same side meanwhile. (From the NIC, flows of programs with durable states go in one piece.)
//!
//! # Order
//!
//! 1. *Within a flow.* Packets before the fence were passed on before it; packets after it wait in
//!    one first-in-first-out queue until the transfer, and packets behind those wait behind them.
//! 2. *At the host, across flows.* A state pinned to the host may show the order in which flows
//!    reach it (who got which port). And where a handler chooses the reply key of an entry that
//!    travels, a packet that waits may be about to make the key that a later packet of an unknown
//!    flow bears. Under a plan with such a state ([`PlanFacts::host_ordered`]), whatever is bound
//!    for the host waits behind held packets too, so the host sees packets in the order of their
//!    arrival, under every plan and every schedule.
//!
//! | module | concept |
//! | --- | --- |
//! | [`records`] | records of flows |
//! | `lookup` | which of them a packet belongs to |
//! | `dispatch` | what the NIC does with a packet, by its flow's owner |
//! | `pending_keys` | keys of flows on their way |
//! | `offload` | flows on their way to the NIC |
//! | `handover` | flows with many entries that go bit by bit |
//! | `pacing` | how many entries of a flow go at a time |
//! | `eviction` | flows that nobody uses give their places up |
//! | `bitmap` | which places have flows |
//! | [`Admission`] | which flows the host offers |
//! | `version` | parts of read-mostly states' versions |
//!
//! [`PlanFacts::host_ordered`]: cora_core::app::PlanFacts::host_ordered

pub(crate) mod admission;
pub(crate) mod bitmap;
pub(crate) mod dispatch;
pub(crate) mod encode;
pub(crate) mod eviction;
pub(crate) mod handover;
pub(crate) mod lookup;
pub(crate) mod offload;
pub(crate) mod pacing;
pub(crate) mod pending_keys;
pub mod records;
pub(crate) mod version;

pub use admission::{Admission, Order};
pub use handover::AT_ONCE;
pub use pacing::EntryPace;
pub use records::Flows;
