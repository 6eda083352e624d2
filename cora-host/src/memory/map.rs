//! Memory from the kernel: for the states, and shared with the NIC.
#![expect(unsafe_code, reason = "maps memory")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use cora_core::state::Line;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};

use crate::memory::pages::{HugePages, Pages};

/// The length of a mapping is a multiple of this.
const SMALL: usize = 4096;

/// The size of a transparent huge page on x86-64, and on aarch64 with small pages of 4 KiB. Only
/// whole ones become huge: at an unaligned beginning or end, memory is on small pages.
const TRANSPARENT: usize = 2 << 20;

/// Why there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapError {
    /// The kernel's error.
    Kernel(Errno),
    /// Too few huge pages are reserved, or the kernel has none.
    NoHugePages,
}

/// Zeroed memory for states. It is never freed: states live as long as the process. Table accesses
/// are random: with small pages most of them also miss the TLB.
///
/// If `resident`, all of its pages are allocated now. Kernels before Linux 5.14 refuse that, and
/// allocate each page at first touch, as without `resident`.
pub(crate) fn state_memory(
    bytes: usize,
    pages: Pages,
    resident: bool,
) -> Result<&'static mut [Line], MapError> {
    // The mapping unit, and the page size to fill. For the latter two, pages that are never touched
    // cost nothing. Huge ones are taken from the reserved ones now: later, a shortage would be a
    // signal.
    let (unit, page, flags, advice) = match pages {
        Pages::Huge => {
            let page = HugePages::now().ok_or(MapError::NoHugePages)?.page;
            (page, page, MapFlags::HUGETLB, None)
        }
        Pages::Transparent => {
            (SMALL, TRANSPARENT, MapFlags::NORESERVE, Some(Advice::LinuxHugepage))
        }
        Pages::Small => (SMALL, SMALL, MapFlags::NORESERVE, Some(Advice::LinuxNoHugepage)),
    };
    let too_long = MapError::Kernel(Errno::NOMEM);
    let asked = bytes.max(1).checked_next_multiple_of(unit).ok_or(too_long)?;
    let length = asked.checked_next_multiple_of(page).ok_or(too_long)?;
    // Includes space to begin at a page boundary, for any address that the kernel chooses.
    let mapped = length.checked_add(page - unit).ok_or(too_long)?;
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | flags);
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let address = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, access, flags) };
    let address = address.map_err(|errno| match errno {
        Errno::NOMEM | Errno::INVAL if pages == Pages::Huge => MapError::NoHugePages,
        errno => MapError::Kernel(errno),
    })?;
    let skipped = address.addr().wrapping_neg() % page;
    // SAFETY: the address is a multiple of `unit`, so at most `page - unit` bytes are skipped:
    // `length` more are mapped.
    let address = unsafe { address.byte_add(skipped) };
    let populate = resident.then_some(Advice::LinuxPopulateWrite);
    for advice in advice.into_iter().chain(populate) {
        // A kernel without this advice, or without such pages, refuses, which only costs speed.
        // SAFETY: the advice changes no content, and the mapping is ours.
        let _refused = unsafe { madvise(address, length, advice) };
    }
    // SAFETY: at least `asked` bytes are mapped, zero and at a page boundary, exclusively for this
    // slice, and never unmapped.
    Ok(unsafe { std::slice::from_raw_parts_mut(address.cast(), asked / Line::BYTES) })
}

/// Seals of shared memory: nobody can change its length, or these seals. So a mapping stays valid
/// for every holder of the file.
const OF_MEMORY: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// An unnamed file of `bytes` zero bytes, and its mapping, shared with every process that gets the
/// file. The file vanishes with the last process that has it, and nobody can shorten it. Child
/// processes get it only explicitly.
///
/// # Errors
///
/// The kernel's error if it gives no file, or no mapping of it.
pub fn shared_memory(bytes: usize) -> Result<(OwnedFd, &'static [AtomicU64]), Errno> {
    let file = memory(bytes)?;
    let words = map_words(file.as_fd(), bytes)?;
    Ok((file, words))
}

/// The same without a mapping.
pub(crate) fn memory(bytes: usize) -> Result<OwnedFd, Errno> {
    let file = sealable("cora-region")?;
    rustix::fs::ftruncate(&file, bytes as u64)?;
    fcntl_add_seals(&file, OF_MEMORY)?;
    Ok(file)
}

/// The same file for a process that is to read it only: it can't be mapped for writing.
pub(crate) fn to_read(file: BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let path = format!("/proc/self/fd/{number}");
    std::fs::File::open(path).map(OwnedFd::from)
}

/// Makes the whole file zeroes again.
pub(crate) fn clear(file: BorrowedFd<'_>, bytes: usize) -> Result<(), Errno> {
    use rustix::fs::{FallocateFlags, fallocate};
    let punch = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);
    fallocate(file, punch, 0, bytes as u64)
}

/// An unnamed, immutable file with these bytes.
pub(crate) fn sealed_file(name: &str, bytes: &[u8]) -> std::io::Result<std::fs::File> {
    let mut file = std::fs::File::from(sealable(name)?);
    std::io::Write::write_all(&mut file, bytes)?;
    fcntl_add_seals(&file, OF_MEMORY | SealFlags::WRITE)?;
    Ok(file)
}

/// An unnamed, empty file in memory.
pub(crate) fn memory_file(name: &str) -> Result<std::fs::File, Errno> {
    rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC).map(std::fs::File::from)
}

/// Duplicates the descriptor of a file that the previous program left open under this number. The
/// duplicate is closed by `exec`; the original stays open, so that a rollback can use it.
///
/// # Errors
/// The kernel's error if the number is not a file's.
pub(crate) fn left_file(number: i32) -> Result<OwnedFd, Errno> {
    if number < 3 {
        return Err(Errno::BADF);
    }
    // SAFETY: the number is only used to ask the kernel whether it is a file's.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_dupfd_cloexec(file, 3)
}

/// A file that this process inherited under this number, for a call.
pub(crate) fn borrowed_file(number: i32) -> Option<BorrowedFd<'static>> {
    // SAFETY: the number is only used to ask the kernel, which reports an error if it is not a
    // file's.
    (number > 2).then(|| unsafe { BorrowedFd::borrow_raw(number) })
}

fn sealable(name: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
}

/// The first `bytes` of a file that this process inherited, shared with the other processes that
/// have it.
///
/// # Errors
///
/// The kernel's error; `EBADF` if the number is not a file's, `EINVAL` if the file is shorter,
/// `EPERM` if somebody could shorten it.
pub fn inherited_memory(number: i32, bytes: usize) -> Result<&'static [AtomicU64], Errno> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the number is only used to map its file; if it is not a file's, the kernel reports
    // that.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    if rustix::fs::fstat(file)?.st_size.cast_unsigned() < bytes as u64 {
        return Err(Errno::INVAL);
    }
    map_words(file, bytes)
}

/// The first `bytes` of a file that the process which started this one made for it: that one is
/// trusted with the length, since this one may not ask the kernel.
pub(crate) fn given_memory(number: i32, bytes: usize) -> Result<&'static [AtomicU64], Errno> {
    map_sealed(borrowed_file(number).ok_or(Errno::BADF)?, bytes)
}

/// Maps the first `bytes` of a file, which has at least that length.
fn map_words(file: BorrowedFd<'_>, bytes: usize) -> Result<&'static [AtomicU64], Errno> {
    if !fcntl_get_seals(file)?.contains(OF_MEMORY) {
        return Err(Errno::PERM);
    }
    map_sealed(file, bytes)
}

/// Maps the first `bytes` of a file, which keeps its length.
fn map_sealed(file: BorrowedFd<'_>, bytes: usize) -> Result<&'static [AtomicU64], Errno> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let address = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0)? };
    // SAFETY: `bytes` bytes at a page boundary, never unmapped; other processes write them too, so
    // they are atomics. The file keeps its length.
    Ok(unsafe { std::slice::from_raw_parts(address.cast::<AtomicU64>(), bytes / 8) })
}

/// Memory of somebody's file, for as long as this lives: for a process that meets many.
#[derive(Debug)]
pub(crate) struct Mapping {
    words: &'static [AtomicU64],
}

impl Mapping {
    /// Maps the first `bytes` of a file that nobody can shorten.
    ///
    /// # Errors
    ///
    /// As for [`inherited_memory`].
    pub(crate) fn of(file: BorrowedFd<'_>, bytes: usize) -> Result<Self, Errno> {
        if rustix::fs::fstat(file)?.st_size.cast_unsigned() < bytes as u64 {
            return Err(Errno::INVAL);
        }
        Ok(Self { words: map_words(file, bytes)? })
    }

    /// The memory.
    ///
    /// # Safety
    /// Nothing that is made of it may be used once this is dropped, whatever its lifetime says.
    pub(crate) const unsafe fn words(&self) -> &'static [AtomicU64] {
        self.words
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let (address, bytes) = (self.words.as_ptr().cast_mut().cast(), size_of_val(self.words));
        // SAFETY: it was mapped with this length, and nobody uses it any more (see `words`). An
        // error would mean that nothing is mapped there.
        let _unmapped = unsafe { rustix::mm::munmap(address, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's flags of the mapping that contains this memory.
    fn flags(memory: &[Line]) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let place = memory.as_ptr().addr();
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((from, to)) = range.and_then(|(a, b)| Some((number(a)?, number(b)?))) {
                inside = (from..to).contains(&place);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
                return flags.to_owned();
            }
        }
        panic!("no mapping holds the memory");
    }

    #[test]
    fn memory_is_on_the_pages_that_were_asked_for() {
        let has = |flags: &str, flag: &str| flags.split_whitespace().any(|it| it == flag);
        for (pages, flag, other) in [(Pages::Small, "nh", "hg"), (Pages::Transparent, "hg", "nh")] {
            let memory = state_memory(5 << 20, pages, false).unwrap();
            assert_eq!(memory.len() * Line::BYTES, 5 << 20);
            let from = if pages == Pages::Small { SMALL } else { TRANSPARENT };
            assert!(memory.as_ptr().addr().is_multiple_of(from));
            memory.fill(Line::ZERO);
            let flags = flags(memory);
            // A kernel without transparent huge pages has neither flag.
            let knows = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
            assert_eq!(has(&flags, flag), knows, "{pages:?}: {flags}");
            assert!(!has(&flags, other), "{pages:?}: {flags}");
        }
    }

    #[test]
    fn resident_memory_is_there_before_it_is_touched() {
        let resident = |memory: &[Line]| {
            let mut pages = vec![0_u8; (memory.len() * Line::BYTES).div_ceil(SMALL)];
            let (start, length) = (memory.as_ptr().cast_mut().cast(), memory.len() * Line::BYTES);
            // SAFETY: one byte for each page of a mapping of ours.
            let told = unsafe { libc::mincore(start, length, pages.as_mut_ptr()) };
            assert_eq!(told, 0);
            pages.iter().filter(|page| **page & 1 != 0).count()
        };
        for pages in [Pages::Small, Pages::Transparent] {
            let touched_later = state_memory(3 << 20, pages, false).unwrap();
            assert_eq!(resident(touched_later), 0, "{pages:?}");
            let memory = state_memory(3 << 20, pages, true).unwrap();
            assert_eq!(resident(memory), (3 << 20) / SMALL, "{pages:?}");
        }
    }

    #[test]
    fn huge_pages_are_there_or_lack() {
        let before = HugePages::now();
        match state_memory(5 << 20, Pages::Huge, false) {
            Ok(memory) => {
                memory.fill(Line::ZERO);
                let page = before.map_or(0, |pages| pages.page);
                assert_eq!(memory.len() * Line::BYTES, (5_usize << 20).next_multiple_of(page));
                assert!(flags(memory).split_whitespace().any(|flag| flag == "ht"));
            }
            Err(error) => {
                assert_eq!(error, MapError::NoHugePages);
                let enough = before.is_some_and(|pages| pages.available() >= pages.of(5 << 20));
                assert!(!enough, "{before:?}");
            }
        }
    }

    #[test]
    fn nobody_can_change_the_length_of_shared_memory() {
        let (file, words) = shared_memory(8192).expect("memory");
        words[1000].store(7, std::sync::atomic::Ordering::Relaxed);
        for length in [0, 4096, 16384] {
            assert_eq!(rustix::fs::ftruncate(&file, length), Err(Errno::PERM), "{length}");
        }
        // The seals can't be removed, and no further ones can be added.
        assert_eq!(fcntl_add_seals(&file, SealFlags::WRITE), Err(Errno::PERM));
        let again = inherited_memory(std::os::fd::AsRawFd::as_raw_fd(&file), 8192).expect("it is");
        assert_eq!(again[1000].load(std::sync::atomic::Ordering::Relaxed), 7);
    }

    #[test]
    fn memory_that_could_shrink_is_refused() {
        let loose = sealable("loose").expect("memory");
        rustix::fs::ftruncate(&loose, 8192).expect("it is sealed by nobody");
        let number = std::os::fd::AsRawFd::as_raw_fd(&loose);
        assert_eq!(inherited_memory(number, 8192).err(), Some(Errno::PERM));
        assert_eq!(inherited_memory(number, 8193).err(), Some(Errno::INVAL));
        assert_eq!(inherited_memory(-1, 8192).err(), Some(Errno::BADF));
    }

    #[test]
    fn a_sealed_file_says_what_it_said() {
        use std::io::{Read as _, Seek as _, Write as _};
        let mut file = sealed_file("text", b"as it was").expect("memory");
        assert!(file.write_all(b"changed").is_err() && file.set_len(1).is_err());
        file.rewind().expect("it can be read");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("it is text");
        assert_eq!(text, "as it was");
    }

    /// Several shards rely on this: no cache line belongs to two mappings.
    #[test]
    fn mappings_begin_at_pages() {
        for bytes in [1, 64, 4097] {
            let states = state_memory(bytes, Pages::Small, false).expect("memory");
            let (_file, region) = shared_memory(bytes.next_multiple_of(4096)).expect("memory");
            assert!(states.as_ptr().addr().is_multiple_of(4096));
            assert!(region.as_ptr().addr().is_multiple_of(4096));
            assert!(size_of_val(states) >= bytes && size_of_val(states).is_multiple_of(4096));
        }
    }
}
