//! How records from the link reach a side: into its rings, or as words.

use super::Broken;
use super::rings::Ends;
use super::word::Word;
use crate::Destination;

/// A side that records reach.
pub(super) trait Receives {
    /// The ends of its rings, and the first fault.
    fn parts(&mut self) -> (&mut Ends, &mut Option<Broken>);

    /// Takes a word.
    fn word(&mut self, word: Word) -> Result<(), Broken>;
}

impl<S: Receives> Destination for S {
    fn frames(&mut self, _: usize) -> u64 {
        // The rings have room for all that the peer's rings have.
        u64::MAX
    }

    fn take(&mut self, kind: u16, record: &[u8]) {
        let (ends, broken) = self.parts();
        if broken.is_some() {
            return;
        }
        let done = match Word::decode(kind, record) {
            Some(word) => self.word(word),
            None if Word::is_of(kind) => Err(Broken::Nonsense("a word of no kind")),
            None => ends.put(kind, record),
        };
        *self.parts().1 = done.err();
    }
}
