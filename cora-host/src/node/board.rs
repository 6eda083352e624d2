//! The board: where the hosts of several shards exchange their parts of a merge.
//!
//! It is a file of shared memory that the supervisor makes, and the NIC halves can't reach it. Each
//! shard has two places: a part takes that of the older epoch. No other shard reads that one any
//! more, because it has published its part of the newer epoch. Only the host of a shard writes
//! there, so a place has one writer. A reader that finds it changed meanwhile reads again later.
//!
//! ```text
//! per shard   word 0        it takes part no more
//!             word 8        place 0, and behind it place 1
//! per place   word 0        odd while its host writes
//!             word 1, 2     the end of the epoch; words of the part
//!             word 3        the part: for each piece state and bytes in one word, then the bytes
//! ```
//!
//! A host that died amid a write leaves the place odd. Its successor completes the write of a later
//! epoch there. Others read a later epoch in the place of one that they wait for as no part.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use cora_core::app::App;

/// Words before the places of a shard.
const SHARD_HEAD: usize = 8;
/// Words before the part in a place.
const HEAD: usize = 3;
/// A piece has so many bytes or more, but the last one of a state.
const PIECE: usize = 1024;

/// A part of a merge: pieces, each with the number of its state.
pub(crate) type Part = Vec<(u16, Vec<u8>)>;

/// What a shard's place has for an epoch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The shard has not published its part yet.
    NotYet,
    /// It does not publish one any more.
    Nothing,
    /// Its part.
    Part(Part),
}

/// The board of all shards.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    words: &'static [AtomicU64],
    shards: usize,
}

/// Bytes of the board for a program with so many shards.
pub fn bytes(app: &mut impl App, shards: u16) -> usize {
    let mut place = HEAD;
    app.each_merged(&mut |_, state| {
        let most = state.most_told();
        // Before each piece stand one word here, and the number of its first unit.
        place += most.div_ceil(8) + 3 * (most / PIECE + 1);
    });
    usize::from(shards) * (SHARD_HEAD + 2 * place) * 8
}

impl Board {
    /// The board in this memory.
    pub const fn new(words: &'static [AtomicU64], shards: u16) -> Self {
        Self { words, shards: shards as usize }
    }

    /// The words of a shard; none if it has no number of one.
    fn of(self, shard: u16) -> &'static [AtomicU64] {
        let each = self.words.len().checked_div(self.shards).unwrap_or(0);
        self.words.chunks_exact(each.max(1)).nth(shard.into()).unwrap_or_default()
    }

    /// The places of a shard.
    fn places(self, shard: u16) -> [&'static [AtomicU64]; 2] {
        let places = self.of(shard).get(SHARD_HEAD..).unwrap_or_default();
        let (first, second) = places.split_at(places.len() / 2);
        [first, second]
    }

    /// The place for a part that a shard publishes: one of the same epoch, or of the older one.
    fn place(self, shard: u16, ends: u64) -> &'static [AtomicU64] {
        let [first, second] = self.places(shard);
        let (of_first, of_second) = (epoch(first), epoch(second));
        if of_first == ends || (of_second != ends && of_first <= of_second) {
            first
        } else {
            second
        }
    }

    /// The shard's host ended for good: nobody waits for its parts.
    pub(crate) fn leave(self, shard: u16) {
        if let Some(word) = self.of(shard).first() {
            word.store(1, Ordering::Release);
        }
    }

    fn has_left(self, shard: u16) -> bool {
        self.of(shard).first().is_none_or(|word| word.load(Ordering::Acquire) != 0)
    }

    /// Publishes the part of a shard for this epoch: `tell` reports its pieces.
    pub(crate) fn publish(
        self,
        shard: u16,
        ends: u64,
        tell: impl FnOnce(&mut dyn FnMut(u16, &[u8])),
    ) {
        let place = self.place(shard, ends);
        let Some((head, body)) = place.split_first_chunk::<HEAD>() else { return };
        let [writes, of, length] = head;
        // Also behind a host that died amid a write.
        let odd = writes.load(Ordering::Relaxed) | 1;
        writes.store(odd, Ordering::Relaxed);
        fence(Ordering::Release);
        let mut rest = body.iter();
        let mut used = 0;
        tell(&mut |state, bytes| {
            let words = 1 + bytes.len().div_ceil(8);
            // There is room: `bytes` above.
            if rest.len() < words {
                return;
            }
            let first = u64::from(state) << 32 | bytes.len() as u64;
            let all = [first].into_iter().chain(bytes.chunks(8).map(word_of));
            for (value, word) in all.zip(rest.by_ref().take(words)) {
                word.store(value, Ordering::Relaxed);
            }
            used += words;
        });
        of.store(ends, Ordering::Relaxed);
        length.store(used as u64, Ordering::Relaxed);
        writes.store(odd.wrapping_add(1), Ordering::Release);
    }

    /// The part of a shard for this epoch.
    pub(crate) fn part(self, shard: u16, ends: u64) -> Seen {
        let places = self.places(shard);
        // Asked first: what it published before it left, or before a later epoch, is there then.
        let goes_on = self.has_left(shard) || places.iter().any(|place| epoch(place) > ends);
        match places.iter().find_map(|place| read(place, ends)) {
            Some(words) => Seen::Part(pieces(&words)),
            None if goes_on => Seen::Nothing,
            None => Seen::NotYet,
        }
    }
}

/// The words of a place, if they are of this epoch and nobody writes there.
fn read(place: &[AtomicU64], ends: u64) -> Option<Vec<u64>> {
    let ([writes, of, length], body) = place.split_first_chunk::<HEAD>()?;
    let before = writes.load(Ordering::Acquire);
    if !before.is_multiple_of(2) || of.load(Ordering::Relaxed) != ends {
        return None;
    }
    let length = usize::try_from(length.load(Ordering::Relaxed)).ok()?;
    let words = body.get(..length)?.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    fence(Ordering::Acquire);
    (writes.load(Ordering::Relaxed) == before).then_some(words)
}

/// The epoch of a place; 0 if it has none, or if somebody writes there.
fn epoch(place: &[AtomicU64]) -> u64 {
    let Some(([writes, of, _], _)) = place.split_first_chunk::<HEAD>() else { return 0 };
    let before = writes.load(Ordering::Acquire);
    let of = of.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    let is_sound = before.is_multiple_of(2) && writes.load(Ordering::Relaxed) == before;
    if is_sound { of } else { 0 }
}

/// The pieces in these words, up to one that is longer than they are.
fn pieces(words: &[u64]) -> Part {
    let (mut pieces, mut rest) = (Vec::new(), words);
    while let Some((first, behind)) = rest.split_first() {
        let (state, length) = ((first >> 32) as u16, *first as u32 as usize);
        let Some((body, next)) = behind.split_at_checked(length.div_ceil(8)) else { break };
        let mut bytes: Vec<u8> = body.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(length);
        pieces.push((state, bytes));
        rest = next;
    }
    pieces
}

fn word_of(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use cora_core::state::commutative::EPOCH;

    use super::*;

    fn board(shards: u16, place: usize) -> Board {
        let words = usize::from(shards) * (SHARD_HEAD + 2 * (HEAD + place));
        let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        Board::new(words.leak(), shards)
    }

    fn publish(board: Board, shard: u16, epoch: u64, pieces: &[(u16, &[u8])]) {
        board.publish(shard, epoch * EPOCH, |piece| {
            for (state, bytes) in pieces {
                piece(*state, bytes);
            }
        });
    }

    fn seen(board: Board, shard: u16, epoch: u64) -> Seen {
        board.part(shard, epoch * EPOCH)
    }

    #[test]
    fn a_part_is_there_for_two_epochs() {
        let board = board(3, 8);
        assert_eq!(seen(board, 1, 5), Seen::NotYet);
        publish(board, 1, 5, &[(2, b"nine byte"), (7, b"")]);
        let part = || Seen::Part(vec![(2, b"nine byte".to_vec()), (7, Vec::new())]);
        assert_eq!(seen(board, 1, 5), part());
        assert_eq!((seen(board, 0, 5), seen(board, 2, 5)), (Seen::NotYet, Seen::NotYet));
        publish(board, 1, 6, &[]);
        assert_eq!((seen(board, 1, 5), seen(board, 1, 6)), (part(), Seen::Part(Vec::new())));
        publish(board, 1, 7, &[]);
        assert_eq!((seen(board, 1, 5), seen(board, 1, 8)), (Seen::Nothing, Seen::NotYet));
    }

    #[test]
    fn nobody_waits_for_a_shard_that_has_gone_on_or_left() {
        let board = board(2, 4);
        publish(board, 1, 9, &[(1, b"part")]);
        assert_eq!((seen(board, 1, 6), seen(board, 1, 7)), (Seen::Nothing, Seen::Nothing));
        assert_eq!(seen(board, 1, 10), Seen::NotYet);
        board.leave(1);
        assert_eq!(seen(board, 1, 10), Seen::Nothing);
        assert_eq!(seen(board, 1, 9), Seen::Part(vec![(1, b"part".to_vec())]));
        // A number that no shard has.
        assert_eq!(seen(board, 2, 9), Seen::Nothing);
    }

    #[test]
    fn a_write_that_was_cut_off_is_no_part_until_the_next_one() {
        let board = board(1, 4);
        publish(board, 0, 2, &[(1, b"part")]);
        let writes = board.place(0, 2 * EPOCH).first().expect("a place");
        writes.fetch_add(1, Ordering::Relaxed);
        assert_eq!(seen(board, 0, 2), Seen::NotYet);
        publish(board, 0, 2, &[(1, b"again")]);
        assert_eq!(seen(board, 0, 2), Seen::Part(vec![(1, b"again".to_vec())]));
    }

    #[test]
    fn lengths_are_checked() {
        let board = board(1, 4);
        publish(board, 0, 2, &[(1, b"part")]);
        let place = board.place(0, 2 * EPOCH);
        place[HEAD].store(1 << 32 | 0x1000, Ordering::Relaxed);
        assert_eq!(seen(board, 0, 2), Seen::Part(Vec::new()));
        place[2].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(seen(board, 0, 2), Seen::NotYet);
    }

    /// A reader never sees half of one part and half of another.
    #[test]
    fn parts_are_read_whole() {
        let board = board(1, 200);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..20_000_u64 {
                    let bytes = [round as u8; 1500];
                    publish(board, 0, 2, &[(0, &bytes)]);
                }
                // The second one takes its place.
                publish(board, 0, 4, &[]);
                publish(board, 0, 6, &[]);
            });
            loop {
                match seen(board, 0, 2) {
                    Seen::NotYet => {}
                    Seen::Nothing => break,
                    Seen::Part(part) => {
                        let bytes = &part[0].1;
                        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "it is torn");
                    }
                }
            }
        });
    }
}
