//! Words between mirrors, besides the records of rings. On the link each is a record too, of a kind
//! of its own.

/// The bit of a record's kind that says that it is of a wire ring.
pub(super) const WIRE: u16 = 1 << 15;
/// Kinds from here on are of words. Messages have lower ones.
const FIRST: u16 = 1 << 14;

/// Words of eight bytes in a [`Word`], at most.
const MOST: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// In the region of this generation, the sender's side has taken all records before these
    /// positions: of the ring that the peer half writes, and of the wire ring.
    Took { generation: u64, peer: u64, wire: u64 },
    /// The NIC half's status and heartbeat, and the packet in its handlers, by its number and one.
    Nic { status: u64, beat: u64, packet: u64 },
    /// The word at this place of the NIC half's counters.
    Count { at: u64, count: u64 },
    /// The host half's heartbeat.
    Host { beat: u64 },
    /// The next region has this generation. Nothing more follows in the old one.
    Follow { generation: u64, resident: bool, afresh: bool },
    /// The NIC half has left the old region for the one of this generation, and so has the mirror.
    Arrived { generation: u64 },
    /// The NIC half has ended, with this exit status. Nothing more follows.
    Ended { status: u64 },
    /// A host asks whether the card would serve this build.
    Asks { layout: u64, plan: u64 },
    /// Whether it would: 1, or 0.
    Answers { layout: u64, plan: u64, serves: u64 },
}

impl Word {
    /// As a record: its kind, and its bytes.
    pub(super) fn encode(self) -> (u16, Vec<u8>) {
        let (kind, words): (u16, &[u64]) = match self {
            Self::Took { generation, peer, wire } => (0, &[generation, peer, wire]),
            Self::Nic { status, beat, packet } => (1, &[status, beat, packet]),
            Self::Count { at, count } => (2, &[at, count]),
            Self::Host { beat } => (3, &[beat]),
            Self::Follow { generation, resident, afresh } => {
                (4, &[generation, resident as u64, afresh as u64])
            }
            Self::Arrived { generation } => (5, &[generation]),
            Self::Ended { status } => (6, &[status]),
            Self::Asks { layout, plan } => (7, &[layout, plan]),
            Self::Answers { layout, plan, serves } => (8, &[layout, plan, serves]),
        };
        (FIRST + kind, words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    /// Whether a record of this kind is a word.
    pub(super) const fn is_of(kind: u16) -> bool {
        kind & !WIRE >= FIRST
    }

    /// The word in a record, if it is one.
    pub(super) fn decode(kind: u16, bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || words.len() > MOST {
            return None;
        }
        let mut taken = [0; MOST];
        for (to, word) in taken.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*word);
        }
        let [first, second, third] = taken;
        let (word, length) = match kind.checked_sub(FIRST)? {
            0 => (Self::Took { generation: first, peer: second, wire: third }, 3),
            1 => (Self::Nic { status: first, beat: second, packet: third }, 3),
            2 => (Self::Count { at: first, count: second }, 2),
            3 => (Self::Host { beat: first }, 1),
            4 => {
                let (resident, afresh) = (second != 0, third != 0);
                (Self::Follow { generation: first, resident, afresh }, 3)
            }
            5 => (Self::Arrived { generation: first }, 1),
            6 => (Self::Ended { status: first }, 1),
            7 => (Self::Asks { layout: first, plan: second }, 2),
            8 => (Self::Answers { layout: first, plan: second, serves: third }, 3),
            _ => return None,
        };
        (words.len() == length).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use cora_runtime::link::message::Kind;

    use super::*;

    #[test]
    fn messages_and_words_have_different_kinds() {
        assert!((FIRST..=u16::MAX).all(|number| Kind::of(number).is_none()));
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let words = [
            Word::Took { generation: 1, peer: 2, wire: 3 },
            Word::Nic { status: 1, beat: 2, packet: 3 },
            Word::Host { beat: 7 },
            Word::Follow { generation: 9, resident: false, afresh: true },
            Word::Arrived { generation: 9 },
            Word::Ended { status: 134 },
            Word::Asks { layout: 1, plan: u64::MAX },
            Word::Answers { layout: 1, plan: 7, serves: 1 },
            Word::Count { at: 3, count: u64::MAX },
        ];
        for word in words {
            let (kind, bytes) = word.encode();
            assert!(Word::is_of(kind) && kind & WIRE == 0);
            assert_eq!(Word::decode(kind, &bytes), Some(word));
            assert_eq!(Word::decode(kind, &bytes[..bytes.len() - 1]), None);
            assert_eq!(Word::decode(kind, &[bytes, vec![0; 8]].concat()), None);
        }
        assert_eq!(Word::decode(FIRST + 9, &[0; 8]), None);
        assert!(Word::decode(Kind::Frame.number(), &[0; 8]).is_none());
        assert!(!Word::is_of(Kind::Frame.number()) && !Word::is_of(WIRE | Kind::Frame.number()));
    }
}
