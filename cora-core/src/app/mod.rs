//! A program as the runtimes see it: a chain of handlers, and the states that they use.
//!
//! `#[flow_handler]` implements [`Handler`]. The file that the build script writes to `OUT_DIR`
//! implements [`App`] and its groups. A program names none of them.
//!
//! | module | group |
//! | --- | --- |
//! | `states` | the states, by number |
//! | `lifecycle` | how states begin, get their versions, and how their entries end |
//! | `prefetch` | the prefetch stages before a packet's turn |
//! | `transaction` | a packet's run as a transaction |
//! | `transfer` | what moves between the sides, and what outlives one |
//! | `handler` | one handler |
//! | `hook` | hooks and timers, which run at their time |
//! | `plan` | facts of the plan |
//! | `traced` | a run that notes its steps |
//! | `by_hand` | all groups of a program that is written by hand |

mod by_hand;
mod handler;
mod hook;
mod lifecycle;
mod plan;
mod prefetch;
mod states;
mod traced;
mod transaction;
mod transfer;

pub use handler::{Handler, Nth, Takes};
pub use hook::{Hook, Timer, next_due};
pub use lifecycle::Lifecycle;
pub use plan::{FlowTableFacts, PlanFacts, Sides};
pub use prefetch::Prefetch;
pub use states::States;
pub use traced::Traced;
pub use transaction::Transaction;
pub use transfer::Transfer;

use crate::bucket::BucketsBy;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::state::Reach;
use crate::verdict::Verdict;

/// A whole program.
pub trait App: Prefetch + Transaction + Transfer + Lifecycle {
    /// The name of the program's package.
    const NAME: &'static str;
    /// The program's plan.
    const PLAN: PlanFacts;
    /// The handlers, in the order of the chain: the name, and the numbers of the states that its
    /// parameters after the packet refer to.
    const HANDLERS: &'static [(&'static str, &'static [u16])] = &[];
    /// Whether any handler reads packets, or any state finds entries by them. If not, a packet is
    /// parsed only where its flow matters.
    const READS_PACKETS: bool = true;
    /// Whether no handler reads more of a packet than its [headers](crate::packet::Headers). The
    /// host may then get only the heads of long frames.
    const HEADS: bool = false;
    /// Whether any handler may send packets besides the one that it handles, or messages.
    const SENDS: bool = false;
    /// Whether any handler takes messages.
    const MESSAGES: bool = false;
    /// The names of the handlers that take messages, in the order of the chain.
    const TAKERS: &'static [&'static str] = &[];
    /// What decides the bucket of a packet. Where the port at one end does, and that end is a
    /// [service](crate::state::Row::services), the other end does: whoever opened the connection.
    const BUCKETS_BY: BucketsBy = BucketsBy::Group;
    /// Whether packets need their [mark](crate::packet::Meta::mark): ports decide buckets, or a
    /// state is divided by bucket.
    const MARKED: bool = false;
    /// The number of the handler among [`Self::TAKERS`] that takes this packet as a message.
    #[inline(always)]
    fn taker(packet: &Packet<'_>) -> Option<u8> {
        let _ = packet;
        None
    }

    /// Whether the packet is a message that is handled where it comes, at either side: its handler
    /// reaches no entry of a flow.
    #[inline(always)]
    fn is_anywhere(packet: &Packet<'_>) -> bool {
        let _ = packet;
        false
    }

    /// Runs the chain of handlers once, as if they were devices cabled in a row: from first to last
    /// for a packet from inside, from last to first for one from outside. It continues while each
    /// handler returns [`Transmit`](crate::verdict::Transmit). A message is handled by the handler
    /// that takes it, alone.
    /// What handlers send besides goes to `out`.
    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict;
}
