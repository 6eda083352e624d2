//! Classes of messages at the host: which of them wait, and the round behind each burst.

use cora_core::app::App;
use cora_core::packet::Packet;

use super::{HostHalf, HostOutbox};
use crate::cascade::{packet_of, refuse};
use crate::classes::{
    CLASSES, Limits, NO_PLACE, Planted, Wanted, may_wait, place_of, place_of_key,
};
use crate::exec::burst::{ALONE, Arrival};

impl<A: App> HostHalf<A> {
    /// Sets the costs of messages beyond which their class waits behind the bursts.
    pub const fn limit_classes(&mut self, limits: Limits) {
        if const { may_wait::<A>() } {
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

    /// An arrival, with its cascade.
    #[inline(always)]
    pub(super) fn arrives<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        number: u8,
        alone: bool,
        out: &mut impl HostOutbox,
    ) {
        if const { !A::MESSAGES } {
            return self.run::<FLOWS>(arrival, number, alone, out);
        }
        if let Some((class, to)) = self.by_class::<FLOWS>(arrival, number, alone, out)
            && !self.cascade.keep(&arrival.stamp(), arrival.packet.frame(), class, to)
        {
            refuse(&mut self.engine);
        }
    }

    /// Handles a packet or a message, unless it has to wait: then its class, and where.
    #[inline(always)]
    pub(super) fn by_class<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        number: u8,
        alone: bool,
        out: &mut impl HostOutbox,
    ) -> Option<(u8, Wanted)> {
        let on = const { may_wait::<A>() } && self.cascade.classes.are_on();
        let class = if on { A::taker(&arrival.packet) } else { None };
        let Some(class) = class.map(|class| class.min(CLASSES as u8 - 1)) else {
            self.run::<FLOWS>(arrival, number, alone, out);
            return None;
        };
        let is_timed = self.cascade.classes.begin(class);
        if !self.cascade.classes.may_wait() || !self.has_to_wait(&arrival.packet) {
            let start = if is_timed { out.now_ns() } else { 0 };
            self.run::<FLOWS>(arrival, number, alone, out);
            if is_timed {
                self.cascade.classes.took(class, out.now_ns().saturating_sub(start));
            }
        }
        let (wanted, _) = self.cascade.classes.end();
        wanted.map(|wanted| (class, wanted))
    }

    /// Whether the message that is about to run has to wait.
    #[inline(never)]
    fn has_to_wait(&mut self, packet: &Packet<'_>) -> bool {
        let place = place_of::<A>(packet).map_or(NO_PLACE, |place| place as u32);
        self.cascade.classes.must_wait(place)
    }

    /// One round over the messages that wait. The run loop asks for it where nothing comes;
    /// otherwise it comes behind each burst.
    pub fn round(&mut self, out: &mut impl HostOutbox) {
        if const { may_wait::<A>() } && !self.cascade.classes.is_empty() {
            if self.ownership.knows_flows() {
                self.run_round::<true>(out);
            } else {
                self.run_round::<false>(out);
            }
            out.runs(None);
            self.tell_changes(out);
        }
    }

    #[inline(never)]
    pub(super) fn run_round<const FLOWS: bool>(&mut self, out: &mut impl HostOutbox) {
        self.cascade.classes.begin_round();
        while let Some((mut piece, _, class, is_timed)) = self.cascade.next_of_round() {
            let start = if is_timed { out.now_ns() } else { 0 };
            let stamp = piece.stamp();
            let mut arrival = Arrival::alone(&stamp, packet_of(&stamp, piece.frame()));
            // Its flow can't have gone to the NIC meanwhile.
            self.run::<FLOWS>(&mut arrival, ALONE, false, out);
            self.cascade.free(piece);
            if is_timed {
                self.cascade.classes.took(class, out.now_ns().saturating_sub(start));
            }
            self.cascade::<FLOWS>(out);
        }
    }

    /// The oldest that waits here, by this time.
    #[inline(always)]
    pub(super) fn waits_since(&self, horizon: u64) -> u64 {
        if const { may_wait::<A>() } { horizon.min(self.cascade.classes.oldest()) } else { horizon }
    }

    /// Whether messages wait for the flow that was offered under this ticket: it stays then.
    pub(super) fn waits_for(&self, ticket: u32) -> bool {
        let flow = if self.has_mail() { self.ownership.offered_under(ticket) } else { None };
        flow.is_some_and(|flow| self.cascade.classes.wait_for(place_of_key(&flow) as u32))
    }

    /// Whether the NIC keeps no flow of this message's class for now.
    #[inline(always)]
    pub(super) fn is_pushed(&self, packet: &Packet<'_>) -> bool {
        let pushed = self.cascade.classes.pushed_to;
        pushed != 0 && A::taker(packet).is_some_and(|class| pushed >> class.min(63) & 1 != 0)
    }
}
