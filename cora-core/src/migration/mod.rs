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
//! | [`flows`] | records of flows |
//! | `whose` | which of them a packet belongs to |
//! | `dispatch` | what the NIC does with a packet, by whose it is |
//! | `heads` | long frames that go to the host as their heads |
//! | `hold` | packets that wait |
//! | `announced` | keys of flows on their way |
//! | [`burst`] | packets that are handled together |
//! | [`engine`] | one packet through all handlers, atomically |
//! | [`nic`] | the NIC's half |
//! | `offered` | flows on their way to the NIC |
//! | `leaving` | flows with many entries that go bit by bit |
//! | [`reassemble`](mod@reassemble) | whole frames of heads whose rests a dead NIC left |
//! | `room` | flows that nobody uses give their places up |
//! | `taken` | which places have flows |
//! | [`Admission`] | which flows the host offers |
//! | [`host`] | the host's half: messages, offers, transfers |
//! | `host_burst` | the packets it runs, a burst at a time |
//! | `wire` | where packets leave the NIC |
//! | `version` | parts of read-mostly states' versions |
//! | `digest` | what tells two states of a half apart, for whoever explores them |
//! | `durable` | durable entries of flows: which side tells of them, what changed |
//! | `copied` | copies of durable entries at the host |
//! | [`standby`] | copies of durable entries, and how far they are behind |
//! | `lost` | the other side's process ended, and another will be started |
//!
//! [`PlanFacts::host_ordered`]: crate::app::PlanFacts::host_ordered

mod admission;
mod announced;
pub mod burst;
mod copied;
mod digest;
mod dispatch;
mod durable;
mod encoded;
pub mod engine;
mod entry_pace;
pub mod flows;
mod heads;
mod hold;
pub mod host;
mod host_burst;
mod leaving;
mod lost;
pub mod nic;
mod offered;
pub mod reassemble;
mod room;
pub mod standby;
mod taken;
mod version;
mod whose;
mod wire;

pub use admission::{Admission, Order};
pub use burst::{Arrival, Burst};
pub use engine::Engine;
pub use entry_pace::EntryPace;
pub use flows::Flows;
pub use heads::{LONG, rest_of};
pub use host::{HostHalf, share_of};
pub use leaving::AT_ONCE;
pub use nic::NicHalf;
pub use standby::{Copied, Holder, Reclaimed, Standby};

use crate::message::{Message, Stamp};
use crate::packet::Port;
use crate::sentence::Sentence;
use crate::state::table::Ending;

/// Offers that may be under way at a time.
pub const TICKETS: usize = 64;

/// Takes messages to the other side, in order. What it takes arrives: a ring that is full makes the
/// caller wait.
pub trait Outbox {
    /// Sends a message.
    fn send(&mut self, message: &Message<'_>);

    /// Sends a handled packet that leaves at `egress`.
    #[inline]
    fn leave(&mut self, stamp: &Stamp, egress: Port, frame: &[u8]) {
        self.send(&Message::Send(Stamp { egress, ..*stamp }, frame));
    }

    /// The other side should see what was sent so far now, while this one goes on: somebody waits
    /// for it.
    #[inline]
    fn show(&mut self) {}

    /// The handlers run the packet with this number now, or none: [`IDLE`]. It is noted where a run
    /// may have to name the packet in which a handler panicked.
    #[inline(always)]
    fn runs(&mut self, number: u64) {
        let _ = number;
    }

    /// At the host: an entry of the recorded state with this number ended, here or at the NIC.
    #[inline]
    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        let _ = (state, ending);
    }

    /// At the host: where copies of durable entries are kept, if they are. Whatever is sent after
    /// one was kept is published after that.
    fn standby(&mut self) -> Option<&mut dyn Standby> {
        None
    }
}

/// In place of a packet's number: the handlers run none.
pub const IDLE: u64 = u64::MAX;

/// The peer said something that the protocol does not allow here. The run can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A message of this kind has no place here.
    Unexpected(u16),
    /// Bytes of this kind of message encode no message.
    Undecodable(u16),
    /// A ticket that nothing was offered under.
    UnknownTicket(u32),
    /// An entry or a piece encodes nothing of the state with this number.
    BadPiece(u16),
    /// An entry is said to be as its copy says, and there is no copy of it.
    NoCopy(u16),
    /// A head came back whose rest is not here.
    NothingParked,
    /// Messages of this kind hold more than the program's states do.
    TooMuch(u16),
}

impl ProtocolError {
    /// What is wrong, in words.
    pub const fn sentence(&self) -> Sentence {
        let (texts, number): (&[&str], u64) = match *self {
            Self::Unexpected(kind) => (&["unexpected message of kind ", ""], kind as u64),
            Self::Undecodable(kind) => {
                (&["the bytes of a message of kind ", " are none"], kind as u64)
            }
            Self::UnknownTicket(ticket) => {
                (&["nothing was offered under ticket ", ""], ticket as u64)
            }
            Self::BadPiece(state) => {
                (&["bytes for state ", " are no contents of it"], state as u64)
            }
            Self::NoCopy(state) => (&["of an entry of state ", " there is no copy"], state as u64),
            Self::NothingParked => (&["of a frame's head that came back no rest is here"], 0),
            Self::TooMuch(kind) => {
                (&["messages of kind ", " hold more than the program's states do"], kind as u64)
            }
        };
        Sentence::new(texts, &[number])
    }
}

impl core::fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.sentence().fmt(f)
    }
}

impl core::error::Error for ProtocolError {}
