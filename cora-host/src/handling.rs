//! Halves in this process, with no NIC between: each handles packets burst by burst.

use cora_core::app::App;
use cora_core::message::Stamp;
use cora_core::migration::{Burst, HostHalf, NicHalf};
use cora_core::packet::Port;

use crate::RunError;
use crate::worker::Direct;

/// A half that handles bursts of packets, and where they leave.
pub(crate) trait Runs {
    /// Handles the packets of a burst.
    fn run(&mut self, burst: &mut Burst<'_>) -> Result<(), RunError>;
}

/// The host's.
pub(crate) struct Host<'a, A: App, F> {
    pub(crate) half: &'a mut HostHalf<A>,
    pub(crate) out: Direct<F>,
}

impl<A: App, F: FnMut(&Stamp, Port, &[u8])> Runs for Host<'_, A, F> {
    #[inline(always)]
    fn run(&mut self, burst: &mut Burst<'_>) -> Result<(), RunError> {
        Ok(self.half.burst(burst, &mut self.out)?)
    }
}

/// The NIC's.
pub(crate) struct Nic<A: App, F> {
    pub(crate) half: NicHalf<A>,
    pub(crate) out: Direct<F>,
}

impl<A: App, F: FnMut(&Stamp, Port, &[u8])> Runs for Nic<A, F> {
    #[inline(always)]
    fn run(&mut self, burst: &mut Burst<'_>) -> Result<(), RunError> {
        self.half.burst(burst, &mut self.out);
        Ok(())
    }
}
