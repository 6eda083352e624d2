//! Messages that are due later: they wait at the side that sent them.
//!
//! A heap tells the next one that is due; of two that are due at once, it is the one that was sent
//! first. The frames lie in cells of one size, so that no memory is lost between long and short
//! ones.

use cora_core::packet::MAX_FRAME;
use cora_core::state::{Memory, OutOfMemory};
use zerocopy::IntoBytes as _;

/// Cells for frames.
const CELLS: usize = 1 << 16;
/// Words of a cell: the next one and the bytes from here to the frame's end, and bytes of it.
const CELL: usize = 8;
/// Bytes of the frame that a cell has.
const PIECE: usize = (CELL - 1) * 8;
/// Words of the heap per message, of which each takes at least one cell.
const ENTRY: usize = 2;
/// Words of the longest frame.
const FRAME: usize = MAX_FRAME.div_ceil(8);
/// No cell.
const NONE: u32 = u32::MAX;

/// The messages that are not due yet.
#[derive(Debug)]
pub(super) struct Delayed {
    cells: &'static mut [u64],
    /// The first free cell, and the number of free ones.
    free: u32,
    left: usize,
    /// Per message, when it is due; and its number, with its first cell below. A binary heap.
    heap: &'static mut [u64],
    waiting: usize,
    /// Messages so far.
    sent: u64,
    /// The frame that came out last.
    frame: &'static mut [u64],
}

/// Bits of the number of a cell.
const CELL_BITS: u32 = CELLS.trailing_zeros();

impl Delayed {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(super) const BYTES: usize = CELLS * (CELL + ENTRY) * 8 + FRAME * 8 + 192;

    /// None waits.
    pub(super) fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let mut made = Self {
            cells: memory.take_u64(CELLS * CELL)?,
            heap: memory.take_u64(CELLS * ENTRY)?,
            frame: memory.take_u64(FRAME)?,
            ..Self::without_room()
        };
        (0..CELLS as u32).rev().for_each(|cell| made.give_back(cell));
        Ok(made)
    }

    /// None waits, and none can.
    pub(super) const fn without_room() -> Self {
        Self {
            cells: &mut [],
            free: NONE,
            left: 0,
            heap: &mut [],
            waiting: 0,
            sent: 0,
            frame: &mut [],
        }
    }

    /// How many wait.
    pub(super) const fn len(&self) -> usize {
        self.waiting
    }

    /// When the next one is due (ns); never if there is none.
    #[inline(always)]
    pub(super) fn next_due(&self) -> u64 {
        if self.waiting == 0 { u64::MAX } else { self.heap.first().copied().unwrap_or(u64::MAX) }
    }

    /// Adds a message. `false`: there is no room.
    pub(super) fn push(&mut self, due: u64, frame: &[u8]) -> bool {
        let Some(first) = self.store(frame) else { return false };
        let at = self.waiting;
        self.waiting += 1;
        self.set(at, [due, self.sent << CELL_BITS | u64::from(first)]);
        self.sent += 1;
        self.rise(at);
        true
    }

    /// Takes out the next one, if it is due by `now`: its frame.
    pub(super) fn pop(&mut self, now: u64) -> Option<&[u8]> {
        let [due, numbered] = self.entry(0);
        if self.waiting == 0 || due > now {
            return None;
        }
        self.waiting -= 1;
        let last = self.entry(self.waiting);
        self.set(0, last);
        self.sink();
        let first = numbered as u32 & (CELLS as u32 - 1);
        let length = self.take(first);
        self.frame.as_bytes().get(..length)
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        while self.pop(u64::MAX).is_some() {}
    }

    /// Gives all to `say`, for an explorer of all schedules.
    pub(super) fn hash(&self, say: &mut dyn FnMut(&[u8])) {
        let entries = self.heap.get(..self.waiting * ENTRY).unwrap_or_default();
        say(entries.as_bytes());
    }

    fn store(&mut self, frame: &[u8]) -> Option<u32> {
        if frame.len().div_ceil(PIECE).max(1) > self.left {
            return None;
        }
        let (mut next, mut rest) = (NONE, 0);
        // From its end, so that each cell knows the next one.
        let mut end = frame.len();
        loop {
            let begin = end.saturating_sub(1) / PIECE * PIECE;
            let piece = frame.get(begin..end).unwrap_or_default();
            rest += piece.len();
            let cell = self.free;
            let words = self.cell_mut(cell)?;
            let (head, bytes) = words.split_first_mut()?;
            let after = *head as u32;
            *head = u64::from(next) | (rest as u64) << 32;
            bytes.as_mut_bytes().get_mut(..piece.len())?.copy_from_slice(piece);
            (self.free, next, end) = (after, cell, begin);
            self.left -= 1;
            if begin == 0 {
                return Some(cell);
            }
        }
    }

    /// Puts a frame together, and frees its cells. Returns its bytes.
    fn take(&mut self, first: u32) -> usize {
        let (mut cell, mut length) = (first, 0);
        let frame = core::mem::take(&mut self.frame);
        while let Some([head, words @ ..]) = self.cell_mut(cell) {
            let (next, rest) = (*head as u32, (*head >> 32) as usize);
            let piece = words.as_bytes().get(..rest.min(PIECE)).unwrap_or_default();
            if let Some(to) = frame.as_mut_bytes().get_mut(length..length + piece.len()) {
                to.copy_from_slice(piece);
            }
            length += piece.len();
            self.give_back(cell);
            cell = next;
        }
        self.frame = frame;
        length
    }

    fn give_back(&mut self, cell: u32) {
        let free = self.free;
        if let Some([head, ..]) = self.cell_mut(cell) {
            *head = u64::from(free);
            self.free = cell;
            self.left += 1;
        }
    }

    fn cell_mut(&mut self, cell: u32) -> Option<&mut [u64]> {
        let at = cell as usize * CELL;
        self.cells.get_mut(at..at + CELL)
    }

    fn entry(&self, at: usize) -> [u64; ENTRY] {
        let words = self.heap.get(at * ENTRY..).and_then(<[u64]>::first_chunk);
        words.copied().unwrap_or([u64::MAX; ENTRY])
    }

    fn set(&mut self, at: usize, entry: [u64; ENTRY]) {
        if let Some(words) = self.heap.get_mut(at * ENTRY..(at + 1) * ENTRY) {
            words.copy_from_slice(&entry);
        }
    }

    /// Moves an entry up until the one above is due before it.
    fn rise(&mut self, mut at: usize) {
        let entry = self.entry(at);
        while at > 0 {
            let above = (at - 1) / 2;
            let other = self.entry(above);
            if other <= entry {
                break;
            }
            self.set(at, other);
            at = above;
        }
        self.set(at, entry);
    }

    /// Moves the top entry down until those below are due after it.
    fn sink(&mut self) {
        let (mut at, entry) = (0, self.entry(0));
        while 2 * at + 1 < self.waiting {
            let left = 2 * at + 1;
            let is_right = left + 1 < self.waiting && self.entry(left + 1) < self.entry(left);
            let below = left + usize::from(is_right);
            let other = self.entry(below);
            if entry <= other {
                break;
            }
            self.set(at, other);
            at = below;
        }
        self.set(at, entry);
    }
}

#[cfg(test)]
mod tests {
    use cora_core::state::Line;

    use super::*;

    fn memory(bytes: usize) -> Memory {
        Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak())
    }

    fn delayed() -> Delayed {
        Delayed::create(&mut memory(Delayed::BYTES)).expect("enough memory")
    }

    /// The frame number `number`: its length and bytes tell it.
    fn frame(number: u64) -> Vec<u8> {
        let length = (number * 37 % 400) as usize;
        (0..length).map(|at| (at as u64 * 31 + number) as u8).collect()
    }

    #[test]
    fn messages_come_out_when_they_are_due_in_order() {
        let mut delayed = delayed();
        let mut expected = std::collections::BTreeSet::new();
        let (mut random, mut number) = (1_u64, 0);
        for now in 0..20_000 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(now | 1);
            for _ in 0..random >> 62 {
                let due = now + (random >> 40) % 900;
                assert!(delayed.push(due, &frame(number)));
                expected.insert((due, number));
                number += 1;
            }
            assert_eq!(delayed.len(), expected.len());
            while let Some(popped) = delayed.pop(now) {
                let (due, number) = expected.pop_first().expect("there is one");
                assert_eq!((due <= now, popped), (true, &frame(number)[..]));
            }
            let next = expected.first().map_or(u64::MAX, |(due, _)| *due);
            assert!(next > now && delayed.next_due() == next);
        }
        delayed.clear();
        assert_eq!((delayed.len(), delayed.left, delayed.next_due()), (0, CELLS, u64::MAX));
    }

    #[test]
    fn what_finds_no_room_is_refused_and_frees_nothing() {
        let mut delayed = delayed();
        let most = CELLS / 2;
        for number in 0..most as u64 {
            assert!(delayed.push(number, &[7; PIECE + 1]));
        }
        assert!(!delayed.push(0, &[]));
        assert_eq!(delayed.pop(0), Some(&[7; PIECE + 1][..]));
        assert!(!delayed.push(0, &[1; 2 * PIECE + 1]));
        assert!(delayed.push(0, &[]) && delayed.push(0, &[1]));
        assert!(!delayed.push(0, &[1]));
        assert_eq!(delayed.pop(0), Some(&[][..]));
    }

    #[test]
    fn without_room_none_waits() {
        let mut none = Delayed::without_room();
        assert!(!none.push(0, &[1]) && none.next_due() == u64::MAX);
    }
}
