//! The items of a shard's regions, where the NIC half may read them: the host half writes them.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use crate::RunError;
use crate::memory::map;

/// A file of items.
#[derive(Debug)]
pub(super) struct Items {
    file: OwnedFd,
    /// The same file, for the NIC half.
    to_read: OwnedFd,
    bytes: usize,
    /// How many host halves have begun.
    homes: u32,
}

impl Items {
    /// Items of so many bytes in all, each zero; `None` without any.
    pub(super) fn create(bytes: usize) -> Result<Option<Self>, RunError> {
        if bytes == 0 {
            return Ok(None);
        }
        let file = map::memory(bytes).map_err(|errno| failed(errno.into()))?;
        let to_read = map::to_read(file.as_fd()).map_err(failed)?;
        Ok(Some(Self { file, to_read, bytes, homes: 0 }))
    }

    /// The arguments for the next host half: the file, its bytes, and the number of this home. What
    /// another one left is lost with that one.
    pub(super) fn next_home(&mut self) -> Result<[String; 3], RunError> {
        map::clear(self.file.as_fd(), self.bytes).map_err(|errno| failed(errno.into()))?;
        self.homes += 1;
        let Self { file, bytes, homes, .. } = self;
        Ok([file.as_raw_fd().to_string(), bytes.to_string(), homes.to_string()])
    }

    /// The file for a host half.
    pub(super) fn of_home(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// For a NIC half: the file, and its bytes.
    pub(super) fn to_read(&self) -> (BorrowedFd<'_>, usize) {
        (self.to_read.as_fd(), self.bytes)
    }
}

fn failed(cause: std::io::Error) -> RunError {
    RunError::System { what: "memory for the items of regions", cause }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_nic_half_can_read_items_and_nothing_else() {
        let mut items = Items::create(8192).unwrap().unwrap();
        assert_eq!(items.next_home().unwrap()[1..], ["8192", "1"]);
        let words = map::inherited_memory(items.of_home().as_raw_fd(), 8192).unwrap();
        words[1000].store(7, Ordering::Relaxed);
        let (reader, bytes) = items.to_read();
        let refused = map::inherited_memory(reader.as_raw_fd(), bytes);
        assert_eq!(refused.unwrap_err(), rustix::io::Errno::ACCESS, "to read and write");
        let mut word = [0; 8];
        rustix::io::pread(reader, &mut word, 8000).unwrap();
        assert_eq!(word, 7_u64.to_le_bytes());
        // The next home begins with none of them.
        assert_eq!(items.next_home().unwrap()[2], "2");
        assert_eq!(words[1000].load(Ordering::Relaxed), 0);
        assert!(Items::create(0).unwrap().is_none());
    }
}
