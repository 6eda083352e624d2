//! Two ends with records over the network: each record arrives once and in order, and none of an
//! earlier session.

use cora_link::end::UNKNOWN_SESSION;
use cora_link::frame::{self, Kind, Session};
use cora_link::{Counts, Destination, End, Heard, LONGEST_RECORD, Settings};

use super::network::{Network, happens};
use super::{CARD, HOST, Tally};
use crate::random::Random;

/// The words of each call.
const WORDS: &[u8] = b"layout 21, plan 7";

/// Takes records that say their number and session, and checks both.
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    session: u64,
    next: u64,
    room: u64,
    /// The first thing that was wrong with a record.
    wrong: Option<&'static str>,
}

impl Sink {
    /// With room for so many frames.
    pub const fn new(room: u64) -> Self {
        Self { session: 0, next: 0, room, wrong: None }
    }

    /// Expects the records of this session, from the first one on.
    pub const fn begin(&mut self, session: u64) {
        (self.session, self.next) = (session, 0);
    }
}

impl Destination for Sink {
    fn frames(&mut self, _: usize) -> u64 {
        self.room
    }

    fn take(&mut self, kind: u16, record: &[u8]) {
        let (session, number) = (word(record, 0), word(record, 8));
        let checks = [
            (session == self.session, "a record of another session"),
            (number == self.next, "a record twice, or out of order"),
            ((kind, record.len()) == shape(session, number), "another kind or length"),
            (record.iter().skip(16).all(|byte| *byte == number as u8), "other bytes"),
        ];
        let wrong = checks.iter().find(|(right, _)| !right).map(|(_, wrong)| *wrong);
        self.wrong = self.wrong.or(wrong);
        self.next += 1;
    }
}

fn word(record: &[u8], at: usize) -> u64 {
    record.get(at..at + 8).map_or(0, |it| u64::from_le_bytes(std::array::from_fn(|byte| it[byte])))
}

/// Kind and length of a record: mostly short, now and then the longest.
fn shape(session: u64, number: u64) -> (u16, usize) {
    let mut draw = Random::new(session ^ number.rotate_left(32));
    let length = match draw.below(400) {
        0 => LONGEST_RECORD,
        1..=9 => 16 + draw.below(3_000) as usize,
        _ => 16 + draw.below(100) as usize,
    };
    (draw.below(1 << 16) as u16, length)
}

fn push(end: &mut End, session: u64, number: u64) -> bool {
    let (kind, length) = shape(session, number);
    let body = vec![number as u8; length - 16];
    let (first, second) = body.split_at(body.len() / 3);
    let (session, number) = (session.to_le_bytes(), number.to_le_bytes());
    end.push(kind, &[&session, &number, first, second]).is_ok()
}

/// Mistakes that an end could make. The trial makes them in its place, to a frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Takes damaged frames.
    Damaged,
    /// Takes frames of other sessions.
    Stale,
    /// Takes frames in any order, and those that come twice.
    AnyOrder,
    /// Acknowledges a frame more than it has.
    TooEarly,
    /// Sends more than is allowed.
    TooMuch,
    /// Sends nothing again.
    Once,
}

/// Both ends, the network between them, and how many records were pushed.
#[derive(Debug)]
pub struct Trial {
    ends: [End; 2],
    sinks: [Sink; 2],
    pushed: [u64; 2],
    ways: [Network; 2],
    settings: Settings,
    session: u64,
    now: u64,
    draw: Random,
    /// The destinations have room for fewer frames.
    room: u64,
    mistake: Option<Mistake>,
    /// Session and next number of each end, as it said last.
    said: [(Session, u64); 2],
    /// Highest number that each end sent.
    highest: [Option<u64>; 2],
    /// Of earlier sessions, and of ends that began anew.
    tally: Tally,
}

impl Trial {
    /// `faults` is each fault of the network in thousandths.
    pub fn new(seed: u64, faults: u64, settings: Settings) -> Self {
        Self {
            ends: [End::caller(HOST, settings), End::answerer(CARD, settings)],
            sinks: [Sink::new(64); 2],
            pushed: [0; 2],
            ways: [Network::new(faults), Network::new(faults)],
            settings,
            session: 0,
            now: 0,
            draw: Random::new(seed),
            room: 100,
            mistake: None,
            said: [(Session::default(), 0); 2],
            highest: [None; 2],
            tally: Tally::default(),
        }
    }

    /// The host begins anew: its records count from 0, and so do the card's when it has heard.
    pub fn call(&mut self) {
        self.session += 1;
        self.ends[0].call(self.session, WORDS);
        self.begin(0, self.session);
    }

    fn begin(&mut self, side: usize, session: u64) {
        self.tally.records += self.sinks[side].next;
        self.sinks[side].begin(session);
        self.pushed[side] = 0;
    }

    /// The card begins anew, and knows nothing of before. The host notices, and calls again later.
    fn forget(&mut self) {
        self.tally.restarts += 1;
        self.tally.stale += self.ends[1].counts().stale;
        self.ends[1] = End::answerer(CARD, self.settings);
        self.begin(1, u64::MAX);
    }

    /// Frames arrive, records are pushed up to `most`, and both ends send. Time passes.
    pub fn round(&mut self, most: u64) -> Result<(), String> {
        for side in [0, 1] {
            for mut frame in self.ways[1 - side].arrived(self.now) {
                if self.spoil(side, &mut frame) {
                    self.hear(side, &frame)?;
                }
                self.ways[1 - side].recycle(frame);
            }
            for _ in 0..self.draw.below(40) {
                let (end, number) = (&mut self.ends[side], self.pushed[side]);
                let session = self.sinks[side].session;
                if number >= most || !push(end, session, number) {
                    break;
                }
                self.pushed[side] += 1;
            }
            self.sinks[side].room = self.draw.below(self.room);
            let Self { ends, sinks, ways, draw, now, said, mistake, .. } = self;
            ends[side].transmit(&mut sinks[side], *now, &mut |frame| {
                // An interface that is full now and then.
                if happens(draw, 10) {
                    return false;
                }
                // Only a mistake needs it, and reading a frame takes its time.
                if mistake.is_some()
                    && let Ok((header, _)) = frame::open(frame, [CARD, HOST][side])
                {
                    said[side] = (header.session, header.next);
                }
                ways[side].send(frame, *now, draw);
                true
            });
        }
        self.now += 5_000 + self.draw.below(20_000);
        self.sinks.iter().find_map(|sink| sink.wrong).map_or(Ok(()), |wrong| Err(wrong.to_owned()))
    }

    fn hear(&mut self, side: usize, frame: &[u8]) -> Result<(), String> {
        match self.ends[side].receive(frame, &mut self.sinks[side], self.now) {
            Ok(Heard::Call(number, words)) => {
                if (side, words) != (1, WORDS) {
                    return Err(format!("a call with other words: {words:?}"));
                }
                let own = self.draw.next() | 1;
                self.ends[1].accept(number, own, self.now);
                self.begin(1, number);
                self.tally.sessions += 1;
                Ok(())
            }
            // An answerer that began anew knows no session; the trial calls again later.
            Ok(
                Heard::Refusal(UNKNOWN_SESSION) | Heard::Nothing | Heard::Records | Heard::Answer,
            ) => Ok(()),
            Ok(Heard::Refusal(code)) => Err(format!("a refusal that nobody said: {code}")),
            Err(fault) => Err(format!("{fault:?}")),
        }
    }

    /// Changes a frame to this end as the mistake would; whether it arrives at all.
    fn spoil(&mut self, side: usize, frame: &mut [u8]) -> bool {
        let Some(mistake) = self.mistake else { return true };
        let addresses = [HOST, CARD];
        let Ok((mut header, _)) = frame::open(frame, addresses[side]) else { return true };
        let is_data = header.kind == Kind::Data;
        match mistake {
            Mistake::Damaged if is_data => {
                let last = frame.len() - 1;
                frame[last] ^= u8::from(happens(&mut self.draw, 20));
            }
            Mistake::Stale if is_data => header.session = self.said[side].0,
            Mistake::AnyOrder if is_data => header.number = self.said[side].1,
            Mistake::TooEarly => header.next += u64::from(happens(&mut self.draw, 20)),
            Mistake::TooMuch => header.limit = u64::MAX,
            Mistake::Once if is_data => {
                if self.highest[side].is_some_and(|highest| header.number <= highest) {
                    return false;
                }
                self.highest[side] = Some(header.number);
            }
            _ => return true,
        }
        frame::seal(frame, addresses[1 - side], &header);
        true
    }

    fn has_all(&self, most: u64) -> bool {
        self.sinks.iter().all(|sink| sink.session == self.session && sink.next == most)
    }

    /// Runs until both have all records of the other, or something is wrong.
    pub fn finish(&mut self, most: u64) -> Result<(), String> {
        let (mut before, mut since) = (0, self.now);
        while !self.has_all(most) {
            self.round(most)?;
            let progress = self.sinks.iter().map(|sink| sink.next).sum();
            if progress != before {
                (before, since) = (progress, self.now);
            }
            if self.now - since > 20_000_000_000 {
                return Err(format!("nothing arrives: {:?}", self.counts()));
            }
        }
        Ok(())
    }

    /// The time (ns).
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// For each end, whether its peer was silent for too long at this time.
    pub fn are_lost(&self, now: u64) -> [bool; 2] {
        self.ends.each_ref().map(|end| end.is_lost(now))
    }

    /// The counts of both ends.
    pub fn counts(&self) -> [Counts; 2] {
        self.ends.each_ref().map(End::counts)
    }

    /// The counts until now.
    pub fn tally(&self) -> Tally {
        let mut tally = self.tally;
        tally.records += self.sinks.iter().map(|sink| sink.next).sum::<u64>();
        tally.stale += self.counts().iter().map(|counts| counts.stale).sum::<u64>();
        self.ways.iter().for_each(|way| tally.network.add(&way.done));
        tally
    }
}

/// Either end begins anew amid traffic, and frames of before are still on their way.
pub fn run(seed: u64) -> Result<Tally, String> {
    let settings = Settings { window: 1, ..Settings::of_mtu(1500) };
    let mut trial = Trial::new(seed, 30 + seed % 200, settings);
    for _ in 0..3 {
        trial.call();
        for _ in 0..trial.draw.below(60) {
            trial.round(u64::MAX)?;
        }
        if happens(&mut trial.draw, 500) {
            trial.forget();
        }
    }
    trial.call();
    trial.finish(50)?;
    Ok(trial.tally())
}

/// A trial with three calls, in which the ends make this mistake, and have room for fewer frames
/// than `room`.
pub fn run_mistaken(mistake: Option<Mistake>, room: u64, seed: u64) -> Result<(), String> {
    let settings = Settings { window: 1, ..Settings::of_mtu(1500) };
    let mut trial = Trial::new(seed, 30 + seed, settings);
    (trial.mistake, trial.room) = (mistake, room);
    for _ in 0..3 {
        trial.call();
        for _ in 0..trial.draw.below(30) {
            trial.round(200)?;
        }
    }
    trial.finish(200)
}
