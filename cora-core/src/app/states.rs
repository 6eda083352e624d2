//! The states of a program, by number.

#[cfg(not(target_os = "none"))]
use crate::state::Described;
use crate::state::{Home, Place};

/// The states, for all work on them that is not worth a method of its own. The other groups are
/// defined by it, so a program has to implement only what it wants to have unrolled.
pub trait States: Sized + 'static {
    /// The places of its states, by name.
    const PLACES: &'static [(&'static str, Place)];
    /// Number of states.
    const STATES: usize;

    /// The state with this number, counted as in [`Self::PLACES`].
    fn state(&mut self, number: usize) -> &mut dyn Home;

    /// The same state for reports, at the host.
    #[cfg(not(target_os = "none"))]
    fn described(&mut self, number: usize) -> &mut dyn Described;
}
