//! The reading end of a ring.

use core::fmt;

use crate::link::ring::memory::RingMemory;
use crate::link::ring::producer::unaligned;
use crate::link::ring::record::{AHEAD, Header, LINE_WORDS, PADDING, RingError, Shape, index};

/// Looks in vain between two at the producer's index, which only tells whether the peer is broken:
/// seldom enough that the index's line stays with the producer.
const LOOKS: u32 = 64;

/// Lines in a row, as batches tell of them, beyond which the consumer looks how far the producer
/// is. Who takes single ones has nothing to ask ahead for, and should leave the index's line with
/// the producer.
const STREAK: u32 = 32;

const LINE: usize = LINE_WORDS as usize;

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
    /// Words from `tail` on of which a record's header is all that needs a look: they are within
    /// the lap, and where the producer can have written. 0 once the ring failed. Counted down, not
    /// compared with `tail`: one question for each record; and looked for anew when too few are
    /// left: that is, about once in a lap.
    clear: u64,
    /// Up to here lines are known to be published.
    shown: u64,
    /// Lines that batches told of since the last look in vain, or at the producer's index; of long
    /// records, one for each.
    streak: u32,
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

    /// Longest payload that the ring carries, in bytes: a buffer of this length fits every record.
    #[inline]
    pub fn max_record(&self) -> usize {
        self.shape.max_record()
    }

    /// Copies the next record's payload to the beginning of `buffer`; `None` when none is
    /// published. Its room goes back to the producer with [`Self::release`]. What follows the
    /// payload in `buffer` is anything then.
    // In place, but for the NIC's program, which is to be small.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    #[cfg_attr(target_os = "none", inline)]
    pub fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let word = self.header_word();
        match self.take_short(word, buffer) {
            Some(popped) => Ok(Some(popped)),
            None => self.pop_otherwise(word, buffer),
        }
    }

    /// Takes a record of one line or two: all of them are copied, whatever its length, so that
    /// there is nothing to count. `None` when that is not so here, or anything is wrong, or no
    /// record is there.
    #[inline(always)]
    fn take_short(&mut self, word: u64, buffer: &mut [u8]) -> Option<Popped> {
        let Header { len, lines, kind } = Header::decode(word, self.tail)?;
        let (buffer, _) = buffer.as_chunks_mut::<8>();
        let place: &mut [_; 2 * LINE - 1] = buffer.first_chunk_mut()?;
        let bytes = len as usize;
        let at = index(self.tail);
        // Each in one go: a parser that reads across two goes waits until both are written. And
        // each by itself: so the next record's place is foretold, not computed from this one's
        // length.
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

    /// Goes on behind a record of `span` words, if they are clear, and asks for those ahead.
    #[inline(always)]
    fn go_short(&mut self, span: u64, lines: u16) -> Option<()> {
        self.clear = self.clear.checked_sub(span)?;
        self.expect_ahead(span, lines);
        self.go_on(span);
        Some(())
    }

    /// A record of `span` words was taken.
    #[inline(always)]
    fn go_on(&mut self, span: u64) {
        self.tail = self.tail.wrapping_add(span);
        self.records += 1;
    }

    /// What [`Self::take_short`] does not take, if there is a record.
    #[inline(never)]
    fn pop_otherwise(&mut self, word: u64, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        if !self.shows_record(word) {
            return self.look_in_vain().map(|()| None);
        }
        self.take_any(word, buffer).map(Some)
    }

    /// Asks for as many lines ahead as a record of `span` words takes, if they are known to be
    /// published: the producer would have to fetch others back. A batch's first record tells how
    /// many `lines` there are.
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
            // Known when this is compiled, as `expect` would not have it.
            for words in (0..span).step_by(LINE) {
                self.memory.expect(index(ahead.wrapping_add(words)));
            }
        }
    }

    /// The same where more is known now, or nothing was for long: looks how far the producer is
    /// then. What is wrong with its index is told by the next call.
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

    /// Asks for the lines from one position to another.
    #[inline(always)]
    fn expect(&self, mut from: u64, to: u64) {
        while from < to {
            self.memory.expect(index(from));
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
        // On its way it may have seen an index that is impossible.
        if self.failed.is_none() {
            self.clear = self.room_in_lap();
        }
        Ok(taken)
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
        if self.shows_record(self.header_word()) && self.failed.is_none() {
            return Ok(false);
        }
        self.look_in_vain()?;
        Ok(true)
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
        let shows_record = self.shows_record(word);
        if !shows_record && self.occupancy() > 0 {
            // The index was written after the header, and read before it.
            return Err(self.fail(RingError::BadCheck { position: self.tail, word }));
        }
        Ok(!shows_record)
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
        self.clear = 0;
        error
    }

    /// Whether the word where the next header will be is one: anything else is left from a lap
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

    /// No record stands there. Now and then, there should be one.
    #[inline(never)]
    fn look_in_vain(&mut self) -> Result<(), RingError> {
        self.streak = 0;
        self.looks += 1;
        if self.looks >= LOOKS || self.failed.is_some() {
            self.is_empty_indeed()?;
        }
        Ok(())
    }

    /// Reads the producer's index. It may go forward, up to what was released and a ring's length.
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

    /// Takes the record at `tail`, whose header's word was read. Whatever is wrong is found before
    /// a byte of payload is copied.
    #[inline]
    fn take(&mut self, word: u64, buffer: &mut [u8]) -> Result<Popped, RingError> {
        let Header { len, lines, kind } = self.decode(word)?;
        if len == PADDING {
            self.skip_padding()?;
            // Never again: at a lap's beginning is no padding.
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
        // What short records save by `expect_ahead` is nothing beside a long one's copy.
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

    /// Words from `tail` on that the producer can have written: what was popped and not released,
    /// and the line behind the last record, it can't.
    #[inline]
    fn room(&self) -> u64 {
        self.shape.usable() - self.tail.wrapping_sub(self.released)
    }

    /// Likewise those of a record, which lies within a lap.
    #[inline]
    fn room_in_lap(&self) -> u64 {
        self.room().min(self.shape.rest_of_lap(self.tail))
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
