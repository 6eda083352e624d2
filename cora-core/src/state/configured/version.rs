//! One version of a configured table: its memory, and its pieces on the wire.
//!
//! A version crosses as one opening piece, its rows, the words of its index that are not zero, and
//! one closing piece, which puts it in force if all others came.

use crate::plain::Plain;
use crate::state::memory::{Arena, bytes_for};
use crate::state::{Generation, MAX_PIECE, Malformed, Memory, OutOfMemory};

/// The kinds of pieces; a piece begins with one.
mod piece {
    /// Number of rows, of words, and of the generation (4 bytes each).
    pub(super) const OPEN: u8 = 0;
    /// Encoded rows, in order.
    pub(super) const ROWS: u8 = 1;
    /// Place of the first word, then words (4 bytes each).
    pub(super) const WORDS: u8 = 2;
    /// Number of pieces before it (4 bytes).
    pub(super) const CLOSE: u8 = 3;
}

/// Words of the index in one piece.
const WORDS: usize = 504;
const _: () = assert!(5 + 4 * WORDS <= MAX_PIECE);

/// Rows with their index.
#[derive(Debug)]
pub(super) struct Version<R: 'static> {
    pub(super) rows: Arena<R>,
    /// The index, in the first `used` words; the words behind it are zero, if they were ever used.
    pub(super) words: &'static mut [u32],
    pub(super) used: usize,
    pub(super) generation: Generation,
    /// Pieces that came since the opening one.
    came: u32,
    /// Rows that will come.
    coming: usize,
}

impl<R: Plain> Version<R> {
    /// Rows in one piece.
    const ROWS: usize = (MAX_PIECE - 1) / if R::SIZE == 0 { 1 } else { R::SIZE };

    /// Bytes of [`Memory`] that it takes.
    pub(super) const fn bytes(capacity: u32, words: usize) -> usize {
        Arena::<R>::bytes(capacity as usize) + bytes_for::<u32>(words)
    }

    pub(super) fn create(
        memory: &mut Memory,
        capacity: u32,
        words: usize,
    ) -> Result<Self, OutOfMemory> {
        let rows = Arena::create(memory, capacity as usize)?;
        let words = memory.take_u32(words)?;
        // The first version has this number on both sides.
        let generation = Generation::FIRST;
        Ok(Self { rows, words, used: 0, generation, came: 0, coming: 0 })
    }

    /// The index.
    #[inline(always)]
    pub(super) fn index(&self) -> &[u32] {
        self.words.get(..self.used).unwrap_or_default()
    }

    /// The rows, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &R> {
        (0..self.rows.len() as u32).filter_map(|number| self.rows.get(number))
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.words.get_mut(..self.used).unwrap_or_default().fill(0);
        self.used = 0;
    }

    /// Exports it in pieces of at most [`MAX_PIECE`] bytes.
    #[cold]
    pub(super) fn export(&self, tell: &mut dyn FnMut(&[u8])) {
        let head = [self.rows.len() as u32, self.used as u32, self.generation.number()];
        let mut bytes = [piece::OPEN; 13];
        bytes[1..].copy_from_slice(head.map(u32::to_le_bytes).as_flattened());
        tell(&bytes);
        let told = self.export_rows(tell) + self.export_words(tell);
        let mut bytes = [piece::CLOSE; 5];
        bytes[1..].copy_from_slice(&told.to_le_bytes());
        tell(&bytes);
    }

    /// Returns the number of pieces.
    fn export_rows(&self, tell: &mut dyn FnMut(&[u8])) -> u32 {
        let mut told = 0;
        let mut bytes = [piece::ROWS; MAX_PIECE];
        let mut end = 1;
        for (number, row) in self.rows().enumerate() {
            row.put(bytes.get_mut(end..).unwrap_or_default());
            end += R::SIZE;
            let is_last = number + 1 == self.rows.len();
            if is_last || (number + 1).is_multiple_of(Self::ROWS) {
                tell(bytes.get(..end).unwrap_or_default());
                (told, end) = (told + 1, 1);
            }
        }
        told
    }

    /// Returns the number of pieces. Pieces of zeroes are left out.
    fn export_words(&self, tell: &mut dyn FnMut(&[u8])) -> u32 {
        let mut told = 0;
        let mut bytes = [piece::WORDS; 5 + 4 * WORDS];
        for (number, words) in self.index().chunks(WORDS).enumerate() {
            if words.iter().all(|word| *word == 0) {
                continue;
            }
            let (head, room) = bytes.split_at_mut(5);
            head[1..].copy_from_slice(&((number * WORDS) as u32).to_le_bytes());
            for (place, word) in room.as_chunks_mut().0.iter_mut().zip(words) {
                *place = word.to_le_bytes();
            }
            tell(bytes.get(..5 + 4 * words.len()).unwrap_or_default());
            told += 1;
        }
        told
    }

    /// Imports a piece. Returns whether the version is complete.
    #[cold]
    pub(super) fn import(&mut self, bytes: &[u8]) -> Result<bool, Malformed> {
        let (kind, rest) = bytes.split_first().ok_or(Malformed)?;
        match *kind {
            piece::OPEN => self.open(rest)?,
            piece::ROWS => self.import_rows(rest)?,
            piece::WORDS => self.import_words(rest)?,
            piece::CLOSE => {
                let told = u32::get(rest).ok_or(Malformed)?;
                let is_whole = told == self.came && self.coming == self.rows.len();
                return if is_whole { Ok(true) } else { Err(Malformed) };
            }
            _ => return Err(Malformed),
        }
        Ok(false)
    }

    fn open(&mut self, head: &[u8]) -> Result<(), Malformed> {
        let [rows, words, generation] = <[u32; 3]>::get(head).ok_or(Malformed)?;
        self.clear();
        if rows as usize > self.rows.capacity() || words as usize > self.words.len() {
            return Err(Malformed);
        }
        (self.coming, self.used, self.came) = (rows as usize, words as usize, 0);
        self.generation = Generation::new(generation);
        Ok(())
    }

    fn import_rows(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        for row in bytes.chunks(R::SIZE.max(1)) {
            let row = R::get(row).ok_or(Malformed)?;
            if self.rows.len() == self.coming || self.rows.push(row).is_err() {
                return Err(Malformed);
            }
        }
        self.came += 1;
        Ok(())
    }

    fn import_words(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let from = u32::get(bytes).ok_or(Malformed)? as usize;
        let words = bytes.get(4..).unwrap_or_default();
        let (words, rest) = words.as_chunks();
        let used = self.words.get_mut(..self.used).unwrap_or_default();
        let places = used.get_mut(from..from + words.len()).ok_or(Malformed)?;
        if !rest.is_empty() {
            return Err(Malformed);
        }
        for (place, word) in places.iter_mut().zip(words) {
            *place = u32::from_le_bytes(*word);
        }
        self.came += 1;
        Ok(())
    }
}
