//! Records in the data of a frame, one behind the other: length 2, kind 2, bytes, then zeros up to
//! a multiple of four. A record that is longer than the rest of a frame goes on in the next one:
//! the highest bit of its length says that more follows.

/// Bytes before a record.
pub const RECORD_HEADER: usize = 4;
/// Most bytes of a record: the longest message of a ring.
pub const LONGEST_RECORD: usize = cora_runtime::link::message::MAX_MESSAGE;

const MORE: u16 = 1 << 15;
/// Most bytes of a piece: the length has 15 bits.
const LONGEST_PIECE: usize = (MORE - 1) as usize;

/// Bytes that a piece with so many takes.
pub(crate) const fn packed(bytes: usize) -> usize {
    RECORD_HEADER + bytes.next_multiple_of(4)
}

/// The bytes of a record's next piece, of so many that are left, with room for so many in a frame.
/// A piece that is not the last has a length that leaves no gap.
pub(crate) const fn fitting(left: usize, room: usize) -> usize {
    let Some(room) = room.checked_sub(RECORD_HEADER) else { return 0 };
    let room = if room > LONGEST_PIECE { LONGEST_PIECE } else { room } / 4 * 4;
    if left <= room { left } else { room }
}

/// Begins a piece of so many bytes at the beginning of `to`, which has room for it. Returns the
/// place of its bytes.
pub(crate) fn begin(to: &mut [u8], kind: u16, bytes: usize, more: bool) -> &mut [u8] {
    let length = bytes as u16 | if more { MORE } else { 0 };
    to[..2].copy_from_slice(&length.to_le_bytes());
    to[2..4].copy_from_slice(&kind.to_le_bytes());
    let (body, padding) = to[RECORD_HEADER..packed(bytes)].split_at_mut(bytes);
    padding.fill(0);
    body
}

/// The bytes of a record in several parts, taken from the front.
pub(crate) struct Parts<'a> {
    rest: &'a [&'a [u8]],
    /// Bytes of the first part that were taken.
    taken: usize,
    /// Bytes left in all.
    pub(crate) left: usize,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(parts: &'a [&'a [u8]]) -> Self {
        Self { rest: parts, taken: 0, left: parts.iter().map(|part| part.len()).sum() }
    }

    /// Fills `to`; so many bytes must be left.
    pub(crate) fn take(&mut self, mut to: &mut [u8]) {
        self.left = self.left.saturating_sub(to.len());
        while let (Some((first, rest)), false) = (self.rest.split_first(), to.is_empty()) {
            let bytes = (first.len() - self.taken).min(to.len());
            let (now, later) = std::mem::take(&mut to).split_at_mut(bytes);
            now.copy_from_slice(&first[self.taken..self.taken + bytes]);
            (to, self.taken) = (later, self.taken + bytes);
            if self.taken == first.len() {
                (self.rest, self.taken) = (rest, 0);
            }
        }
    }
}

/// A piece of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: u16,
    pub(crate) bytes: &'a [u8],
    /// The record goes on.
    pub(crate) more: bool,
}

/// Reads the piece at the beginning of `from`. Returns it and the bytes behind it, or `None` if
/// there is no sound one.
pub(crate) fn next(from: &[u8]) -> Option<(Piece<'_>, &[u8])> {
    let (head, rest) = from.split_first_chunk::<RECORD_HEADER>()?;
    let length = u16::from_le_bytes([head[0], head[1]]);
    let kind = u16::from_le_bytes([head[2], head[3]]);
    let bytes = rest.get(..usize::from(length & !MORE))?;
    let rest = rest.get(bytes.len().next_multiple_of(4)..)?;
    Some((Piece { kind, bytes, more: length & MORE != 0 }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_as_they_were_written() {
        let mut frame = [0xff; 64];
        let mut at = 0;
        for (kind, bytes, more) in [(7, &b"seven"[..], false), (9, b"", true), (8, &[1; 8], false)]
        {
            let (first, second) = bytes.split_at(bytes.len() / 2);
            let three = [first, &[], second];
            let mut parts = Parts::new(&three);
            parts.take(begin(&mut frame[at..], kind, bytes.len(), more));
            assert_eq!(parts.left, 0);
            at += packed(bytes.len());
        }
        assert_eq!(at, packed(5) + packed(0) + packed(8));
        let (piece, rest) = next(&frame[..at]).expect("a piece");
        assert_eq!(piece, Piece { kind: 7, bytes: b"seven", more: false });
        let (piece, rest) = next(rest).expect("a piece");
        assert_eq!(piece, Piece { kind: 9, bytes: b"", more: true });
        let (piece, rest) = next(rest).expect("a piece");
        assert_eq!(piece, Piece { kind: 8, bytes: &[1; 8], more: false });
        assert!(rest.is_empty() && next(rest).is_none());
        assert!(next(&frame[..3]).is_none() && next(&frame[..packed(5) - 1]).is_none());
    }

    #[test]
    fn a_piece_leaves_no_gap_unless_it_is_the_last() {
        assert_eq!((fitting(10, 100), fitting(100, 14), fitting(10, 15)), (10, 8, 8));
        assert_eq!((fitting(9, 3), fitting(9, 4), fitting(9, 7)), (0, 0, 0));
        assert_eq!(fitting(1 << 20, 1 << 20), LONGEST_PIECE / 4 * 4);
    }
}
