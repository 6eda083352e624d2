//! The way to the other side: where messages go, and what is wrong with one that comes.

use cora_core::sentence::Sentence;

use crate::link::message::{Kind, Message};
use crate::link::ring::{Consumer, Producer, SharedMemory};

/// Offers that may be under way at a time.
pub const TICKETS: usize = 64;

/// Takes messages to the other side, in order. What it takes arrives: a ring that is full makes the
/// caller wait.
pub trait PeerOutbox {
    /// Sends a message.
    fn send(&mut self, message: &Message<'_>);

    /// The other side should see what was sent so far now, while this one goes on: somebody waits
    /// for it.
    #[inline]
    fn show(&mut self) {}

    /// Nanoseconds since any moment, by which messages are timed; without a clock always 0.
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        0
    }

    /// A mark behind all that was sent so far.
    fn mark(&mut self) -> Mark {
        Mark::default()
    }

    /// The records sent since that mark, as far as they can be told. They are read before anything
    /// is sent on the same way but by [`Self::tapped`].
    fn sent_since(&mut self, mark: Mark) -> Sent {
        let _ = mark;
        Sent::default()
    }

    /// Whether there is room for a record that may be omitted.
    fn has_room(&mut self) -> bool {
        true
    }

    /// Tells an operator of a packet.
    fn tapped(&mut self, message: &Message<'_>) {
        self.send(message);
    }

    /// The handlers run the packet with this number now, or none. It is noted where a run may have
    /// to name the packet in which a handler panicked.
    #[inline(always)]
    fn runs(&mut self, number: Option<u64>) {
        let _ = number;
    }
}

/// A mark behind all that was sent: positions on the rings to the peer and to the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// On the ring to the peer.
    pub peer: u64,
    /// On the wire's ring.
    pub wire: u64,
}

/// Records that were sent since a mark.
#[derive(Debug, Default)]
pub struct Sent {
    /// A reader of each ring, and where its records end.
    rings: [Option<(Consumer<SharedMemory>, u64)>; 2],
}

impl Sent {
    /// Those on these rings since `mark`. They are published.
    pub fn on(
        mark: Mark,
        peer: Option<&mut Producer<SharedMemory>>,
        wire: Option<&mut Producer<SharedMemory>>,
    ) -> Self {
        let read = |ring: &mut Producer<SharedMemory>, since| {
            let until = ring.position();
            (until != since).then(|| (ring.since(since), until))
        };
        // Output may depend on messages to the peer, so those are published first.
        let peer = peer.and_then(|ring| read(ring, mark.peer));
        Self { rings: [peer, wire.and_then(|ring| read(ring, mark.wire))] }
    }

    /// Visits each, with its kind, copied into `buffer`.
    pub(crate) fn each(self, buffer: &mut [u8], visit: &mut dyn FnMut(u16, &[u8])) {
        for (mut ring, until) in self.rings.into_iter().flatten() {
            while ring.position() < until
                && let Ok(Some(popped)) = ring.pop(buffer)
            {
                visit(popped.kind, buffer.get(..popped.len).unwrap_or_default());
            }
        }
    }
}

/// The peer said something that the protocol does not allow here. The run can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A message of this kind has no place here.
    Unexpected(Kind),
    /// Bytes of a message of this kind encode none.
    Undecodable(Kind),
    /// No message has this number for its kind.
    Unknown(u16),
    /// A ticket that nothing was offered under.
    UnknownTicket(u32),
    /// An entry or a piece encodes nothing of the state with this number.
    BadPiece(u16),
    /// An entry is said to be as its copy says, and there is no copy of it.
    NoCopy(u16),
    /// A head came back whose rest is not here.
    NothingParked,
    /// Messages of this kind hold more than the program's states do.
    TooMuch(Kind),
}

impl ProtocolError {
    /// The message has no place here.
    #[must_use]
    #[cold]
    #[inline(never)]
    pub const fn unexpected(message: &Message<'_>) -> Self {
        Self::Unexpected(message.kind())
    }

    /// The bytes of a message with this number for its kind encode none.
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn undecodable(kind: u16) -> Self {
        match Kind::of(kind) {
            Some(kind) => Self::Undecodable(kind),
            None => Self::Unknown(kind),
        }
    }

    /// What is wrong, in words.
    pub fn sentence(&self) -> Sentence {
        match *self {
            Self::Unexpected(kind) => Sentence::naming(&["unexpected message `", "`"], kind.name()),
            Self::Undecodable(kind) => {
                Sentence::naming(&["a message `", "` can't be decoded"], kind.name())
            }
            Self::Unknown(kind) => {
                Sentence::new(&["a record of kind ", ", which no message has"], &[kind as u64])
            }
            Self::UnknownTicket(ticket) => {
                Sentence::new(&["nothing was offered under ticket ", ""], &[ticket as u64])
            }
            Self::BadPiece(state) => {
                Sentence::new(&["bytes for state ", " are no contents of it"], &[state as u64])
            }
            Self::NoCopy(state) => {
                Sentence::new(&["there is no copy of an entry of state ", ""], &[state as u64])
            }
            Self::NothingParked => {
                Sentence::new(&["the head of a frame came back whose rest is not here"], &[])
            }
            Self::TooMuch(kind) => Sentence::naming(
                &["messages `", "` hold more than the program's states do"],
                kind.name(),
            ),
        }
    }
}

impl core::fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.sentence().fmt(f)
    }
}

impl core::error::Error for ProtocolError {}
