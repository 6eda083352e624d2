//! The reading end of a ring.

use core::fmt;

use super::memory::RingMemory;
use super::producer::unaligned;
use super::record::{Header, PADDING, RingError, Shape};

/// The reading end: records are copied out one by one, and their room is given back together.
pub struct Consumer<M> {
    memory: M,
    shape: Shape,
    /// Where the next record begins.
    tail: u64,
    /// What the producer was told of `tail`.
    released: u64,
    /// The producer's index, as last read and checked.
    head: u64,
    records: u64,
    failed: Option<RingError>,
}

/// A record that was copied out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped {
    /// What the producer said it is. Not checked: it is the peer's.
    pub kind: u16,
    /// Bytes of payload: the first so many of the buffer.
    pub len: usize,
}

impl<M: RingMemory> Consumer<M> {
    /// The reading end of the ring in `memory`, going on where its indices stand.
    pub fn new(memory: M) -> Self {
        let shape = Shape::new(memory.words());
        let tail = memory.tail();
        let failed = unaligned(tail);
        Self { memory, shape, tail, released: tail, head: tail, records: 0, failed }
    }

    /// Longest payload that the ring carries, in bytes: a buffer of this length fits every record.
    #[inline]
    pub fn max_record(&self) -> usize {
        self.shape.max_record()
    }

    /// Copies the next record's payload to the beginning of `buffer`; `None` when none is published.
    /// Its room goes back to the producer with [`Self::release`].
    #[inline]
    pub fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        if self.is_empty()? {
            return Ok(None);
        }
        match self.take(buffer) {
            Ok(popped) => Ok(Some(popped)),
            Err(error) => {
                self.failed = Some(error);
                Err(error)
            }
        }
    }

    /// Gives the room of every record popped so far back to the producer. Do so after a batch, and
    /// always before waiting for more.
    #[inline]
    pub fn release(&mut self) {
        if self.released != self.tail {
            self.memory.set_tail(self.tail);
            self.released = self.tail;
        }
    }

    /// Whether no record is published, looking again at the producer's index if need be.
    #[inline]
    pub fn is_empty(&mut self) -> Result<bool, RingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.tail == self.head {
            self.refresh()?;
        }
        Ok(self.tail == self.head)
    }

    /// Bytes published and not yet popped, going by what the producer said last.
    pub fn occupancy(&self) -> usize {
        self.head.wrapping_sub(self.tail) as usize * 8
    }

    /// Records popped so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What the peer did, once it has done something impossible.
    pub fn failure(&self) -> Option<RingError> {
        self.failed
    }

    /// Reads the producer's index. It may go forward, up to a ring's length before what was released.
    #[inline]
    fn refresh(&mut self) -> Result<(), RingError> {
        let head = self.memory.head();
        let room = self.shape.words().wrapping_sub(self.head.wrapping_sub(self.released));
        let error = if head.wrapping_sub(self.head) > room {
            let (lowest, highest) = (self.head, self.head.saturating_add(room));
            Some(RingError::IndexOutOfRange { index: head, lowest, highest })
        } else {
            unaligned(head)
        };
        if let Some(error) = error {
            self.failed = Some(error);
            return Err(error);
        }
        self.head = head;
        Ok(())
    }

    /// Takes the record at `tail`, which is before `head`. Whatever is wrong is found before a byte
    /// of payload is copied.
    #[inline]
    fn take(&mut self, buffer: &mut [u8]) -> Result<Popped, RingError> {
        let mut header = self.header()?;
        if header.len == PADDING {
            self.skip_padding()?;
            header = self.header()?;
        }
        let Header { len, kind } = header;
        let room = self.room();
        let bytes = len as usize;
        let span = Shape::span(bytes);
        if bytes > self.max_record() || span > room {
            let room = (room * 8 - 8).min(self.max_record() as u64);
            return Err(RingError::BadLength { position: self.tail, len, room });
        }
        let too_short = RingError::BufferTooShort { len, buffer: buffer.len() };
        self.copy_payload(buffer.get_mut(..bytes).ok_or(too_short)?);
        self.tail = self.tail.wrapping_add(span);
        self.records += 1;
        Ok(Popped { kind, len: bytes })
    }

    /// The header at `tail`, read once.
    #[inline]
    fn header(&self) -> Result<Header, RingError> {
        let (position, word) = (self.tail, self.memory.load(self.shape.index(self.tail)));
        Header::decode(word, position).ok_or(RingError::BadCheck { position, word })
    }

    /// Words from `tail` on that can belong to one record: published, and in this lap.
    #[inline]
    fn room(&self) -> u64 {
        self.head.wrapping_sub(self.tail).min(self.shape.rest_of_lap(self.tail))
    }

    /// Goes to the next lap. Something must be published there: a producer pads only before a
    /// record. So one pop passes at most one padding.
    fn skip_padding(&mut self) -> Result<(), RingError> {
        let rest = self.shape.rest_of_lap(self.tail);
        let published = self.head.wrapping_sub(self.tail);
        if rest == self.shape.words() || rest >= published {
            return Err(RingError::BadPadding { position: self.tail });
        }
        self.tail = self.tail.wrapping_add(rest);
        Ok(())
    }

    #[inline]
    fn copy_payload(&self, to: &mut [u8]) {
        let mut at = self.shape.index(self.tail) + 1;
        let (chunks, tail) = to.as_chunks_mut::<8>();
        for chunk in chunks {
            *chunk = self.memory.load(at).to_le_bytes();
            at += 1;
        }
        if !tail.is_empty() {
            let last = self.memory.load(at).to_le_bytes();
            for (to, from) in tail.iter_mut().zip(last) {
                *to = from;
            }
        }
    }
}

impl<M> fmt::Debug for Consumer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("tail", &self.tail)
            .field("released", &self.released)
            .field("head", &self.head)
            .field("records", &self.records)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
