//! The reading end of a ring.

use core::fmt;

use crate::link::ring::memory::RingMemory;
use crate::link::ring::producer::unaligned;
use crate::link::ring::record::{AHEAD, Header, LINE_WORDS, PADDING, RingError, Shape, index};

/// Idle polls between two reads of the producer's index, which only shows whether the peer is
/// broken. Reads are rare enough that the index's line stays with the producer.
const LOOKS: u32 = 64;

/// Lines in a row, as announced by batches, after which the consumer reads the producer's index. A
/// consumer of single lines has nothing to prefetch, and should leave the index's line with the
/// producer.
const STREAK: u32 = 32;

const LINE: usize = LINE_WORDS as usize;

/// The reading end. Records are copied out one by one, and their room is given back together.
pub struct Consumer<M> {
    memory: M,
    shape: Shape,
    /// Where the next record begins.
    tail: u64,
    /// The `tail` that the producer can read.
    released: u64,
    /// The producer's index, as last read and checked.
    head: u64,
    /// Words from `tail` on in which only a record's header needs a check: they are within the lap,
    /// and the producer can have written them. 0 once the ring failed. It is counted down instead
    /// of compared with `tail`, so each record needs one comparison. It is computed anew when too
    /// few are left, about once in a lap.
    clear: u64,
    /// Lines before this position are known to be published.
    shown: u64,
    /// Lines announced by batches since the last idle poll or read of the producer's index; one for
    /// each long record.
    streak: u32,
    /// Idle polls since the last read of the producer's index.
    looks: u32,
    records: u64,
    failed: Option<RingError>,
}

/// A record that was copied out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped {
    /// The kind that the producer wrote, unchecked.
    pub kind: u16,
    /// Bytes of payload, at the beginning of the buffer.
    pub len: usize,
}

impl<M: RingMemory> Consumer<M> {
    /// The reading end of the ring in `memory`, resuming at its indices.
    #[inline(never)]
    pub fn new(memory: M) -> Self {
        let shape = Shape::new(memory.words());
        let tail = memory.tail();
        let failed = unaligned(tail);
        Self {
            memory,
            shape,
            tail,
            released: tail,
            head: tail,
            clear: 0,
            shown: tail,
            streak: 0,
            looks: 0,
            records: 0,
            failed,
        }
    }

    /// A reader of the records from `position` on. It must never release: the ring has a reading
    /// end beside it.
    pub(crate) fn looking_from(memory: M, position: u64) -> Self {
        Self {
            tail: position,
            released: position,
            head: position,
            shown: position,
            ..Self::new(memory)
        }
    }

    /// Longest payload that the ring carries, in bytes: a buffer of this length fits every record.
    #[inline]
    pub fn max_record(&self) -> usize {
        self.shape.max_record()
    }

    /// Copies the next record's payload to the beginning of `buffer`; `None` if none is published.
    /// [`Self::release`] gives its room back to the producer. Bytes of `buffer` behind the payload
    /// are unspecified then.
    // Inlined, except in the NIC's program, which must be small.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    #[cfg_attr(target_os = "none", inline)]
    pub fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let word = self.header_word();
        match self.take_short(word, buffer) {
            Some(popped) => Ok(Some(popped)),
            None => self.pop_otherwise(word, buffer),
        }
    }

    /// Takes a record of one or two lines. All of the lines are copied, whatever its length, so
    /// that no loop is needed. `None`: the record or the buffer does not permit this, something is
    /// wrong, or there is no record.
    #[inline(always)]
    fn take_short(&mut self, word: u64, buffer: &mut [u8]) -> Option<Popped> {
        let Header { len, lines, kind } = Header::decode(word, self.tail)?;
        let (buffer, _) = buffer.as_chunks_mut::<8>();
        let place: &mut [_; 2 * LINE - 1] = buffer.first_chunk_mut()?;
        let bytes = len as usize;
        let at = index(self.tail);
        // Each size is copied in one block: a parser's load across two blocks waits until both are
        // written. Each has its own branch, so that the next record's position is predicted, not
        // computed from this one's length.
        if bytes <= 8 * (LINE - 1) {
            self.go_short(LINE_WORDS, lines)?;
            self.memory.read_behind(at, place.first_chunk_mut()?);
        } else if bytes <= size_of_val(place) {
            self.go_short(2 * LINE_WORDS, lines)?;
            self.memory.read(at.wrapping_add(1), place);
        } else {
            return None;
        }
        Some(Popped { kind, len: bytes })
    }

    /// Goes on behind a record of `span` words, if they are clear, and prefetches lines ahead.
    #[inline(always)]
    fn go_short(&mut self, span: u64, lines: u16) -> Option<()> {
        self.clear = self.clear.checked_sub(span)?;
        self.expect_ahead(span, lines);
        self.go_on(span);
        Some(())
    }

    /// Goes on behind a record of `span` words.
    #[inline(always)]
    fn go_on(&mut self, span: u64) {
        self.tail = self.tail.wrapping_add(span);
        self.records += 1;
    }

    /// Takes the record, if there is one, that [`Self::take_short`] does not take.
    #[inline(never)]
    fn pop_otherwise(&mut self, word: u64, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        if !self.shows_record(word) {
            return self.look_in_vain().map(|()| None);
        }
        self.take_any(word, buffer).map(Some)
    }

    /// Prefetches as many lines ahead as a record of `span` words takes, if they are known to be
    /// published: the producer would have to fetch others back. A batch's first record gives its
    /// number of `lines`.
    #[inline(always)]
    fn expect_ahead(&mut self, span: u64, lines: u16) {
        let ahead = self.tail.wrapping_add(AHEAD);
        let until = ahead.wrapping_add(span);
        if lines > 0 {
            self.streak += u32::from(lines);
            if lines > 1 || self.streak > STREAK {
                return self.look_ahead(until, lines);
            }
        }
        if until <= self.shown {
            // A constant number of lines, unlike in `expect`.
            for words in (0..span).step_by(LINE) {
                self.memory.prefetch_to_read(index(ahead.wrapping_add(words)));
            }
        }
    }

    /// [`Self::expect_ahead`], if more lines are known to be published now, or after a long streak.
    /// In the latter case it reads the producer's index. The next call reports an error of that
    /// index.
    #[inline(never)]
    fn look_ahead(&mut self, until: u64, lines: u16) {
        let ahead = self.tail.wrapping_add(AHEAD);
        let asked = self.shown.min(ahead).max(self.tail.wrapping_add(LINE_WORDS));
        self.shown = self.shown.max(self.tail.wrapping_add(u64::from(lines) * LINE_WORDS));
        if self.streak > STREAK {
            self.streak = 0;
            if self.shown < until && self.refresh().is_ok() {
                self.shown = self.shown.max(self.head);
            }
        }
        self.expect(asked, until.min(self.shown));
    }

    /// Prefetches the lines from one position to another.
    #[inline(always)]
    fn expect(&self, mut from: u64, to: u64) {
        while from < to {
            self.memory.prefetch_to_read(index(from));
            from = from.wrapping_add(LINE_WORDS);
        }
    }

    /// Takes any record.
    #[inline(never)]
    fn take_any(&mut self, word: u64, buffer: &mut [u8]) -> Result<Popped, RingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let taken = self.take(word, buffer).map_err(|error| self.fail(error))?;
        // `take` may have read an impossible index.
        if self.failed.is_none() {
            self.clear = self.room_in_lap();
        }
        Ok(taken)
    }

    /// Gives the room of every record popped so far back to the producer. Call it after a batch,
    /// and always before waiting for more.
    #[inline]
    pub fn release(&mut self) {
        if self.released != self.tail {
            self.memory.set_tail(self.tail);
            self.released = self.tail;
        }
    }

    /// Where the record behind those popped so far begins, or the padding in front of it.
    pub fn position(&self) -> u64 {
        self.tail
    }

    /// [`Self::release`] for the records before this position, for a reader whose records must stay
    /// until somebody else has them. `false`, and nothing is released: it is none that was popped
    /// and not released.
    pub fn release_to(&mut self, position: u64) -> bool {
        let held = self.tail.wrapping_sub(self.released);
        if position.wrapping_sub(self.released) > held || unaligned(position).is_some() {
            return false;
        }
        if self.released != position {
            self.memory.set_tail(position);
            self.released = position;
        }
        true
    }

    /// Whether no record is published.
    #[inline]
    pub fn is_empty(&mut self) -> Result<bool, RingError> {
        if self.shows_record(self.header_word()) && self.failed.is_none() {
            return Ok(false);
        }
        self.look_in_vain()?;
        Ok(true)
    }

    /// Whether no record is published and none should be: this reads the producer's index, too. Now
    /// and then an idle poll ends here by itself. A consumer that waits without polling has to ask
    /// first.
    #[inline(never)]
    pub fn is_empty_indeed(&mut self) -> Result<bool, RingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.looks = 0;
        self.refresh()?;
        let word = self.header_word();
        let shows_record = self.shows_record(word);
        if !shows_record && self.occupancy() > 0 {
            // The index was written after the header and read before it, so the header should be
            // visible.
            return Err(self.fail(RingError::BadCheck { position: self.tail, word }));
        }
        Ok(!shows_record)
    }

    /// Bytes published and not yet popped, by the producer's index as last read.
    pub fn occupancy(&self) -> usize {
        // The index lags behind the headers, so it may be less than `tail`.
        let words = self.head.wrapping_sub(self.tail);
        if words > self.shape.usable() { 0 } else { words as usize * 8 }
    }

    /// Records popped so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The peer's error, once it has done something impossible.
    pub fn failure(&self) -> Option<RingError> {
        self.failed
    }

    fn fail(&mut self, error: RingError) -> RingError {
        self.failed = Some(error);
        self.clear = 0;
        error
    }

    /// Whether the word in the next header's place is a header. Any other word is left from a lap
    /// before.
    #[inline]
    fn shows_record(&self, word: u64) -> bool {
        Header::decode(word, self.tail).is_some()
    }

    /// The word where the next header is or will be.
    #[inline]
    fn header_word(&self) -> u64 {
        self.memory.header(index(self.tail))
    }

    /// Notes an idle poll. Every [`LOOKS`] of them, checks that there should be no record.
    #[inline(never)]
    fn look_in_vain(&mut self) -> Result<(), RingError> {
        self.streak = 0;
        self.looks += 1;
        if self.looks >= LOOKS || self.failed.is_some() {
            self.is_empty_indeed()?;
        }
        Ok(())
    }

    /// Reads the producer's index. It may advance to the released position plus the ring's usable
    /// length.
    #[inline(never)]
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

    /// Takes the record at `tail` with this header word. Any error is found before a byte of
    /// payload is copied.
    #[inline]
    fn take(&mut self, word: u64, buffer: &mut [u8]) -> Result<Popped, RingError> {
        let Header { len, lines, kind } = self.decode(word)?;
        if len == PADDING {
            self.skip_padding()?;
            // Only once: no padding begins a lap.
            return self.take(self.header_word(), buffer);
        }
        let room = self.room_in_lap();
        let bytes = len as usize;
        let span = Shape::span(bytes);
        if bytes > self.max_record() || span > room {
            let room = (room * 8).saturating_sub(8).min(self.max_record() as u64);
            return Err(RingError::BadLength { position: self.tail, len, room });
        }
        let too_short = RingError::BufferTooShort { len, buffer: buffer.len() };
        // The saving of `expect_ahead` for short records is nothing beside a long one's copy.
        self.streak += 1;
        self.look_ahead(self.tail.wrapping_add(AHEAD).wrapping_add(span), lines);
        self.copy_payload(buffer.get_mut(..bytes).ok_or(too_short)?);
        self.go_on(span);
        Ok(Popped { kind, len: bytes })
    }

    #[inline]
    fn decode(&self, word: u64) -> Result<Header, RingError> {
        let position = self.tail;
        Header::decode(word, position).ok_or(RingError::BadCheck { position, word })
    }

    /// Words from `tail` on that the producer can have written. It can't have written the popped
    /// words that are not released, nor the line behind the last record.
    #[inline]
    fn room(&self) -> u64 {
        self.shape.usable() - self.tail.wrapping_sub(self.released)
    }

    /// [`Self::room`], limited to the lap of the next record.
    #[inline]
    fn room_in_lap(&self) -> u64 {
        self.room().min(self.shape.rest_of_lap(self.tail))
    }

    /// Goes to the next lap. A record must be published there, since a producer pads only before a
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
        let at = index(self.tail).wrapping_add(1);
        let (words, tail) = to.as_chunks_mut::<8>();
        self.memory.read(at, words);
        if !tail.is_empty() {
            let last = self.memory.load(at + words.len()).to_le_bytes();
            tail.copy_from_slice(&last[..tail.len()]);
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
