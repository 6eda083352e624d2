//! Payload buffers: the rest of a long frame waits here at the NIC while its head is at
//! the host.
//!
//! The NIC writes the rest into a free buffer before it sends the head. It takes the rest when the
//! head comes back, or frees the buffer when it hears that the packet
//! [ended](crate::link::message::Frames::Ended). The host reads a buffer only if the NIC that had
//! it ended: then the handled packets leave whole by the next NIC. Only for this do the buffers lie
//! in the region.
//!
//! If no buffer is free, or the rest is longer than one, the frame goes to the host whole.

use zerocopy::IntoBytes as _;

use crate::link::ring::{RingMemory, SharedMemory};

/// Bytes of a payload buffer: with the [head](cora_core::packet::HEAD) in front of it, more than an
/// Ethernet frame has (1518).
pub const BUFFER_BYTES: usize = 2048;
/// Payload buffers of a region. With more heads in flight, one side waits for the other anyhow.
pub const BUFFERS: usize = 256;

const BUFFER_WORDS: usize = BUFFER_BYTES / 8;

/// The handle of a frame's rest: its buffer, and its bytes; none if the frame is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The buffer's number, and above it the bytes, which are never zero if there is a rest.
    bits: u32,
}

impl Parked {
    /// The frame is whole.
    pub const NONE: Self = Self { bits: 0 };

    const fn new(buffer: u16, bytes: u16) -> Self {
        Self { bits: buffer as u32 | (bytes as u32) << 16 }
    }

    /// Whether part of the frame is in a buffer.
    #[inline(always)]
    pub const fn is_some(self) -> bool {
        self.bits != 0
    }

    /// Bytes of the rest.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        (self.bits >> 16) as usize
    }

    const fn buffer(self) -> usize {
        (self.bits & 0xffff) as usize
    }

    /// The handle as it goes over a ring.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }

    /// The handle that came over a ring: without bytes, it is none.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        if bits >> 16 == 0 { Self::NONE } else { Self { bits } }
    }

    /// Reads the rest into `to`, which is as long, for the host after the NIC ended. `false`: there
    /// is no such buffer.
    pub fn read(self, payloads: &impl RingMemory, to: &mut [u8]) -> bool {
        let fits = self.buffer() < payloads.words() / BUFFER_WORDS && self.bytes() <= BUFFER_BYTES;
        fits && to.len() == self.bytes() && {
            copy_out(payloads, self.buffer(), to);
            true
        }
    }
}

/// The NIC's storage of the rests of frames.
pub trait Parking {
    /// Stores the rest of a frame; none if there is no buffer for it.
    fn park(&mut self, rest: &[u8]) -> Parked;

    /// Copies the rest of a frame to the beginning of `to`, and frees its buffer. `false`: there is
    /// nothing under that handle, or `to` is too short; then nothing has changed.
    fn take(&mut self, parked: Parked, to: &mut [u8]) -> bool;

    /// Frees the buffer of a frame's rest; `false` if there is nothing under that handle.
    fn free(&mut self, parked: Parked) -> bool;

    /// Makes freed buffers usable: no head that came back so far will be sent again.
    fn recycle(&mut self);
}

/// The NIC's side of the payload buffers: its free list.
///
/// A freed buffer is not used anew until the ring that its head came back on is
/// [released](Parking::recycle). If the NIC is killed before that, the host sends the head again,
/// and reads the rest itself.
#[derive(Debug)]
pub struct PayloadBuffers<M = SharedMemory> {
    memory: Option<M>,
    /// The free buffers. First come the usable ones; the last of these was used last and is in the
    /// cache. Then come the freed ones that are not usable yet.
    free: [u16; BUFFERS],
    usable: usize,
    given_up: usize,
    /// The content of each buffer.
    parked: [Parked; BUFFERS],
}

impl<M: RingMemory> PayloadBuffers<M> {
    /// The payload buffers in this memory of a region, all free; none without memory.
    pub fn new(memory: Option<M>) -> Self {
        let usable = memory.as_ref().map_or(0, |memory| memory.words() / BUFFER_WORDS).min(BUFFERS);
        let mut free = [0; BUFFERS];
        for (buffer, place) in (0..).zip(&mut free) {
            *place = buffer;
        }
        Self { memory, free, usable, given_up: 0, parked: [Parked::NONE; BUFFERS] }
    }

    /// Number of usable buffers.
    pub const fn left(&self) -> usize {
        self.usable
    }

    /// Takes a usable buffer.
    fn next(&mut self) -> Option<u16> {
        let at = self.usable.checked_sub(1)?;
        // The last freed one closes the gap.
        let last = *self.free.get(at + self.given_up)?;
        let buffer = core::mem::replace(self.free.get_mut(at)?, last);
        self.usable = at;
        Some(buffer)
    }
}

impl<M: RingMemory> Parking for PayloadBuffers<M> {
    fn park(&mut self, rest: &[u8]) -> Parked {
        if rest.is_empty() || rest.len() > BUFFER_BYTES {
            return Parked::NONE;
        }
        let Some(buffer) = self.next() else { return Parked::NONE };
        let parked = Parked::new(buffer, rest.len() as u16);
        if let (Some(memory), Some(place)) =
            (&self.memory, self.parked.get_mut(usize::from(buffer)))
        {
            copy_in(memory, buffer.into(), rest);
            *place = parked;
        }
        parked
    }

    fn take(&mut self, parked: Parked, to: &mut [u8]) -> bool {
        let Some(to) = to.get_mut(..parked.bytes()) else { return false };
        let freed = self.free(parked);
        if freed && let Some(memory) = &self.memory {
            copy_out(memory, parked.buffer(), to);
        }
        freed
    }

    fn free(&mut self, parked: Parked) -> bool {
        let place = self.parked.get_mut(parked.buffer()).filter(|place| **place == parked);
        let Some(place) = place.filter(|place| place.is_some()) else { return false };
        *place = Parked::NONE;
        // There is a place: each buffer is freed once after it was taken.
        if let Some(place) = self.free.get_mut(self.usable + self.given_up) {
            *place = parked.buffer() as u16;
            self.given_up += 1;
        }
        true
    }

    fn recycle(&mut self) {
        self.usable += self.given_up;
        self.given_up = 0;
    }
}

/// Writes bytes into a buffer.
fn copy_in(memory: &impl RingMemory, buffer: usize, bytes: &[u8]) {
    let at = buffer * BUFFER_WORDS;
    let (pairs, rest) = bytes.as_chunks::<16>();
    memory.write(at, pairs);
    if !rest.is_empty() {
        let mut last = [0; 16];
        last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        memory.write(at + 2 * pairs.len(), &[last]);
    }
}

/// Reads the first bytes of a buffer.
fn copy_out(memory: &impl RingMemory, buffer: usize, to: &mut [u8]) {
    let at = buffer * BUFFER_WORDS;
    let (words, rest) = to.as_chunks_mut::<8>();
    memory.read(at, words);
    let last = memory.load(at + words.len());
    rest.iter_mut().zip(last.as_bytes()).for_each(|(place, byte)| *place = *byte);
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicU64;

    use super::*;

    fn memory(buffers: usize) -> SharedMemory {
        let words = crate::link::ring::CONTROL_WORDS + buffers * BUFFER_WORDS;
        let words: Vec<_> = (0..words).map(|_| AtomicU64::new(0)).collect();
        SharedMemory::new(words.leak()).unwrap()
    }

    #[test]
    fn what_is_parked_comes_back_whole_whatever_its_length() {
        let mut payloads = PayloadBuffers::new(Some(memory(4)));
        for length in [1, 7, 8, 15, 16, 17, 511, 512, 1372, BUFFER_BYTES - 1, BUFFER_BYTES] {
            let rest: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            let other = payloads.park(&[9; 100]);
            let parked = payloads.park(&rest);
            assert_eq!(parked.bytes(), length);
            assert_eq!(Parked::from_bits(parked.bits()), parked);
            let mut to = vec![0; BUFFER_BYTES + 8];
            assert!(payloads.take(parked, &mut to));
            assert!(to[..length] == rest && to[length..].iter().all(|byte| *byte == 0));
            assert!(payloads.free(other));
            payloads.recycle();
            assert_eq!(payloads.left(), 4);
        }
    }

    #[test]
    fn there_are_so_many_and_none_twice() {
        let mut payloads = PayloadBuffers::new(Some(memory(2)));
        let (first, second) = (payloads.park(b"first"), payloads.park(b"second"));
        assert_eq!(payloads.park(b"third"), Parked::NONE);
        assert!(payloads.free(first) && !payloads.free(first), "once");
        assert_eq!(payloads.park(&[0; BUFFER_BYTES + 1]), Parked::NONE, "too long");
        assert_eq!(payloads.park(b""), Parked::NONE);
        let mut to = [0; 64];
        assert!(payloads.take(second, &mut to) && !payloads.take(second, &mut to));
        assert_eq!(&to[..6], b"second");
        payloads.recycle();
        assert_eq!(payloads.left(), 2);
    }

    #[test]
    fn none_is_used_anew_until_its_head_can_not_come_again() {
        let memory = memory(4);
        let mut payloads = PayloadBuffers::new(Some(memory));
        let (_, first, second) =
            (payloads.park(b"other"), payloads.park(b"first"), payloads.park(b"second"));
        assert!(payloads.free(first) && payloads.left() == 1);
        let third = payloads.park(b"third");
        assert!(third.is_some() && payloads.park(b"fourth") == Parked::NONE);
        let mut to = [0; 5];
        assert!(first.read(&memory, &mut to) && &to == b"first");
        assert!(payloads.free(second) && payloads.free(third) && payloads.left() == 0);
        payloads.recycle();
        assert_eq!(payloads.left(), 3);
    }

    #[test]
    fn names_that_nobody_gave_are_refused() {
        let mut payloads = PayloadBuffers::new(Some(memory(2)));
        let parked = payloads.park(b"rest");
        let mut to = [0; BUFFER_BYTES];
        for wrong in [
            Parked::NONE,
            Parked::new(parked.buffer() as u16, 5),
            Parked::new(parked.buffer() as u16 ^ 1, 4),
            Parked::new(2, 4),
            Parked::new(u16::MAX, u16::MAX),
        ] {
            assert!(!payloads.free(wrong) && !payloads.take(wrong, &mut to), "{wrong:?}");
        }
        assert!(!payloads.take(parked, &mut to[..3]), "no room");
        assert!(payloads.take(parked, &mut to));
        let mut none = PayloadBuffers::<SharedMemory>::new(None);
        assert_eq!((none.park(b"rest"), none.left()), (Parked::NONE, 0));
    }

    #[test]
    fn the_host_reads_what_a_nic_left() {
        let memory = memory(2);
        let parked = PayloadBuffers::new(Some(memory)).park(b"the rest of a frame");
        let mut to = vec![0; parked.bytes()];
        assert!(parked.read(&memory, &mut to));
        assert_eq!(to, b"the rest of a frame");
        assert!(!Parked::new(2, 19).read(&memory, &mut to), "beyond the buffers");
        assert!(!Parked::new(0, 20).read(&memory, &mut to), "another length");
        assert!(
            !Parked::new(0, BUFFER_BYTES as u16 + 1).read(&memory, &mut vec![0; BUFFER_BYTES + 1])
        );
    }
}
