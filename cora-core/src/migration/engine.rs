//! One packet through all handlers, atomically: all that it wrote stays, or none does.

use crate::app::App;
use crate::outcome::Outcomes;
use crate::packet::Packet;
use crate::state::{Reach, Visit};
use crate::verdict::{Forward, Reason};

/// The program's states on this side, and what became of the packets that ran here.
#[derive(Debug)]
pub struct Engine<A> {
    app: A,
    /// Packets that ran to their end here, by outcome.
    pub outcomes: Outcomes,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It goes on.
    Forward(Forward),
    /// It ends here.
    Dropped(Reason),
    /// It reached for a state that is not here; nothing of what it wrote is left.
    Punted,
}

impl<A: App> Engine<A> {
    /// An engine around the program's states.
    pub const fn new(app: A) -> Self {
        Self { app, outcomes: Outcomes::new() }
    }

    /// The program.
    #[inline]
    pub const fn app(&mut self) -> &mut A {
        &mut self.app
    }

    /// Runs the packet. Unless it punts, its outcome is counted.
    #[inline]
    pub fn run<R: Reach>(&mut self, packet: &mut Packet<'_>, visit: Visit) -> Ran {
        for number in 0..A::STATES {
            self.app.state(number).begin(visit);
        }
        let verdict = self.app.chain::<R>(packet);
        let overflowed =
            visit.undo && (0..A::STATES).any(|number| self.app.state(number).overflowed());
        let ran = match verdict {
            _ if overflowed => Ran::Punted,
            Ok(forward) => Ran::Forward(forward),
            Err(stop) => stop.reason().map_or(Ran::Punted, Ran::Dropped),
        };
        self.end(ran);
        ran
    }

    #[inline]
    fn end(&mut self, ran: Ran) {
        match ran {
            Ran::Forward(forward) => self.outcomes.forwarded(forward),
            Ran::Dropped(reason) => self.outcomes.dropped(reason),
            Ran::Punted => {}
        }
        for number in 0..A::STATES {
            let state = self.app.state(number);
            if matches!(ran, Ran::Punted) {
                state.rollback();
            } else {
                state.commit();
            }
        }
    }
}
