//! A packet's run as a transaction: all of its writes are committed, or none.

use super::States;
use crate::packet::Packet;
use crate::state::Visit;

/// Begin and end of a packet's run, state by state.
pub trait Transaction: States {
    /// Whether flows are grouped by an address, under every plan alike. Some keyed state then has
    /// the address as its key, and all packets that share an entry of a keyed state share the
    /// address. A packet finds entries of its own group only, since those of other groups may be on
    /// the other side.
    const GROUPED: bool = false;

    /// Calls [`Home::begin`](crate::state::Home::begin) of every state.
    #[inline]
    fn begin(&mut self, visit: Visit) {
        (0..Self::STATES).for_each(|state| self.state(state).begin(visit));
    }

    /// If flows are [grouped](Self::GROUPED): calls [`Home::enter`](crate::state::Home::enter) of
    /// every keyed state with the packet's group; without a packet or a group, with `None`.
    #[inline]
    fn enter(&mut self, packet: Option<&Packet<'_>>) {
        let _ = packet;
    }

    /// Calls [`Home::commit`](crate::state::Home::commit) of every state.
    #[inline]
    fn commit(&mut self, undo: bool) {
        (0..Self::STATES).for_each(|state| self.state(state).commit(undo));
    }

    /// Calls [`Home::rollback`](crate::state::Home::rollback) of every state.
    #[inline]
    fn rollback(&mut self) {
        (0..Self::STATES).for_each(|state| self.state(state).rollback());
    }

    /// Whether [`Home::overflowed`](crate::state::Home::overflowed) of any state.
    #[inline]
    fn overflowed(&mut self) -> bool {
        (0..Self::STATES).any(|state| self.state(state).overflowed())
    }
}
