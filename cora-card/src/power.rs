//! The end of a card.

use rustix::system::{RebootCommand, reboot};

#[cfg(target_arch = "aarch64")]
use crate::semihosting;

/// Ends the card. Its emulator ends with this status; a real card is only switched off.
#[cfg_attr(
    not(target_arch = "aarch64"),
    expect(unused_variables, reason = "no other machine is emulated as a card")
)]
pub(crate) fn end(status: u8) -> ! {
    #[cfg(target_arch = "aarch64")]
    semihosting::exit(status);
    loop {
        let _refused = reboot(RebootCommand::PowerOff);
        std::thread::yield_now();
    }
}
