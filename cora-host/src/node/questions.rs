//! The host half's end of an operator's questions: it answers a few between two rounds.
//!
//! The NIC's answers are passed on. The NIC is not trusted: it is asked for so many places at once
//! as fit, and tells no more entries than it was asked for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::state::MAX_PIECE;
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::message::{
    Answer, Kind, MAX_MESSAGE, Message, NO_PLACE, OF_FLOW, Questions,
};
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};

use crate::ingress::feed::encoded;
use crate::inspect::line::{ANSWER_BYTES, Line};
use crate::node::worker::Worker;
use crate::process::log::{self, Part};

/// Places that are looked at in a round with packets, at most once in this time, and in one without
/// packets. A place takes some 60 ns, so a listing takes about 1 % of a busy side's time.
const BUSY: u32 = 16;
const BUSY_PAUSE: Duration = Duration::from_micros(100);
const IDLE: u32 = 64;
/// Bytes of the longest answer: an entry with its head.
const LONGEST: usize = MAX_PIECE + 128;
/// Most pieces of a value that the NIC may tell.
const MOST_PIECES: u32 = 8192;

/// The end of an answer that says no place.
const END: Message<'static> = Message::Questions(Questions::ListEnd { next: NO_PLACE });

/// The answers of the NIC half.
#[derive(Debug, Default)]
pub(crate) struct NicAnswers {
    /// Entries that it may still tell; `None` if it was not asked.
    expected: Option<u32>,
    came: VecDeque<(u16, Vec<u8>)>,
}

impl NicAnswers {
    /// Takes a part of an answer.
    ///
    /// # Errors
    /// If nothing was asked, or it tells more than that.
    pub(super) fn take(&mut self, answer: Questions<'_>) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::unexpected(&answer.into());
        let expected = self.expected.ok_or(unexpected)?;
        self.expected = match answer {
            Questions::Listed { .. } | Questions::Exported { .. } => {
                Some(expected.checked_sub(1).ok_or(unexpected)?)
            }
            Questions::ListEnd { .. } | Questions::Answered { .. } => None,
            _ => return Err(unexpected),
        };
        self.came.push_back(encoded(&answer.into()));
        Ok(())
    }

    /// The NIC is asked, and may tell so many entries.
    pub(super) const fn expect(&mut self, entries: u32) {
        self.expected = Some(entries);
    }

    /// The NIC half is gone.
    pub(super) fn lose(&mut self) {
        if self.expected.take().is_some() {
            self.came.push_back(encoded(&Questions::Answered { answer: Answer::NicGone }.into()));
        }
    }
}

/// A table of which places are listed.
#[derive(Clone, Copy, Debug)]
struct Listing {
    at_nic: bool,
    state: u16,
    from: u32,
    left: u32,
}

/// The host half's end.
#[derive(Debug)]
pub(crate) struct Desk {
    orders: Consumer<SharedMemory>,
    answers: Producer<SharedMemory>,
    buffer: Vec<u8>,
    listing: Option<Listing>,
    /// Parts of this side's answer that wait for room.
    waiting: VecDeque<(u16, Vec<u8>)>,
    /// The NIC was asked about so many places.
    asked: Option<u32>,
    has_nic: bool,
    /// When places were looked at last.
    listed: Instant,
    /// The tap in force, encoded, for a NIC half that comes later.
    tap: Vec<u8>,
    /// Copies that found no room, as told last.
    missed: u64,
    /// A ring is broken: nobody is answered any more.
    broken: bool,
}

impl Desk {
    /// At these rings, of a host half with a NIC half beside it or without.
    pub(crate) fn new(line: &Line, has_nic: bool) -> Self {
        Self {
            orders: Consumer::new(line.orders),
            answers: Producer::new(line.answers),
            buffer: vec![0; MAX_MESSAGE],
            listing: None,
            waiting: VecDeque::new(),
            asked: None,
            has_nic,
            listed: Instant::now(),
            tap: Vec::new(),
            missed: 0,
            broken: false,
        }
    }

    /// Whether an answer is not complete.
    pub(crate) fn is_working(&self) -> bool {
        self.asked.is_some() || self.listing.is_some() || !self.waiting.is_empty()
    }

    /// Goes on with an answer, or begins with the next one. `busy` is a round with packets.
    pub(crate) fn step<A: App>(&mut self, worker: &mut Worker<A>, busy: bool) {
        if self.broken {
            return;
        }
        let tells = self.pass_taps(worker);
        if let Some(places) = self.asked {
            self.pass_on(worker, places);
        } else if !self.waiting.is_empty() {
            self.tell_waiting();
        } else if let Some(listing) = self.listing {
            if busy && self.listed.elapsed() < BUSY_PAUSE {
                return;
            }
            self.list(listing, worker, if busy { BUSY } else { IDLE });
            self.listed = Instant::now();
        } else if !self.next_order(worker) && !tells {
            return;
        }
        self.answers.publish();
        worker.show_nic();
    }

    /// Another NIC half is beside this host from now on: it taps, too.
    pub(crate) fn meet_nic<A: App>(&self, worker: &mut Worker<A>) {
        if let Some(Message::Questions(tap)) = Message::decode(Kind::Tap.number(), &self.tap) {
            worker.tap(&tap, self.has_nic);
        }
    }

    /// Passes on tapped packets, while half of the ring is free. Returns whether there were any.
    fn pass_taps<A: App>(&mut self, worker: &mut Worker<A>) -> bool {
        let tapped = worker.tapped();
        let mut any = false;
        while !tapped.waiting.is_empty() && self.answers.free_bytes() > ANSWER_BYTES / 2 {
            if let Some((kind, bytes)) = tapped.waiting.pop_front() {
                any |= self.answers.push(kind, &[&bytes]).is_ok();
            }
        }
        let missed = tapped.missed;
        if missed > self.missed && self.answers.free_bytes() > ANSWER_BYTES / 2 {
            self.missed = missed;
            self.tell(&Questions::Missed { packets: missed }.into());
            any = true;
        }
        any
    }

    /// Begins with the next order, if there is one.
    fn next_order<A: App>(&mut self, worker: &mut Worker<A>) -> bool {
        let popped = match self.orders.pop(&mut self.buffer) {
            Ok(Some(popped)) => popped,
            Ok(None) => return false,
            Err(error) => {
                log::warn(Part::Control, format_args!("an operator's questions: {error}"));
                self.broken = true;
                return false;
            }
        };
        let buffer = std::mem::take(&mut self.buffer);
        let bytes = buffer.get(..popped.len).unwrap_or_default();
        let answer = match Message::decode(popped.kind, bytes) {
            Some(Message::Questions(question)) => self.begin(&question, worker),
            _ => Some(Answer::NotHere),
        };
        self.buffer = buffer;
        self.orders.release();
        if let Some(answer) = answer {
            self.tell(&Questions::Answered { answer }.into());
        }
        true
    }

    /// Begins with an answer. Returns it, if it is one word.
    fn begin<A: App>(
        &mut self,
        question: &Questions<'_>,
        worker: &mut Worker<A>,
    ) -> Option<Answer> {
        match *question {
            Questions::List { at_nic, state, from, places } => {
                let at_nic = at_nic != 0;
                self.listing = Some(Listing { at_nic, state, from, left: places });
                None
            }
            Questions::Remove { at_nic: 1.., .. } => self.ask_nic(worker, question, 0),
            Questions::Remove { state, name, .. } => Some(worker.remove(state, name)),
            Questions::Find { at_nic: 1.., .. } => {
                self.ask_nic(worker, question, A::STATES as u32 * (OF_FLOW + 1))
            }
            Questions::Find { stamp, frame, .. } => {
                let mut tell = |told: &Message<'_>| self.waiting.push_back(encoded(told));
                worker.half.find(&stamp, frame, &mut tell);
                tell(&END);
                None
            }
            Questions::Export { at_nic: 1.., .. } => self.ask_nic(worker, question, MOST_PIECES),
            Questions::Export { state, .. } => {
                let mut tell = |told: &Message<'_>| self.waiting.push_back(encoded(told));
                worker.half.value(state, &mut |piece| {
                    tell(&Questions::Exported { state, piece }.into());
                });
                tell(&END);
                None
            }
            Questions::Move { to_nic, group } => Some(worker.move_flow(to_nic != 0, group)),
            Questions::Tap { .. } => {
                worker.tap(question, self.has_nic);
                (_, self.tap) = encoded(&(*question).into());
                self.missed = 0;
                Some(Answer::Done)
            }
            _ => Some(Answer::NotHere),
        }
    }

    /// Passes a question on to the NIC half, which may tell so much. Returns the answer if there is
    /// none.
    fn ask_nic<A: App>(
        &mut self,
        worker: &mut Worker<A>,
        question: &Questions<'_>,
        most: u32,
    ) -> Option<Answer> {
        if !self.has_nic {
            return Some(Answer::NotHere);
        }
        worker.ask_nic(question, most);
        self.asked = Some(0);
        None
    }

    /// Tells waiting parts of an answer, while half of the ring is free.
    fn tell_waiting(&mut self) {
        while self.answers.free_bytes() > ANSWER_BYTES / 2 {
            let Some((kind, bytes)) = self.waiting.pop_front() else { return };
            // There is room.
            let _told = self.answers.push(kind, &[&bytes]);
        }
    }

    /// Lists so many places, or as many as fit the ring.
    fn list<A: App>(&mut self, listing: Listing, worker: &mut Worker<A>, most: u32) {
        let Listing { at_nic, state, from, left } = listing;
        let fit = self.answers.free_bytes() / (2 * LONGEST);
        let places = left.min(most).min(u32::try_from(fit).unwrap_or(0));
        if places == 0 && left > 0 {
            return;
        }
        if at_nic && self.has_nic {
            let question = Questions::List { at_nic: 1, state, from, places };
            worker.ask_nic(&question, places);
            self.asked = Some(places);
        } else if at_nic {
            self.go_on(NO_PLACE, places);
        } else {
            let next = worker.half.list(state, (from, places), &mut |message| {
                let _told = message.push(&mut self.answers);
            });
            self.go_on(next, places);
        }
    }

    /// Passes on what the NIC answered so far.
    fn pass_on<A: App>(&mut self, worker: &mut Worker<A>, places: u32) {
        while let Some((kind, bytes)) = worker.received.nic_answers.came.pop_front() {
            match Message::decode(kind, &bytes) {
                Some(end @ Message::Questions(Questions::ListEnd { next })) => {
                    self.asked = None;
                    if self.listing.is_some() {
                        self.go_on(next, places);
                    } else {
                        self.waiting.push_back(encoded(&end));
                    }
                }
                Some(answer @ Message::Questions(Questions::Answered { .. })) => {
                    (self.asked, self.listing) = (None, None);
                    self.tell(&answer);
                }
                // A listing began with room for all that it may tell.
                Some(entry) if self.listing.is_some() => self.tell(&entry),
                Some(part) => self.waiting.push_back(encoded(&part)),
                None => {}
            }
        }
    }

    /// So many places are listed: ends the answer behind the last one.
    fn go_on(&mut self, next: u32, places: u32) {
        let Some(listing) = &mut self.listing else { return };
        listing.from = next;
        listing.left = listing.left.saturating_sub(places);
        if next == NO_PLACE || listing.left == 0 {
            self.listing = None;
            self.tell(&Questions::ListEnd { next }.into());
        }
    }

    /// There is room for it: nothing begins without.
    fn tell(&mut self, message: &Message<'_>) {
        let _told = message.push(&mut self.answers);
    }
}

#[cfg(test)]
mod tests {
    use cora_runtime::link::message::{GroupKey, Kind, Stay};

    use super::*;

    const ENTRY: Questions<'static> = Questions::Listed {
        state: 0,
        place: 0,
        flow: 0,
        stay: Stay::Taken,
        group: GroupKey(b"group"),
        piece: b"entry",
    };

    #[test]
    fn a_nic_tells_no_more_than_it_was_asked_for() {
        let mut answers = NicAnswers::default();
        assert_eq!(answers.take(ENTRY), Err(ProtocolError::Unexpected(Kind::Listed)));
        answers.expect(2);
        assert_eq!((answers.take(ENTRY), answers.take(ENTRY)), (Ok(()), Ok(())));
        assert_eq!(answers.take(ENTRY), Err(ProtocolError::Unexpected(Kind::Listed)));
        answers.expect(2);
        let end = Questions::ListEnd { next: 9 };
        assert_eq!((answers.take(ENTRY), answers.take(end)), (Ok(()), Ok(())));
        assert_eq!(answers.take(end), Err(ProtocolError::Unexpected(Kind::ListEnd)));
        answers.expect(0);
        let order = Questions::Move { to_nic: 1, group: b"group" };
        assert_eq!(answers.take(order), Err(ProtocolError::Unexpected(Kind::Move)));
    }

    #[test]
    fn a_nic_that_is_gone_owes_no_answer() {
        let mut answers = NicAnswers::default();
        answers.lose();
        assert!(answers.came.is_empty(), "nothing was asked");
        answers.expect(3);
        answers.take(ENTRY).expect("it was asked");
        answers.lose();
        let kinds: Vec<u16> = answers.came.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [Kind::Listed.number(), Kind::Answered.number()]);
        answers.lose();
        assert_eq!(answers.came.len(), 2);
    }
}
