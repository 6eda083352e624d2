//! A program with its runs recorded: it is the program itself, in a wrapper that sees where a run
//! begins, the messages that it sends, and whether it is committed.

use cora_core::app::{App, Lifecycle, PlanFacts, Prefetch, States, Transaction, Transfer};
use cora_core::key::{Key as _, PacketKey as _};
use cora_core::message::SENT;
use cora_core::outbox::Outbox;
use cora_core::packet::Packet;
use cora_core::state::{Described, Home, Memory, NO_FLOW, OutOfMemory, Place, Reach, Visit};
use cora_core::verdict::Verdict;

use super::{EARLY, Event, FlowWords, Outcome, Run, new_half, note};
use crate::apps::SimApp;
use crate::traffic::Wishes;

/// A program with its runs recorded.
#[derive(Debug)]
pub(crate) struct Recorded<A> {
    app: A,
    half: u32,
    visit: Visit,
    /// The run that is neither committed nor taken back yet.
    running: Option<Run>,
}

/// The flow of a packet or a message.
pub(super) fn flow_of<A: SimApp>(packet: &Packet<'_>) -> Option<FlowWords> {
    A::Group::of_packet(packet).ok().map(|group| group.words())
}

impl<A: SimApp> States for Recorded<A> {
    const PLACES: &'static [(&'static str, Place)] = A::PLACES;
    const STATES: usize = A::STATES;

    fn state(&mut self, number: usize) -> &mut dyn Home {
        self.app.state(number)
    }

    fn described(&mut self, number: usize) -> &mut dyn Described {
        self.app.described(number)
    }
}

impl<A: SimApp> Lifecycle for Recorded<A> {
    const MEMORY: usize = A::MEMORY;
    const DELAYS: bool = A::DELAYS;

    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        const { assert!(A::HOOKED.is_empty() && !A::TIMERS && !A::MERGED && !A::READ_MOSTLY) };
        let visit = Visit { now: 0, horizon: 0, undo: false, flow: NO_FLOW, ahead: 0 };
        Ok(Self { app: A::new(memory)?, half: new_half(), visit, running: None })
    }
}

impl<A: SimApp> Prefetch for Recorded<A> {
    fn prefetch_index(&mut self, number: u8, packet: &Packet<'_>) {
        self.app.prefetch_index(number, packet);
    }

    fn prefetch_entry(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        self.app.prefetch_entry(number, packet)
    }

    fn prefetch_owner(&self, number: u8) {
        self.app.prefetch_owner(number);
    }

    fn predicted_owner(&self, number: u8) -> Option<u32> {
        self.app.predicted_owner(number)
    }
}

impl<A: SimApp> Transaction for Recorded<A> {
    fn begin(&mut self, visit: Visit) {
        (self.visit, self.running) = (visit, None);
        self.app.begin(visit);
    }

    fn commit(&mut self, undo: bool) {
        self.app.commit(undo);
        if let Some(run) = self.running.take() {
            note(|| Event::Ran(run));
        }
    }

    fn rollback(&mut self) {
        self.app.rollback();
        let Some(run) = self.running.take() else { return };
        EARLY.with_borrow_mut(|early| {
            let answers = run.result.sends.into_iter().filter(|(port, _)| *port != SENT);
            if let Some(early) = early {
                early.extend(answers.map(|(_, frame)| frame));
            }
        });
    }

    fn is_void(&mut self) -> bool {
        self.app.is_void()
    }
}

impl<A: SimApp> Transfer for Recorded<A> {
    type Group = A::Group;
}

impl<A: SimApp> App for Recorded<A> {
    const NAME: &'static str = A::NAME;
    const PLAN: PlanFacts = A::PLAN;
    const SENDS: bool = A::SENDS;
    const MESSAGES: bool = A::MESSAGES;
    const TAKERS: &'static [&'static str] = A::TAKERS;

    fn taker(packet: &Packet<'_>) -> Option<u8> {
        A::taker(packet)
    }

    fn is_anywhere(packet: &Packet<'_>) -> bool {
        A::is_anywhere(packet)
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
        let (flow, meta, frame) = (flow_of::<A>(packet), packet.meta(), packet.frame().to_vec());
        let verdict = self.app.chain::<R>(packet, out);
        let mut sends = Vec::new();
        out.each(|sent| sends.push((sent.port, sent.frame.to_vec())));
        let result = Outcome { verdict: format!("{verdict:?}"), sends };
        let Self { half, visit, .. } = *self;
        self.running = Some(Run { half, flow, meta, visit, frame, result });
        verdict
    }
}

impl<A: SimApp> SimApp for Recorded<A> {
    const WISHES: Wishes = A::WISHES;
    const LONGEST: usize = A::LONGEST;
    const STEPS: &'static [u64] = A::STEPS;

    fn refuse(&mut self, seed: u64) {
        self.app.refuse(seed);
    }

    fn half(&self) -> u32 {
        self.half
    }

    fn flows() -> Vec<A::Group> {
        A::flows()
    }
}
