//! Bare metal only: where the process begins, and where a panic ends it.
#![expect(unsafe_code, reason = "the process's first instruction, and the arguments on its stack")]

use core::fmt::Write as _;
use core::panic::PanicInfo;

use crate::sys::{Stderr, exit};

unsafe extern "Rust" {
    /// The program, which `cora::app!` makes: [`serve`](crate::serve) of its states and handlers.
    safe fn __cora_main(fd: i32, length: usize) -> i32;
}

/// The process begins here: the kernel left the number of arguments at the stack pointer.
///
/// # Safety
/// Only the kernel enters here, once, with the stack of a new process.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn _start() -> ! {
    core::arch::naked_asm!(
        "mov x29, xzr",
        "mov x30, xzr",
        "mov x0, sp",
        "and sp, x0, #-16",
        "b {enter}",
        enter = sym enter,
    )
}

/// # Safety
/// `stack` is the stack of a new process: a count, and so many pointers to C strings.
unsafe extern "C" fn enter(stack: *const usize) -> ! {
    let argument = |number: usize| {
        // SAFETY: the count is the first word on the stack (caller's contract).
        let count = unsafe { *stack };
        if number >= count {
            return None;
        }
        // SAFETY: there are `count` pointers behind the count.
        let place = unsafe { stack.add(1 + number) };
        // SAFETY: as above.
        let text = unsafe { *place } as *const core::ffi::c_char;
        // SAFETY: each points to a C string that lives as long as the process.
        let text = unsafe { core::ffi::CStr::from_ptr(text) };
        text.to_str().ok()
    };
    let fd = argument(1).and_then(|text| text.parse().ok());
    let length = argument(2).and_then(|text| text.parse().ok());
    let (Some(fd), Some(length)) = (fd, length) else {
        let _ = Stderr.write_str(
            "cora nic: started by hand? `cargo cora run` starts it, with the shared region\n",
        );
        exit(2)
    };
    exit(__cora_main(fd, length))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Stderr, "cora nic: {info}");
    exit(101)
}
