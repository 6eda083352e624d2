//! The end of a card.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::system::{RebootCommand, reboot};

#[cfg(target_arch = "aarch64")]
use crate::semihosting;

/// Added to the number of the signal that ended the NIC half, as shells do.
const BY_SIGNAL: i32 = 128;

/// The exit status of a card, when its NIC half ended so.
pub fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_ends_as_its_half_did() {
        let status = ExitStatus::from_raw;
        assert_eq!((status_of(status(0)), status_of(status(3 << 8))), (0, 3));
        assert_eq!(status_of(status(9)), 137, "killed");
        assert_eq!(status_of(status(0xff << 8)), 255);
    }
}
