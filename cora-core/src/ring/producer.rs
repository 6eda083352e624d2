//! The writing end of a ring.

use core::fmt;

use super::memory::RingMemory;
use super::record::{Header, LINE_WORDS, PADDING, RingError, Shape};

/// The writing end: records are pushed, and become visible together when published.
///
/// ```
/// # use std::sync::atomic::AtomicU64;
/// # use cora_core::ring::{Consumer, Producer, SharedMemory};
/// # static WORDS: [AtomicU64; 32 + 64] = [const { AtomicU64::new(0) }; 96];
/// let memory = SharedMemory::new(&WORDS).expect("64 words of data");
/// let (mut producer, mut consumer) = (Producer::new(memory), Consumer::new(memory));
///
/// producer.push(7, &[b"two ", b"parts"])?;
/// producer.publish();
///
/// let mut buffer = [0; 64];
/// let record = consumer.pop(&mut buffer)?.expect("one record is published");
/// assert_eq!((record.kind, &buffer[..record.len]), (7, &b"two parts"[..]));
/// consumer.release();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Producer<M> {
    memory: M,
    shape: Shape,
    /// Where the next record begins.
    head: u64,
    /// What the consumer was told of `head`.
    published: u64,
    /// The consumer's index, as last read and checked.
    tail: u64,
    records: u64,
    failed: Option<RingError>,
}

impl<M: RingMemory> Producer<M> {
    /// The writing end of the ring in `memory`, going on where its indices stand.
    pub fn new(memory: M) -> Self {
        let shape = Shape::new(memory.words());
        let (head, tail) = (memory.head(), memory.tail());
        let mut failed = unaligned(head).or(unaligned(tail));
        if head.wrapping_sub(tail) > shape.words() {
            failed = Some(RingError::IndexOutOfRange {
                index: tail,
                lowest: head.saturating_sub(shape.words()),
                highest: head,
            });
        }
        Self { memory, shape, head, published: head, tail, records: 0, failed }
    }

    /// Longest payload that [`Self::push`] takes, in bytes.
    #[inline]
    pub fn max_record(&self) -> usize {
        self.shape.max_record()
    }

    /// Writes one record whose payload is `parts`, one after the other. The consumer sees it after
    /// [`Self::publish`]; until then it takes room all the same, so publish before waiting for room.
    #[inline]
    pub fn push(&mut self, kind: u16, parts: &[&[u8]]) -> Result<(), PushError> {
        let len = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        if len > self.max_record() {
            return Err(PushError::TooLong);
        }
        let padding = self.find_room(len)?;
        if padding > 0 {
            self.put_header(Header { len: PADDING, kind: 0 });
            self.head = self.head.wrapping_add(padding);
        }
        self.put_header(Header { len: len as u32, kind });
        self.put_payload(parts);
        self.head = self.head.wrapping_add(Shape::span(len));
        self.records += 1;
        Ok(())
    }

    /// Makes every record pushed so far visible to the consumer.
    #[inline]
    pub fn publish(&mut self) {
        if self.published != self.head {
            self.memory.set_head(self.head);
            self.published = self.head;
        }
    }

    /// Whether a record with a payload of `len` bytes would be taken now.
    #[inline]
    pub fn has_room(&mut self, len: usize) -> bool {
        self.has_room_for(&[len])
    }

    /// Whether records with payloads of these lengths would all be taken now, one after the other.
    #[inline]
    pub fn has_room_for(&mut self, lengths: &[usize]) -> bool {
        let mut end = self.head;
        for &len in lengths {
            if len > self.max_record() {
                return false;
            }
            let span = Shape::span(len);
            end = end.wrapping_add(self.padding_at(end, span)).wrapping_add(span);
        }
        self.has_words(end.wrapping_sub(self.head)).unwrap_or(false)
    }

    /// Bytes not in use, going by what the consumer says now. One record may take less than that:
    /// what remains of a lap can be too short for it.
    pub fn free_bytes(&mut self) -> usize {
        if self.failed.is_some() || self.refresh().is_err() {
            return 0;
        }
        self.free_words() as usize * 8
    }

    /// Bytes in use, going by what the consumer said last.
    pub fn occupancy(&self) -> usize {
        self.head.wrapping_sub(self.tail) as usize * 8
    }

    /// Records pushed so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What the peer did, once it has done something impossible.
    pub fn failure(&self) -> Option<RingError> {
        self.failed
    }

    /// Sees to it that a record of `len` bytes has room; returns the words of padding before it.
    #[inline]
    fn find_room(&mut self, len: usize) -> Result<u64, PushError> {
        let span = Shape::span(len);
        let padding = self.padding_at(self.head, span);
        match self.has_words(padding + span) {
            Ok(true) => Ok(padding),
            Ok(false) => Err(PushError::Full),
            Err(error) => Err(PushError::Failed(error)),
        }
    }

    /// Whether so many words are free, asking the consumer only when they were not before.
    #[inline]
    fn has_words(&mut self, needed: u64) -> Result<bool, RingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if needed > self.free_words() {
            self.refresh()?;
        }
        Ok(needed <= self.free_words())
    }

    /// Words to skip so that a record of `span` words, begun at `position`, stays within its lap.
    #[inline]
    fn padding_at(&self, position: u64, span: u64) -> u64 {
        let rest = self.shape.rest_of_lap(position);
        if span > rest { rest } else { 0 }
    }

    #[inline]
    fn free_words(&self) -> u64 {
        self.shape.words().wrapping_sub(self.head.wrapping_sub(self.tail))
    }

    /// Reads the consumer's index. It may go forward, up to what is published.
    fn refresh(&mut self) -> Result<(), RingError> {
        let tail = self.memory.tail();
        let taken = tail.wrapping_sub(self.tail);
        let error = if taken > self.published.wrapping_sub(self.tail) {
            let (lowest, highest) = (self.tail, self.published);
            Some(RingError::IndexOutOfRange { index: tail, lowest, highest })
        } else {
            unaligned(tail)
        };
        if let Some(error) = error {
            self.failed = Some(error);
            return Err(error);
        }
        self.tail = tail;
        Ok(())
    }

    #[inline]
    fn put_header(&self, header: Header) {
        self.memory.store(self.shape.index(self.head), header.encode(self.head));
    }

    /// Copies the parts in as words; where one part ends within a word, the next goes on there.
    #[inline]
    fn put_payload(&self, parts: &[&[u8]]) {
        let mut at = self.shape.index(self.head) + 1;
        let (mut word, mut bits) = (0_u64, 0_u32);
        for part in parts {
            let (chunks, tail) = part.as_chunks::<8>();
            if bits == 0 {
                for chunk in chunks {
                    self.memory.store(at, u64::from_le_bytes(*chunk));
                    at += 1;
                }
            } else {
                for chunk in chunks {
                    let next = u64::from_le_bytes(*chunk);
                    self.memory.store(at, word | next << bits);
                    word = next >> (64 - bits);
                    at += 1;
                }
            }
            for &byte in tail {
                word |= u64::from(byte) << bits;
                bits += 8;
                if bits == 64 {
                    self.memory.store(at, word);
                    (word, bits) = (0, 0);
                    at += 1;
                }
            }
        }
        if bits > 0 {
            self.memory.store(at, word);
        }
    }
}

impl<M> fmt::Debug for Producer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("head", &self.head)
            .field("published", &self.published)
            .field("tail", &self.tail)
            .field("records", &self.records)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// The error of an index that is not at the beginning of a line.
#[inline]
pub(super) fn unaligned(index: u64) -> Option<RingError> {
    (!index.is_multiple_of(LINE_WORDS)).then_some(RingError::IndexUnaligned { index })
}

/// Why a record was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// No room now; there will be when the consumer goes on.
    Full,
    /// Longer than [`Producer::max_record`]: there never is room.
    TooLong,
    /// The consumer did something impossible; the ring is of no more use.
    Failed(RingError),
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the ring is full"),
            Self::TooLong => f.write_str("the record is longer than the ring carries"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PushError {}
