//! The prefetch stages before a packet's turn.

use super::States;
use crate::packet::Packet;

/// Prefetching for the packets of a burst, state by state.
pub trait Prefetch: States {
    /// Whether it has *further* states. Only packets of flows without an entry need these, so only
    /// these packets prefetch from them.
    const FURTHER: bool = false;

    /// Calls [`Announced::prefetch_index`](crate::state::Announced::prefetch_index) of every state
    /// that isn't further.
    #[inline]
    fn prefetch_index(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Announced::prefetch_entry`](crate::state::Announced::prefetch_entry) of every state
    /// that isn't further. Returns `false` if one of them missed an entry.
    #[inline]
    fn prefetch_entry(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        let _ = (number, packet);
        true
    }

    /// Calls [`Home::forget`](crate::state::Home::forget) of every further state.
    fn drop_further(&mut self) {}

    /// Calls [`Announced::prefetch_index`](crate::state::Announced::prefetch_index) of every
    /// further state.
    fn prefetch_further_index(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Announced::prefetch_entry`](crate::state::Announced::prefetch_entry) of every
    /// further state.
    fn prefetch_further_entry(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Home::prefetch_owner`](crate::state::Home::prefetch_owner) of every state that
    /// travels.
    fn prefetch_owner(&self, number: u8) {
        let _ = number;
    }

    /// The first owner that [`Home::predicted_owner`](crate::state::Home::predicted_owner) of a
    /// state that travels returns.
    fn predicted_owner(&self, number: u8) -> Option<u32> {
        let _ = number;
        None
    }
}
