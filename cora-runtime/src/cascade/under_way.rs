//! Messages under way from the host to the NIC.

use cora_core::app::App;
use cora_core::packet::Packet;
use cora_core::state::{Memory, OutOfMemory};

use crate::classes::{PLACES, place_of};

/// The messages that went to the NIC, and those that it has handled.
#[derive(Debug)]
pub(crate) struct UnderWay {
    /// Per place: the number of the last message that went to the NIC. Flows that share a place
    /// count as one: a message that goes by the NIC without need is passed on.
    last: &'static mut [u64],
    sent: u64,
    handled: u64,
    /// Messages wait at the NIC for flows that move.
    wait: bool,
}

impl UnderWay {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) const fn bytes<A: App>() -> usize {
        if A::MESSAGES { PLACES * 8 + 64 } else { 0 }
    }

    /// None.
    pub(crate) fn create<A: App>(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let places = if A::MESSAGES { PLACES } else { 0 };
        Ok(Self { last: memory.take_u64(places)?, sent: 0, handled: 0, wait: false })
    }

    /// Whether messages wait at the NIC for flows that move. Meanwhile every message goes there:
    /// the flow that sent one of them may be the host's by now.
    pub(crate) const fn wait_at_nic(&mut self, whether: bool) {
        self.wait = whether;
    }

    /// Whether a message of this flow may be under way.
    pub(crate) fn has<A: App>(&self, packet: &Packet<'_>) -> bool {
        if self.wait {
            return true;
        }
        let last = place_of::<A>(packet).and_then(|place| self.last.get(place));
        last.is_some_and(|last| *last > self.handled)
    }

    /// A message goes to the NIC.
    pub(crate) fn goes<A: App>(&mut self, packet: &Packet<'_>) {
        self.sent += 1;
        if let Some(last) = place_of::<A>(packet).and_then(|place| self.last.get_mut(place)) {
            *last = self.sent;
        }
    }

    /// The NIC has handled so many messages in all. `false`: there were not as many.
    #[must_use]
    pub(crate) const fn are_handled(&mut self, handled: u64) -> bool {
        let is_right = self.handled <= handled && handled <= self.sent;
        if is_right {
            self.handled = handled;
        }
        is_right
    }

    /// Whether none is under way.
    pub(crate) const fn is_empty(&self) -> bool {
        self.handled == self.sent
    }

    /// The NIC ended, and what was under way with it: they count as handled. Another NIC counts
    /// from nothing. Returns their number.
    pub(crate) fn end(&mut self) -> u64 {
        let lost = self.sent - self.handled;
        (self.sent, self.handled, self.wait) = (0, 0, false);
        self.last.fill(0);
        lost
    }

    /// Everything that decides where later messages go.
    pub(crate) const fn words(&self) -> [u64; 3] {
        [self.sent, self.handled, self.wait as u64]
    }
}
