//! The NIC's way out.

use crate::link::message::Stamp;
use crate::link::region::Parking;

/// Where packets leave.
pub trait Wire {
    /// The packet leaves at the port in its stamp.
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]);

    /// Where the rests of long frames wait while their heads are with the host; none where frames
    /// go whole.
    #[inline]
    fn lots(&mut self) -> Option<&mut dyn Parking> {
        None
    }
}
