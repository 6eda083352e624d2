//! The ends of a region's rings at a mirror, and cuts of the records on them.

use std::collections::VecDeque;

use cora_runtime::link::message::MAX_MESSAGE;
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::{
    Consumer, Popped, Producer, RingError, RingMemory as _, SharedMemory,
};

use super::Broken;
use super::word::{WIRE, Word};
use crate::End;

/// Most records of the wire in a cut: messages to the peer half don't wait long behind them.
const MOST_OF_WIRE: usize = 256;

/// The ends of a region's rings: those that this side's halves write, and those that they read.
#[derive(Debug)]
pub(super) struct Ends {
    /// To the peer half.
    peer: Consumer<SharedMemory>,
    /// To the wire, or from it.
    wire: Consumer<SharedMemory>,
    from_peer: Producer<SharedMemory>,
    from_wire: Producer<SharedMemory>,
    /// The memory of the rings that this side reads: its consumers' positions stand there.
    read_here: [SharedMemory; 2],
    generation: u64,
    /// The positions that were told last.
    told: [u64; 2],
    /// There is something for this side's halves since the last look: records, or room for theirs.
    is_news: bool,
}

impl Ends {
    /// The host's: it writes *back* and *wire in*.
    pub(super) fn of_host(rings: &Rings, generation: u64) -> Self {
        Self::new([rings.back, rings.wire_in], [rings.punt, rings.wire_out], generation)
    }

    /// The card's: it writes *punt* and *wire out*.
    pub(super) fn of_card(rings: &Rings, generation: u64) -> Self {
        Self::new([rings.punt, rings.wire_out], [rings.back, rings.wire_in], generation)
    }

    fn new(written: [SharedMemory; 2], read: [SharedMemory; 2], generation: u64) -> Self {
        let ([peer, wire], [from_peer, from_wire]) = (written, read);
        Self {
            peer: Consumer::new(peer),
            wire: Consumer::new(wire),
            from_peer: Producer::new(from_peer),
            from_wire: Producer::new(from_wire),
            read_here: read,
            generation,
            told: read.map(|ring| ring.tail()),
            is_news: true,
        }
    }

    /// The region's generation.
    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    /// The positions up to which this side has taken, if they changed since the last call.
    fn took(&mut self) -> Option<Word> {
        let now = self.read_here.map(|ring| ring.tail());
        let [peer, wire] = now;
        let before = std::mem::replace(&mut self.told, now);
        (before != now).then_some(Word::Took { generation: self.generation, peer, wire })
    }

    /// The peer's side has taken all before these positions, in the region of this generation. That
    /// may be the one before.
    pub(super) fn release(
        &mut self,
        generation: u64,
        (peer, wire): (u64, u64),
    ) -> Result<(), Broken> {
        self.is_news = true;
        let is_taken = generation != self.generation
            || (self.peer.release_to(peer) && self.wire.release_to(wire));
        if is_taken {
            Ok(())
        } else {
            Err(Broken::Nonsense("a record was taken that is not there"))
        }
    }

    /// Puts a record from the link into its ring.
    pub(super) fn put(&mut self, kind: u16, record: &[u8]) -> Result<(), Broken> {
        self.is_news = true;
        let ring = if kind & WIRE == 0 { &mut self.from_peer } else { &mut self.from_wire };
        // There is room for all that was sent: the peer has the positions of this side's consumers.
        let pushed = ring.push_apart(kind & !WIRE, &[record]);
        pushed.map_err(|_| Broken::Nonsense("a ring has no room for a record"))
    }

    /// Whether this side's halves have written nothing that is not taken yet: to the peer half, and
    /// to the wire if that is asked for.
    pub(super) fn are_empty(&mut self, with_wire: bool) -> Result<bool, RingError> {
        Ok(self.peer.is_empty_indeed()? && (!with_wire || self.wire.is_empty_indeed()?))
    }

    /// Whether this side's halves have records to take, or took some of which the peer has not
    /// heard. They ring for nothing of that.
    pub(super) fn are_awaited(&self) -> bool {
        let now = self.read_here.map(|ring| ring.tail());
        now != self.told || now != self.read_here.map(|ring| ring.head())
    }

    /// Makes all that came visible to this side; returns whether there is news for its halves. The
    /// rings' indices, too: a half that dies is followed by one that begins at them.
    pub(super) fn publish(&mut self) -> bool {
        for ring in [&mut self.from_peer, &mut self.from_wire] {
            ring.publish();
            ring.rest();
        }
        std::mem::take(&mut self.is_news)
    }
}

/// A cut of a side's records: all that a record rests on comes before it.
#[derive(Debug)]
pub(super) struct Cut {
    words: VecDeque<Word>,
    peer: Records,
    wire: Records,
    buffer: Box<[u8]>,
    /// How many cuts were taken, sent, and are at the peer.
    number: u64,
    said: u64,
    there: u64,
    /// Cuts that were sent, with the number of frames that have them and all before.
    on_the_way: VecDeque<(u64, u64)>,
    /// Whether records of the wire come first.
    wire_first: bool,
}

/// Records that are to be sent, with their kinds.
#[derive(Debug, Default)]
struct Records {
    bytes: Vec<u8>,
    /// Kind and length of each.
    each: VecDeque<(u16, usize)>,
    /// Bytes of those that are sent.
    sent: usize,
}

impl Cut {
    pub(super) fn new() -> Self {
        Self {
            words: VecDeque::new(),
            peer: Records::default(),
            wire: Records::default(),
            buffer: vec![0; MAX_MESSAGE].into_boxed_slice(),
            number: 0,
            said: 0,
            there: 0,
            on_the_way: VecDeque::new(),
            wire_first: false,
        }
    }

    /// For a wire that carries no packets, but tells of them: its records come first.
    pub(super) fn with_wire_first() -> Self {
        Self { wire_first: true, ..Self::new() }
    }

    /// Adds a word in front of the records.
    pub(super) fn say(&mut self, word: Word) {
        self.words.push_back(word);
    }

    /// Whether all of it was sent.
    pub(super) fn is_sent(&self) -> bool {
        self.words.is_empty() && self.peer.each.is_empty() && self.wire.each.is_empty()
    }

    /// Takes the records on the rings, if all before were sent; returns whether there was any
    /// record.
    ///
    /// A half takes records, tells its peer half of the effects, and then the wire. So
    /// the rings are read in the other order, and the cut is sent in this one.
    pub(super) fn take(&mut self, ends: &mut Ends, with_wire: bool) -> Result<bool, Broken> {
        self.number += 1;
        let Self { words, peer, wire, buffer, .. } = self;
        if with_wire {
            wire.read(&mut ends.wire, WIRE, MOST_OF_WIRE, buffer)?;
        }
        // As many as there are: the ring ends them, since nothing of it is released meanwhile.
        peer.read(&mut ends.peer, 0, usize::MAX, buffer)?;
        words.extend(ends.took());
        Ok(!peer.each.is_empty() || !wire.each.is_empty())
    }

    /// The number of the next cut. It will have all that is on the rings now.
    pub(super) const fn next(&self) -> u64 {
        self.number + 1
    }

    /// The last cut that the peer has, with all before.
    pub(super) const fn there(&self) -> u64 {
        self.there
    }

    /// Sends as much as the link takes; returns whether there was any record.
    pub(super) fn send(&mut self, end: &mut End) -> bool {
        let any = self.send_on(end);
        if self.is_sent() && self.said < self.number {
            self.said = self.number;
            self.on_the_way.push_back((self.number, end.pushed()));
        }
        let has = end.acknowledged();
        while let Some((number, _)) = self.on_the_way.pop_front_if(|(_, frames)| *frames <= has) {
            self.there = number;
        }
        any
    }

    fn send_on(&mut self, end: &mut End) -> bool {
        while let Some(word) = self.words.front() {
            let (kind, bytes) = word.encode();
            if end.push(kind, &[&bytes]).is_err() {
                return false;
            }
            self.words.pop_front();
        }
        let mut any = false;
        let Self { peer, wire, wire_first, .. } = self;
        let [first, second] = if *wire_first { [wire, peer] } else { [peer, wire] };
        for records in [first, second] {
            any |= records.send(end);
            if !records.each.is_empty() {
                break;
            }
        }
        any
    }
}

impl Records {
    fn read(
        &mut self,
        ring: &mut Consumer<SharedMemory>,
        channel: u16,
        most: usize,
        buffer: &mut [u8],
    ) -> Result<(), Broken> {
        for _ in 0..most {
            let Some(Popped { kind, len }) = ring.pop(buffer)? else { break };
            if kind & WIRE != 0 || Word::is_of(kind) {
                return Err(Broken::Nonsense("a ring has a record of no kind"));
            }
            self.each.push_back((kind | channel, len));
            self.bytes.extend_from_slice(&buffer[..len]);
        }
        Ok(())
    }

    fn send(&mut self, end: &mut End) -> bool {
        let mut any = false;
        while let Some((kind, length)) = self.each.front().copied() {
            let record = &self.bytes[self.sent..self.sent + length];
            if end.push(kind, &[record]).is_err() {
                return any;
            }
            any = true;
            self.sent += length;
            self.each.pop_front();
        }
        self.bytes.clear();
        self.sent = 0;
        any
    }
}
