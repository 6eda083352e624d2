//! What accompanies a message.

use super::peer::PackedPeer;
use super::sent::hops_and_peer;
use super::{Peer, SENT};
use crate::packet::Packet;

/// What accompanies a message: the time, and who asks. A handler takes it as `envelope: &Envelope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub(super) now: u64,
    /// Messages of which each was sent because of the one before; 0 for one from a wire.
    pub(super) hops: u8,
    /// As it stands in a frame: most messages hand it on unread.
    pub(super) peer: PackedPeer,
}

impl Envelope {
    /// Before the first message, and in hooks and timers: nobody asks.
    pub(crate) const NOBODY: Self = Self { now: 0, hops: 0, peer: PackedPeer::NOBODY };

    /// The envelope in a hook or a timer, for generated code.
    #[must_use]
    pub const fn of_nobody() -> Self {
        Self::NOBODY
    }

    /// The envelope of a packet, for generated code.
    #[inline]
    #[must_use]
    pub fn of(packet: &Packet<'_>) -> Self {
        let now = packet.now();
        if packet.port() == SENT {
            let (hops, peer) = hops_and_peer(packet.frame()).unwrap_or((0, PackedPeer::NOBODY));
            return Self { now, hops, peer };
        }
        Self { now, hops: 0, peer: PackedPeer::of(&Peer::of(packet)) }
    }

    /// The run's time, in nanoseconds, by which entries expire. It never runs backwards between
    /// arrivals; a [delayed](crate::outbox::Outbox::after) message has the time at which it was
    /// due, and the other side may be past that.
    #[inline]
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Who asks: the sender of the datagram that this message came in, or that it was sent because
    /// of. It is plain data, so a state may keep it, and a later run
    /// [sends to](crate::outbox::Outbox::send_to) it.
    #[inline]
    #[must_use]
    pub fn asker(&self) -> Peer {
        self.peer.peer()
    }
}
