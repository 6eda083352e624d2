//! Memory that is shared with the kernel.
#![expect(unsafe_code, reason = "maps memory, and looks into it while the kernel does")]

use std::ffi::c_void;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU32;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A mapping, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: all threads of a process share its memory, and the mapping has one owner.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps a file from `offset` on, shared with its other users.
    pub(crate) fn of_file(file: BorrowedFd<'_>, bytes: usize, offset: u64) -> Result<Self, Errno> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let flags = flags | MapFlags::POPULATE;
        // SAFETY: the kernel chooses an unused place.
        let start = unsafe { mmap(null_mut(), bytes, access, flags, file, offset) }?;
        Self::new(start, bytes)
    }

    /// Maps zeroed memory of this process.
    pub(crate) fn anonymous(bytes: usize) -> Result<Self, Errno> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let flags = flags | MapFlags::POPULATE;
        // SAFETY: the kernel chooses an unused place.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, access, flags) }?;
        Self::new(start, bytes)
    }

    fn new(start: *mut c_void, bytes: usize) -> Result<Self, Errno> {
        let start = NonNull::new(start.cast::<u8>()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, bytes })
    }

    pub(crate) fn start(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes
    }

    /// Returns the word at a place; none when it is outside or not aligned.
    pub(crate) fn word(&self, offset: usize) -> Option<&AtomicU32> {
        let fits = offset.is_multiple_of(4) && offset.checked_add(4)? <= self.bytes;
        if !fits {
            return None;
        }
        // SAFETY: the place is within the mapping, as was checked above.
        let word = unsafe { self.start.add(offset) }.as_ptr();
        #[expect(
            clippy::cast_ptr_alignment,
            reason = "mappings begin at a page, and the offset was asked about"
        )]
        let word = word.cast::<u32>();
        // SAFETY: mappings begin at a page, so the word is aligned; it lives as long as `self`, and
        // every other access meanwhile, the kernel's too, is by whole words.
        Some(unsafe { AtomicU32::from_ptr(word) })
    }

    /// Returns `length` bytes at a place; none when they are outside.
    ///
    /// # Safety
    /// While they are borrowed, the kernel doesn't write there, nor read bytes written there.
    pub(crate) unsafe fn bytes(&mut self, offset: usize, length: usize) -> Option<&mut [u8]> {
        if offset.checked_add(length)? > self.bytes {
            return None;
        }
        // SAFETY: the place is within the mapping, as was checked above.
        let first = unsafe { self.start.add(offset) };
        // SAFETY: they are within the mapping, which lives as long as `self`; nobody else in this
        // process has a reference, `self` being borrowed for it, and the kernel leaves them alone,
        // as the caller promises.
        Some(unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), length) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nobody has a reference into it, `self` being gone. If the call fails, only
        // address space is lost.
        let _unmapped = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_is_outside_is_not_there() {
        let mut mapping = Mapping::anonymous(4096).unwrap();
        assert!(mapping.word(4092).is_some());
        for outside in [2, 4093, 4096, usize::MAX - 3] {
            assert!(mapping.word(outside).is_none(), "{outside}");
        }
        mapping.word(8).unwrap().store(0x0403_0201, Ordering::Relaxed);
        for (offset, length, there) in [
            (8, 4, true),
            (0, 4096, true),
            (4096, 0, true),
            (4096, 1, false),
            (1, 4096, false),
            (usize::MAX, 2, false),
        ] {
            // SAFETY: no kernel uses it.
            let bytes = unsafe { mapping.bytes(offset, length) };
            assert_eq!(bytes.is_some(), there, "{length} bytes at {offset}");
        }
        // SAFETY: no kernel uses it.
        assert_eq!(unsafe { mapping.bytes(8, 4) }.unwrap(), &0x0403_0201_u32.to_ne_bytes());
    }
}
