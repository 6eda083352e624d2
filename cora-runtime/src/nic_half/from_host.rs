//! What comes from the host: messages, handled packets, and versions of read-mostly states.

use cora_core::app::App;
use cora_core::message::SENT;
use cora_core::packet::Meta;

use super::{Event, NicHalf};
use crate::channel::{PeerOutbox, ProtocolError};
use crate::classes::Limits;
use crate::exec::egress::Wire;
use crate::exec::header_split;
use crate::link::message::{Control, Frames, Hooks, Message, Stamp, Telemetry};
use crate::ownership::nic::NicSide;

impl<A: App> NicHalf<A> {
    /// Handles a message from the host.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        io: &mut (impl PeerOutbox + Wire),
    ) -> Result<Event, ProtocolError> {
        match *message {
            Message::Frames(Frames::Send { stamp, frame }) => self.sent(&stamp, frame, io)?,
            Message::Frames(Frames::Ended { parked }) if const { A::HEADS } => {
                header_split::forget(parked, io)?;
            }
            Message::Ownership(message) => {
                if const { A::MESSAGES } {
                    self.mail_goes_first(message, io);
                }
                self.ownership.message(message, side!(self), io)?;
                self.go_on(io);
                self.cascade(io);
                self.handle_due(self.now, io);
            }
            Message::Hooks(Hooks::WakeAt { until }) if const { A::DELAYS } => {
                self.host_waits_for(until);
            }
            Message::Merges(message) if const { A::MERGED } => self.merges(message, io)?,
            Message::Control(Control::Piece { state, piece }) => self.version(state, piece)?,
            Message::Control(Control::Begin {}) => return Ok(Event::Begin),
            Message::Control(Control::Drained { .. }) => return Ok(Event::Drained),
            Message::Control(Control::Quiet { wave }) if const { A::MESSAGES } => io.quiet(wave),
            Message::Control(Control::Shard { number, of, seed }) if const { A::MESSAGES } => {
                self.is_shard((number, of), seed)?;
            }
            Message::Telemetry(Telemetry::Watch { every }) => {
                self.watch.begin();
                return Ok(Event::Watch(every));
            }
            Message::Telemetry(Telemetry::Limit { tail, round, mean }) if const { A::MESSAGES } => {
                self.limit_classes(Limits { tail, round, mean });
            }
            Message::Questions(question) if self.question(question, io) => {}
            _ => return Err(ProtocolError::unexpected(message)),
        }
        self.tell_changes(io);
        Ok(Event::None)
    }

    /// Transmits a packet from the host, or the frame of its head.
    #[inline(never)]
    pub fn sent(
        &mut self,
        stamp: &Stamp,
        frame: &[u8],
        wire: &mut (impl PeerOutbox + Wire),
    ) -> Result<(), ProtocolError> {
        if A::MESSAGES && stamp.leaves_at() == SENT {
            let meta = Meta { port: SENT, ..stamp.meta };
            self.message_from_host(&Stamp { meta, ..*stamp }, frame, wire);
            return Ok(());
        }
        if const { A::HEADS } && stamp.parked.is_some() {
            // No packet is running, so the saved original is not needed.
            let buffer = zerocopy::IntoBytes::as_mut_bytes(&mut *self.original);
            return header_split::complete(stamp, frame, buffer, wire);
        }
        wire.relay(stamp, frame);
        Ok(())
    }

    /// Sends the next entries of the leaving flow to the host, at most `most`. After the last one,
    /// its held packets go on. The run loop calls it between bursts.
    #[inline(never)]
    pub fn hand_over(&mut self, most: u32, io: &mut (impl PeerOutbox + Wire)) {
        if Self::IS_DEALT {
            return self.give(io);
        }
        self.ownership.hand_over(most, side!(self), io);
        self.go_on(io);
        self.cascade(io);
        self.handle_due(self.now, io);
    }

    /// Merges a part of a read-mostly state's version. Its last part puts the version in force.
    ///
    /// # Errors
    /// If there is no such state, or if the piece is no part of it.
    #[inline(never)]
    pub fn version(&mut self, state: u16, piece: &[u8]) -> Result<(), ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        if usize::from(state) >= A::STATES {
            return Err(bad);
        }
        self.engine.app().state(usize::from(state)).merge(piece).map_err(|_| bad)
    }
}
