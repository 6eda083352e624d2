//! The reading end of a ring.

use core::fmt;

use super::memory::RingMemory;
use super::producer::unaligned;
use super::record::{Header, NO_RECORD, PADDING, RingError, Shape};

/// Looks in vain between two at the producer's index, which only tells whether the peer is broken:
/// seldom enough that the index's line stays with the producer.
const LOOKS: u32 = 64;

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
    /// Looks in vain since the last at the producer's index.
    looks: u32,
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
    #[inline(never)]
    pub fn new(memory: M) -> Self {
        let shape = Shape::new(memory.words());
        let tail = memory.tail();
        let failed = unaligned(tail);
        Self { memory, shape, tail, released: tail, head: tail, looks: 0, records: 0, failed }
    }

    /// Longest payload that the ring carries, in bytes: a buffer of this length fits every record.
    #[inline]
    pub fn max_record(&self) -> usize {
        self.shape.max_record()
    }

    /// Copies the next record's payload to the beginning of `buffer`; `None` when none is published.
    /// Its room goes back to the producer with [`Self::release`]. What follows the payload in `buffer` is
    /// anything then.
    #[inline]
    pub fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let word = self.next_header()?;
        if word == NO_RECORD {
            return Ok(None);
        }
        let short =
            self.take_lines::<7>(word, buffer).or_else(|| self.take_lines::<15>(word, buffer));
        match short {
            Some(popped) => Ok(Some(popped)),
            None => self.take_any(word, buffer).map(Some),
        }
    }

    /// Takes a record that is no longer than `WORDS`, one less than those of whole lines: all of them are
    /// copied, whatever its length, so that there is nothing to count. `None` when that is not so here, or
    /// anything is wrong.
    #[inline(always)]
    fn take_lines<const WORDS: usize>(&mut self, word: u64, buffer: &mut [u8]) -> Option<Popped> {
        let Header { len, kind } = Header::decode(word, self.tail)?;
        let span = WORDS as u64 + 1;
        let (words, _) = buffer.as_chunks_mut::<8>();
        let place: &mut [[u8; 8]; WORDS] = words.first_chunk_mut()?;
        let has_lines = span <= self.room() && span <= self.shape.rest_of_lap(self.tail);
        if len as usize > WORDS * 8 || !has_lines {
            return None;
        }
        self.memory.read(self.shape.index(self.tail) + 1, place);
        self.tail = self.tail.wrapping_add(span);
        self.records += 1;
        Some(Popped { kind, len: len as usize })
    }

    /// Takes any record.
    #[inline(never)]
    fn take_any(&mut self, word: u64, buffer: &mut [u8]) -> Result<Popped, RingError> {
        self.take(word, buffer).map_err(|error| self.fail(error))
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

    /// Whether no record is published.
    #[inline]
    pub fn is_empty(&mut self) -> Result<bool, RingError> {
        Ok(self.next_header()? == NO_RECORD)
    }

    /// Whether no record is published and none should be: a look at the producer's index too. Every
    /// so many looks in vain end here by themselves; who waits without looking asks first.
    #[inline(never)]
    pub fn is_empty_indeed(&mut self) -> Result<bool, RingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.looks = 0;
        self.refresh()?;
        let word = self.header_word();
        if word == NO_RECORD && self.occupancy() > 0 {
            // The index was written after the header, and read before it.
            return Err(self.fail(RingError::BadCheck { position: self.tail, word }));
        }
        Ok(word == NO_RECORD)
    }

    /// Bytes published and not yet popped, going by what the producer said last.
    pub fn occupancy(&self) -> usize {
        // The index comes behind the headers: it may say less than was popped already.
        let words = self.head.wrapping_sub(self.tail);
        if words > self.shape.usable() { 0 } else { words as usize * 8 }
    }

    /// Records popped so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What the peer did, once it has done something impossible.
    pub fn failure(&self) -> Option<RingError> {
        self.failed
    }

    fn fail(&mut self, error: RingError) -> RingError {
        self.failed = Some(error);
        error
    }

    /// The word where the next header is or will be.
    #[inline]
    fn header_word(&self) -> u64 {
        self.memory.header(self.shape.index(self.tail))
    }

    /// The next header's word, or [`NO_RECORD`].
    #[inline]
    fn next_header(&mut self) -> Result<u64, RingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let word = self.header_word();
        if word == NO_RECORD {
            self.looks += 1;
            if self.looks >= LOOKS {
                self.is_empty_indeed()?;
            }
        }
        Ok(word)
    }

    /// Reads the producer's index. It may go forward, up to what was released and a ring's length.
    fn refresh(&mut self) -> Result<(), RingError> {
        let head = self.memory.head();
        let highest = self.released.wrapping_add(self.shape.usable());
        let error = if highest.wrapping_sub(head) > highest.wrapping_sub(self.head) {
            Some(RingError::IndexOutOfRange { index: head, lowest: self.head, highest })
        } else {
            unaligned(head)
        };
        if let Some(error) = error {
            return Err(self.fail(error));
        }
        self.head = head;
        Ok(())
    }

    /// Takes the record at `tail`, whose header's word was read. Whatever is wrong is found before a
    /// byte of payload is copied.
    #[inline]
    fn take(&mut self, word: u64, buffer: &mut [u8]) -> Result<Popped, RingError> {
        let mut header = self.decode(word)?;
        if header.len == PADDING {
            self.skip_padding()?;
            header = self.decode(self.header_word())?;
        }
        let Header { len, kind } = header;
        let room = self.room().min(self.shape.rest_of_lap(self.tail));
        let bytes = len as usize;
        let span = Shape::span(bytes);
        if bytes > self.max_record() || span > room {
            let room = (room * 8).saturating_sub(8).min(self.max_record() as u64);
            return Err(RingError::BadLength { position: self.tail, len, room });
        }
        let too_short = RingError::BufferTooShort { len, buffer: buffer.len() };
        self.copy_payload(buffer.get_mut(..bytes).ok_or(too_short)?);
        self.tail = self.tail.wrapping_add(span);
        self.records += 1;
        Ok(Popped { kind, len: bytes })
    }

    #[inline]
    fn decode(&self, word: u64) -> Result<Header, RingError> {
        let position = self.tail;
        Header::decode(word, position).ok_or(RingError::BadCheck { position, word })
    }

    /// Words from `tail` on that the producer can have written: what was popped and not released, and
    /// the line behind the last record, it can't.
    #[inline]
    fn room(&self) -> u64 {
        self.shape.usable() - self.tail.wrapping_sub(self.released)
    }

    /// Goes to the next lap. Something must be published there: a producer pads only before a
    /// record. So one pop passes at most one padding.
    fn skip_padding(&mut self) -> Result<(), RingError> {
        let rest = self.shape.rest_of_lap(self.tail);
        if rest == self.shape.words() || rest >= self.room() {
            return Err(RingError::BadPadding { position: self.tail });
        }
        self.tail = self.tail.wrapping_add(rest);
        Ok(())
    }

    #[inline]
    fn copy_payload(&self, to: &mut [u8]) {
        let at = self.shape.index(self.tail) + 1;
        let (words, tail) = to.as_chunks_mut::<8>();
        self.memory.read(at, words);
        if !tail.is_empty() {
            let last = self.memory.load(at + words.len()).to_le_bytes();
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
