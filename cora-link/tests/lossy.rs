//! Two ends over a network that loses, doubles, reorders and damages frames: each record arrives
//! once and in order, and none of an earlier session.
//!
//! `CORA_LINK_RECORDS` and `CORA_LINK_SEEDS` say how many records and seeds a long run has.

mod network;

use cora_link::end::UNKNOWN_SESSION;
use cora_link::frame::{self, Header, Kind, Session};
use cora_link::{Addresses, Counts, Destination, End, Fault, Heard, LONGEST_RECORD, Settings};
use network::{Draw, Network};

const HOST: Addresses = Addresses { own: [2, 0, 0, 0, 0, 1], peer: [2, 0, 0, 0, 0, 2] };
const CARD: Addresses = Addresses { own: HOST.peer, peer: HOST.own };

/// Takes records that say their number and session, and checks both.
#[derive(Clone, Copy)]
struct Sink {
    session: u64,
    next: u64,
    room: u64,
    /// The first thing that was wrong with a record.
    wrong: Option<&'static str>,
}

impl Sink {
    const fn new(room: u64) -> Self {
        Self { session: 0, next: 0, room, wrong: None }
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
    let mut draw = Draw(session ^ number.rotate_left(32));
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

/// Both ends, the network between them, and how many records were pushed.
struct Trial {
    ends: [End; 2],
    sinks: [Sink; 2],
    pushed: [u64; 2],
    ways: [Network; 2],
    session: u64,
    now: u64,
    draw: Draw,
    /// The destinations have room for fewer frames.
    room: u64,
    mistake: Option<Mistake>,
    /// Session and next number of each end, as it said last.
    said: [(Session, u64); 2],
    /// Highest number that each end sent.
    highest: [Option<u64>; 2],
    fault: Option<Fault>,
}

/// Mistakes that an end could make. The test makes them in its place, to a frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
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

impl Trial {
    fn new(seed: u64, faults: u64, settings: Settings) -> Self {
        Self {
            ends: [End::caller(HOST, settings), End::answerer(CARD, settings)],
            sinks: [Sink::new(64); 2],
            pushed: [0; 2],
            ways: [Network::new(faults), Network::new(faults)],
            session: 0,
            now: 0,
            draw: Draw(seed),
            room: 100,
            mistake: None,
            said: [(Session::default(), 0); 2],
            highest: [None; 2],
            fault: None,
        }
    }

    /// The host begins anew: its records count from 0, and so do the card's when it has heard.
    fn call(&mut self) {
        self.session += 1;
        self.ends[0].call(self.session, b"layout 21, plan 7");
        (self.sinks[0].session, self.sinks[0].next, self.pushed[0]) = (self.session, 0, 0);
    }

    /// The card begins anew, and knows nothing of before.
    fn forget(&mut self, settings: Settings) {
        self.ends[1] = End::answerer(CARD, settings);
        self.sinks[1].session = u64::MAX;
    }

    /// Frames arrive, records are pushed up to `most`, and both ends send. Time passes.
    fn round(&mut self, most: u64) {
        for side in [0, 1] {
            for frame in self.ways[1 - side].arrived(self.now) {
                self.hear(side, &frame);
                self.ways[1 - side].free.push(frame);
            }
            for _ in 0..self.draw.below(40) {
                let (end, number) = (&mut self.ends[side], self.pushed[side]);
                let session = self.sinks[side].session;
                if number >= most || !push(end, session, number) {
                    break;
                }
                self.pushed[side] += 1;
            }
            let room = self.draw.below(self.room);
            self.sinks[side].room = room;
            let Self { ends, sinks, ways, draw, now, said, .. } = self;
            ends[side].transmit(&mut sinks[side], *now, &mut |frame| {
                // An interface that is full now and then.
                if draw.one_in(10) {
                    return false;
                }
                if let Ok((header, _)) = frame::open(frame, [CARD, HOST][side]) {
                    said[side] = (header.session, header.next);
                }
                ways[side].send(frame, *now, draw);
                true
            });
        }
        self.now += 5_000 + self.draw.below(20_000);
    }

    fn hear(&mut self, side: usize, frame: &[u8]) {
        let mut frame = frame.to_vec();
        if !self.spoil(side, &mut frame) {
            return;
        }
        match self.ends[side].receive(&frame, &mut self.sinks[side], self.now) {
            Ok(Heard::Call(number, words)) => {
                assert_eq!((side, words), (1, &b"layout 21, plan 7"[..]));
                let own = self.draw.next() | 1;
                self.ends[1].accept(number, own, self.now);
                (self.sinks[1].session, self.sinks[1].next, self.pushed[1]) = (number, 0, 0);
            }
            // An answerer that began anew knows nothing of the session; the test calls again later.
            Ok(Heard::Refusal(code)) => assert_eq!(code, UNKNOWN_SESSION, "nobody refused"),
            Ok(Heard::Nothing | Heard::Records | Heard::Answer) => {}
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
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
                frame[last] ^= u8::from(self.draw.one_in(20));
            }
            Mistake::Stale if is_data => header.session = self.said[side].0,
            Mistake::AnyOrder if is_data => header.number = self.said[side].1,
            Mistake::TooEarly => header.next += u64::from(self.draw.one_in(20)),
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
    fn finish(&mut self, most: u64) -> Result<(), String> {
        let (mut before, mut since) = (0, self.now);
        loop {
            if let Some(fault) = self.fault {
                return Err(format!("{fault:?}"));
            }
            if let Some(wrong) = self.sinks.iter().find_map(|sink| sink.wrong) {
                return Err(wrong.to_owned());
            }
            if self.has_all(most) {
                return Ok(());
            }
            self.round(most);
            let progress = self.sinks.iter().map(|sink| sink.next).sum();
            if progress != before {
                (before, since) = (progress, self.now);
            }
            if self.now - since > 20_000_000_000 {
                return Err(format!("nothing arrives: {:?}", self.counts()));
            }
        }
    }

    fn counts(&self) -> [Counts; 2] {
        self.ends.each_ref().map(End::counts)
    }
}

fn amount(variable: &str, short: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(short)
}

#[test]
fn each_record_arrives_once_and_in_order() {
    let most = amount("CORA_LINK_RECORDS", 100_000);
    let mut trial = Trial::new(7, 30, Settings::of_mtu(1500));
    trial.call();
    trial.finish(most).expect("all arrives");
    for counts in trial.counts() {
        assert!(counts.damaged > 0 && counts.out_of_order > 0 && counts.again > 0, "{counts:?}");
        println!("{counts:?}");
    }
}

#[test]
fn a_network_without_faults_needs_nothing_twice() {
    let mut trial = Trial::new(7, 0, Settings::of_mtu(9000));
    trial.call();
    trial.finish(20_000).expect("all arrives");
    for counts in trial.counts() {
        assert_eq!((counts.again, counts.damaged, counts.stale), (0, 0, 0), "{counts:?}");
    }
}

/// Either end begins anew amid traffic, and frames of before are still on their way.
#[test]
fn nothing_of_an_earlier_session_arrives() {
    let settings = Settings { window: 1, ..Settings::of_mtu(1500) };
    let mut stale = 0;
    for seed in 0..amount("CORA_LINK_SEEDS", 2_000) {
        let mut trial = Trial::new(seed, 30 + seed % 200, settings);
        for _ in 0..3 {
            trial.call();
            for _ in 0..trial.draw.below(60) {
                trial.round(u64::MAX);
            }
            if trial.draw.one_in(500) {
                trial.forget(settings);
                // The host notices by the card's silence, and calls again.
            }
        }
        trial.call();
        trial.finish(50).expect("all arrives");
        stale += trial.counts().iter().map(|counts| counts.stale).sum::<u64>();
    }
    assert!(stale > 1_000, "frames of earlier sessions were on their way: {stale}");
}

#[test]
fn a_peer_that_is_silent_is_lost_and_one_that_beats_is_not() {
    let settings = Settings::of_mtu(1500);
    let mut trial = Trial::new(1, 0, settings);
    trial.call();
    trial.finish(10).expect("all arrives");
    let begun = trial.now;
    while trial.now < begun + 10 * settings.lost_after {
        trial.round(10);
        assert!(trial.ends.iter().all(|end| !end.is_lost(trial.now)));
    }
    let later = trial.now + 2 * settings.lost_after;
    assert!(trial.ends.iter().all(|end| end.is_lost(later)));
}

#[test]
fn a_refusal_is_told_with_its_code_however_often_it_is_lost() {
    let settings = Settings::of_mtu(1500);
    let mut draw = Draw(5);
    let (mut host, mut card) = (End::caller(HOST, settings), End::answerer(CARD, settings));
    let mut nobody = Sink::new(9);
    host.call(1, b"");
    let mut now = 0;
    loop {
        now += settings.beat;
        let mut frames = Vec::new();
        host.transmit(&mut nobody, now, &mut |frame| {
            frames.push(frame.to_vec());
            true
        });
        for frame in frames.iter().filter(|_| draw.one_in(300)) {
            if let Ok(Heard::Call(number, _)) = card.receive(frame, &mut nobody, now) {
                card.refuse(number, 23);
            }
        }
        let mut frames = Vec::new();
        card.transmit(&mut nobody, now, &mut |frame| {
            frames.push(frame.to_vec());
            true
        });
        for frame in frames.iter().filter(|_| draw.one_in(300)) {
            match host.receive(frame, &mut nobody, now) {
                Ok(Heard::Refusal(code)) => return assert_eq!(code, 23),
                other => assert_eq!(other, Ok(Heard::Nothing)),
            }
        }
        assert!(now < 1_000 * settings.beat, "the refusal never arrives");
    }
}

/// A session in which the host allows the card so many frames. Then the host hears a frame of the
/// card without records, changed and sealed again, with a cut record behind it.
fn lie(room: u64, change: impl Fn(&mut Header)) -> Result<(), Fault> {
    let settings = Settings::of_mtu(1500);
    let (mut host, mut card) = (End::caller(HOST, settings), End::answerer(CARD, settings));
    let sink = Sink { session: 1, ..Sink::new(room) };
    let mut frame = Vec::new();
    let mut now = 0;
    host.call(1, b"");
    for _ in 0..4 {
        now += settings.beat;
        host.transmit(&mut { sink }, now, &mut |sent| {
            if let Ok(Heard::Call(number, _)) = card.receive(sent, &mut { sink }, now) {
                card.accept(number, 9, now);
            }
            true
        });
        card.transmit(&mut { sink }, now, &mut |sent| {
            frame = sent.to_vec();
            host.receive(sent, &mut { sink }, now).is_ok()
        });
    }
    let (mut header, _) = frame::open(&frame, HOST).expect("a sound frame");
    change(&mut header);
    frame.extend([9, 0, 0, 0]);
    frame::seal(&mut frame, CARD, &header);
    host.receive(&frame, &mut { sink }, now).map(|_| ())
}

#[test]
fn a_peer_that_lies_is_found_out() {
    let with_records = |header: &mut Header| header.kind = Kind::Data;
    let without = |header: &mut Header| assert_eq!(header.kind, Kind::Idle);
    assert_eq!(lie(9, without), Ok(()), "what is behind a frame without records is not read");
    assert_eq!(lie(9, |header| header.next += 1), Err(Fault::Unsent));
    assert_eq!(lie(9, with_records), Err(Fault::BadRecord));
    assert_eq!(lie(0, with_records), Err(Fault::BeyondLimit));
    let early = |header: &mut Header| (header.kind, header.number) = (Kind::Data, 77);
    assert_eq!(lie(9, early), Ok(()), "a frame that comes early is dropped unread");
}

/// A trial with three calls, in which the ends make this mistake, and have room for fewer frames
/// than `room`.
fn trial_of(mistake: Option<Mistake>, room: u64, seed: u64) -> Result<(), String> {
    let settings = Settings { window: 1, ..Settings::of_mtu(1500) };
    let mut trial = Trial::new(seed, 30 + seed, settings);
    (trial.mistake, trial.room) = (mistake, room);
    for _ in 0..3 {
        trial.call();
        for _ in 0..trial.draw.below(30) {
            trial.round(200);
        }
    }
    trial.finish(200)
}

/// Each mistake is found out, within a few seeds, by the checks of this test. Without a mistake,
/// nothing is found.
#[test]
fn each_planted_mistake_is_found() {
    // More than the window, and less than an end wants to send.
    let (ample, scarce) = (100, 4);
    for (room, seed) in
        [ample, scarce].into_iter().flat_map(|room| (0..100).map(move |it| (room, it)))
    {
        assert_eq!(trial_of(None, room, seed), Ok(()), "room {room}, seed {seed}");
    }
    for (mistake, room, signs) in [
        (Mistake::Damaged, ample, &["other bytes"][..]),
        // An acknowledgement of an earlier session is ahead of this one's frames, or drops a frame
        // that is lost. Or its number is the expected one, and its records are taken.
        (Mistake::Stale, ample, &["Unsent", "nothing arrives", "another session"]),
        // A frame amid a long record brings bytes of another one as a record's beginning.
        (Mistake::AnyOrder, ample, &["twice", "another session", "another kind"]),
        // The frame was never sent, or is lost, and the sender has dropped it.
        (Mistake::TooEarly, ample, &["Unsent", "nothing arrives"]),
        (Mistake::TooMuch, scarce, &["BeyondLimit"]),
        (Mistake::Once, ample, &["nothing arrives"]),
    ] {
        let found = (0..200).find_map(|seed| trial_of(Some(mistake), room, seed).err());
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        assert!(signs.iter().any(|sign| found.contains(sign)), "{mistake:?}: {found}");
    }
}
