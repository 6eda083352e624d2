//! The host's mirror: for the host's supervisor and half it is the NIC half.

use std::sync::atomic::AtomicU64;

use cora_runtime::link::region::{Futex, Identity, NicStatus, Region, generation, wake};

use super::receives::Receives;
use super::rings::{Cut, Ends};
use super::word::Word;
use super::{Broken, Build, Hello};
use crate::{End, Heard};

/// The host's mirror.
#[derive(Debug)]
pub struct HostMirror<F> {
    end: End,
    cut: Cut,
    side: Side<F>,
    refused: Option<u64>,
}

/// Where records from the card arrive.
#[derive(Debug)]
struct Side<F> {
    /// The file of regions.
    file: &'static [AtomicU64],
    plan: u64,
    futex: F,
    region: Region,
    ends: Ends,
    stage: Stage,
    /// The host's heartbeat that the card knows.
    beat: u64,
    ended: Option<u64>,
    /// A question to the card, until it is said.
    question: Option<Build>,
    /// The card's latest answer, until it is taken.
    answer: Option<(Build, bool)>,
    broken: Option<Broken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serves,
    /// Another region follows, and the card was told.
    Leaves,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The card has not answered yet, or goes on.
    GoesOn,
    /// The card refuses, with this code.
    Refused(u64),
    /// The card's NIC half ended with this exit status, and all that it said is here.
    Ended(u64),
}

impl<F: Futex + Copy> HostMirror<F> {
    /// Calls the card, for the current region in this file, with rings of these sizes. Packets come
    /// in here, or by `ports` of the card.
    ///
    /// # Errors
    /// If there is no region.
    pub fn call(
        mut end: End,
        number: u64,
        file: &'static [AtomicU64],
        (rings, ports): ([usize; 4], bool),
        (plan, futex): (u64, F),
    ) -> Result<Self, Broken> {
        let generation = generation::current(file);
        let region = Region::attach(generation::place(file, generation), plan)?;
        let identity = region.identity();
        let hello = Hello { rings, identity, ports, asks: false };
        end.call(number, &hello.encode());
        let ends = Ends::of_host(&region.rings(), identity.generation);
        let side = Side {
            file,
            plan,
            futex,
            region,
            ends,
            stage: Stage::Serves,
            beat: 0,
            ended: None,
            question: None,
            answer: None,
            broken: None,
        };
        Ok(Self { end, cut: Cut::new(), side, refused: None })
    }

    /// Takes a frame from the link.
    ///
    /// # Errors
    /// If the session can't go on.
    pub fn hear(&mut self, frame: &[u8], now: u64) -> Result<(), Broken> {
        let Self { end, side, refused, .. } = self;
        if let Heard::Refusal(code) = end.receive(frame, side, now)? {
            *refused = Some(code);
        }
        side.broken.map_or(Ok(()), Err)
    }

    /// Makes visible all that came, and sends all that is due; returns whether there was any
    /// record, either way.
    ///
    /// # Errors
    /// If a ring is broken.
    pub fn step(&mut self, now: u64, send: &mut impl FnMut(&[u8]) -> bool) -> Result<bool, Broken> {
        let Self { end, cut, side, .. } = self;
        let mut any = side.show();
        if end.is_open() {
            if cut.is_sent() {
                side.take(cut)?;
            }
            any |= cut.send(end);
        }
        end.transmit(side, now, send);
        Ok(any)
    }

    /// Asks the card whether it would serve this build. That ends no session.
    pub const fn ask(&mut self, build: Build) {
        self.side.question = Some(build);
    }

    /// Takes the card's answer to such a question.
    pub const fn answer(&mut self) -> Option<(Build, bool)> {
        self.side.answer.take()
    }

    /// Whether the host has yet to take records, or has just done so: it rings for neither.
    pub fn is_awaited(&self) -> bool {
        self.side.ends.are_awaited()
    }

    /// Whether the host has said nothing that can be sent now: asked once more before a sleep.
    ///
    /// # Errors
    /// If a ring is broken.
    pub fn has_nothing(&mut self) -> Result<bool, Broken> {
        let Self { end, cut, side, .. } = self;
        // What the link has no room for waits for its frames.
        if !end.is_open() || !cut.is_sent() {
            return Ok(true);
        }
        let serves = side.stage == Stage::Serves;
        let is_followed = generation::is_followed(side.file, side.ends.generation());
        Ok(!(serves && is_followed) && side.ends.are_empty(serves)?)
    }

    /// How far the session is.
    pub const fn standing(&self) -> Standing {
        match (self.side.ended, self.refused) {
            (Some(status), _) => Standing::Ended(status),
            (None, Some(code)) => Standing::Refused(code),
            (None, None) => Standing::GoesOn,
        }
    }

    /// The end of the link.
    pub const fn link(&self) -> &End {
        &self.end
    }

    /// The current region.
    pub const fn region(&self) -> &Region {
        &self.side.region
    }
}

impl<F: Futex + Copy> Side<F> {
    /// Takes this side's records into the cut.
    fn take(&mut self, cut: &mut Cut) -> Result<(), Broken> {
        let Self { file, region, ends, stage, beat, question, .. } = self;
        let host = region.host_heartbeat();
        if std::mem::replace(beat, host) != host {
            cut.say(Word::Host { beat: host });
        }
        if let Some(Build { layout, plan }) = question.take() {
            cut.say(Word::Asks { layout, plan });
        }
        // Asked first: the rings then have all that the host half said in this region.
        let is_followed = generation::is_followed(file, ends.generation());
        match *stage {
            Stage::Serves if is_followed => {
                if !cut.take(ends, false)? {
                    let next = generation::current(file);
                    let next = Region::attach(generation::place(file, next), self.plan)?;
                    let Identity { generation, resident, afresh, .. } = next.identity();
                    cut.say(Word::Follow { generation, resident, afresh });
                    *stage = Stage::Leaves;
                }
            }
            Stage::Serves => {
                cut.take(ends, true)?;
            }
            // It has said all. It still reads the records of the card's side in this region.
            Stage::Leaves => {
                cut.take(ends, false)?;
            }
        }
        Ok(())
    }

    /// Returns whether there was news for the host half. Without any it sleeps on: it would ring
    /// back.
    fn show(&mut self) -> bool {
        let any = self.ends.publish();
        if any {
            wake(&self.region.host_bell(self.futex));
        }
        any
    }

    /// The card has left the old region, and all that it said there is here.
    fn arrive(&mut self, generation: u64) -> Result<(), Broken> {
        let current = generation::current(self.file);
        if self.stage != Stage::Leaves || generation != current {
            return Err(Broken::Nonsense("it is where nobody told it to be"));
        }
        self.show();
        let region = Region::attach(generation::place(self.file, generation), self.plan)?;
        self.region = region;
        self.ends = Ends::of_host(&region.rings(), generation);
        (self.stage, self.beat) = (Stage::Serves, 0);
        Ok(())
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
            Word::Nic { status, beat, packet } => {
                let status = NicStatus::decode(status);
                let status = status.ok_or(Broken::Nonsense("a status that is none"))?;
                self.region.nic_beats(beat);
                self.region.nic_runs(packet.checked_sub(1));
                self.region.set_nic_status(status);
            }
            Word::Count { at, count } => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                self.region.nic_counters().set(at, count);
            }
            Word::Arrived { generation } => self.arrive(generation)?,
            Word::Ended { status } => self.ended = Some(status),
            Word::Answers { layout, plan, serves } => {
                self.answer = Some((Build { layout, plan }, serves == 1));
            }
            Word::Host { .. } | Word::Follow { .. } | Word::Asks { .. } => {
                return Err(Broken::Nonsense("a word of a host"));
            }
        }
        Ok(())
    }
}
