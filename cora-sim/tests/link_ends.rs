//! Two ends of the link on a network with faults. `cargo xtask chaos --link` runs more.
//!
//! `CORA_LINK_RECORDS` and `CORA_LINK_SEEDS` say how many records and seeds a long run has.

use cora_link::frame::{self, Header, Kind};
use cora_link::{End, Fault, Heard, Settings};
use cora_sim::link_chaos::ends::{self, Mistake, Sink, Trial};
use cora_sim::link_chaos::{CARD, HOST, Tally};
use cora_sim::random::Random;

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
    println!("{}", trial.tally());
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
    let mut all = Tally::default();
    for seed in 0..amount("CORA_LINK_SEEDS", 2_000) {
        let tally = ends::run(seed);
        all.add(&tally.unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}")));
    }
    assert!(all.stale > 1_000, "frames of earlier sessions were on their way: {}", all.stale);
    println!("{all}");
}

#[test]
fn a_peer_that_is_silent_is_lost_and_one_that_beats_is_not() {
    let settings = Settings::of_mtu(1500);
    let mut trial = Trial::new(1, 0, settings);
    trial.call();
    trial.finish(10).expect("all arrives");
    let begun = trial.now();
    while trial.now() < begun + 10 * settings.lost_after {
        trial.round(10).expect("nothing is wrong");
        assert_eq!(trial.are_lost(trial.now()), [false; 2]);
    }
    let later = trial.now() + 2 * settings.lost_after;
    assert_eq!(trial.are_lost(later), [true; 2]);
}

#[test]
fn a_refusal_is_told_with_its_code_however_often_it_is_lost() {
    let settings = Settings::of_mtu(1500);
    let mut draw = Random::new(5);
    let mut arrives = || draw.below(1000) < 300;
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
        for frame in frames.iter().filter(|_| arrives()) {
            if let Ok(Heard::Call(number, _)) = card.receive(frame, &mut nobody, now) {
                card.refuse(number, 23);
            }
        }
        let mut frames = Vec::new();
        card.transmit(&mut nobody, now, &mut |frame| {
            frames.push(frame.to_vec());
            true
        });
        for frame in frames.iter().filter(|_| arrives()) {
            match host.receive(frame, &mut nobody, now) {
                Ok(Heard::Refusal(code)) => return assert_eq!(code, 23),
                other => assert_eq!(other, Ok(Heard::Nothing)),
            }
        }
        assert!(now < 1_000 * settings.beat, "the refusal never arrives");
    }
}

/// Somebody asks amid a session, with all faults: he is answered, and the session goes on.
#[test]
fn who_only_asks_is_answered_and_disturbs_no_session() {
    let settings = Settings::of_mtu(1500);
    let mut draw = Random::new(11);
    let mut arrives = || draw.below(1000) < 300;
    let mut nobody = Sink::new(9);
    let (mut host, mut card) = (End::caller(HOST, settings), End::answerer(CARD, settings));
    host.call(1, b"");
    let mut asks = End::caller(HOST, settings);
    let (mut now, mut asked, mut answers, mut records) = (0, 1, 0, 0);
    while answers < 20 || records < 20 {
        now += settings.beat;
        assert!(now < 10_000 * settings.beat, "{answers} answers, {records} records");
        if host.is_open() && !asks.is_open() && asked == answers + 1 {
            asked += 1;
            asks.call(asked, b"asks");
        }
        if host.is_open() {
            // It may be full.
            let _pushed = host.push(7, &[b"a record"]);
        }
        let mut frames = Vec::new();
        for end in [&mut host, &mut asks] {
            end.transmit(&mut nobody, now, &mut |frame| {
                frames.push(frame.to_vec());
                true
            });
        }
        for frame in frames.iter().filter(|_| arrives()) {
            match card.receive(frame, &mut Sink::new(9), now).expect("nothing is wrong") {
                Heard::Call(1, _) => card.accept(1, 9, now),
                Heard::Call(number, words) => {
                    assert_eq!(words, b"asks");
                    card.decline(number, 23);
                }
                Heard::Records => records += 1,
                _ => {}
            }
        }
        let mut frames = Vec::new();
        card.transmit(&mut nobody, now, &mut |frame| {
            frames.push(frame.to_vec());
            true
        });
        for frame in frames.iter().filter(|_| arrives()) {
            let heard = host.receive(frame, &mut nobody, now).expect("nothing is wrong");
            assert!(matches!(heard, Heard::Nothing | Heard::Answer), "{heard:?}");
            if asks.receive(frame, &mut nobody, now) == Ok(Heard::Refusal(23)) {
                answers += 1;
            }
        }
    }
    assert!(host.is_open() && card.is_open());
}

/// A session in which the host allows the card so many frames. Then the host hears a frame of the
/// card without records, changed and sealed again, with a cut record behind it.
fn lie(room: u64, change: impl Fn(&mut Header)) -> Result<(), Fault> {
    let settings = Settings::of_mtu(1500);
    let (mut host, mut card) = (End::caller(HOST, settings), End::answerer(CARD, settings));
    let mut sink = Sink::new(room);
    sink.begin(1);
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

/// Each mistake is found out, within a few seeds, by the checks of the trial. Without a mistake,
/// nothing is found.
#[test]
fn each_planted_mistake_is_found() {
    // More than the window, and less than an end wants to send.
    let (ample, scarce) = (100, 4);
    for (room, seed) in
        [ample, scarce].into_iter().flat_map(|room| (0..100).map(move |it| (room, it)))
    {
        assert_eq!(ends::run_mistaken(None, room, seed), Ok(()), "room {room}, seed {seed}");
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
        let found = (0..200).find_map(|seed| ends::run_mistaken(Some(mistake), room, seed).err());
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        assert!(signs.iter().any(|sign| found.contains(sign)), "{mistake:?}: {found}");
    }
}
