//! A packet's run as a transaction: all of its writes are committed, or none.

use super::States;
use crate::packet::Packet;
use crate::state::Visit;

/// Begin and end of a packet's run, state by state.
pub trait Transaction: States {
    /// Whether flows are grouped by an address or a named key, under every plan alike. All packets
    /// that share an entry of a keyed state then share the group. A packet finds entries of its own
    /// group only, since those of other groups may be on the other side.
    const GROUPED: bool = false;
    /// Whether [`Self::enter`] does anything.
    const ENTERS: bool = Self::GROUPED;

    /// Calls [`Home::begin`](crate::state::Home::begin) of every state.
    #[inline]
    fn begin(&mut self, visit: Visit) {
        (0..Self::STATES).for_each(|state| self.state(state).begin(visit));
    }

    /// If an address groups flows: calls [`Home::enter`](crate::state::Home::enter) of every keyed
    /// state with the packet's group; without a packet or a group, with `None`. If a named key
    /// does: calls [`Table::enter_scope`](crate::state::Table::enter_scope) of every state within
    /// it, and [`Home::enter_named`](crate::state::Home::enter_named) of every state with that key.
    #[inline]
    fn enter(&mut self, packet: Option<&Packet<'_>>) {
        let _ = packet;
    }

    /// Calls [`Home::commit`](crate::state::Home::commit) of every state, and then
    /// [`Home::publish`](crate::state::Home::publish).
    #[inline]
    fn commit(&mut self, undo: bool) {
        (0..Self::STATES).for_each(|state| self.state(state).commit(undo));
        (0..Self::STATES).for_each(|state| self.state(state).publish());
    }

    /// Calls [`Home::rollback`](crate::state::Home::rollback) of every state.
    #[inline]
    fn rollback(&mut self) {
        (0..Self::STATES).for_each(|state| self.state(state).rollback());
    }

    /// Whether [`Home::is_void`](crate::state::Home::is_void) of any state.
    #[inline]
    fn is_void(&mut self) -> bool {
        (0..Self::STATES).any(|state| self.state(state).is_void())
    }
}
