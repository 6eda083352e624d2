//! A request of an emulated card to its emulator: Arm's "Semihosting for AArch32 and AArch64",
//! 2025Q1. QEMU 7.1 and later allows it to a process, with `userspace=on`.
#![expect(unsafe_code, reason = "the request is an instruction")]

/// Ends the emulator with this status; returns if there is none that obeys.
pub(crate) fn exit(status: u8) {
    /// Takes a reason and a status (section 6.6 there).
    const SYS_EXIT_EXTENDED: u64 = 0x20;
    const APPLICATION_EXIT: u64 = 0x2_0026;
    let block = [APPLICATION_EXIT, u64::from(status)];
    // SAFETY: the emulator reads the two words of `block`, and ends. Without one, the instruction
    // ends this process by a signal: it is the first one, so that the card ends, too.
    unsafe {
        core::arch::asm!(
            "hlt #0xf000",
            inout("x0") SYS_EXIT_EXTENDED => _,
            in("x1") block.as_ptr(),
            options(nostack)
        );
    }
}
