//! The header word of a record, the arithmetic of positions, and the errors of both.

use core::fmt;

use cora_core::sentence::Sentence;

/// Longest payload of a record, in bytes: a frame of 64 KiB and more with Cora's metadata. A ring
/// carries less if a quarter of it is shorter.
pub const MAX_RECORD: usize = 128 * 1024;

/// Smallest ring, in bytes of data: three of the smallest records, and the line behind them.
pub const MIN_RING_BYTES: usize = 4 * LINE_BYTES;

/// Largest ring, in bytes of data.
pub const MAX_RING_BYTES: usize = 1 << 30;

/// Records begin on a line of this many bytes.
const LINE_BYTES: usize = 64;

/// The same in words.
pub(super) const LINE_WORDS: u64 = (LINE_BYTES / WORD_BYTES) as u64;

/// Prefetch distance of both ends. A line comes from another core in the time of some ten records.
/// The lines that a processor's own loads and stores reach, a dozen, are too few to hide that.
pub(super) const AHEAD: u64 = 24 * LINE_WORDS;

const WORD_BYTES: usize = 8;

/// Bits of a header word for the length.
const LEN_BITS: u32 = 20;

/// The length that marks a padding header. No record is that long.
pub(super) const PADDING: u32 = (1 << LEN_BITS) - 1;

/// Bits for the lines of a batch.
const LINES_BITS: u32 = 12;

/// Most lines that a header can state.
const MAX_LINES: u64 = (1 << LINES_BITS) - 1;

/// A word that is no header at any position.
pub(super) const NO_RECORD: u64 = 0;

/// Bytes that a record with a payload of `len` bytes takes in the ring, header included.
#[inline]
pub const fn record_bytes(len: usize) -> usize {
    len.saturating_add(WORD_BYTES + LINE_BYTES - 1) & !(LINE_BYTES - 1)
}

/// The content of a header word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of payload, or [`PADDING`].
    pub(super) len: u32,
    /// In a batch's first header: the lines published with it, including this record's, or as many
    /// as it can state. In others: 0.
    pub(super) lines: u16,
    /// The user's kind.
    pub(super) kind: u16,
}

impl Header {
    /// The header of a record, or of padding, behind the first of its batch.
    #[inline]
    pub(super) const fn new(len: u32, kind: u16) -> Self {
        Self { len, lines: 0, kind }
    }

    /// This header as the first of a batch of `words` words.
    #[inline]
    pub(super) const fn first_of(self, words: u64) -> Self {
        let lines = words / LINE_WORDS;
        Self { lines: if lines < MAX_LINES { lines } else { MAX_LINES } as u16, ..self }
    }

    /// The word for a record that begins at `position`.
    #[inline]
    pub(super) const fn encode(self, position: u64) -> u64 {
        let lines = (self.lines as u64) << LEN_BITS;
        let plain = (self.kind as u64) << 32 | lines | self.len as u64;
        plain | (check(plain, position) as u64) << 48
    }

    /// Reads a header; `None` if the check does not fit.
    #[inline]
    pub(super) const fn decode(word: u64, position: u64) -> Option<Self> {
        let plain = word & 0x0000_ffff_ffff_ffff;
        if check(plain, position) != (word >> 48) as u16 {
            return None;
        }
        let lines = (plain >> LEN_BITS & MAX_LINES) as u16;
        Some(Self { len: plain as u32 & PADDING, lines, kind: (plain >> 32) as u16 })
    }
}

/// Mixes a header with its position, to notice accidents, not forgery.
#[inline]
const fn check(plain: u64, position: u64) -> u16 {
    // The golden ratio: the product's upper bits depend on all bits of the other factor.
    let mixed = (plain ^ position.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Odd, so that no header word is `NO_RECORD`.
    (mixed >> 48) as u16 | 1
}

/// A position as an index of the memory, which wraps it around the lap.
#[inline(always)]
pub(super) const fn index(position: u64) -> usize {
    position as usize
}

/// The size of one ring's data, and the quantities that follow from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    words: u64,
}

impl Shape {
    /// `words` is a power of two, as [`RingMemory::words`](super::RingMemory::words) promises.
    #[inline]
    pub(super) const fn new(words: usize) -> Self {
        Self { words: words as u64 }
    }

    /// Words of data.
    #[inline]
    pub(super) const fn words(self) -> u64 {
        self.words
    }

    /// Words that can be in use. One line always remains, to show that no record is there.
    #[inline]
    pub(super) const fn usable(self) -> u64 {
        self.words - LINE_WORDS
    }

    /// Words from a position to the end of its lap; the whole lap at its beginning.
    #[inline]
    pub(super) const fn rest_of_lap(self, position: u64) -> u64 {
        self.words - (position & (self.words - 1))
    }

    /// Longest payload, in bytes.
    #[inline]
    pub(super) const fn max_record(self) -> usize {
        let quarter = (self.words as usize / 4) * WORD_BYTES - WORD_BYTES;
        if quarter < MAX_RECORD { quarter } else { MAX_RECORD }
    }

    /// Words that a record with this payload takes, header included.
    #[inline]
    pub(super) const fn span(len: usize) -> u64 {
        (record_bytes(len) / WORD_BYTES) as u64
    }
}

/// A violation of the ring's rules by the peer. The ring is unusable afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// The peer's index is outside the range that it may have.
    IndexOutOfRange {
        /// The peer's index.
        index: u64,
        /// The lowest that is possible.
        lowest: u64,
        /// The highest that is possible.
        highest: u64,
    },
    /// The peer's index is not at the beginning of a line.
    IndexUnaligned {
        /// The peer's index.
        index: u64,
    },
    /// A header does not carry the check of its position.
    BadCheck {
        /// Its position, in words since the beginning.
        position: u64,
        /// The header word.
        word: u64,
    },
    /// A record reaches beyond what is published, beyond its lap, or beyond the longest record.
    BadLength {
        /// Its position, in words since the beginning.
        position: u64,
        /// The length in its header.
        len: u32,
        /// Most bytes that there can be.
        room: u64,
    },
    /// Padding where a producer has no cause to pad.
    BadPadding {
        /// Its position, in words since the beginning.
        position: u64,
    },
    /// A record is longer than its destination buffer.
    BufferTooShort {
        /// The record's length in bytes.
        len: u32,
        /// The buffer's length in bytes.
        buffer: usize,
    },
}

impl RingError {
    /// The error as a sentence.
    pub fn sentence(&self) -> Sentence {
        match *self {
            Self::IndexOutOfRange { index, lowest, highest } => Sentence::new(
                &["the peer's ring index is ", ", but only ", " to ", " is possible"],
                &[index, lowest, highest],
            ),
            Self::IndexUnaligned { index } => Sentence::new(
                &["the peer's ring index ", " is not at the beginning of a record line"],
                &[index],
            ),
            Self::BadCheck { position, word } => Sentence::new(
                &["the word 0x", " at ring position ", " is not a record header"],
                &[word, position],
            ),
            Self::BadLength { position, len, room } => Sentence::new(
                &["the record at ring position ", " claims ", " bytes where at most ", " can be"],
                &[position, len.into(), room],
            ),
            Self::BadPadding { position } => Sentence::new(
                &["the padding at ring position ", " has no place there"],
                &[position],
            ),
            Self::BufferTooShort { len, buffer } => Sentence::new(
                &["a record of ", " bytes does not fit the buffer of ", " bytes"],
                &[len.into(), buffer as u64],
            ),
        }
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl core::error::Error for RingError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_round_trips_only_at_its_position() {
        let header = Header::new(1500, 7).first_of(3 * 8);
        assert_eq!(header.lines, 3);
        let word = header.encode(640);
        assert_eq!(Header::decode(word, 640), Some(header));
        assert_eq!(Header::decode(word, 648), None);
        assert_eq!(Header::decode(word ^ 1, 640), None, "another length");
        assert_eq!(Header::decode(word ^ 1 << LEN_BITS, 640), None, "other lines");
        assert_eq!(Header::decode(word ^ 1 << 32, 640), None, "another kind");
        let most = Header::new(PADDING, u16::MAX).first_of(u64::MAX);
        assert_eq!((most.lines, Header::decode(most.encode(0), 0)), (4095, Some(most)));
    }

    #[test]
    fn words_left_from_an_earlier_lap_are_seldom_headers() {
        let word = Header::new(64, 1).encode(0);
        let laps = (1..10_000_u64).filter(|lap| Header::decode(word, lap * 4096).is_some());
        assert!(laps.count() <= 3, "a 15-bit check passes about once in 32768");
    }

    #[test]
    fn no_header_says_that_there_is_none() {
        for position in 0..200_000 {
            assert_ne!(Header::new(0, 0).encode(position * 8), NO_RECORD);
        }
    }

    #[test]
    fn spans_are_whole_lines() {
        assert_eq!(Shape::span(0), 8);
        assert_eq!(Shape::span(56), 8);
        assert_eq!(Shape::span(57), 16);
        assert_eq!(record_bytes(usize::MAX), usize::MAX - 63, "no overflow");
    }

    #[test]
    fn a_record_takes_at_most_a_quarter() {
        for words in [32, 64, 1 << 10, 1 << 20] {
            let shape = Shape::new(words);
            assert!(Shape::span(shape.max_record()) <= shape.words() / 4, "{words}");
        }
        assert_eq!(Shape::new(1 << 20).max_record(), MAX_RECORD);
    }
}
