//! Messages at the NIC: those that runs here sent, and those that the host sends it.

use cora_core::app::App;
use cora_core::message::{ELSEWHERE, SENT};
use cora_core::packet::Packet;
use cora_core::state::{NO_FLOW, Visit};

use super::NicHalf;
use crate::cascade::{is_message, packet_of, packets_of, refuse};
use crate::channel::{PeerOutbox, ProtocolError};
use crate::exec::burst::{ALONE, Burst};
use crate::exec::egress::Wire;
use crate::exec::engine::{NicReach, Ran, copy_words, keep_words};
use crate::link::message::{Control, Frames, Kind, Message, Stamp, Telemetry};

/// What became of a message that any side may handle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Here {
    /// It was handled.
    Ran,
    /// Its run needs a state that is not here, and was taken back: the message is as it was.
    Void,
    /// It is no such message.
    No,
}

impl<A: App> NicHalf<A> {
    /// Handles all messages that wait, with those that they cause.
    #[inline(always)]
    pub(super) fn cascade(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        if const { A::MESSAGES } {
            self.handle_messages(io);
        }
    }

    #[inline(never)]
    fn handle_messages(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        while let Some(mut piece) = self.cascade.next() {
            let stamp = piece.stamp();
            let mut packet = packet_of(&stamp, piece.frame());
            if !self.cascade.home.has::<A>(&packet) {
                io.transmit(&Stamp { egress: ELSEWHERE, ..stamp }, packet.frame());
                self.cascade.free(piece);
                continue;
            }
            match self.by_class(&stamp, &mut packet, ALONE, io) {
                Some((class, to)) => self.cascade.put(piece, class, to),
                None => self.cascade.free(piece),
            }
        }
        if self.left_amid {
            self.left_amid = false;
            self.one_went_on(io);
        }
    }

    /// A flow is about to leave for the host, or ended here, so that the host handles what it gets
    /// next. It may have sent messages that still wait in this cascade: what it sends at the host
    /// must not overtake them. So the host sends all messages here, until the cascade is over.
    #[inline(always)]
    pub(super) fn leaves_amid(&mut self, out: &mut impl PeerOutbox) {
        if A::MESSAGES && !self.left_amid && self.cascade.is_amid() {
            self.left_amid = true;
            self.one_waits(out);
        }
    }

    /// Sends what a run sent, and its packet.
    pub(super) fn finish(&mut self, ran: Ran, stamp: &Stamp, frame: &[u8], wire: &mut impl Wire) {
        let Self { cascade, engine, report, .. } = self;
        cascade.send(engine, stamp, report, |stamp, frame| wire.transmit(stamp, frame));
        if let Some(egress) = ran.egress(stamp) {
            wire.transmit(&Stamp { egress, ..*stamp }, frame);
        }
    }

    /// A message from the host.
    #[inline(never)]
    pub(super) fn message_from_host(
        &mut self,
        stamp: &Stamp,
        frame: &[u8],
        io: &mut (impl PeerOutbox + Wire),
    ) {
        self.from_host += 1;
        if self.cascade.push(stamp, frame) {
            self.handle_messages(io);
            // The host may be far behind: messages that it brought about may be due by now.
            self.handle_due(self.now, io);
            io.runs(None);
            self.tell_changes(io);
        } else {
            refuse(&mut self.engine);
        }
        // Behind all that it caused for the host.
        io.send(&Frames::Handled { messages: self.from_host }.into());
    }

    /// Handles a message that is handled where it comes.
    #[inline(always)]
    pub(super) fn runs_here(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        io: &mut (impl PeerOutbox + Wire),
    ) -> Here {
        if A::MESSAGES && A::is_anywhere(packet) {
            self.run_here(stamp, packet, io)
        } else {
            Here::No
        }
    }

    #[inline(never)]
    fn run_here(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        io: &mut (impl PeerOutbox + Wire),
    ) -> Here {
        let length = packet.len();
        keep_words(self.original, packet.frame());
        io.runs(Some(stamp.number));
        let (now, horizon) = (stamp.meta.now, stamp.horizon);
        let visit = Visit { now, horizon, undo: true, flow: NO_FLOW, ahead: ALONE };
        let ran = self.engine.run::<NicReach<A>>(packet, visit);
        if matches!(ran, Ran::Punted) {
            copy_words(self.original, packet.frame_of(length));
            self.leaves_amid(io);
            return Here::Void;
        }
        self.count_packet(stamp);
        self.finish(ran, stamp, packet.frame(), io);
        Here::Ran
    }

    /// A message is about to wait for a flow that moves. The host hears of the first one: a flow
    /// that sent it may move there meanwhile, and its later messages must not overtake it.
    #[inline]
    pub(super) fn message_waits(&mut self, stamp: &Stamp, out: &mut impl PeerOutbox) {
        if is_message::<A>(stamp) {
            self.one_waits(out);
        }
    }

    #[inline(never)]
    fn one_waits(&mut self, out: &mut impl PeerOutbox) {
        self.held_messages += 1;
        if self.held_messages == 1 {
            out.send(&Frames::Holds { messages: 1 }.into());
        }
    }

    /// A message that waited was handled, or went to the host. The host hears of the last one,
    /// behind all that it caused.
    #[inline]
    pub(super) fn message_went_on(&mut self, stamp: &Stamp, out: &mut impl PeerOutbox) {
        if is_message::<A>(stamp) {
            self.one_went_on(out);
        }
    }

    #[inline(never)]
    fn one_went_on(&mut self, out: &mut impl PeerOutbox) {
        self.held_messages = self.held_messages.saturating_sub(1);
        if self.held_messages == 0 {
            out.send(&Frames::Holds { messages: 0 }.into());
        }
    }

    /// Another host follows: it hears whether messages wait here.
    pub(super) fn tell_anew(&mut self, out: &mut impl PeerOutbox) {
        self.from_host = 0;
        if A::MESSAGES && self.held_messages > 0 {
            out.send(&Frames::Holds { messages: 1 }.into());
        }
        let classes = self.cascade.classes.pushed();
        if classes != 0 {
            out.send(&Telemetry::Pushed { classes }.into());
        }
    }

    /// A question on the wire: it goes to the host once nothing of what came before waits here.
    ///
    /// # Errors
    /// If it is none.
    #[cold]
    #[inline(never)]
    pub(super) fn asked(&mut self, kind: u16, bytes: &[u8]) -> Result<(), ProtocolError> {
        let Some(Message::Control(Control::Quiet { wave })) =
            Message::decode_of_messages(kind, bytes)
        else {
            return Err(ProtocolError::undecodable(kind));
        };
        self.wave = Some(wave);
        Ok(())
    }

    /// The question that goes on to the host now.
    #[inline(always)]
    pub(crate) fn quiet_wave(&mut self) -> Option<u64> {
        if A::MESSAGES && self.wave.is_some() && self.is_drained() {
            self.wave.take()
        } else {
            None
        }
    }

    /// The host says which of the shards this one is.
    ///
    /// # Errors
    /// If there can't be such a shard.
    #[cold]
    #[inline(never)]
    pub(super) fn is_shard(&mut self, which: (u16, u16), seed: u64) -> Result<(), ProtocolError> {
        let is_one = self.cascade.is_shard(which, seed);
        if is_one { Ok(()) } else { Err(ProtocolError::Unexpected(Kind::Shard)) }
    }

    /// Counts a burst that runs to its end here.
    #[inline(always)]
    pub(super) fn count_burst(&mut self, burst: &Burst<'_>) {
        self.report.packets += packets_of::<A>(burst);
    }

    /// Counts what ran to its end here.
    #[inline(always)]
    pub(super) const fn count_packet(&mut self, stamp: &Stamp) {
        if !(A::MESSAGES && stamp.meta.port.0 == SENT.0) {
            self.report.packets += 1;
        }
    }
}
