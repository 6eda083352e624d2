//! The system calls that the NIC half makes, raw: on bare metal there is no library to make them.
//!
//! Numbers and conventions: `arch/arm64/include/asm/unistd.h` (the generic table, number in `x8`)
//! and `arch/x86/entry/syscalls/syscall_64.tbl` (number in `rax`), Linux.
#![expect(unsafe_code, reason = "system calls, and memory that the kernel hands over")]

use core::sync::atomic::AtomicU64;
use core::time::Duration;

use cora_core::state::Line;
use cora_runtime::link::region::Futex;

#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const WRITE: usize = 64;
    #[cfg(target_os = "none")]
    pub(super) const EXIT_GROUP: usize = 94;
    pub(super) const FUTEX: usize = 98;
    pub(super) const NANOSLEEP: usize = 101;
    pub(super) const CLOCK_GETTIME: usize = 113;
    pub(super) const SCHED_YIELD: usize = 124;
    #[cfg(not(target_os = "none"))]
    pub(super) const MUNMAP: usize = 215;
    pub(super) const MMAP: usize = 222;
    pub(super) const MADVISE: usize = 233;
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const WRITE: usize = 1;
    #[cfg(target_os = "none")]
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const FUTEX: usize = 202;
    pub(super) const NANOSLEEP: usize = 35;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const SCHED_YIELD: usize = 24;
    #[cfg(not(target_os = "none"))]
    pub(super) const MUNMAP: usize = 11;
    pub(super) const MMAP: usize = 9;
    pub(super) const MADVISE: usize = 28;
}

/// Makes a system call.
///
/// # Safety
/// The call's own contract must hold: pointers among `args` are valid for the kernel's use of them.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let result;
    // SAFETY: `svc 0` clobbers `x0` only, which is declared; memory effects are the caller's
    // contract.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] => result,
            in("x1") args[1], in("x2") args[2], in("x3") args[3], in("x4") args[4], in("x5") args[5],
            options(nostack)
        );
    }
    result
}

/// Makes a system call.
///
/// # Safety
/// The call's own contract must hold: pointers among `args` are valid for the kernel's use of them.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let result;
    // SAFETY: `syscall` clobbers `rax`, `rcx` and `r11`, which are declared; memory effects are the
    // caller's contract.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// A C `int` as the kernel takes it: with its sign.
const fn word(int: i32) -> usize {
    (int as isize).cast_unsigned()
}

/// Writes to standard error. Errors are ignored: there is nowhere to tell them.
pub(crate) fn write_error(text: &str) {
    let args = [2, text.as_ptr() as usize, text.len(), 0, 0, 0];
    // SAFETY: the kernel reads `text.len()` bytes at `text`.
    let _written = unsafe { call(number::WRITE, args) };
}

/// Ends the process.
#[cfg(target_os = "none")]
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: `exit_group` takes no pointer.
        let _never = unsafe { call(number::EXIT_GROUP, [word(code), 0, 0, 0, 0, 0]) };
    }
}

/// Lets another process run.
pub(crate) fn yield_now() {
    // SAFETY: `sched_yield` takes no argument.
    let _zero = unsafe { call(number::SCHED_YIELD, [0; 6]) };
}

/// The kernel's futex on a word that other processes map too. On a card the word lies in a device's
/// memory, where the kernel lets nobody wait: there this side looks again after a short sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedFutex;

impl Futex for SharedFutex {
    fn wait(&self, word: &AtomicU64, value: u32, at_most: Duration) {
        wait_at(word.as_ptr() as usize, value, at_most);
    }

    fn wake(&self, word: &AtomicU64) {
        const FUTEX_WAKE: usize = 1;
        let args = [word.as_ptr() as usize, FUTEX_WAKE, 1, 0, 0, 0];
        // SAFETY: the kernel takes the address of `word` to know who waits there.
        let _how_many = unsafe { call(number::FUTEX, args) };
    }
}

/// Waits on the word at this address.
fn wait_at(address: usize, value: u32, at_most: Duration) {
    const FUTEX_WAIT: usize = 0;
    /// The kernel's word for memory where nobody can wait, as a device's.
    const EFAULT: isize = -14;
    let time = [at_most.as_secs(), u64::from(at_most.subsec_nanos())];
    let args = [address, FUTEX_WAIT, value as usize, time.as_ptr() as usize, 0, 0];
    // SAFETY: the kernel reads a `timespec`, two 64-bit words on both machines, at `time`. It
    // checks the address, and reads four bytes there: the low half of the word on little-endian
    // machines.
    if unsafe { call(number::FUTEX, args) } == EFAULT {
        nap(at_most);
    }
}

/// Sleeps for 50 microseconds, or less.
#[cold]
#[inline(never)]
fn nap(at_most: Duration) {
    const NAP: Duration = Duration::from_micros(50);
    let time = [0, u64::from(at_most.min(NAP).subsec_nanos())];
    // SAFETY: the kernel reads a `timespec`, two 64-bit words on both machines, at `time`, and
    // writes nothing, because the second pointer is null.
    let _slept = unsafe { call(number::NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    const CLOCK_MONOTONIC: usize = 1;
    let mut time = [0_u64; 2];
    let args = [CLOCK_MONOTONIC, time.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel writes a `timespec`, two 64-bit words on both machines, at `time`.
    let _zero = unsafe { call(number::CLOCK_GETTIME, args) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

const PROT_READ: usize = 1;
const PROT_READ_WRITE: usize = 1 | 2;
const MAP_SHARED: usize = 1;
/// A ring's pages are all used, in its first lap: there they are before a packet waits for them.
const MAP_POPULATE: usize = 0x8000;
const MAP_PRIVATE_ANONYMOUS: usize = 2 | 0x20;
const MADV_HUGEPAGE: usize = 14;
const MADV_POPULATE_WRITE: usize = 23;
/// A transparent huge page where small ones have 4 KiB.
const HUGE_PAGE: usize = 2 << 20;
/// Pages are made when they are touched: a table's unused part costs nothing.
const MAP_NORESERVE: usize = 0x4000;

fn map(length: usize, access: usize, flags: usize, fd: i32) -> Option<*mut u8> {
    let args = [0, length, access, flags, word(fd), 0];
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let address = unsafe { call(number::MMAP, args) };
    // Errors are -4095 ..= -1.
    (length > 0 && !(-4095..0).contains(&address)).then_some(address as *mut u8)
}

/// Maps the first `length` bytes of a shared file, whose pages are there from now on if they are to
/// be `resident`; `None` when the kernel won't.
pub(crate) fn map_shared(fd: i32, length: usize, resident: bool) -> Option<&'static [AtomicU64]> {
    let pages = if resident { MAP_POPULATE } else { 0 };
    let address = map(length, PROT_READ_WRITE, MAP_SHARED | pages, fd)?;
    // SAFETY: the kernel mapped `length` bytes at a page boundary, readable and writable, and they
    // are never unmapped. Others write them too: they are atomics.
    Some(unsafe { core::slice::from_raw_parts(address.cast(), length / size_of::<AtomicU64>()) })
}

/// Maps the first `length` bytes of a shared file for reading; `None` when the kernel won't. Who
/// stores there is stopped by it.
pub(crate) fn map_to_read(fd: i32, length: usize) -> Option<&'static [AtomicU64]> {
    let address = map(length, PROT_READ, MAP_SHARED, fd)?;
    // SAFETY: the kernel mapped `length` bytes at a page boundary, readable, and they are never
    // unmapped. Others write them: they are atomics, and whoever gets them here only loads them.
    Some(unsafe { core::slice::from_raw_parts(address.cast(), length / size_of::<AtomicU64>()) })
}

/// Zeroed memory of this process's own, on transparent huge pages where the kernel gives any (who
/// starts this process may have it give none); `None` when it has no memory. All of its pages are
/// made now, if they are to be `resident`: that is asked of kernels from Linux 5.14 on, and others
/// make each when it is touched.
#[inline(never)]
pub(crate) fn map_private(bytes: usize, resident: bool) -> Option<&'static mut [Line]> {
    // By whole huge pages: the kernel lets such a mapping begin at one (from Linux 6.7 on), and of
    // others the last part is on small pages.
    let length = bytes.max(1).next_multiple_of(HUGE_PAGE);
    let flags = MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE;
    let address = map(length, PROT_READ_WRITE, flags, -1)?;
    for advice in [MADV_HUGEPAGE, MADV_POPULATE_WRITE].into_iter().take(1 + usize::from(resident)) {
        // SAFETY: advice about memory that was mapped above and that nobody has touched: it stays
        // zero.
        let _taken_or_not =
            unsafe { call(number::MADVISE, [address as usize, length, advice, 0, 0, 0]) };
    }
    // SAFETY: the kernel mapped `length` zero bytes at a page boundary for nobody else, never
    // unmapped.
    Some(unsafe { core::slice::from_raw_parts_mut(address.cast(), length / Line::BYTES) })
}

/// Unmaps memory that this module mapped.
///
/// # Safety
/// Nothing that was made of the memory is used any more, whatever its lifetime says.
#[cfg(not(target_os = "none"))]
pub(crate) unsafe fn unmap(address: usize, length: usize) {
    // SAFETY: the caller's contract; mappings are by whole pages, to which the kernel rounds.
    let _zero = unsafe { call(number::MUNMAP, [address, length, 0, 0, 0, 0]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_zeroed_memory_that_can_be_written() {
        for resident in [false, true] {
            let lines = map_private(10_000, resident).unwrap();
            assert_eq!(lines.len(), HUGE_PAGE / 64);
            lines.fill(Line::ZERO);
        }
        assert!(map_shared(-1, 4096, true).is_none(), "no such file");
    }

    #[test]
    fn a_sleep_ends_by_itself_or_at_once() {
        let (word, before) = (AtomicU64::new(1), now_ns());
        SharedFutex.wait(&word, 1, Duration::from_millis(5));
        assert!(now_ns() - before >= 5_000_000, "nobody wakes");
        // Another value than the one waited for: no wait.
        SharedFutex.wait(&word, 0, Duration::from_secs(1000));
        SharedFutex.wake(&word);
    }

    #[test]
    fn a_word_that_no_kernel_waits_on_is_looked_at_after_a_nap() {
        let before = now_ns();
        // No process has memory at this address.
        wait_at(64, 1, Duration::from_secs(1000));
        assert!((50_000..1_000_000_000).contains(&(now_ns() - before)));
    }

    #[test]
    fn the_clock_goes_forward() {
        let before = now_ns();
        yield_now();
        assert!(now_ns() >= before && before > 0);
    }
}
