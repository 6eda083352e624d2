//! Pieces: the memory of messages that wait, a piece for each. A message is copied into its piece
//! once, goes from queue to queue by its number alone, and runs where it lies.
#![expect(unsafe_code, reason = "makes a slice of places that were all written, once, at start")]

use cora_core::packet::{MAX_FRAME, Meta, Port, Roomy};
use cora_core::prefetch::prefetch;
use cora_core::state::{Memory, OutOfMemory, bytes_for};
use zerocopy::IntoBytes as _;

use crate::link::message::Stamp;
use crate::link::payload::Parked;

/// Words in front of a frame: length and port, time, now, number, and where it waits.
const HEAD: usize = 5;
/// How many pieces there are of each size, and their words. Most messages take two cache lines.
const SIZES: [(usize, usize); 3] = [(4096, 32), (256, 288), (8, HEAD + MAX_FRAME.div_ceil(8))];
const ALL: usize = SIZES[0].0 + SIZES[1].0 + SIZES[2].0;

/// No piece.
const NONE: u32 = u32::MAX;

/// A place in nobody's queue: a message without a key.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// All pieces.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// `None` while the message runs.
    places: &'static mut [Option<&'static mut [u64]>],
    /// The piece behind this one, in its queue.
    next: &'static mut [u32],
    /// The pieces of each size that are free.
    free: [Queue; SIZES.len()],
}

/// Pieces in a row: first in, first out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    first: u32,
    last: u32,
    length: u32,
}

/// A message with its piece, out of all queues. Its holder gives it back, or puts it in a queue.
#[derive(Debug)]
pub(crate) struct Piece {
    number: u32,
    words: &'static mut [u64],
}

impl Pieces {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) const BYTES: usize = {
        let of_all = bytes_for::<Option<&'static mut [u64]>>(ALL) + bytes_for::<u32>(ALL);
        let mut bytes = of_all;
        let mut size = 0;
        while size < SIZES.len() {
            bytes += SIZES[size].0 * bytes_for::<u64>(SIZES[size].1);
            size += 1;
        }
        bytes
    };

    /// All pieces, free.
    pub(crate) fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let written = memory.take::<Option<&'static mut [u64]>>(ALL)?;
        let next = memory.take_u32(ALL)?;
        let mut free = [Queue::EMPTY; SIZES.len()];
        let mut number = 0;
        for ((count, words), free) in SIZES.into_iter().zip(&mut free) {
            for _ in 0..count {
                let piece = Some(memory.take_u64(words)?);
                if let Some(place) = written.get_mut(number as usize) {
                    place.write(piece);
                }
                free.link(next, number);
                number += 1;
            }
        }
        let (start, count) = (written.as_mut_ptr().cast(), written.len());
        // SAFETY: the loops wrote each of the `ALL` places, one for each piece of each size; they
        // are exclusive and `'static`.
        let places = unsafe { core::slice::from_raw_parts_mut(start, count) };
        Ok(Self { places, next, free })
    }

    /// None at all, for a program without messages.
    pub(crate) fn none() -> Self {
        let (places, next) = (&mut [], &mut []);
        Self { places, next, free: [Queue::EMPTY; SIZES.len()] }
    }

    /// Whether so many more messages of the usual size find room.
    pub(crate) const fn has_room(&self, messages: u32) -> bool {
        self.free[0].length >= messages && self.free[1].length >= messages / 4
    }

    /// A piece with this message. `None`: there is no room.
    #[inline]
    pub(crate) fn of(&mut self, stamp: &Stamp, frame: &[u8]) -> Option<Piece> {
        let wanted = HEAD + frame.len().div_ceil(8);
        let is_usual = wanted <= SIZES[0].1 && !self.free[0].is_empty();
        let size = if is_usual { 0 } else { self.larger(wanted) };
        let piece = self.take_free(size)?;
        let (port, number) = stamp.marked();
        let rest = u64::from(stamp.missing) << 40 | u64::from(stamp.egress.0) << 56;
        let (head, bytes) = piece.words.split_first_chunk_mut::<HEAD>()?;
        *head = [
            frame.len() as u64 | u64::from(port) << 32 | rest,
            stamp.meta.time,
            stamp.meta.now,
            number,
            NO_PLACE.into(),
        ];
        bytes.as_mut_bytes().get_mut(..frame.len())?.copy_from_slice(frame);
        Some(piece)
    }

    /// The first size with room for so many words of which a piece is free.
    #[inline(never)]
    fn larger(&self, wanted: usize) -> usize {
        let sizes = SIZES.iter().zip(&self.free);
        sizes.take_while(|((_, words), free)| *words < wanted || free.is_empty()).count()
    }

    #[inline]
    fn take_free(&mut self, size: usize) -> Option<Piece> {
        let Self { places, next, free } = self;
        let number = free.get_mut(size)?.unlink(next)?;
        let words = places.get_mut(number as usize)?.take()?;
        Some(Piece { number, words })
    }

    /// The message was handled: its piece is free. The next message gets it, from the cache.
    #[inline]
    pub(crate) fn free(&mut self, piece: Piece) {
        let Piece { number, words } = piece;
        let Self { places, next, free } = self;
        let [few, more, _] = SIZES;
        let size =
            usize::from(number as usize >= few.0) + usize::from(number as usize >= few.0 + more.0);
        if let (Some(place), Some(free)) = (places.get_mut(number as usize), free.get_mut(size)) {
            *place = Some(words);
            free.link_first(next, number);
        }
    }

    /// Puts the message at the end of the queue.
    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Queue, piece: Piece) {
        let Piece { number, words } = piece;
        if let Some(place) = self.places.get_mut(number as usize) {
            *place = Some(words);
            queue.link(self.next, number);
        }
    }

    /// Takes the first message of the queue.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Queue) -> Option<Piece> {
        let number = queue.unlink(self.next)?;
        let words = self.places.get_mut(number as usize)?.take()?;
        // The next one is looked at when this one was handled.
        if let Some([head, .., at_end]) = self.first(queue).and_then(|words| words.get(..16)) {
            prefetch(head);
            prefetch(at_end);
        }
        Some(Piece { number, words })
    }

    #[inline(always)]
    fn first(&self, queue: &Queue) -> Option<&[u64]> {
        self.places.get(queue.first as usize)?.as_deref()
    }

    /// The time of the first message of the queue.
    pub(crate) fn oldest(&self, queue: &Queue) -> Option<u64> {
        self.first(queue)?.get(2).copied()
    }
}

impl Queue {
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE, length: 0 };

    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline]
    fn link(&mut self, next: &mut [u32], number: u32) {
        if self.length == 0 {
            self.first = number;
        } else if let Some(link) = next.get_mut(self.last as usize) {
            *link = number;
        }
        self.last = number;
        self.length += 1;
    }

    #[inline]
    fn link_first(&mut self, next: &mut [u32], number: u32) {
        if self.length == 0 {
            self.last = number;
        } else if let Some(link) = next.get_mut(number as usize) {
            *link = self.first;
        }
        self.first = number;
        self.length += 1;
    }

    #[inline]
    fn unlink(&mut self, next: &[u32]) -> Option<u32> {
        self.length = self.length.checked_sub(1)?;
        let number = self.first;
        self.first = *next.get(number as usize)?;
        Some(number)
    }
}

impl Piece {
    /// The stamp that came with the message.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        let [first, time, now, number, _] = *self.words.first_chunk().unwrap_or(&[0; HEAD]);
        let (port, mark, number) = Stamp::unmarked((first >> 32) as u8, number);
        let (meta, parked) = (Meta { time, now, port, mark }, Parked::NONE);
        let (missing, egress) = ((first >> 40) as u16, Port((first >> 56) as u8));
        Stamp { meta, number, horizon: now, egress, parked, missing }
    }

    /// The message's frame, where it lies.
    #[inline]
    pub(crate) fn frame(&mut self) -> Roomy<'_> {
        let (head, bytes) = self.words.split_at_mut(HEAD.min(self.words.len()));
        let length = head.first().map_or(0, |first| *first as u32 as usize);
        Roomy::new(bytes.as_mut_bytes(), length)
    }

    /// The flow that the message waits for, and its class.
    #[inline]
    pub(crate) fn waits(&self) -> (u32, u8) {
        let word = self.words.get(4).copied().unwrap_or(NO_PLACE.into());
        (word as u32, (word >> 32) as u8)
    }

    /// Notes the flow that the message waits for, and its class.
    #[inline]
    pub(crate) fn waits_as(&mut self, place: u32, class: u8) {
        if let Some(word) = self.words.get_mut(4) {
            *word = u64::from(place) | u64::from(class) << 32;
        }
    }
}

#[cfg(test)]
mod tests {
    use cora_core::packet::Port;
    use cora_core::state::Line;

    use super::*;

    fn pieces() -> Pieces {
        let lines = Pieces::BYTES.div_ceil(Line::BYTES);
        Pieces::create(&mut Memory::new(vec![Line::ZERO; lines].leak())).unwrap()
    }

    fn stamp(number: u64) -> Stamp {
        Stamp {
            meta: Meta { time: number * 10, now: number * 11, port: Port(1), ..Meta::default() },
            number,
            horizon: number * 11,
            egress: Port(number as u8 % 3),
            parked: Parked::NONE,
            missing: number as u16 ^ 0x5a5a,
        }
    }

    #[test]
    fn each_message_is_in_its_piece_until_it_is_free() {
        let mut pieces = pieces();
        let mut queues = [Queue::EMPTY; 2];
        for number in 0..200 {
            let piece = pieces.of(&stamp(number), &vec![number as u8; number as usize * 11]);
            pieces.push(&mut queues[number as usize % 2], piece.unwrap());
        }
        assert_eq!(pieces.oldest(&queues[1]), Some(11));
        for number in 0..200 {
            let mut piece = pieces.pop(&mut queues[number as usize % 2]).unwrap();
            assert_eq!(piece.stamp(), stamp(number));
            assert_eq!(piece.frame().frame(), vec![number as u8; number as usize * 11]);
            piece.waits_as(7, 3);
            assert_eq!((piece.waits(), piece.stamp()), ((7, 3), stamp(number)));
            pieces.free(piece);
        }
        assert!(queues.iter().all(Queue::is_empty));
    }

    #[test]
    fn a_message_takes_a_larger_piece_before_it_finds_no_room() {
        let mut pieces = pieces();
        let mut queue = Queue::EMPTY;
        for number in 0..ALL as u64 {
            let piece = pieces.of(&stamp(number), &[number as u8; 60]).expect("there is room");
            pieces.push(&mut queue, piece);
        }
        assert!(pieces.of(&stamp(0), &[0; 60]).is_none());
        for number in 0..ALL as u64 {
            let piece = pieces.pop(&mut queue).expect("it waits");
            assert_eq!(piece.stamp().number, number);
            pieces.free(piece);
        }
        let largest = pieces.of(&stamp(1), &vec![9; MAX_FRAME]).expect("they are free again");
        pieces.free(largest);
        assert!(pieces.has_room(SIZES[0].0 as u32 / 4));
    }
}
