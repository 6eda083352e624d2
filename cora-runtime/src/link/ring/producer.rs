//! The writing end of a ring.
#![expect(
    unsafe_code,
    reason = "past the caches, records go to memory that takes them so, and to no other"
)]

use core::fmt;

use crate::link::ring::consumer::Consumer;
use crate::link::ring::distance::Distance;
use crate::link::ring::policy::{StorePolicy, Streaming};
use crate::link::ring::record::{
    AHEAD, Header, LINE_WORDS, NO_RECORD, PADDING, RingError, Shape, index,
};
use crate::link::ring::writer::{Writer, stream_behind, write_behind};

/// The shared index lags by less than this. It has a line of its own, which takes as long to write
/// as a record's if the consumer has just read it.
const TOLD_EVERY: u64 = 16 * LINE_WORDS;

/// The writing end: records are pushed, and become visible together when published.
///
/// ```
/// # use std::sync::atomic::AtomicU64;
/// # use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};
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
    /// Where the first unpublished record begins.
    published: u64,
    /// The header of that record, held back until the rest is written.
    first: Header,
    /// The value of the shared `head`.
    told: u64,
    /// The consumer's index, as last read and checked.
    tail: u64,
    /// Words from `head` on in which a record needs no further check. They are within the lap; they
    /// are free, and so are the lines [`AHEAD`] of them; and no record in them is too long. 0 once
    /// the ring failed.
    clear: u64,
    /// Whether records behind the first of this batch are streamed: the previous batch was long,
    /// and the consumer is far enough. Invariant: if so, the memory streams.
    streams: bool,
    /// Measured if streaming depends on it.
    distance: Distance,
    /// The published position at its last measurement.
    noted: u64,
    /// Whether streamed words are not settled yet.
    unsettled: bool,
    failed: Option<RingError>,
}

impl<M: StorePolicy> Producer<M> {
    /// The writing end of the ring in `memory`, resuming at its indices. If there was a writing end
    /// before, it [rested](Self::rest) behind its last record. A consumer may poll already if the
    /// word of the next header is zero, as in a new mapping.
    #[inline(never)]
    pub fn new(memory: M) -> Self {
        let shape = Shape::new(memory.words());
        let (head, tail) = (memory.head(), memory.tail());
        let mut failed = unaligned(head).or(unaligned(tail));
        if head.wrapping_sub(tail) > shape.usable() {
            failed = Some(RingError::IndexOutOfRange {
                index: tail,
                lowest: head.saturating_sub(shape.usable()),
                highest: head,
            });
        }
        // A failed ring has no words in use.
        let tail = if failed.is_some() { head } else { tail };
        if failed.is_none() {
            memory.set_header(index(head), NO_RECORD);
        }
        Self {
            memory,
            shape,
            head,
            published: head,
            first: Header::new(0, 0),
            told: head,
            tail,
            clear: 0,
            streams: false,
            distance: Distance::default(),
            noted: head,
            unsettled: false,
            failed,
        }
    }

    /// Longest payload that [`Self::push`] takes, in bytes.
    #[inline]
    pub fn max_record(&self) -> usize {
        self.shape.max_record()
    }

    /// Writes one record; its payload is the concatenated `parts`. The consumer sees it after
    /// [`Self::publish`]. Until then it takes room all the same, so publish before waiting for
    /// room.
    #[inline(always)]
    pub fn push(&mut self, kind: u16, parts: &[&[u8]]) -> Result<(), PushError> {
        let len = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        self.make_way(len)?;
        let header = self.header_for_now(Header::new(len as u32, kind));
        let mut writer = Writer::new(&self.memory, index(self.head), header);
        for part in parts {
            writer.part(part);
        }
        writer.finish();
        self.advance(len);
        Ok(())
    }

    /// [`Self::push`] as a function of its own.
    #[inline(never)]
    pub fn push_apart(&mut self, kind: u16, parts: &[&[u8]]) -> Result<(), PushError> {
        self.push(kind, parts)
    }

    /// Writes one record; its payload is `head`, an odd number of little-endian words, and then
    /// `body`. It does the same as [`Self::push`] in fewer instructions, for the most frequent
    /// records.
    #[inline(always)]
    pub fn push_behind<const N: usize>(
        &mut self,
        kind: u16,
        head: &[u64; N],
        body: &[u8],
    ) -> Result<(), PushError> {
        let len = body.len().saturating_add(8 * N);
        self.make_way(len)?;
        let header = self.header_for_now(Header::new(len as u32, kind));
        let at = index(self.head);
        // A batch's first record is published by a later store of its header, so its line should be
        // in the cache.
        if M::STREAMS && self.streams && self.head != self.published {
            self.unsettled = true;
            // SAFETY: it streams (invariant of `streams`).
            unsafe { stream_behind(&self.memory, at, header, head, body) };
        } else {
            write_behind(&self.memory, at, header, head, body);
        }
        self.advance(len);
        Ok(())
    }

    /// Makes room for a record of `len` bytes at `head`, and prefetches as many lines ahead.
    #[inline(always)]
    fn make_way(&mut self, len: usize) -> Result<(), PushError> {
        let span = Shape::span(len);
        if span > self.clear {
            return self.look_for_clear(len);
        }
        if !(M::STREAMS && self.streams) {
            self.want_ahead(span);
        }
        Ok(())
    }

    /// Goes on behind a record of `len` bytes.
    #[inline(always)]
    fn advance(&mut self, len: usize) {
        let span = Shape::span(len);
        self.head = self.head.wrapping_add(span);
        self.clear = self.clear.wrapping_sub(span);
    }

    /// Makes room for a record of `len` bytes at `head`, and computes `clear` anew.
    #[inline(never)]
    fn look_for_clear(&mut self, len: usize) -> Result<(), PushError> {
        if len > self.max_record() {
            return Err(PushError::TooLong);
        }
        let padding = self.find_room(len)?;
        if padding > 0 {
            self.pad(padding);
        }
        let free = self.free_words().saturating_sub(AHEAD);
        // Half of the longest record, in words: no record within that is too long.
        let longest = (self.max_record() / 16) as u64;
        let lap = self.shape.rest_of_lap(self.head);
        // The current record has room in any case.
        self.clear = free.min(longest).min(lap).max(Shape::span(len));
        Ok(())
    }

    /// Where the next record begins, or the padding in front of it.
    pub const fn position(&self) -> u64 {
        self.head
    }

    /// Publishes all records, and returns a reader of those from `position` on, which the other
    /// end may have read already. It reads them before the next one is pushed.
    pub(crate) fn since(&mut self, position: u64) -> Consumer<M>
    where
        M: Copy,
    {
        self.publish();
        Consumer::looking_from(self.memory, position)
    }

    /// Makes every record pushed so far visible to the consumer, all at once: it can't see any
    /// before the first header, which is written last.
    #[inline(always)]
    pub fn publish(&mut self) {
        if self.published != self.head {
            self.show();
        }
    }

    /// Does postponed work while nothing is to be pushed. It shows the consumer where the ring
    /// ends, and fetches the line of the next record: if the consumer has a copy, some machines
    /// fetch it only for a store. A producer that never calls this loses only time.
    #[inline(never)]
    pub fn rest(&mut self) {
        if self.told != self.published {
            self.tell();
            self.memory.store(index(self.head), NO_RECORD);
        }
    }

    #[inline(never)]
    fn show(&mut self) {
        self.end_here();
        let batch = self.head.wrapping_sub(self.published);
        let first = self.first.first_of(batch).encode(self.published);
        if M::STREAMS && self.unsettled {
            self.memory.settle();
            self.unsettled = false;
        }
        self.memory.set_header(index(self.published), first);
        self.published = self.head;
        if M::STREAMS {
            self.streams = self.would_stream(batch);
        }
        if self.head.wrapping_sub(self.told) >= TOLD_EVERY {
            self.tell();
        }
    }

    /// Whether records of the batch after one of `batch` words are to be streamed.
    #[inline(always)]
    fn would_stream(&mut self, batch: u64) -> bool {
        let Some(streaming) = self.memory.streaming() else { return false };
        if batch < streaming.batch {
            return false;
        }
        // A large ring has room for long, so nothing else reads the index.
        if self.trip_to_note().is_some() {
            // The error stays in `failed`.
            let _ = self.refresh();
        }
        streaming.trip == 0 || self.distance.is_far()
    }

    /// The trip that counts as far, if it is time to measure the consumer's distance.
    #[inline(always)]
    fn trip_to_note(&self) -> Option<u64> {
        let Streaming { trip, looks_every, .. } = self.memory.streaming()?;
        let since = self.published.wrapping_sub(self.noted);
        (M::STREAMS && trip > 0 && since >= looks_every).then_some(trip)
    }

    /// Clears the word behind the last record if it would pass for a header, as a word of an
    /// earlier lap may.
    #[inline(always)]
    fn end_here(&mut self) {
        let place = index(self.head);
        if Header::decode(self.memory.load(place), self.head).is_some() {
            self.memory.store(place, NO_RECORD);
        }
    }

    /// Updates the shared index.
    #[inline(always)]
    fn tell(&mut self) {
        self.memory.set_head(self.published);
        self.told = self.published;
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
        self.has_words(end.wrapping_sub(self.head))
    }

    /// Bytes not in use, by the consumer's index as it is now. One record may get less: the rest of
    /// a lap can be too short for it.
    pub fn free_bytes(&mut self) -> usize {
        if self.failed.is_some() || self.refresh().is_err() {
            return 0;
        }
        self.free_words() as usize * 8
    }

    /// Bytes in use, by the consumer's index as last read.
    pub fn occupancy(&self) -> usize {
        self.head.wrapping_sub(self.tail) as usize * 8
    }

    /// The peer's error, once it has done something impossible.
    pub fn failure(&self) -> Option<RingError> {
        self.failed
    }

    /// Checks that a record of `len` bytes has room; returns the words of padding before it.
    #[inline]
    fn find_room(&mut self, len: usize) -> Result<u64, PushError> {
        let span = Shape::span(len);
        let padding = self.padding_at(self.head, span);
        if self.has_words(padding + span) {
            Ok(padding)
        } else {
            Err(self.failed.map_or(PushError::Full, PushError::Failed))
        }
    }

    /// Whether `needed` words are free. Reads the consumer's index only if too few were free
    /// before.
    #[inline]
    fn has_words(&mut self, needed: u64) -> bool {
        if self.failed.is_none() && needed > self.free_words() {
            // The error stays in `failed`.
            let _ = self.refresh();
        }
        self.failed.is_none() && needed <= self.free_words()
    }

    /// Words to skip so that a record of `span` words, begun at `position`, stays within its lap.
    #[inline]
    fn padding_at(&self, position: u64, span: u64) -> u64 {
        let rest = self.shape.rest_of_lap(position);
        if span > rest { rest } else { 0 }
    }

    #[inline]
    fn free_words(&self) -> u64 {
        self.shape.usable().wrapping_sub(self.head.wrapping_sub(self.tail))
    }

    /// Reads the consumer's index. It may advance to the published position.
    #[inline(never)]
    fn refresh(&mut self) -> Result<(), RingError> {
        let tail = self.tail_now();
        let taken = tail.wrapping_sub(self.tail);
        let error = if taken > self.published.wrapping_sub(self.tail) {
            let (lowest, highest) = (self.tail, self.published);
            Some(RingError::IndexOutOfRange { index: tail, lowest, highest })
        } else {
            unaligned(tail)
        };
        if let Some(error) = error {
            self.failed = Some(error);
            self.clear = 0;
            return Err(error);
        }
        self.tail = tail;
        Ok(())
    }

    /// The consumer's current index. Measures the trip of its line, if that is due.
    #[inline(always)]
    fn tail_now(&mut self) -> u64 {
        let Some(trip) = self.trip_to_note() else { return self.memory.tail() };
        let before = self.memory.clock();
        let tail = self.memory.tail();
        let took = self.memory.clock().wrapping_sub(before);
        // An unchanged index proves nothing: its line may never have left. The next read tells
        // more.
        if tail != self.tail {
            self.distance.note(took >= trip);
            self.noted = self.published;
        }
        tail
    }

    /// Prefetches as many lines ahead as are written now.
    #[inline(always)]
    fn want_ahead(&self, span: u64) {
        let first = self.head.wrapping_add(AHEAD);
        for words in (0..span).step_by(LINE_WORDS as usize) {
            self.memory.prefetch_to_write(index(first.wrapping_add(words)));
        }
    }

    /// The word to write now in place of a header: no header yet, if it would publish all that
    /// follows.
    #[inline(always)]
    fn header_for_now(&mut self, header: Header) -> u64 {
        if self.head == self.published {
            self.first = header;
            NO_RECORD
        } else {
            header.encode(self.head)
        }
    }

    /// Skips the rest of a lap, once in a lap.
    #[cold]
    #[inline(never)]
    fn pad(&mut self, padding: u64) {
        let header = self.header_for_now(Header::new(PADDING, 0));
        self.memory.store(index(self.head), header);
        self.head = self.head.wrapping_add(padding);
    }
}

impl<M> fmt::Debug for Producer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("head", &self.head)
            .field("published", &self.published)
            .field("tail", &self.tail)
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
    /// The consumer did something impossible; the ring is unusable.
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
