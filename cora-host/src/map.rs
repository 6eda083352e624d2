//! Memory from the kernel: for the states, and shared with the NIC.
#![expect(unsafe_code, reason = "maps memory")]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use cora_core::state::Line;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};

/// Zeroed memory for states; pages that are never touched cost nothing. It is never given back: states
/// live as long as the process.
pub(crate) fn state_memory(bytes: usize) -> Result<&'static mut [Line], Errno> {
    let length = bytes.next_multiple_of(4096).max(4096);
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let address = unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, flags)? };
    // Tables are read all over: with small pages most reads would miss the translation cache as well. A
    // kernel without huge pages refuses, which costs speed alone.
    // SAFETY: the advice changes no content, and the mapping is ours.
    let _refused = unsafe { madvise(address, length, Advice::LinuxHugepage) };
    // SAFETY: `length` zero bytes at a page boundary, for nobody else, never unmapped.
    Ok(unsafe { std::slice::from_raw_parts_mut(address.cast(), length / Line::BYTES) })
}

/// A file without a name, `bytes` long and zero, and its mapping, shared with whoever gets the file.
/// The file vanishes with the last process that has it.
pub(crate) fn shared_memory(bytes: usize) -> Result<(OwnedFd, &'static [AtomicU64]), Errno> {
    // Not close-on-exec: the NIC process inherits it.
    let file = rustix::fs::memfd_create("cora-region", rustix::fs::MemfdFlags::empty())?;
    rustix::fs::ftruncate(&file, bytes as u64)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let address =
        unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file.as_fd(), 0)? };
    // SAFETY: `bytes` bytes at a page boundary, never unmapped; others write them too, which is what
    // atomics are for. The file is not made shorter.
    let words = unsafe { std::slice::from_raw_parts(address.cast::<AtomicU64>(), bytes / 8) };
    Ok((file, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What several pairs rely on: no line of the cache is in two of these.
    #[test]
    fn mappings_begin_at_pages() {
        for bytes in [1, 64, 4097] {
            let states = state_memory(bytes).expect("memory");
            let (_file, region) = shared_memory(bytes.next_multiple_of(4096)).expect("memory");
            assert!(states.as_ptr().addr().is_multiple_of(4096));
            assert!(region.as_ptr().addr().is_multiple_of(4096));
            assert!(size_of_val(states) >= bytes && size_of_val(states).is_multiple_of(4096));
        }
    }
}
