//! Mailboxes: the messages of each class that wait, and for which flows they do.

use cora_core::state::{Memory, OutOfMemory, bytes_for};

use super::books::{Book, Sample};
use super::piece::{NO_PLACE, Piece, Pieces, Queue};
use super::push::Pushes;
use super::round::Round;
use super::{CLASSES, Limits, Planted};

/// A class: its mailbox, and the costs of its messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) mailbox: Queue,
    pub(super) book: Book,
    /// The time that it has left in this round (ns).
    pub(super) deficit: u64,
}

impl Class {
    const NEW: Self = Self { mailbox: Queue::EMPTY, book: Book::NEW, deficit: 0 };
}

/// Where a message has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    place: u32,
    mailbox: u8,
}

/// All classes of a side.
#[derive(Debug)]
pub(crate) struct Classes {
    all: &'static mut [Class],
    /// By a flow's place: how many messages wait for it, and above them in which mailbox.
    places: &'static mut [u32],
    pub(super) limits: Limits,
    pub(super) round: Round,
    /// Classes of which no flow is kept here.
    pushes: Option<&'static mut Pushes>,
    /// At the host: those of which the NIC keeps none.
    pub(crate) pushed_to: u64,
    /// When the burst began (ns).
    pub(crate) began: u64,
    pub(super) sample: Sample,
    /// The classes that wait, a bit each.
    waits: u64,
    /// Messages in all mailboxes.
    waiting: u32,
    /// No message that waits is older.
    oldest: u64,
    /// No class begins to wait any more.
    closed: bool,
    /// A mistake that a test plants.
    planted: Option<Planted>,
    /// The class of the message that is handled, whether it runs here, for which flow, and where it
    /// has to wait.
    now: Option<u8>,
    place: u32,
    runs: bool,
    wanted: Option<Wanted>,
}

/// Bits of a place's count; the mailbox stands above them.
const COUNT: u32 = 24;

impl Classes {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) const fn bytes(places: usize) -> usize {
        bytes_for::<[Class; CLASSES]>(1) + bytes_for::<Pushes>(1) + bytes_for::<u32>(places)
    }

    /// All classes, for flows with so many places.
    pub(crate) fn create(memory: &mut Memory, places: usize) -> Result<Self, OutOfMemory> {
        let all = memory.take::<[Class; CLASSES]>(1)?;
        let all = all.first_mut().map(|all| all.write([Class::NEW; CLASSES]));
        let all = all.map_or_else(Default::default, |all| &mut all[..]);
        let pushes = memory.take::<Pushes>(1)?;
        let pushes = pushes.first_mut().map(|place| place.write(Pushes::NEW));
        Ok(Self { all, pushes, places: memory.take_u32(places)?, ..Self::none() })
    }

    /// None, for a program without messages.
    pub(crate) fn none() -> Self {
        Self {
            all: Default::default(),
            places: Default::default(),
            limits: Limits::NONE,
            round: Round::NEW,
            pushes: None,
            pushed_to: 0,
            began: 0,
            sample: Sample::NEW,
            waits: 0,
            waiting: 0,
            oldest: u64::MAX,
            closed: false,
            planted: None,
            now: None,
            place: NO_PLACE,
            runs: false,
            wanted: None,
        }
    }

    /// Plants a mistake.
    pub(crate) const fn plant(&mut self, mistake: Planted) {
        self.planted = Some(mistake);
    }

    /// Sets the limits.
    pub(crate) const fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether messages are told apart by class.
    #[inline(always)]
    pub(crate) const fn are_on(&self) -> bool {
        self.limits.tail != u64::MAX
    }

    /// No class begins to wait from now on.
    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    /// Whether nothing waits.
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// No message that waits is older than this time.
    #[inline(always)]
    pub(crate) const fn oldest(&self) -> u64 {
        self.oldest
    }

    /// A message of this class is about to be handled. Whether it is timed.
    #[inline(always)]
    pub(crate) fn begin(&mut self, class: u8) -> bool {
        (self.now, self.runs, self.place) = (Some(class), false, NO_PLACE);
        self.sample.takes()
    }

    /// It ran, or went to the other side, or has to wait: where. And whether it ran.
    #[inline(always)]
    pub(crate) const fn end(&mut self) -> (Option<Wanted>, bool) {
        self.now = None;
        (self.wanted.take(), self.runs)
    }

    /// The flow of the message that ran.
    #[inline(always)]
    pub(crate) const fn place(&self) -> u32 {
        self.place
    }

    /// Whether a message is handled that may have to wait. Otherwise nobody need find its flow's
    /// place.
    #[inline(always)]
    pub(crate) fn may_wait(&mut self) -> bool {
        self.runs = self.now.is_some();
        self.now.is_some_and(|class| self.waiting > 0 || self.waits >> (class % 64) & 1 != 0)
    }

    /// Whether the message that is about to run, of the flow at this place, has to wait: others
    /// wait for the flow, or of its class.
    #[inline]
    pub(crate) fn must_wait(&mut self, place: u32) -> bool {
        let Some(number) = self.now else { return false };
        let forgets = self.planted == Some(Planted::ForgetsFlows);
        let place = if forgets { NO_PLACE } else { place };
        let place_word = self.places.get(place as usize).copied().unwrap_or(0);
        let waits = self.waits >> (number % 64) & 1 != 0 && !self.closed;
        let waits = waits || self.class(number).is_some_and(|class| !class.mailbox.is_empty());
        let mailbox = if place_word != 0 { (place_word >> COUNT) as u8 } else { number };
        self.place = place;
        let has_to = place_word != 0 || waits;
        (self.wanted, self.runs) = (has_to.then_some(Wanted { place, mailbox }), !has_to);
        has_to
    }

    /// Whether messages wait for the flow at this place.
    #[inline]
    pub(crate) fn wait_for(&self, place: u32) -> bool {
        let stays = self.planted == Some(Planted::LeavesMail);
        !stays && self.waiting > 0 && self.places.get(place as usize).is_some_and(|word| *word != 0)
    }

    /// Puts a message in a mailbox.
    pub(crate) fn put(&mut self, pieces: &mut Pieces, mut piece: Piece, class: u8, to: Wanted) {
        let Wanted { place, mailbox } = to;
        self.oldest = self.oldest.min(piece.stamp().meta.now);
        piece.waits_as(place, class);
        if let Some(word) = self.places.get_mut(place as usize) {
            *word = ((*word & ((1 << COUNT) - 1)) + 1) | (u32::from(mailbox) << COUNT);
        }
        let Some(class) = self.class(mailbox) else { return pieces.free(piece) };
        pieces.push(&mut class.mailbox, piece);
        self.round.is_runnable(mailbox);
        self.waiting += 1;
    }

    /// A message left its mailbox. Its flow's place and its class.
    #[inline]
    pub(super) fn left(&mut self, piece: &Piece) -> (u32, u8) {
        let (place, class) = piece.waits();
        if let Some(word) = self.places.get_mut(place as usize) {
            *word -= 1;
            if *word & ((1 << COUNT) - 1) == 0 {
                *word = 0;
            }
        }
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.oldest = u64::MAX;
        }
        (place, class)
    }

    /// Takes all messages for the flow at this place out of their mailbox, in order.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_out(&mut self, pieces: &mut Pieces, place: u32) -> Queue {
        let word = self.places.get(place as usize).copied().unwrap_or(0);
        let mut taken = Queue::EMPTY;
        if word == 0 || self.planted == Some(Planted::LeavesMail) {
            return taken;
        }
        self.take_if(pieces, (word >> COUNT) as u8, &mut taken, |waits| waits == place);
        taken
    }

    /// Takes all messages out of all mailboxes; those for one flow stay in order.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_all(&mut self, pieces: &mut Pieces) -> Queue {
        let mut taken = Queue::EMPTY;
        for mailbox in 0..CLASSES as u8 {
            self.take_if(pieces, mailbox, &mut taken, |_| true);
        }
        taken
    }

    fn take_if(
        &mut self,
        pieces: &mut Pieces,
        mailbox: u8,
        taken: &mut Queue,
        is_taken: impl Fn(u32) -> bool,
    ) {
        let Some(class) = self.class(mailbox) else { return };
        let (mut all, mut kept) =
            (core::mem::replace(&mut class.mailbox, Queue::EMPTY), Queue::EMPTY);
        while let Some(piece) = pieces.pop(&mut all) {
            if is_taken(piece.waits().0) {
                self.left(&piece);
                pieces.push(taken, piece);
            } else {
                pieces.push(&mut kept, piece);
            }
        }
        if let Some(class) = self.class(mailbox) {
            class.mailbox = kept;
        }
    }

    /// Notes the time of a message of the class (ns), and judges the class by it.
    #[inline(never)]
    pub(crate) fn took(&mut self, class: u8, time: u64) {
        let (limit, bit) = (self.limits.tail, 1 << (class % 64));
        let waits = self.waits & bit != 0;
        let Some(class) = self.class(class) else { return };
        class.book.note(time);
        let changes = if waits { class.book.is_under(limit) } else { class.book.is_over(limit) };
        if changes && class.book.is_known() {
            self.waits ^= bit;
        }
    }

    /// Whether flows are kept here only while there is time for them.
    #[inline(always)]
    pub(crate) const fn may_push(&self) -> bool {
        self.limits.mean != u64::MAX
    }

    /// Notes that a message of the class ran for `ran` ns until `now`. Whether other classes are
    /// pushed from now on.
    pub(crate) fn note_mean(&mut self, class: u8, ran: u64, now: u64) -> bool {
        let (limit, since) = (self.limits.mean, now.saturating_sub(self.began));
        self.pushes.as_mut().is_some_and(|pushes| pushes.note(class, ran, since, limit))
    }

    /// The classes of which no flow is kept here, a bit each.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushes.as_ref().map_or(0, |pushes| pushes.pushed())
    }

    /// After a round: the oldest message that waits.
    pub(super) fn find_oldest(&mut self, pieces: &Pieces) {
        let mut oldest = u64::MAX;
        for number in self.round.runnable() {
            if let Some(class) = self.all.get(usize::from(number)) {
                oldest = oldest.min(pieces.oldest(&class.mailbox).unwrap_or(u64::MAX));
            }
        }
        self.oldest = oldest;
    }

    #[inline(always)]
    pub(super) fn class(&mut self, class: u8) -> Option<&mut Class> {
        self.all.get_mut(usize::from(class))
    }
}
