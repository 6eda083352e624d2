//! Bare metal only: where the process begins, and where a panic ends it.
#![expect(unsafe_code, reason = "the process's first instruction, and the arguments on its stack")]

use core::panic::PanicInfo;

use cora_core::sentence::Sentence;
use cora_runtime::node::{Inherited, NicFiles};

use crate::sys::{exit, write_error};

unsafe extern "Rust" {
    /// The program, which `cora::app!` makes: [`serve`](crate::serve) of its states and handlers.
    safe fn __cora_main(files: NicFiles) -> i32;
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
        Some(unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes())
    };
    let number = |place: usize| argument(place).and_then(decimal);
    let shared = |place: usize| {
        let fd = number(place).and_then(|fd| i32::try_from(fd).ok())?;
        Some(Inherited { fd, length: number(place + 1)? })
    };
    let Some(regions) = shared(1) else {
        write_error(
            "cora nic: started by hand? `cargo cora run` starts it, with the shared region\n",
        );
        exit(2)
    };
    exit(__cora_main(NicFiles { regions, items: shared(3) }))
}

/// A decimal number. The parser of `core` takes all bases and signs, and many times the room.
#[inline(never)]
fn decimal(digits: &[u8]) -> Option<usize> {
    let digit = |digit: u8| digit.checked_sub(b'0').filter(|digit| *digit < 10).map(usize::from);
    let add = |number: usize, next: &u8| number.checked_mul(10)?.checked_add(digit(*next)?);
    let number = digits.iter().try_fold(0, add);
    number.filter(|_| !digits.is_empty())
}

/// Writes the place, and the reason if it is a plain text, and ends the process. The formatting
/// code of `core` would be a twentieth of the program; the place tells which panic it was.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    write_error("cora nic: panicked at ");
    if let Some(place) = info.location() {
        write_error(place.file());
        Sentence::new(&[":", ""], &[place.line().into()]).write(&mut write_error);
    }
    if let Some(why) = info.message().as_str() {
        write_error(": ");
        write_error(why);
    }
    write_error("\n");
    exit(101)
}
