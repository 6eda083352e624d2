//! The way to the other side: where messages go, and what is wrong with one that comes.

use cora_core::packet::Port;
use cora_core::sentence::Sentence;
use cora_core::state::table::Ending;

use crate::durability::Standby;
use crate::link::message::{Message, Stamp};

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
