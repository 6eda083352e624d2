//! The state of a half as bytes, for an explorer of all schedules. It has everything that decides
//! the handling of later packets and messages, and no counters. Two halves with the same bytes
//! behave the same from then on, so the explorer follows only one of them.
//!
//! Record numbers are part of it, and so is the next free one. The order of later free numbers is
//! not, and neither are the positions of the tables' wheels: expiry is compared exactly, whenever a
//! wheel turns.

/// Takes bytes of the state.
pub(crate) type Say<'a> = dyn FnMut(&[u8]) + 'a;

/// Gives words.
pub(crate) fn say_words(say: &mut Say<'_>, words: &[u64]) {
    for word in words {
        say(&word.to_le_bytes());
    }
}

/// Gives a number that may be absent.
pub(crate) fn say_number(say: &mut Say<'_>, number: Option<u32>) {
    say_words(say, &[number.map_or(u64::MAX, u64::from)]);
}
