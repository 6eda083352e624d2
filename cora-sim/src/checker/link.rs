//! Two ends of the link on a network that may do anything: each record arrives once and in order,
//! none of another session, and from anywhere everything arrives once the network is kind.
//!
//! A frame stays on its way until it is delivered, in any order, doubled or lost. Time stands still
//! until a choice lets it pass: each end then sends again what it waits for. A network drops
//! damaged frames by their sum, as if they were lost.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use cora_link::end::UNKNOWN_SESSION;
use cora_link::frame::{self, Kind};
use cora_link::{Destination, End, Heard, Settings};

use super::explorer::{self, Counterexample, Explored, State};
use crate::link_chaos::{CARD, HOST};

/// Frames on their way in one direction; an end with more of them waits.
const MOST: usize = 3;
/// Frames that a destination has room for.
const ROOM: u64 = 2;
/// The time that passes at once (ns): every timer of an end is due then.
const PASSES: u64 = 1_000_000;
/// Rounds in which everything must arrive on a kind network.
const KIND: usize = 60;

/// The bounds of a scenario: how often each thing happens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Records from the host, and from the card, in each session.
    pub records: [u8; 2],
    /// Calls of the host after the first one: it begins anew.
    pub calls: u8,
    /// The card begins anew.
    pub restarts: u8,
    /// Frames are lost.
    pub losses: u8,
    /// Frames arrive twice.
    pub doubles: u8,
    /// Time passes.
    pub times: u8,
    /// What an end does wrong.
    pub mistake: Option<Mistake>,
}

/// Mistakes that an end could make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// It takes frames of any session.
    AnySession,
    /// It takes frames in any order.
    AnyOrder,
    /// It acknowledges a frame that it dropped.
    TooEarly,
    /// It sends nothing twice.
    Once,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The end of this side gets a record.
    Push(usize),
    /// It sends.
    Send(usize),
    /// The frame at this place arrives at this side.
    Arrive(usize, usize),
    /// It arrives, and stays on its way.
    Double(usize, usize),
    /// It is lost.
    Lose(usize, usize),
    /// Time passes.
    Time,
    /// The host begins anew.
    Call,
    /// The card begins anew.
    Restart,
}

/// Records that came to a side.
#[derive(Clone, Copy, Debug, Hash)]
struct Sink {
    session: u64,
    next: u8,
    wrong: Option<&'static str>,
}

impl Destination for Sink {
    fn frames(&mut self, _: usize) -> u64 {
        ROOM
    }

    fn take(&mut self, _: u16, record: &[u8]) {
        let &[session, number] = record else {
            self.wrong = Some("a record that nobody sent");
            return;
        };
        if u64::from(session) != self.session {
            self.wrong = Some("a record of another session");
        } else if number != self.next {
            self.wrong = Some("a record twice, or out of order");
        }
        self.next += 1;
    }
}

/// Both ends, and all that is on its way.
#[derive(Clone)]
struct World {
    left: Bounds,
    ends: [End; 2],
    sinks: [Sink; 2],
    pushed: [u8; 2],
    /// To each side.
    ways: [Vec<Vec<u8>>; 2],
    session: u64,
    /// Sessions that cards took part in: each gets another number.
    accepted: u64,
    /// A card began anew.
    has_restarted: bool,
    now: u64,
    /// The highest number of a frame that arrived at each side, and its session.
    highest: [Option<(u64, u64)>; 2],
}

fn settings() -> Settings {
    Settings {
        window: 1,
        patience: (PASSES, PASSES),
        delay: PASSES,
        beat: PASSES,
        lost_after: 4 * PASSES,
        ..Settings::of_mtu(0)
    }
}

impl World {
    fn new(bounds: Bounds) -> Self {
        let sink = Sink { session: 0, next: 0, wrong: None };
        let mut world = Self {
            left: bounds,
            ends: [End::caller(HOST, settings()), End::answerer(CARD, settings())],
            sinks: [sink; 2],
            pushed: [0; 2],
            ways: [Vec::new(), Vec::new()],
            session: 0,
            accepted: 0,
            has_restarted: false,
            // A caller calls at once.
            now: PASSES,
            highest: [None; 2],
        };
        world.call();
        world
    }

    fn call(&mut self) {
        self.session += 1;
        self.ends[0].call(self.session, b"words");
        self.begin(0, self.session);
    }

    fn begin(&mut self, side: usize, session: u64) {
        self.sinks[side] = Sink { session, next: 0, wrong: self.sinks[side].wrong };
        self.pushed[side] = 0;
    }

    fn restart(&mut self) {
        self.has_restarted = true;
        self.ends[1] = End::answerer(CARD, settings());
        self.begin(1, 0);
    }

    fn push(&mut self, side: usize) -> bool {
        let record = [self.sinks[side].session as u8, self.pushed[side]];
        let is_pushed = self.ends[side].push(7, &[&record]).is_ok();
        self.pushed[side] += u8::from(is_pushed);
        is_pushed
    }

    /// An end sends all that is due, one record in a frame.
    fn send(&mut self, side: usize) {
        let Self { ends, sinks, ways, now, .. } = self;
        let way = &mut ways[1 - side];
        ends[side].transmit(&mut sinks[side], *now, &mut |frame| {
            let has_room = way.len() < MOST;
            if has_room {
                way.push(frame.to_vec());
            }
            has_room
        });
    }

    fn arrive(&mut self, side: usize, mut frame: Vec<u8>) -> Result<(), String> {
        if !self.spoil(side, &mut frame) {
            return Ok(());
        }
        match self.ends[side].receive(&frame, &mut self.sinks[side], self.now) {
            Ok(Heard::Call(number, _)) => {
                self.accepted += 1;
                self.ends[1].accept(number, 100 + self.accepted, self.now);
                self.begin(1, number);
            }
            Ok(
                Heard::Refusal(UNKNOWN_SESSION) | Heard::Nothing | Heard::Records | Heard::Answer,
            ) => {}
            other => return Err(format!("no sound end causes that: {other:?}")),
        }
        self.sinks[side].wrong.map_or(Ok(()), |wrong| Err(wrong.to_owned()))
    }

    /// Changes a frame to this side as the mistake would; whether it arrives at all.
    fn spoil(&mut self, side: usize, bytes: &mut [u8]) -> bool {
        let Some(mistake) = self.left.mistake else { return true };
        let Ok((mut header, _)) = frame::open(bytes, [HOST, CARD][side]) else { return true };
        if header.kind != Kind::Data {
            return true;
        }
        let mut own = self.ends[side].clone();
        let mut said = None;
        own.transmit(&mut self.sinks[side].clone(), self.now + PASSES, &mut |frame| {
            said = frame::open(frame, [CARD, HOST][side]).ok().map(|(header, _)| header);
            true
        });
        match (mistake, said) {
            (Mistake::AnySession, Some(said)) => header.session = said.session,
            (Mistake::AnyOrder, Some(said)) => header.number = said.next,
            (Mistake::TooEarly, _) => header.next += 1,
            (Mistake::Once, _) => {
                let this = (header.session.caller, header.number);
                if self.highest[side] >= Some(this) {
                    return false;
                }
                self.highest[side] = Some(this);
            }
            _ => {}
        }
        frame::seal(bytes, [CARD, HOST][side], &header);
        true
    }

    /// From here on the network is kind: everything arrives. If a card began anew, the host may
    /// have to call.
    fn settles(&self) -> Result<(), String> {
        let mut world = self.clone();
        for _ in 0..KIND {
            let [host, card] = &mut world.ends;
            if card.is_lost(world.now) {
                card.leave();
            }
            let is_over = host.is_lost(world.now) || host.due() == u64::MAX;
            if self.has_restarted && is_over {
                world.call();
            }
            for side in [0, 1] {
                while world.pushed[side] < world.left.records[side] && world.push(side) {}
                world.send(side);
                for frame in std::mem::take(&mut world.ways[1 - side]) {
                    world.arrive(1 - side, frame)?;
                }
            }
            let has_all = |side: usize| {
                let sink = &world.sinks[side];
                (sink.session, sink.next) == (world.session, world.left.records[1 - side])
            };
            if has_all(0) && has_all(1) {
                return Ok(());
            }
            world.now += PASSES;
        }
        Err(format!("not everything arrives: {:?}", world.sinks))
    }
}

impl State for World {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for side in [0, 1] {
            if self.ends[side].is_open() && self.pushed[side] < self.left.records[side] {
                choices.push(Choice::Push(side));
            }
            choices.push(Choice::Send(side));
            for place in 0..self.ways[side].len() {
                choices.push(Choice::Arrive(side, place));
                choices.extend((self.left.doubles > 0).then_some(Choice::Double(side, place)));
                choices.extend((self.left.losses > 0).then_some(Choice::Lose(side, place)));
            }
        }
        choices.extend((self.left.times > 0).then_some(Choice::Time));
        choices.extend((self.left.calls > 0).then_some(Choice::Call));
        choices.extend((self.left.restarts > 0).then_some(Choice::Restart));
        choices
    }

    fn go(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Push(side) => _ = self.push(side),
            Choice::Send(side) => self.send(side),
            Choice::Arrive(side, place) => {
                let frame = self.ways[side].remove(place);
                self.arrive(side, frame)?;
            }
            Choice::Double(side, place) => {
                self.left.doubles -= 1;
                let frame = self.ways[side][place].clone();
                self.arrive(side, frame)?;
            }
            Choice::Lose(side, place) => {
                self.left.losses -= 1;
                drop(self.ways[side].remove(place));
            }
            Choice::Time => {
                self.left.times -= 1;
                self.now += PASSES;
            }
            Choice::Call => {
                self.left.calls -= 1;
                self.call();
            }
            Choice::Restart => {
                self.left.restarts -= 1;
                self.restart();
            }
        }
        // It takes longer than all else: from one state in sixteen.
        if self.digest().is_multiple_of(16) { self.settles() } else { Ok(()) }
    }

    fn digest(&mut self) -> u128 {
        let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
        hashers[1].write_u8(1);
        for hasher in &mut hashers {
            self.ends.iter().for_each(|end| end.digest(hasher));
            self.sinks.hash(hasher);
            (self.pushed, self.session, self.accepted, self.now, self.highest).hash(hasher);
            let Bounds { calls, restarts, losses, doubles, times, .. } = self.left;
            (calls, restarts, losses, doubles, times).hash(hasher);
            for way in &self.ways {
                // The network has no order.
                let mut frames: Vec<_> = way.iter().collect();
                frames.sort_unstable();
                frames.hash(hasher);
            }
        }
        let [first, second] = hashers.map(|hasher| u128::from(hasher.finish()));
        first << 64 | second
    }

    fn copy(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Explores all states within these bounds, up to the first violation that is `sought`.
pub fn explore(
    bounds: Bounds,
    sought: impl FnMut(&str) -> bool,
) -> Result<Explored, Counterexample<Choice>> {
    explorer::explore(|| World::new(bounds), sought)
}
