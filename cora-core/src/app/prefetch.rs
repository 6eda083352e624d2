//! The prefetch stages before a packet's turn.

use super::States;
use crate::packet::Packet;

/// Prefetching for the packets of a burst, state by state.
pub trait Prefetch: States {
    /// Whether it has *further* states. Only packets of flows without an entry need these, so only
    /// these packets prefetch from them.
    const FURTHER: bool = false;

    /// Calls [`Home::hint`](crate::state::Home::hint) of every state that isn't further.
    #[inline]
    fn hint(&mut self, number: u8, packet: &Packet<'_>) {
        (0..Self::STATES).for_each(|state| self.state(state).hint(number, packet));
    }

    /// Calls [`Home::guess`](crate::state::Home::guess) of every state that isn't further. Returns
    /// `false` if one of them missed an entry.
    #[inline]
    fn guess(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        (0..Self::STATES).fold(true, |known, state| self.state(state).guess(number, packet) & known)
    }

    /// Calls [`Home::forget`](crate::state::Home::forget) of every further state.
    fn forget_further(&mut self) {}

    /// Calls [`Home::hint`](crate::state::Home::hint) of every further state.
    fn hint_further(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Home::guess`](crate::state::Home::guess) of every further state.
    fn guess_further(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Home::hint_owner`](crate::state::Home::hint_owner) of every state that travels.
    fn hint_owner(&self, number: u8) {
        let _ = number;
    }

    /// The first owner that [`Home::guess_owner`](crate::state::Home::guess_owner) of a state that
    /// travels returns.
    fn guess_owner(&self, number: u8) -> Option<u32> {
        let _ = number;
        None
    }
}
