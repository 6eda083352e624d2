//! Versions of read-mostly states, which the host makes and the NIC has a copy of.

use cora_core::app::App;

use crate::channel::ProtocolError;
use crate::nic_half::NicHalf;

impl<A: App> NicHalf<A> {
    /// Part of a state's version; the last one puts it in force.
    ///
    /// # Errors
    /// When there is no such state, or this is no part of it.
    #[inline(never)]
    pub fn version(&mut self, state: u16, piece: &[u8]) -> Result<(), ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        if usize::from(state) >= A::STATES {
            return Err(bad);
        }
        self.engine.app().state(usize::from(state)).merge(piece).map_err(|_| bad)
    }
}
