//! How much a side has to do.

use crate::link::message::Report;

/// What one side has seen and done since it began, and how full it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// When this was told, on the side's own clock (ns).
    pub time: u64,
    /// Counts since the beginning; [`Report::flows`] is those owned now.
    pub counts: Report,
    /// Flows that it could own beside those.
    pub room: u64,
    /// Bytes of packets that wait for flows on their way here.
    pub waiting: u64,
    /// Bytes that wait on the ring of the wire, to be handled here.
    pub wire_ring: u64,
    /// Bytes that wait on the ring to the other side.
    pub peer_ring: u64,
    /// Flows with most packets that are told next.
    pub talkers: u64,
}

impl Load {
    /// Words of its encoding.
    pub(crate) const WORDS: usize = Report::WORDS + 6;

    pub(crate) fn words(&self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        let (counts, own) = words.split_at_mut(Report::WORDS);
        counts.copy_from_slice(&self.counts.words());
        own.copy_from_slice(&[
            self.time,
            self.room,
            self.waiting,
            self.wire_ring,
            self.peer_ring,
            self.talkers,
        ]);
        words
    }

    pub(crate) fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [counts @ .., time, room, waiting, wire_ring, peer_ring, talkers] = words;
        let counts = Report::from_words(counts);
        Self { time, counts, room, waiting, wire_ring, peer_ring, talkers }
    }
}
