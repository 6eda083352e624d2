//! A stack with space for a program's largest value.
//!
//! `Default` and `Configure` return a state by value. An unoptimised build copies it from frame to
//! frame, and a large one would overflow the default stack.

use std::process::ExitCode;

use crate::process::signals;

/// Number of copies of a value that may be on the stack at once: in the locals of `Default` or
/// `Configure`, in its result, and in the functions between.
const COPIES: usize = 16;

/// Bytes for everything else.
const BESIDE: usize = 8 << 20;

/// Values up to this size fit any stack.
const SMALL: usize = 64 << 10;

/// Bytes of a stack with space for values of this many bytes. Untouched pages of it cost nothing.
#[must_use]
pub const fn stack_for(bytes: usize) -> usize {
    bytes.saturating_mul(COPIES) + BESIDE
}

/// Runs `main` on a stack with space for values of this many bytes.
///
/// The thread lives as long as the process: children that end with their parent end with the thread
/// that started them. It also takes signals; this thread only waits.
pub fn with_room_for(bytes: usize, main: impl FnOnce() -> ExitCode + Send) -> ExitCode {
    if bytes <= SMALL {
        return main();
    }
    let builder = std::thread::Builder::new().stack_size(stack_for(bytes));
    let mask = signals::leave_to_next_thread();
    let main = move || {
        mask.take_up();
        main()
    };
    std::thread::scope(|scope| match builder.spawn_scoped(scope, main) {
        // The panic has been reported.
        Ok(thread) => thread.join().unwrap_or_else(|_| ExitCode::from(101)),
        Err(error) => crate::fail(&format!("no stack for a state of {bytes} bytes: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[derive(Clone, Copy)]
    struct Large([u8; 4 << 20]);

    #[expect(clippy::large_stack_arrays, reason = "a value that needs such a stack")]
    #[inline(never)]
    fn make(byte: u8) -> Large {
        let value = black_box(Large([byte; 4 << 20]));
        black_box(value)
    }

    #[test]
    fn a_value_that_no_usual_stack_holds_is_made_by_value() {
        let code = with_room_for(size_of::<Large>(), || {
            let value = make(7);
            ExitCode::from(u8::from(black_box(&value).0[4 << 19] != 7))
        });
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    }
}
