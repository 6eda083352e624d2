//! Versions of read-mostly states. The host makes them, and the NIC has a replica.

use cora_core::app::App;

use crate::channel::ProtocolError;
use crate::nic_half::NicHalf;

impl<A: App> NicHalf<A> {
    /// Takes a part of a state's version; the last part puts the version in force.
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
