//! Classes of messages: those of one handler are a class. A class with messages that take much
//! longer now and then waits behind the bursts, so that the others need not wait for it.
//!
//! ```text
//! burst   arrivals and their cascades, first come, first served;
//!         those of a class that waits go to its mailbox
//! behind  one round: each class that has messages gets its quantum, and runs
//!         while its deficit covers the mean of its messages
//! ```
//!
//! One message in seventeen is timed. A class with a tail (mean and three deviations) over the
//! limit waits from then on; under 0.8 of the limit it does no longer. This is iPipe's hybrid of
//! first come, first served and deficit round robin (Liu et al., SIGCOMM 2019, algorithm 1).
//!
//! # Order
//!
//! Hold queue and mailbox are one queue per flow. A message of a flow of which some wait in a
//! mailbox joins them there, of whichever class it is, so each flow handles what it got in order.
//! Messages that wait at a NIC half are of flows that it owns. If such a flow leaves, they go
//! to the [hold queue](crate::ownership) first, and behind it to the host. A flow for which
//! messages wait at the host stays there. So no other rule about the ways between the sides is
//! needed than that for held packets.
//!
//! | module | concept |
//! | --- | --- |
//! | `piece` | the memory of a message that waits |
//! | `books` | the costs of messages |
//! | `mailbox` | the messages of a class that wait, and for which flows |
//! | `round` | deficit round robin |
//! | `push` | classes whose flows go to the host, since the NIC has too much to do |

mod books;
mod mailbox;
mod piece;
mod push;
mod round;

use cora_core::app::{App, Sides};
use cora_core::key::{Key, PacketKey as _};
use cora_core::packet::Packet;

pub use books::TIMED;
pub(crate) use mailbox::{Classes, Wanted};
pub(crate) use piece::{NO_PLACE, Piece, Pieces, Queue};

/// Most classes that are told apart; later handlers share the last.
pub const CLASSES: usize = 64;

/// Places for the flows of a side that has no numbers for them. Flows that share a place are one
/// queue.
pub(crate) const PLACES: usize = 4096;

/// The costs of messages beyond which their class is treated apart (ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The tail of the messages that are served as they come: a class beyond it waits in its
    /// mailbox.
    pub tail: u64,
    /// The time of a round of those that wait, which delays the others.
    pub round: u64,
    /// The mean of a message's time at the NIC, waiting included: beyond it, flows of the class
    /// with the most work go to the host.
    pub mean: u64,
}

impl Limits {
    /// All messages are served as they come, wherever their flows are.
    pub const NONE: Self = Self { tail: u64::MAX, round: 0, mean: u64::MAX };
}

/// Mistakes that tests plant, to see that they would be noticed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Which flows have messages in mailboxes.
    ForgetsFlows,
    /// Messages for a flow that leaves stay where they are.
    LeavesMail,
}

/// Whether messages of the program may wait in mailboxes. They may not where the order across flows
/// or their time counts: hooks and timers, merges, and plans whose host handles packets in order of
/// arrival.
pub(crate) const fn may_wait<A: App>() -> bool {
    let in_order = A::PLAN.host_ordered && matches!(A::PLAN.sides, Sides::Split);
    let is_timed = !A::HOOKED.is_empty() || A::TIMERS || A::MERGED;
    A::MESSAGES && !is_timed && !in_order && !matches!(A::PLAN.sides, Sides::Dealt)
}

/// The place of a packet's flow, for a side that has no numbers for flows.
#[inline]
pub(crate) fn place_of<A: App>(packet: &Packet<'_>) -> Option<usize> {
    A::Group::of_packet(packet).ok().map(|group| place_of_key(&group))
}

/// The place of the flow with this group key.
#[inline]
pub(crate) fn place_of_key(group: &impl Key) -> usize {
    let mixed = group.words().iter().fold(0_u64, |mixed, word| {
        (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    mixed as usize % PLACES
}
