//! Counts of handlers of messages, and the outcomes, by handler.
//!
//! A half counts in words, a [`Took`] for each handler and one for all else: packets that no
//! handler of messages took, messages that found no room, and what hooks and timers sent. The words
//! are copied to where they outlive the half that counted them.

use cora_core::app::App;
use cora_core::state::{Memory, OutOfMemory};
use cora_core::verdict::Forward;

use super::engine::Ran;
use crate::telemetry::TOOK_WORDS;

/// Handlers that are counted apart, and one place for all else.
const MOST: usize = 32;

const _: () = assert!(MOST * Took::WORDS <= TOOK_WORDS, "a region holds all counts");

macro_rules! took {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What a handler of messages took, and what became of it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Took {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Took {
            /// Words that hold one.
            pub const WORDS: usize = [$(stringify!($field)),*].len();

            /// The counts in these words.
            #[must_use]
            pub const fn of(words: [u64; Self::WORDS]) -> Self {
                let [$($field),*] = words;
                Self { $($field),* }
            }
        }

        /// The place of each count among the words.
        #[expect(non_camel_case_types, reason = "the names of the fields")]
        #[derive(Clone, Copy)]
        enum Count { $($field),* }
    };
}

took! {
    /// Packets from a wire: datagrams with a message, of a handler of messages.
    packets,
    /// Messages that handlers, hooks or timers sent.
    messages,
    /// Those of both that were consumed.
    done,
    /// Those that passed.
    passed,
    /// Those that were dropped.
    dropped,
    /// Messages that it sent.
    sent,
    /// Datagrams and packets that it sent.
    made,
}

impl Took {
    /// Words of all counts of a program: none if it takes no messages.
    #[must_use]
    pub const fn words_of<A: App>() -> usize {
        TookHere::places::<A>() * Self::WORDS
    }
}

/// The words of a half.
#[derive(Debug)]
pub(crate) struct TookHere {
    words: &'static mut [u64],
    /// Where the counts of the handler begin that ran last.
    last: usize,
}

impl TookHere {
    /// The places for the handlers of a program, the last one for all else.
    const fn places<A: App>() -> usize {
        match A::TAKERS.len() + 1 {
            _ if !A::MESSAGES => 0,
            places if places < MOST => places,
            _ => MOST,
        }
    }

    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) const fn bytes<A: App>() -> usize {
        if A::MESSAGES { Self::places::<A>() * Took::WORDS * 8 + 64 } else { 0 }
    }

    /// All counts are zero; there are none if the program takes no messages.
    pub(crate) fn create<A: App>(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { words: memory.take_u64(Took::words_of::<A>())?, last: 0 })
    }

    /// The words, as many for each handler and for all else.
    pub(crate) const fn words(&self) -> &[u64] {
        self.words
    }

    /// A packet or message for this handler ran to its end.
    #[inline]
    pub(crate) fn ran<A: App>(&mut self, taker: Option<u8>, is_message: bool, ran: Ran) {
        let others = const { Self::places::<A>().saturating_sub(1) };
        let place = taker.map_or(others, |taker| usize::from(taker).min(others));
        self.last = place * Took::WORDS;
        self.add(if is_message { Count::messages } else { Count::packets }, 1);
        match ran {
            Ran::Forward(Forward::Done) => self.add(Count::done, 1),
            Ran::Forward(Forward::Pass) => self.add(Count::passed, 1),
            Ran::Dropped(_) => self.add(Count::dropped, 1),
            Ran::Forward(_) | Ran::Punted => {}
        }
    }

    /// The handler that ran last sent so much.
    #[inline]
    pub(crate) fn sent(&mut self, messages: u64, others: u64) {
        self.add(Count::sent, messages);
        self.add(Count::made, others);
    }

    /// What follows is of no handler of messages.
    #[inline]
    pub(crate) fn of_no_handler<A: App>(&mut self) {
        self.last = const { Self::places::<A>().saturating_sub(1) } * Took::WORDS;
    }

    /// A message found no room.
    #[cold]
    pub(crate) fn refused<A: App>(&mut self) {
        let last = self.last;
        self.of_no_handler::<A>();
        self.add(Count::messages, 1);
        self.add(Count::dropped, 1);
        self.last = last;
    }

    #[inline]
    fn add(&mut self, count: Count, more: u64) {
        if let Some(word) = self.words.get_mut(self.last + count as usize) {
            *word += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_counts_in_their_order() {
        let words: [u64; Took::WORDS] = core::array::from_fn(|at| at as u64);
        let took = Took::of(words);
        assert_eq!((took.packets, took.done, took.made), (0, 2, 6));
        assert_eq!(Count::made as usize, Took::WORDS - 1);
    }
}
