//! Socket options that no library offers, and files that a previous program left open.
#![expect(
    unsafe_code,
    reason = "hands structures of the kernel's headers to it, and numbers of files"
)]

use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// A structure of plain integers without padding, read or written by the kernel as an option's
/// value.
///
/// # Safety
/// Every pattern of bits is one, and no byte of it is padding.
pub(crate) unsafe trait Value: Copy {}

// SAFETY: an integer.
unsafe impl Value for c_int {}
// SAFETY: integers.
unsafe impl<const N: usize> Value for [u32; N] {}
// SAFETY: four integers of 32 bits.
unsafe impl Value for libc::tpacket_req {}
// SAFETY: two integers of 32 bits.
unsafe impl Value for libc::tpacket_stats {}
// SAFETY: integers of 32, 16 and 16 bits, and eight bytes.
unsafe impl Value for libc::packet_mreq {}

/// Sets an option.
pub(crate) fn set<V: Value>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &V,
) -> Result<(), Errno> {
    let (place, length) = (std::ptr::from_ref(value).cast::<c_void>(), size_of::<V>());
    // SAFETY: the kernel reads `length` bytes at `place`, which are a value without padding.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, place, length as u32) };
    if done == 0 { Ok(()) } else { Err(last()) }
}

/// Reads an option.
pub(crate) fn get<V: Value>(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> Result<V, Errno> {
    let mut value = MaybeUninit::<V>::zeroed();
    let mut length = size_of::<V>() as u32;
    let place = value.as_mut_ptr().cast::<c_void>();
    // SAFETY: the kernel writes `length` bytes at `place` at most, which is how long a value is.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, place, &raw mut length) };
    if done != 0 {
        return Err(last());
    }
    // SAFETY: every pattern of bits is a value, and it was zeroed.
    Ok(unsafe { value.assume_init() })
}

/// Returns another number of a file that this process's previous program left open.
pub(crate) fn inherited(number: i32) -> Result<OwnedFd, Errno> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the number is only used to ask the kernel for another one of the same file.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_dupfd_cloexec(file, 0)
}

/// Returns the error of the last system call.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
