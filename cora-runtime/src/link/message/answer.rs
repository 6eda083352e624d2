//! Answers to an operator's questions.

/// The end of a table, in place of the next place.
pub const NO_PLACE: u32 = u32::MAX;

/// Most entries of a packet's flow that are told in each table, besides the one that it finds.
pub const OF_FLOW: u32 = 16;

/// What became of an order about an entry or a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done; of a move, it is under way.
    Done,
    /// No such entry is here.
    NotHere,
    /// Entries move to or from this side now: later it may be done.
    InTransit,
    /// Under this plan, or at this stage of the run, no flow moves.
    MovesNone,
    /// The NIC half that was asked is gone.
    NicGone,
}

impl Answer {
    /// All there are, in the order of their numbers.
    const ALL: [Self; 5] =
        [Self::Done, Self::NotHere, Self::InTransit, Self::MovesNone, Self::NicGone];

    pub(crate) const WORDS: usize = 1;

    pub(crate) const fn words(self) -> [u64; Self::WORDS] {
        [self as u64]
    }

    /// An unknown number stands for an entry that is not here.
    pub(crate) fn from_words([number]: [u64; Self::WORDS]) -> Self {
        let known = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        known.copied().unwrap_or(Self::NotHere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_and_no_number_is_taken_for_success() {
        for answer in Answer::ALL {
            assert_eq!(Answer::from_words(answer.words()), answer);
        }
        assert_eq!(Answer::from_words([5]), Answer::NotHere);
        assert_eq!(Answer::from_words([u64::MAX]), Answer::NotHere);
    }
}
