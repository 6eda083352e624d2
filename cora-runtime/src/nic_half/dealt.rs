//! Buckets of its own: the NIC's half where each side receives its own buckets.

use cora_core::app::{App, Sides};
use cora_core::packet::{Packet, Roomy};
use cora_core::state::Visit;

use super::NicHalf;
use crate::channel::{PeerOutbox, ProtocolError};
use crate::dealing::{Dealing, Then, Whose, begins};
use crate::exec::burst::ALONE;
use crate::exec::egress::Wire;
use crate::exec::engine::NicReach;
use crate::link::message::{Deals, Kind, Message, Stamp};

impl<A: App> NicHalf<A> {
    /// Whether each side receives its own buckets.
    pub(super) const IS_DEALT: bool = matches!(A::PLAN.sides, Sides::Dealt);

    /// Runs a packet of its own, holds one of a bucket that comes, and gives back any other.
    #[inline(always)]
    pub(super) fn dealt_packet(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        match self.dealing.whose(stamp.meta.mark.bucket) {
            Whose::Own => self.own_packet(stamp, packet, ahead, io),
            whose => self.not_own(whose, stamp, packet.frame(), io),
        }
    }

    #[cold]
    #[inline(never)]
    fn not_own(&mut self, whose: Whose, stamp: &Stamp, frame: &[u8], io: &mut impl Wire) {
        if whose == Whose::Expected {
            self.hold.push(stamp, frame);
            self.report.held += 1;
        } else {
            self.report.passed_on += 1;
            io.tell(Deals::Stray { stamp: *stamp, frame });
        }
    }

    #[inline(always)]
    fn own_packet(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        let now = stamp.meta.now;
        let flow = Dealing::flow::<A>(stamp.meta.mark.bucket);
        let visit =
            Visit { now, horizon: self.dealing.horizon::<A>(now), undo: false, flow, ahead };
        self.run_due(stamp, io);
        io.runs(Some(stamp.number));
        let ran = self.engine.run::<NicReach<A>>(packet, visit);
        self.report.packets += 1;
        self.finish(ran, stamp, packet.frame(), io);
    }

    /// A record of the wire about buckets that move.
    ///
    /// # Errors
    /// If it can't be decoded, or has no place here.
    #[cold]
    #[inline(never)]
    pub fn deal(
        &mut self,
        kind: u16,
        bytes: &[u8],
        io: &mut (impl PeerOutbox + Wire),
    ) -> Result<(), ProtocolError> {
        if A::MESSAGES && kind == Kind::Quiet {
            return self.asked(kind, bytes);
        }
        let message = if Self::IS_DEALT { Message::decode(kind, bytes) } else { None };
        let Some(Message::Deals(message)) = message else {
            return Err(ProtocolError::undecodable(kind));
        };
        if let Some(now) = begins(&message) {
            self.silence(now, io);
        }
        let then = self.dealing.message(message, self.engine.app())?;
        self.report.refused += self.dealing.take_refused();
        match then {
            Then::Nothing => {}
            Then::Drain => self.run_held(io),
        }
        Ok(())
    }

    /// The move is over: runs held packets. Those of a bucket that stays elsewhere go there.
    fn run_held(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        let buffer = core::mem::take(&mut self.held);
        let bytes = zerocopy::IntoBytes::as_mut_bytes(buffer);
        while let Some((stamp, length)) = self.hold.peek(bytes) {
            self.hold.pop();
            let mut packet = Packet::in_room(Roomy::new(bytes, length), stamp.meta);
            match self.dealing.whose(stamp.meta.mark.bucket) {
                Whose::Own => self.own_packet(&stamp, &mut packet, ALONE, io),
                whose => self.not_own(whose, &stamp, packet.frame(), io),
            }
        }
        io.runs(None);
        self.held = buffer;
        self.dealing.settle();
    }

    /// Gives entries of the buckets that go, some at a time.
    #[cold]
    #[inline(never)]
    pub(super) fn give(&mut self, io: &mut impl Wire) {
        self.dealing.give(self.engine.app(), &mut |message| {
            if let Message::Deals(message) = message {
                io.tell(*message);
            }
        });
    }
}
