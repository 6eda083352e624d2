//! An end of a link: its session, its timers, and its counts.

use std::hash::{Hash as _, Hasher};

use crate::arrivals::Arrivals;
use crate::destination::Destination;
use crate::fault::Fault;
use crate::frame::{self, Addresses, HEADER, Header, Kind, LONGEST_CALL, Session, Unheard};
use crate::settings::Settings;
use crate::window::Window;

/// The code of a refusal amid a session: the answerer knows nothing of it. It was started again.
pub const UNKNOWN_SESSION: u64 = 0;

/// The outcome of a frame that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// Nothing that its owner need know.
    Nothing,
    /// Records went to their destination.
    Records,
    /// A caller wants a session with this number: [`End::accept`] or [`End::refuse`].
    Call(u64, &'a [u8]),
    /// The answerer takes part: the session begins.
    Answer,
    /// The answerer refuses, for the reason with this code; or the session is over, with
    /// [`UNKNOWN_SESSION`].
    Refusal(u64),
}

/// There is no room for a record now, or no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Counts of an end since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames with records that were sent, those sent again included.
    pub sent: u64,
    /// Frames with records that were sent again.
    pub again: u64,
    /// Frames with records that were taken.
    pub taken: u64,
    /// Frames with records that came twice, or out of order.
    pub out_of_order: u64,
    /// Frames with a wrong sum, or cut.
    pub damaged: u64,
    /// Frames from and for others.
    pub strange: u64,
    /// Frames of another session.
    pub stale: u64,
    /// Frames of a peer that speaks another version.
    pub other_version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    /// No session.
    Idle,
    /// The caller says these words until it is answered; the next time then.
    Calling(Vec<u8>, u64),
    Open,
    /// The answerer refused, and says so when it is called again.
    Refused(u64),
}

/// An end of a link: the host's, which calls, or the card's, which answers.
#[derive(Clone, Debug)]
pub struct End {
    addresses: Addresses,
    settings: Settings,
    calls: bool,
    state: State,
    session: Session,
    window: Window,
    arrivals: Arrivals,
    /// A word that goes out alone: the answer to a call.
    says: Option<Kind>,
    /// A session of which this answerer knows nothing, because it was started again since; or one
    /// that it does not take part in. And the code of the reason.
    declines: Option<(Session, u64)>,
    heard_at: u64,
    spoke_at: u64,
    /// For frames without records.
    short: Vec<u8>,
    counts: Counts,
}

impl End {
    /// The host's end.
    pub fn caller(addresses: Addresses, settings: Settings) -> Self {
        Self::new(addresses, settings, true)
    }

    /// The card's end.
    pub fn answerer(addresses: Addresses, settings: Settings) -> Self {
        Self::new(addresses, settings, false)
    }

    fn new(addresses: Addresses, settings: Settings, calls: bool) -> Self {
        let settings = settings.checked();
        Self {
            addresses,
            settings,
            calls,
            state: State::Idle,
            session: Session::default(),
            window: Window::new(&settings),
            arrivals: Arrivals::new(),
            says: None,
            declines: None,
            heard_at: 0,
            spoke_at: 0,
            short: Vec::with_capacity(HEADER + LONGEST_CALL),
            counts: Counts::default(),
        }
    }

    /// Calls the answerer for a session with this number, which must be higher than all before;
    /// [`LONGEST_CALL`] bytes of words at most, the rest is left out.
    pub fn call(&mut self, number: u64, words: &[u8]) {
        let words = &words[..words.len().min(LONGEST_CALL)];
        self.begin(Session { caller: number, answerer: 0 });
        self.state = State::Calling(words.to_vec(), 0);
    }

    /// Takes part in the session that was called for; `own` is a number by chance, not zero.
    pub fn accept(&mut self, number: u64, own: u64, now: u64) {
        self.begin(Session { caller: number, answerer: own });
        (self.state, self.says, self.heard_at) = (State::Open, Some(Kind::Answer), now);
    }

    /// Refuses it, for the reason with this code.
    pub fn refuse(&mut self, number: u64, code: u64) {
        self.begin(Session { caller: number, answerer: 0 });
        (self.state, self.says) = (State::Refused(code), Some(Kind::Refusal));
    }

    /// Answers a call that wants to know only whether it would be taken. A session goes on.
    pub fn decline(&mut self, number: u64, code: u64) {
        self.declines = Some((Session { caller: number, answerer: 0 }, code));
    }

    fn begin(&mut self, session: Session) {
        self.session = session;
        self.window.clear(&self.settings);
        self.arrivals.clear();
        self.says = None;
    }

    /// Whether there is a session.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether the peer of the session was silent for too long.
    pub fn is_lost(&self, now: u64) -> bool {
        self.is_open() && now.saturating_sub(self.heard_at) > self.settings.lost_after
    }

    /// Leaves the session. A caller may call again then, with a clock that went back.
    pub fn leave(&mut self) {
        self.state = State::Idle;
        self.session = Session::default();
        self.says = None;
    }

    /// The counts until now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Frames of records that the peer has not acknowledged.
    pub fn waiting(&self) -> u64 {
        self.window.waiting()
    }

    /// Everything pushed so far is at the peer when [`Self::acknowledged`] has reached this number.
    pub fn pushed(&self) -> u64 {
        self.window.pushed()
    }

    /// Frames that the peer has.
    pub fn acknowledged(&self) -> u64 {
        self.window.acked
    }

    /// Puts a record, in parts, into a frame that goes out at the next
    /// [`transmit`](Self::transmit).
    ///
    /// # Errors
    /// If there is no room, or no session; or if it is longer than
    /// [`LONGEST_RECORD`](crate::LONGEST_RECORD).
    pub fn push(&mut self, kind: u16, parts: &[&[u8]]) -> Result<(), Full> {
        (self.is_open() && self.window.push(kind, parts)).then_some(()).ok_or(Full)
    }

    /// Takes a frame that came.
    ///
    /// # Errors
    /// If no sound peer sends it.
    pub fn receive<'a>(
        &mut self,
        frame: &'a [u8],
        to: &mut impl Destination,
        now: u64,
    ) -> Result<Heard<'a>, Fault> {
        let (header, rest) = match frame::open(frame, self.addresses) {
            Ok(opened) => opened,
            Err(why) => {
                *match why {
                    Unheard::Strange => &mut self.counts.strange,
                    Unheard::Damaged => &mut self.counts.damaged,
                    Unheard::OtherVersion(_) => &mut self.counts.other_version,
                } += 1;
                return Ok(Heard::Nothing);
            }
        };
        match header.kind {
            Kind::Call if !self.calls => return Ok(self.called(&header, rest)),
            Kind::Answer | Kind::Refusal if self.calls => return Ok(self.answered(&header, now)),
            Kind::Data | Kind::Idle if self.is_open() && header.session == self.session => {}
            Kind::Data | Kind::Idle if !self.calls && self.state == State::Idle => {
                self.declines = Some((header.session, UNKNOWN_SESSION));
                self.counts.stale += 1;
                return Ok(Heard::Nothing);
            }
            _ => {
                self.counts.stale += 1;
                return Ok(Heard::Nothing);
            }
        }
        self.heard_at = now;
        let told = (header.next, header.gap, header.limit);
        if !self.window.acknowledge(told, &self.settings, now) {
            return Err(Fault::Unsent);
        }
        if header.kind == Kind::Idle {
            self.arrivals.expect(header.number, now);
            return Ok(Heard::Nothing);
        }
        if self.arrivals.take(header.number, rest, to, now)? {
            self.counts.taken += 1;
            Ok(Heard::Records)
        } else {
            self.counts.out_of_order += 1;
            Ok(Heard::Nothing)
        }
    }

    fn called<'a>(&mut self, header: &Header, words: &'a [u8]) -> Heard<'a> {
        let number = header.session.caller;
        if number > self.session.caller {
            return Heard::Call(number, words);
        }
        // The answer was lost, or this call came late.
        match self.state {
            State::Open if number == self.session.caller => self.says = Some(Kind::Answer),
            State::Refused(_) if number == self.session.caller => self.says = Some(Kind::Refusal),
            _ => self.counts.stale += 1,
        }
        Heard::Nothing
    }

    fn answered<'a>(&mut self, header: &Header, now: u64) -> Heard<'a> {
        let is_over = header.kind == Kind::Refusal && header.session == self.session;
        if self.is_open() && is_over {
            self.state = State::Idle;
            return Heard::Refusal(header.limit);
        }
        let calls = matches!(self.state, State::Calling(..));
        if !calls || header.session.caller != self.session.caller {
            self.counts.stale += 1;
            return Heard::Nothing;
        }
        self.heard_at = now;
        if header.kind == Kind::Refusal {
            self.state = State::Idle;
            return Heard::Refusal(header.limit);
        }
        self.session.answerer = header.session.answerer;
        self.state = State::Open;
        Heard::Answer
    }

    /// Sends all that is due by now. `send` takes a frame, or says that there is no room for it.
    pub fn transmit(
        &mut self,
        to: &mut impl Destination,
        now: u64,
        send: &mut impl FnMut(&[u8]) -> bool,
    ) {
        self.speak(now, send);
        if !self.is_open() {
            return;
        }
        self.arrivals.allow(to.frames(self.settings.frame - HEADER));
        self.window.look(&self.settings, now);
        self.window.close();
        let mut header = self.header(Kind::Data);
        while let Some((number, frame)) = self.window.next() {
            header.number = number;
            frame::seal(frame, self.addresses, &header);
            if !send(frame) {
                return;
            }
            self.counts.sent += 1;
            self.counts.again += u64::from(self.window.was_sent(now));
            self.spoke_at = now;
            self.arrivals.told();
        }
        if self.owes(now) && self.send_short(Kind::Idle, send) {
            self.spoke_at = now;
            self.arrivals.told();
        }
    }

    /// Calls, answers and refusals.
    fn speak(&mut self, now: u64, send: &mut impl FnMut(&[u8]) -> bool) {
        if let State::Calling(_, again_at) = &mut self.state
            && now >= *again_at
        {
            *again_at = now.saturating_add(self.settings.beat);
            self.says = Some(Kind::Call);
        }
        if let Some((session, limit)) = self.declines.take() {
            let header = self.header(Kind::Refusal);
            self.send_alone(Header { session, limit, number: 0, ..header }, send);
        }
        if let Some(kind) = self.says
            && self.send_short(kind, send)
        {
            self.says = None;
        }
    }

    fn send_short(&mut self, kind: Kind, send: &mut impl FnMut(&[u8]) -> bool) -> bool {
        let mut header = self.header(kind);
        header.number = self.window.number();
        if let State::Refused(code) = &self.state {
            header.limit = *code;
        }
        self.send_alone(header, send)
    }

    /// Sends a frame without records.
    fn send_alone(&mut self, header: Header, send: &mut impl FnMut(&[u8]) -> bool) -> bool {
        self.short.clear();
        self.short.resize(HEADER, 0);
        if let (State::Calling(words, _), Kind::Call) = (&self.state, header.kind) {
            self.short.extend_from_slice(words);
        }
        frame::seal(&mut self.short, self.addresses, &header);
        send(&self.short)
    }

    fn header(&self, kind: Kind) -> Header {
        let Arrivals { next, limit, gap, .. } = self.arrivals;
        Header { kind, gap, session: self.session, number: 0, next, limit }
    }

    /// Whether the peer must hear where this end stands, though there are no records for it.
    fn owes(&self, now: u64) -> bool {
        let Arrivals { gap, owes_since, owed, limit, told_limit, .. } = self.arrivals;
        let quarter = u64::from(self.settings.window / 4);
        let waited = |since: u64, time: u64| now.saturating_sub(since) >= time;
        owes_since.is_some_and(|since| gap || waited(since, self.settings.delay))
            || owed >= quarter
            || limit - told_limit >= quarter
            || waited(self.spoke_at, self.settings.beat)
    }

    /// Gives all that decides what happens next to an explorer of all schedules: counts don't.
    pub fn digest(&self, hasher: &mut impl Hasher) {
        let Self { state, session, window, arrivals, says, declines, heard_at, spoke_at, .. } =
            self;
        (state, session, says, declines, heard_at, spoke_at).hash(hasher);
        arrivals.hash(hasher);
        window.digest(hasher);
    }

    /// When [`transmit`](Self::transmit) has something to do at the latest, if nothing is pushed
    /// and no frame comes.
    pub fn due(&self) -> u64 {
        match &self.state {
            State::Idle | State::Refused(_) => u64::MAX,
            State::Calling(_, again_at) => *again_at,
            State::Open => {
                let beat = self.spoke_at.saturating_add(self.settings.beat);
                let owed = self.arrivals.owes_since;
                let owed = owed.map(|since| since.saturating_add(self.settings.delay));
                [Some(beat), owed, self.window.due()].into_iter().flatten().min().unwrap_or(beat)
            }
        }
    }
}
