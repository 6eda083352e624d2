//! The frames of one queue and their owners. The memory is cut into chunks: the first ones are for
//! received frames, the others for sent frames. Every ring entry is checked before use.
#![expect(unsafe_code, reason = "hands out chunks that the kernel gave to this process")]

use super::ring::Ring;
use crate::mapping::Mapping;

/// Chunks for received frames.
pub(super) const COMING: u32 = 4096;
/// Chunks for sent frames.
pub(super) const LEAVING: u32 = 2048;

/// Bytes of an address.
pub(super) const ADDRESS: usize = 8;
/// Bytes of `struct xdp_desc`: address, length, options.
pub(super) const DESCRIPTOR: usize = 16;

/// Both directions of one queue.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) memory: Mapping,
    chunk_bytes: usize,
    /// To the kernel: empty chunks for received frames.
    pub(super) fill: Ring<ADDRESS>,
    /// From the kernel: received frames.
    pub(super) receive: Ring<DESCRIPTOR>,
    /// To the kernel: frames to be sent.
    pub(super) transmit: Ring<DESCRIPTOR>,
    /// From the kernel: chunks of sent frames.
    pub(super) completion: Ring<ADDRESS>,
    /// Free chunks for sent frames.
    free: Vec<u32>,
    /// For each chunk of sent frames: whether the kernel has it.
    away: Vec<bool>,
}

/// The content of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A frame, which was handed over.
    Frame,
    /// An invalid entry.
    Damaged,
}

impl Frames {
    pub(super) fn new(
        memory: Mapping,
        chunk_bytes: usize,
        (fill, receive): (Ring<ADDRESS>, Ring<DESCRIPTOR>),
        (transmit, completion): (Ring<DESCRIPTOR>, Ring<ADDRESS>),
    ) -> Self {
        let chunks = (memory.len() / chunk_bytes) as u32;
        let free: Vec<u32> = (COMING.min(chunks)..chunks).collect();
        let away = vec![false; free.len()];
        let mut frames =
            Self { memory, chunk_bytes, fill, receive, transmit, completion, free, away };
        for chunk in 0..COMING.min(chunks) {
            frames.give(chunk);
        }
        frames.fill.publish();
        frames
    }

    /// Hands over the next received frame; none when none is there.
    pub(super) fn take(&mut self, each: &mut dyn FnMut(&mut [u8])) -> Option<Entry> {
        let entry = self.receive.read()?;
        let (address, length, options) = parts(entry);
        let chunk = u32::try_from(address / self.chunk_bytes as u64).unwrap_or(u32::MAX);
        if chunk >= COMING {
            return Some(Entry::Damaged);
        }
        let within = address as usize % self.chunk_bytes;
        let fits = within + length <= self.chunk_bytes && length >= 14 && options == 0;
        // SAFETY: the kernel gave this chunk to this process with the entry, and gets it back
        // below.
        let frame = unsafe { self.memory.bytes(address as usize, length) };
        let done = match frame {
            Some(frame) if fits => {
                each(frame);
                Entry::Frame
            }
            _ => Entry::Damaged,
        };
        self.give(chunk);
        Some(done)
    }

    /// Gives the read entries back to the kernel, after a burst.
    pub(super) fn settle(&self) {
        self.receive.release();
        self.fill.publish();
    }

    /// Writes a frame to be sent, no longer than a chunk; returns whether there was room.
    pub(super) fn place(&mut self, frame: &[u8]) -> bool {
        let Some(chunk) = self.free.pop() else { return false };
        let address = u64::from(chunk) * self.chunk_bytes as u64;
        let mut entry = [0; DESCRIPTOR];
        entry[..8].copy_from_slice(&address.to_ne_bytes());
        entry[8..12].copy_from_slice(&(frame.len() as u32).to_ne_bytes());
        if frame.len() > self.chunk_bytes || self.transmit.room() == 0 {
            self.free.push(chunk);
            return false;
        }
        // SAFETY: the chunk is free: the kernel never had it, or gave it back.
        let place = unsafe { self.memory.bytes(address as usize, frame.len()) };
        let Some(place) = place else { return false };
        place.copy_from_slice(frame);
        self.away[(chunk - COMING) as usize] = true;
        self.transmit.write(entry)
    }

    /// Takes back the chunks of sent frames; returns the number of invalid entries.
    pub(super) fn reclaim(&mut self) -> u64 {
        let mut damaged = 0;
        while let Some(entry) = self.completion.read() {
            let chunk = u64::from_ne_bytes(entry) / self.chunk_bytes as u64;
            let place =
                chunk.checked_sub(u64::from(COMING)).and_then(|it| usize::try_from(it).ok());
            match place.and_then(|place| self.away.get_mut(place)) {
                Some(away) if *away => {
                    *away = false;
                    self.free.push(chunk as u32);
                }
                _ => damaged += 1,
            }
        }
        self.completion.release();
        damaged
    }

    fn give(&mut self, chunk: u32) {
        let address = u64::from(chunk) * self.chunk_bytes as u64;
        // The ring has an entry for each chunk.
        let _fits = self.fill.write(address.to_ne_bytes());
    }
}

fn parts(entry: [u8; DESCRIPTOR]) -> (u64, usize, u32) {
    let word = |at: usize| {
        entry.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |it| u32::from_ne_bytes(*it))
    };
    let address = entry.first_chunk().map_or(0, |it| u64::from_ne_bytes(*it));
    (address, word(8) as usize, word(12))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ring::in_memory;
    use super::*;

    const CHUNK: usize = 2048;

    fn frames() -> Frames {
        let memory = Mapping::anonymous((COMING + LEAVING) as usize * CHUNK).unwrap();
        let (coming, leaving) =
            ((in_memory(COMING), in_memory(2048)), (in_memory(64), in_memory(64)));
        Frames::new(memory, CHUNK, coming, leaving)
    }

    fn descriptor(address: u64, length: u32, options: u32) -> [u8; DESCRIPTOR] {
        let words = [length.to_ne_bytes(), options.to_ne_bytes()].concat();
        let entry = [address.to_ne_bytes().to_vec(), words].concat();
        *entry.first_chunk().unwrap()
    }

    #[test]
    fn a_frame_that_came_is_handed_over_and_its_chunk_goes_back() {
        let mut frames = frames();
        assert_eq!(frames.fill.kernel_reads().len(), COMING as usize);
        // SAFETY: no kernel uses it.
        let bytes = unsafe { frames.memory.bytes(3 * CHUNK + 256, 60) };
        bytes.unwrap().fill(7);
        frames.receive.kernel_writes(&[descriptor(3 * CHUNK as u64 + 256, 60, 0)], 1);
        let mut came = Vec::new();
        assert_eq!(frames.take(&mut |frame| came = frame.to_vec()), Some(Entry::Frame));
        frames.settle();
        assert_eq!(came, [7; 60]);
        assert_eq!(frames.fill.kernel_reads(), [(3 * CHUNK as u64).to_ne_bytes()]);
    }

    #[test]
    fn what_leaves_has_a_chunk_until_it_left() {
        let mut frames = frames();
        let placed = (0..LEAVING).filter(|_| frames.place(&[1; 60])).count();
        assert_eq!(placed, 64, "as many as the ring holds");
        frames.transmit.publish();
        let entries = frames.transmit.kernel_reads();
        let sent: Vec<[u8; 8]> = entries.iter().map(|it| *it.first_chunk().unwrap()).collect();
        assert_eq!(frames.free.len(), LEAVING as usize - 64);
        frames.completion.kernel_writes(&sent, 64);
        assert_eq!(frames.reclaim(), 0);
        assert_eq!(frames.free.len(), LEAVING as usize);
        assert!(!frames.place(&[0; CHUNK + 1]));
        // Chunks that were given back already count as damaged.
        frames.completion.kernel_writes(&sent, 128);
        assert_eq!((frames.reclaim(), frames.free.len()), (64, LEAVING as usize));
    }

    proptest! {
        /// For any entry, the frame lies in one chunk, and no chunk is lost.
        #[test]
        fn any_entry_is_a_frame_or_damaged(
            entries in prop::collection::vec((any::<u64>(), any::<u32>(), 0_u32..2, any::<bool>()), 1..60),
        ) {
            let mut frames = frames();
            frames.fill.kernel_reads();
            let entries: Vec<_> = entries.into_iter().map(|(address, length, options, near)| {
                if near { descriptor(address % (7000 * CHUNK as u64), length % 2100, options) }
                else { descriptor(address, length, options) }
            }).collect();
            frames.receive.kernel_writes(&entries, entries.len() as u32);
            let (mut handed, mut damaged) = (0, 0);
            loop {
                match frames.take(&mut |frame| { assert!((14..=CHUNK).contains(&frame.len())); handed += 1; }) {
                    Some(Entry::Frame) => {}
                    Some(Entry::Damaged) => damaged += 1,
                    None => break,
                }
            }
            prop_assert_eq!(handed + damaged, entries.len());
            let back: Vec<_> = entries.iter().map(|it| it[..8].try_into().unwrap()).collect();
            frames.completion.kernel_writes(&back, back.len() as u32);
            prop_assert_eq!(frames.reclaim(), back.len() as u64);
            prop_assert_eq!(frames.free.len(), LEAVING as usize);
        }
    }
}
