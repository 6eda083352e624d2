//! Messages: typed values that handlers take in place of a packet, and send to one another.
//!
//! A message comes in a UDP datagram, or a handler sends it. Messages with one key are a flow: they
//! are handled one at a time, in order, where the flow's entries are. Inside Cora, a sent message
//! is a frame like any other, at a [port](SENT) that no run has. So rings, queues and moves treat
//! both alike.
//!
//! | module | contents |
//! | --- | --- |
//! | `envelope` | what accompanies a message: the time, and who asks |
//! | `peer` | the two ends of a datagram, and the frame of one |
//! | `sent` | the frame of a message that a handler sends |
//! | `text` | protocols that a program reads and writes itself |
//! | `flow` | the key of a program's flows, if it takes messages |

mod envelope;
mod flow;
mod peer;
mod sent;
mod text;

pub use envelope::Envelope;
pub use flow::{FlowOf, Flows};
pub use peer::{Destination, NobodyAsked, Peer};
pub use sent::{ELSEWHERE, MOST_HOPS, SENT, TooManyHops, delay_of, is_of_messages, sent_id};
pub use text::{Compose, Parse, Text};

pub(crate) use peer::datagram;
#[cfg(test)]
pub(crate) use peer::tests::question;
pub(crate) use sent::{MOST_DELAY, frame};

use crate::key::{Key, protocol};
use crate::packet::Packet;
use crate::plain::Plain;
use crate::short::{ShortReader, ShortWriter};
use crate::verdict::reasons::Malformed;
use crate::verdict::{Drop, Reason, Verdict, fnv1a};

/// A message, as declared by `#[message]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "declare it with `#[message]`, or `#[message(udp)]` if it comes or leaves in datagrams"
)]
pub trait Message: Plain {
    /// The name of the type.
    const NAME: &'static str;
    /// The type of its key; [`One`](crate::key::One) for a message without one.
    type Key: Key;
    /// Whether it has a key. Without one, each message is a flow of its own.
    const KEYED: bool;
    /// What sent messages are told apart by: a number made of the name.
    const ID: u32 = fnv1a(Self::NAME.as_bytes());

    /// The verdict on a datagram that can't be read.
    const UNREAD: Verdict = Drop(Malformed);

    /// Its key.
    fn key(&self) -> Self::Key;

    /// Reads it from a datagram. Only one with a wire form comes in datagrams.
    ///
    /// # Errors
    /// The reason that the datagram is no such message.
    #[inline]
    fn of_datagram(datagram: &[u8]) -> Result<Self, Reason> {
        let _ = datagram;
        Err(Malformed)
    }
}

/// A message with a wire form, as declared by `#[message(udp)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no wire form, so it can't leave in a datagram",
    label = "stays inside the program",
    note = "declare it with `#[message(udp)]`, or `send` it to the handler that takes it"
)]
pub trait Wired: Message {
    /// Writes it as the contents of a datagram.
    fn write(&self, out: &mut ShortWriter<'_>);
}

/// A message that a handler of the program takes. `#[flow_handler]` implements it.
#[diagnostic::on_unimplemented(
    message = "no handler takes a `{Self}`",
    label = "nobody would get it",
    note = "write a handler that takes it, or `reply` and `send_to` if it leaves in a datagram"
)]
pub trait Taken: Message {}

/// The key of a message, for generated code; `None` if it has none.
#[inline(always)]
pub fn key<M: Message>(message: &M) -> Option<M::Key> {
    M::KEYED.then(|| message.key())
}

/// The message of a datagram in Cora's wire form: the short form, and nothing behind it.
///
/// # Errors
/// `malformed` if the datagram is no such message.
#[inline]
pub fn read_short<M: Plain>(datagram: &[u8]) -> Result<M, Reason> {
    let mut from = ShortReader::new(datagram);
    M::get_short(&mut from).filter(|_| from.is_at_end()).ok_or(Malformed)
}

/// The message that a packet is or carries, for generated code. The verdict on a datagram that is
/// no such message is [`Message::UNREAD`].
///
/// # Errors
/// The reason that it is none.
// A result of another type would be a copy of the message.
#[inline]
pub fn receive<M: Message>(packet: &Packet<'_>) -> Result<M, Reason> {
    if packet.port() == SENT {
        sent::body(packet.frame())
    } else {
        M::of_datagram(packet.payload())
    }
}

/// The key of the message that a packet is or carries, for generated code; `None` if it is no such
/// message, or one without a key.
#[inline]
#[must_use]
pub fn key_of<M: Message>(packet: &Packet<'_>) -> Option<M::Key> {
    if const { !M::KEYED } {
        return None;
    }
    receive::<M>(packet).ok().map(|message| message.key())
}

/// The port that the datagram of a packet is for; `None` if it is no whole UDP datagram.
#[inline]
#[must_use]
pub fn datagram_port(packet: &Packet<'_>) -> Option<u16> {
    let flow = packet.flow().ok()?;
    let is_datagram = flow.protocol == protocol::UDP && !packet.is_icmp_error();
    is_datagram.then_some(flow.destination_port)
}
