//! The card's mirror: for the card's NIC half it is the host.

use std::sync::atomic::AtomicU64;

use cora_runtime::link::region::{
    Futex, Identity, NicStatus, Region, RegionLayout, Rings, generation, wake,
};
use cora_runtime::telemetry::COUNTER_WORDS;

use super::Broken;
use super::hello::{Build, Hello};
use super::receives::Receives;
use super::rings::{Cut, Ends};
use super::word::Word;
use crate::{End, Heard, Nowhere};

/// The card's mirror: its end of the link, and a region while there is a session.
#[derive(Debug)]
pub struct CardMirror<F> {
    end: End,
    cut: Cut,
    side: Option<Side<F>>,
    futex: F,
}

/// The memory of a card's regions: each has room for two.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The file of the NIC half.
    pub nic: &'static [AtomicU64],
    /// If packets enter at the card: memory for wire rings by which host and card tell each
    /// other of the wire. The packets themselves are on the NIC half's.
    pub wire: Option<&'static [AtomicU64]>,
}

/// The regions of a generation.
#[derive(Clone, Copy, Debug)]
pub struct Regions {
    /// The NIC half's.
    pub nic: Region,
    /// If packets enter at the card: where host and card tell each other of the wire.
    wire: Option<Region>,
}

impl Memory {
    fn make(self, layout: &RegionLayout, identity: Identity) -> Result<Regions, Broken> {
        let make = |file: &'static [AtomicU64]| {
            Region::create(generation::place(file, identity.generation), layout, identity)
        };
        let regions = Regions { nic: make(self.nic)?, wire: self.wire.map(make).transpose()? };
        generation::announce(self.nic, identity.generation);
        Ok(regions)
    }
}

impl Regions {
    /// The ends of the rings that are mirrored.
    fn ends(&self) -> Ends {
        let nic = self.nic.rings();
        let Rings { wire_in, wire_out, .. } = self.wire_rings();
        Ends::of_card(&Rings { wire_in, wire_out, ..nic }, self.nic.identity().generation)
    }

    /// The rings that carry the wire of the host: its packets, or news of them.
    pub fn wire_rings(&self) -> Rings {
        self.wire.unwrap_or(self.nic).rings()
    }
}

/// A call that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number, for the answer.
    pub number: u64,
    /// The host's hello.
    pub words: Vec<u8>,
}

/// Where records from the host arrive.
#[derive(Debug)]
struct Side<F> {
    memory: Memory,
    layout: RegionLayout,
    futex: F,
    regions: Regions,
    ends: Ends,
    /// The regions that follow, until the NIC half is there.
    next: Option<Regions>,
    told: Told,
    /// The NIC half has ended with this status.
    ended: Option<u64>,
    /// The host was told so.
    is_over: bool,
    /// The host's latest question, until it is taken.
    asked: Option<Build>,
    /// The answer to one, until it is said.
    answer: Option<(Build, bool)>,
    broken: Option<Broken>,
}

/// The host's knowledge of the NIC half.
#[derive(Debug)]
struct Told {
    at: u64,
    status: Option<NicStatus>,
    counters: Box<[u64; COUNTER_WORDS]>,
}

impl Told {
    fn nothing() -> Self {
        Self { at: 0, status: None, counters: Box::new([0; COUNTER_WORDS]) }
    }
}

/// How often the host hears that the NIC half lives (ns).
const BEAT: u64 = 10_000_000;

impl<F: Futex + Copy> CardMirror<F> {
    /// A card's end that nobody has called yet.
    pub fn new(end: End, futex: F) -> Self {
        Self { end, cut: Cut::new(), side: None, futex }
    }

    /// Takes part: makes the first region in this memory. `own` is a number by chance, not zero.
    ///
    /// # Errors
    /// If the memory is too short.
    pub fn accept(
        &mut self,
        (call, own): (&Call, u64),
        hello: &Hello,
        memory: Memory,
        now: u64,
    ) -> Result<(), Broken> {
        let layout = hello.layout().map_err(|_| Broken::Nonsense("a ring has no such size"))?;
        let regions = memory.make(&layout, hello.identity)?;
        let cut = if memory.wire.is_some() { Cut::with_wire_first() } else { Cut::new() };
        self.side = Some(Side {
            memory,
            layout,
            futex: self.futex,
            ends: regions.ends(),
            regions,
            next: None,
            told: Told::nothing(),
            ended: None,
            is_over: false,
            asked: None,
            answer: None,
            broken: None,
        });
        self.cut = cut;
        self.end.accept(call.number, own, now);
        Ok(())
    }

    /// Refuses a call, for the reason with this code. A session before, or one that was accepted by
    /// mistake, is over.
    pub fn refuse(&mut self, call: &Call, code: u64) {
        self.side = None;
        self.cut = Cut::new();
        self.end.refuse(call.number, code);
    }

    /// Answers a call that only asks. A session goes on.
    pub fn decline(&mut self, call: &Call, code: u64) {
        self.end.decline(call.number, code);
    }

    /// Takes a frame from the link; returns a call, if it is one.
    ///
    /// # Errors
    /// If the session can't go on.
    pub fn hear(&mut self, frame: &[u8], now: u64) -> Result<Option<Call>, Broken> {
        let Self { end, side, .. } = self;
        let heard = match side {
            Some(side) => end.receive(frame, side, now)?,
            None => end.receive(frame, &mut Nowhere, now)?,
        };
        let call = match heard {
            Heard::Call(number, words) => Some(Call { number, words: words.to_vec() }),
            _ => None,
        };
        match side.as_ref().and_then(|side| side.broken) {
            Some(broken) => Err(broken),
            None => Ok(call),
        }
    }

    /// Makes visible all that came, and sends all that is due; returns whether there was any
    /// record, either way.
    ///
    /// # Errors
    /// If a ring is broken.
    pub fn step(&mut self, now: u64, send: &mut impl FnMut(&[u8]) -> bool) -> Result<bool, Broken> {
        let Self { end, cut, side, .. } = self;
        let Some(side) = side else {
            end.transmit(&mut Nowhere, now, send);
            return Ok(false);
        };
        let mut any = side.show();
        if end.is_open() {
            if cut.is_sent() {
                side.take(cut, now)?;
            }
            any |= cut.send(end);
        }
        end.transmit(side, now, send);
        Ok(any)
    }

    /// Whether the NIC half has yet to take records, or has just done so: it rings for neither.
    pub fn is_awaited(&self) -> bool {
        self.side.as_ref().is_some_and(|side| side.ends.are_awaited())
    }

    /// Whether the NIC half has said nothing that can be sent now: asked once more before a sleep.
    ///
    /// # Errors
    /// If a ring is broken.
    pub fn has_nothing(&mut self) -> Result<bool, Broken> {
        let Some(side) = &mut self.side else { return Ok(true) };
        // What the link has no room for waits for its frames.
        if !self.end.is_open() || !self.cut.is_sent() || side.is_over {
            return Ok(true);
        }
        Ok(side.ended.is_none() && side.ends.are_empty(true)?)
    }

    /// The NIC half has ended with this exit status: after all that it said, the host hears so.
    pub fn nic_ended(&mut self, status: u64) {
        if let Some(side) = &mut self.side {
            side.ended = Some(status);
        }
    }

    /// Whether the host has heard that the NIC half ended.
    pub fn is_over(&self) -> bool {
        let told = self.side.as_ref().is_some_and(|side| side.is_over);
        told && self.cut.is_sent() && self.end.waiting() == 0
    }

    /// Takes the build for which the host asked whether this card would serve it.
    pub fn asked(&mut self) -> Option<Build> {
        self.side.as_mut()?.asked.take()
    }

    /// Tells the host whether this card would serve this build.
    pub fn answer(&mut self, build: Build, serves: bool) {
        if let Some(side) = &mut self.side {
            side.answer = Some((build, serves));
        }
    }

    /// Leaves the session.
    pub fn leave(&mut self) {
        self.end.leave();
        self.side = None;
        self.cut = Cut::new();
    }

    /// The regions, if there is a session.
    pub fn regions(&self) -> Option<&Regions> {
        Some(&self.side.as_ref()?.regions)
    }

    /// Whether the NIC half is to leave its region.
    pub fn is_leaving(&self) -> bool {
        self.side.as_ref().is_some_and(|side| side.next.is_some())
    }

    /// A number for all that the NIC half has said so far: the host has it when
    /// [`Self::there`] has reached that.
    pub const fn so_far(&self) -> u64 {
        self.cut.next()
    }

    /// The highest such number that was reached.
    pub const fn there(&self) -> u64 {
        self.cut.there()
    }

    /// The end of the link.
    pub const fn link(&self) -> &End {
        &self.end
    }
}

impl<F: Futex + Copy> Side<F> {
    /// Takes this side's records into the cut.
    fn take(&mut self, cut: &mut Cut, now: u64) -> Result<(), Broken> {
        if self.is_over {
            return Ok(());
        }
        // Asked first: the rings then have all that the NIC half said in this region.
        let ended = self.ended;
        let left = self.next.filter(
            |next| matches!(next.nic.nic_status(), Some(status) if status != NicStatus::Starting),
        );
        let any = cut.take(&mut self.ends, true)?;
        self.tell(cut, now);
        if let Some((Build { layout, plan }, serves)) = self.answer.take() {
            cut.say(Word::Answers { layout, plan, serves: serves.into() });
        }
        if any {
            return Ok(());
        }
        if let Some(status) = ended {
            cut.say(Word::Ended { status });
            self.is_over = true;
        } else if let Some(next) = left {
            cut.say(Word::Arrived { generation: next.nic.identity().generation });
            (self.regions, self.ends) = (next, next.ends());
            (self.next, self.told) = (None, Told::nothing());
            self.tell(cut, now);
        }
        Ok(())
    }

    /// Says how the NIC half is: at once if its status changed, else now and then.
    fn tell(&mut self, cut: &mut Cut, now: u64) {
        let Self { regions: Regions { nic: region, .. }, told, .. } = self;
        let status = region.nic_status();
        if status == told.status && now.saturating_sub(told.at) < BEAT && self.ended.is_none() {
            return;
        }
        (told.at, told.status) = (now, status);
        let status = status.map_or(0, NicStatus::encode);
        let packet = region.nic_packet().map_or(0, |number| number.saturating_add(1));
        cut.say(Word::Nic { status, beat: region.nic_heartbeat(), packet });
        let read = region.nic_counters().read();
        for (at, (told, word)) in told.counters.iter_mut().zip(read.words()).enumerate() {
            if std::mem::replace(told, *word) != *word {
                cut.say(Word::Count { at: at as u64, count: *word });
            }
        }
    }

    /// Returns whether there was news for the NIC half. Without any it sleeps on: it would ring
    /// back.
    fn show(&mut self) -> bool {
        let any = self.ends.publish();
        if any {
            self.ring();
        }
        any
    }

    fn ring(&self) {
        wake(&self.regions.nic.nic_bell(self.futex));
    }
}

impl<F: Futex + Copy> Receives for Side<F> {
    fn parts(&mut self) -> (&mut Ends, &mut Option<Broken>) {
        (&mut self.ends, &mut self.broken)
    }

    fn word(&mut self, word: Word) -> Result<(), Broken> {
        match word {
            Word::Took { generation, peer, wire } => {
                self.ends.release(generation, (peer, wire))?;
            }
            Word::Host { beat } => self.regions.nic.host_beats(beat),
            Word::Follow { generation, resident, afresh } => {
                let identity = self.regions.nic.identity();
                if generation != identity.generation + 1 || self.next.is_some() {
                    return Err(Broken::Nonsense("a region that does not follow"));
                }
                self.show();
                let identity = Identity { generation, resident, afresh, ..identity };
                self.next = Some(self.memory.make(&self.layout, identity)?);
                self.ring();
            }
            Word::Asks { layout, plan } => self.asked = Some(Build { layout, plan }),
            Word::Nic { .. }
            | Word::Count { .. }
            | Word::Arrived { .. }
            | Word::Ended { .. }
            | Word::Answers { .. } => {
                return Err(Broken::Nonsense("a word of a card"));
            }
        }
        Ok(())
    }
}
