//! Classes of messages at the NIC: which of them wait, and the round behind each burst.

use cora_core::app::{App, Sides};
use cora_core::packet::Packet;

use super::NicHalf;
use crate::cascade::{packet_of, refuse};
use crate::channel::PeerOutbox;
use crate::classes::{CLASSES, Limits, NO_PLACE, Piece, Planted, Wanted, may_wait, place_of};
use crate::exec::burst::ALONE;
use crate::exec::egress::Wire;
use crate::exec::engine::copy_words;
use crate::link::message::{Ownership, Stamp, Telemetry};
use crate::ownership::lookup::Match;
use crate::ownership::nic::NicSide;

impl<A: App> NicHalf<A> {
    /// Sets the costs of messages beyond which their class waits behind the bursts.
    pub const fn limit_classes(&mut self, limits: Limits) {
        if const { may_wait::<A>() && !matches!(A::PLAN.sides, Sides::HostOnly) } {
            self.cascade.classes.limit(limits);
        }
    }

    /// For a test that plants a mistake.
    #[doc(hidden)]
    pub const fn plant(&mut self, mistake: Planted) {
        self.cascade.classes.plant(mistake);
    }

    /// Whether messages wait for a round.
    #[inline(always)]
    pub const fn has_mail(&self) -> bool {
        A::MESSAGES && !self.cascade.classes.is_empty()
    }

    /// An arrival from the wire, with its cascade.
    #[inline(always)]
    pub(super) fn arrives(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        if const { !A::MESSAGES } {
            return self.one(stamp, packet, ahead, io);
        }
        if let Some((class, to)) = self.by_class(stamp, packet, ahead, io)
            && !self.cascade.keep(stamp, packet.frame(), class, to)
        {
            refuse(&mut self.engine);
        }
        self.cascade(io);
    }

    /// Handles a packet or a message, unless it has to wait: then its class, and where.
    #[inline(always)]
    pub(super) fn by_class(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) -> Option<(u8, Wanted)> {
        let on = const { may_wait::<A>() } && self.cascade.classes.are_on();
        let class = if on { A::taker(packet) } else { None };
        let Some(class) = class.map(|class| class.min(CLASSES as u8 - 1)) else {
            self.one(stamp, packet, ahead, io);
            return None;
        };
        let is_timed = self.cascade.classes.begin(class);
        let start = if is_timed { io.now_ns() } else { 0 };
        self.one(stamp, packet, ahead, io);
        let (wanted, ran) = self.cascade.classes.end();
        if ran {
            let place = self.cascade.classes.place();
            self.ran(class, place, is_timed.then_some(start), io);
        }
        wanted.map(|wanted| (class, wanted))
    }

    /// Whether the message that is about to run has to wait; `place` is its flow, where this half
    /// has numbers for flows.
    #[inline(always)]
    pub(super) fn has_to_wait(&mut self, flow: u32) -> bool {
        let waits = const { may_wait::<A>() } && self.cascade.classes.must_wait(flow);
        if waits && flow != NO_PLACE {
            self.ownership.waits_in_mailbox(flow);
        }
        waits
    }

    /// The same where all flows are here.
    #[inline(always)]
    pub(super) fn has_to_wait_alone(&mut self, packet: &Packet<'_>) -> bool {
        if const { !may_wait::<A>() } || !self.cascade.classes.may_wait() {
            return false;
        }
        let place = place_of::<A>(packet).map_or(NO_PLACE, |place| place as u32);
        self.cascade.classes.must_wait(place)
    }

    /// Whether the message that is about to be held belongs to a flow for which others wait in a
    /// mailbox: there it waits, too.
    #[inline(always)]
    pub(super) fn waits_in_mailbox(&mut self, flow: u32) -> bool {
        let others = const { may_wait::<A>() } && self.cascade.classes.wait_for(flow);
        others && self.has_to_wait(flow)
    }

    /// One round over the messages that wait. The run loop asks for it where the wire is silent;
    /// otherwise it comes behind each burst.
    #[inline(always)]
    pub fn round(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        if const { may_wait::<A>() } && !self.cascade.classes.is_empty() {
            self.run_round(io);
            io.runs(None);
            self.tell_changes(io);
        }
    }

    #[inline(never)]
    fn run_round(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        self.cascade.classes.begin_round();
        while let Some((mut piece, place, class, is_timed)) = self.cascade.next_of_round() {
            let start = if is_timed { io.now_ns() } else { 0 };
            self.run_waiting(&mut piece, place, io);
            self.cascade.free(piece);
            self.ran(class, place, is_timed.then_some(start), io);
            self.cascade(io);
        }
    }

    /// A message of the class ran, for the flow at this place; since when, if it is timed.
    #[inline(always)]
    fn ran(
        &mut self,
        class: u8,
        place: u32,
        start: Option<u64>,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        let pushes = self.cascade.classes.may_push() && matches!(A::PLAN.sides, Sides::Split);
        if let Some(start) = start {
            let now = io.now_ns();
            let ran = now.saturating_sub(start);
            self.cascade.classes.took(class, ran);
            if pushes && self.cascade.classes.note_mean(class, ran, now) {
                let classes = self.cascade.classes.pushed();
                io.send(&Telemetry::Pushed { classes }.into());
            }
        }
        if pushes && place != NO_PLACE && self.cascade.classes.pushed() >> class & 1 != 0 {
            self.push_flow(place, io);
        }
    }

    /// The flow goes to the host, as if that had recalled it.
    #[cold]
    #[inline(never)]
    fn push_flow(&mut self, flow: u32, io: &mut (impl PeerOutbox + Wire)) {
        self.tell_changes(io);
        self.move_mail(Some(flow), io);
        self.leaves_amid(io);
        self.ownership.send_back(flow, side!(self), io);
        self.go_on(io);
    }

    /// A burst begins.
    #[inline(always)]
    pub(super) fn burst_begins(&mut self, io: &impl PeerOutbox) {
        if const { may_wait::<A>() } && self.cascade.classes.may_push() {
            self.cascade.classes.began = io.now_ns();
        }
    }

    /// Runs a message that waited.
    #[inline(always)]
    fn run_waiting(&mut self, piece: &mut Piece, place: u32, io: &mut (impl PeerOutbox + Wire)) {
        let stamp = piece.stamp();
        let mut packet = packet_of(&stamp, piece.frame());
        if !matches!(A::PLAN.sides, Sides::Split) {
            return self.run_alone(&stamp, &mut packet, ALONE, io);
        }
        let horizon = self.waits_since(stamp.meta.now);
        let stamp = &Stamp { horizon, ..stamp };
        if place == NO_PLACE {
            let here = self.runs_here(stamp, &mut packet, io);
            return self.goes_to_host(here, stamp, packet.frame(), io);
        }
        if !self.cascade.classes.wait_for(place) {
            self.ownership.left_mailbox(place);
        }
        let length = packet.len();
        self.ownership.flows_mut().begin(stamp.meta.now, horizon, ALONE);
        self.ownership.passes(place, &self.hold);
        // Messages that wait are of flows that are owned here.
        let found = Match { flow: place, is_sure: true };
        if !self.run(found, stamp, &mut packet, ALONE, io) {
            let frame = packet.frame_of(length);
            copy_words(self.original, frame);
            self.punt(place, stamp, frame, io);
        } else if !self.ownership.knows(place) {
            self.move_mail(Some(place), io);
            self.go_on(io);
        }
    }

    /// The oldest that waits here, by this time.
    #[inline(always)]
    pub(super) fn waits_since(&self, now: u64) -> u64 {
        let oldest = self.hold.oldest().unwrap_or(now);
        if const { may_wait::<A>() } { oldest.min(self.cascade.classes.oldest()) } else { oldest }
    }

    /// The flow, or every flow, may leave: its messages in a mailbox join the hold queue. Where no
    /// flow ever leaves they stay.
    #[inline(always)]
    pub(super) fn move_mail(&mut self, flow: Option<u32>, io: &mut (impl PeerOutbox + Wire)) {
        let classes = &self.cascade.classes;
        let any = const { may_wait::<A>() && matches!(A::PLAN.sides, Sides::Split) }
            && flow.map_or(!classes.is_empty(), |flow| classes.wait_for(flow));
        if any {
            self.hold_mail(flow, io);
        }
    }

    #[cold]
    #[inline(never)]
    fn hold_mail(&mut self, flow: Option<u32>, io: &mut (impl PeerOutbox + Wire)) {
        let mut taken = self.cascade.take_out(flow);
        while let Some(mut piece) = self.cascade.next_of(&mut taken) {
            let (place, _) = piece.waits();
            let stamp = piece.stamp();
            self.ownership.left_mailbox(place);
            self.queue((place != NO_PLACE).then_some(place), &stamp, piece.frame().frame(), io);
            self.cascade.free(piece);
        }
        self.hold.move_on();
    }

    /// The host asks for a flow: its messages go to the hold queue, and behind it.
    pub(super) fn mail_goes_first(
        &mut self,
        message: Ownership<'_>,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        if let Ownership::Recall { group } = message
            && self.has_mail()
        {
            let (now, left) = (self.now, self.hold.left());
            let flow = self.ownership.flow_of(self.engine.app(), group, now, left);
            if flow.is_some() {
                self.move_mail(flow, io);
            }
        }
    }
}
