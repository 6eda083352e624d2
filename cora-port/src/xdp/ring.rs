//! One of the four rings between the kernel and a socket: entries of fixed size, written at one end
//! and read at the other. Indices grow and wrap at 2³².
#![expect(unsafe_code, reason = "reads and writes entries that the indices say are this process's")]

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::xdp::XdpRingOffset;

use crate::mapping::Mapping;

/// `XDP_RING_NEED_WAKEUP`.
const NEEDS_WAKEUP: u32 = 1;

/// This process's end of a ring with entries of `BYTES` bytes each.
#[derive(Debug)]
pub(super) struct Ring<const BYTES: usize> {
    memory: Mapping,
    producer: usize,
    consumer: usize,
    flags: Option<usize>,
    entries: usize,
    /// The number of entries, a power of two.
    size: u32,
    /// This end's index.
    own: u32,
}

impl<const BYTES: usize> Ring<BYTES> {
    /// Creates a ring; none if the kernel's offsets lie outside the memory.
    pub(super) fn new(memory: Mapping, offsets: &XdpRingOffset, size: u32) -> Option<Self> {
        let place = |offset: u64| usize::try_from(offset).ok();
        let ring = Self {
            producer: place(offsets.producer)?,
            consumer: place(offsets.consumer)?,
            flags: offsets.flags.and_then(place),
            entries: place(offsets.desc)?,
            memory,
            size,
            own: 0,
        };
        let end = ring.entries.checked_add(size as usize * BYTES)?;
        let inside = end <= ring.memory.len()
            && size.is_power_of_two()
            && ring.memory.word(ring.producer).is_some()
            && ring.memory.word(ring.consumer).is_some();
        inside.then_some(ring)
    }

    /// Returns the bytes of the mapping of such a ring.
    pub(super) const fn bytes(offsets: &XdpRingOffset, size: u32) -> usize {
        offsets.desc as usize + size as usize * BYTES
    }

    fn word(&self, place: usize) -> u32 {
        self.memory.word(place).map_or(0, |word: &AtomicU32| word.load(Ordering::Acquire))
    }

    /// Returns the number of entries that may be written: the kernel has read the old ones.
    pub(super) fn room(&self) -> u32 {
        self.size - self.own.wrapping_sub(self.word(self.consumer)).min(self.size)
    }

    /// Returns the number of entries from the kernel that were not read yet.
    pub(super) fn waiting(&self) -> u32 {
        self.word(self.producer).wrapping_sub(self.own).min(self.size)
    }

    /// Returns the number of published entries that the kernel has not read yet.
    pub(super) fn unread(&self) -> u32 {
        self.word(self.producer).wrapping_sub(self.word(self.consumer)).min(self.size)
    }

    /// Writes an entry if there is room. The kernel sees it after [`publish`](Self::publish).
    pub(super) fn write(&mut self, entry: [u8; BYTES]) -> bool {
        if self.room() == 0 {
            return false;
        }
        let at = self.place();
        // SAFETY: there is room, so the kernel has read this entry, and it reads it again only
        // behind `publish`.
        let Some(place) = (unsafe { self.memory.bytes(at, BYTES) }) else { return false };
        place.copy_from_slice(&entry);
        self.own = self.own.wrapping_add(1);
        true
    }

    /// Reads the next entry. The kernel gets it back by [`release`](Self::release).
    pub(super) fn read(&mut self) -> Option<[u8; BYTES]> {
        if self.waiting() == 0 {
            return None;
        }
        let at = self.place();
        // SAFETY: the kernel wrote this entry, and writes it again only behind `release`.
        let entry = unsafe { self.memory.bytes(at, BYTES) }?.first_chunk().copied();
        self.own = self.own.wrapping_add(1);
        entry
    }

    /// Shows the written entries to the kernel.
    pub(super) fn publish(&self) {
        self.set(self.producer);
    }

    /// Gives the read entries back to the kernel.
    pub(super) fn release(&self) {
        self.set(self.consumer);
    }

    /// Whether the kernel must be called, as it doesn't look by itself.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.flags.is_none_or(|place| self.word(place) & NEEDS_WAKEUP != 0)
    }

    const fn place(&self) -> usize {
        self.entries + (self.own & (self.size - 1)) as usize * BYTES
    }

    fn set(&self, place: usize) {
        if let Some(word) = self.memory.word(place) {
            word.store(self.own, Ordering::Release);
        }
    }

    /// Writes entries as the kernel would.
    #[cfg(test)]
    pub(super) fn kernel_writes(&mut self, entries: &[[u8; BYTES]], producer: u32) {
        for (number, entry) in entries.iter().enumerate() {
            let at = self.entries + (number & (self.size - 1) as usize) * BYTES;
            // SAFETY: no kernel uses it.
            let place = unsafe { self.memory.bytes(at, BYTES) };
            place.unwrap().copy_from_slice(entry);
        }
        self.memory.word(self.producer).unwrap().store(producer, Ordering::Release);
    }

    /// Reads entries as the kernel would.
    #[cfg(test)]
    pub(super) fn kernel_reads(&mut self) -> Vec<[u8; BYTES]> {
        let (from, to) = (self.word(self.consumer), self.word(self.producer));
        let mut entries = Vec::new();
        for index in 0..to.wrapping_sub(from) {
            let index = from.wrapping_add(index) & (self.size - 1);
            let at = self.entries + index as usize * BYTES;
            // SAFETY: no kernel uses it.
            let entry = unsafe { self.memory.bytes(at, BYTES) };
            entries.push(*entry.unwrap().first_chunk().unwrap());
        }
        self.memory.word(self.consumer).unwrap().store(to, Ordering::Release);
        entries
    }
}

#[cfg(test)]
pub(super) fn in_memory<const BYTES: usize>(size: u32) -> Ring<BYTES> {
    let offsets = XdpRingOffset { producer: 0, consumer: 64, desc: 128, flags: Some(68) };
    let bytes = Ring::<BYTES>::bytes(&offsets, size).next_multiple_of(4096);
    Ring::new(Mapping::anonymous(bytes).unwrap(), &offsets, size).unwrap()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_that_are_outside_make_no_ring() {
        let fits = XdpRingOffset { producer: 0, consumer: 64, desc: 128, flags: None };
        for wrong in [
            XdpRingOffset { producer: 4096, ..fits },
            XdpRingOffset { consumer: 3, ..fits },
            XdpRingOffset { desc: 4096 - 8, ..fits },
            XdpRingOffset { desc: u64::MAX, ..fits },
        ] {
            let memory = Mapping::anonymous(4096).unwrap();
            assert!(Ring::<8>::new(memory, &wrong, 4).is_none(), "{wrong:?}");
        }
        assert!(Ring::<8>::new(Mapping::anonymous(4096).unwrap(), &fits, 4).is_some());
    }

    proptest! {
        #[test]
        fn entries_arrive_once_and_in_order(bursts in prop::collection::vec((0_u8..9, any::<bool>()), 0..60)) {
            let mut ring = in_memory::<8>(4);
            let (mut written, mut read) = (Vec::new(), Vec::new());
            let mut number = 0_u64;
            for (burst, reads) in bursts {
                for _ in 0..burst {
                    if ring.write(number.to_ne_bytes()) {
                        written.push(number.to_ne_bytes());
                        number += 1;
                    }
                }
                ring.publish();
                prop_assert!(written.len() - read.len() <= 4);
                if reads { read.extend(ring.kernel_reads()); }
            }
            read.extend(ring.kernel_reads());
            prop_assert_eq!(written, read);
        }

        /// For any index of the other end, no more is read than the ring holds.
        #[test]
        fn any_index_is_taken(producer: u32) {
            let mut ring = in_memory::<16>(8);
            ring.kernel_writes(&[[3; 16]; 8], producer);
            prop_assert!(ring.waiting() <= 8 && ring.room() <= 8);
            let read = std::iter::from_fn(|| ring.read()).take(20).count();
            prop_assert!(read <= 20);
        }
    }
}
