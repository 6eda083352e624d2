//! Runs one packet through all handlers as a transaction: all of its writes are committed, or none.

use core::marker::PhantomData;

use cora_core::app::{App, Sides};
use cora_core::message::{SENT, is_of_messages};
use cora_core::outbox::{Outbox, Sent};
use cora_core::outcome::Outcomes;
use cora_core::packet::{Packet, Port};
use cora_core::state::{Memory, NO_FLOW, OutOfMemory, Place, Reach, Visit};
use cora_core::verdict::{Forward, Reason};

use crate::exec::burst::ALONE;
use crate::exec::took::TookHere;
use crate::link::message::{Report, Stamp};
use crate::telemetry::{BURST_CLASSES, Counters, Table};

/// The program's states on this side, and the outcomes of packets that ran here.
#[derive(Debug)]
pub struct Engine<A> {
    app: A,
    /// Packets that completed here, by outcome.
    pub outcomes: Outcomes,
    /// Packets that the handlers of the last packet sent besides it.
    outbox: Outbox,
    /// The same, by the handlers of messages.
    took: TookHere,
}

/// What an engine has of its own, in supplied memory.
#[derive(Debug)]
pub(crate) struct Room {
    outbox: Outbox,
    took: TookHere,
}

/// The states that the plan lets a handler reach at the NIC.
#[derive(Clone, Copy, Debug)]
pub struct NicReach<A>(PhantomData<A>);

impl<A: App> Reach for NicReach<A> {
    const PLACES: Option<&'static [(&'static str, Place)]> = match A::PLAN.sides {
        Sides::Split | Sides::HostOnly => Some(A::PLACES),
        Sides::NicOnly | Sides::Dealt => None,
    };
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The packet is forwarded.
    Forward(Forward),
    /// The packet is dropped.
    Dropped(Reason),
    /// The packet needs a state that is not here, or wrote more than can be rolled back. All of its
    /// writes are rolled back.
    Punted,
}

impl Ran {
    /// The egress port of a packet that arrived with this stamp, if it leaves.
    #[inline(always)]
    pub const fn egress(self, stamp: &Stamp) -> Option<Port> {
        match self {
            Self::Forward(Forward::Transmit) => Some(stamp.meta.port.opposite()),
            Self::Forward(Forward::Pass) => stamp.passes_to(),
            // The upper bit marks frames that handlers made.
            Self::Forward(Forward::Redirect(port)) => Some(port.in_seven_bits()),
            _ => None,
        }
    }
}

impl<A: App> Engine<A> {
    /// Bytes of [`Memory`] in addition to those of the program's states.
    pub const BYTES: usize = match (A::MESSAGES, A::SENDS) {
        (true, _) => Outbox::BYTES_WITH_MESSAGES + 64 + TookHere::bytes::<A>(),
        (false, true) => Outbox::BYTES + 64,
        (false, false) => 0,
    };

    /// An engine around the program's states, of no half: packets run here to be looked at.
    ///
    /// # Errors
    /// If `memory` is too little.
    pub fn create(app: A, memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self::new(app, Self::room(memory)?))
    }

    /// The outbox of the program's handlers, with room if they send anything, and its counts.
    #[inline(always)]
    pub(crate) fn room(memory: &mut Memory) -> Result<Room, OutOfMemory> {
        let outbox = match const { (A::MESSAGES, A::SENDS) } {
            (true, _) => Outbox::create_with_messages(memory)?,
            (false, true) => Outbox::create(memory)?,
            (false, false) => Outbox::none(),
        };
        Ok(Room { outbox, took: TookHere::create::<A>(memory)? })
    }

    /// An engine around the program's states.
    pub(crate) const fn new(app: A, room: Room) -> Self {
        let Room { outbox, took } = room;
        Self { app, outcomes: Outcomes::new(), outbox, took }
    }

    /// Counts of handlers of messages here, as words of [`Took`](crate::exec::Took): as
    /// many for each of them, and for all else.
    #[inline]
    pub const fn took(&self) -> &[u64] {
        self.took.words()
    }

    /// The last packet's handlers sent so many messages, and so many packets.
    #[inline]
    pub(crate) fn sent(&mut self, messages: u64, packets: u64) {
        self.took.sent(messages, packets);
    }

    /// Hooks or timers sent so many messages.
    #[inline]
    pub(crate) fn sent_besides(&mut self, messages: u64) {
        self.took.of_no_handler::<A>();
        self.took.sent(messages, 0);
    }

    /// A message found no room.
    #[cold]
    pub(crate) fn refused(&mut self, reason: Reason) {
        self.outcomes.dropped(reason);
        self.took.refused::<A>();
    }

    /// Whether changes must be told before each packet that leaves, and not only behind a burst:
    /// with what handlers send, a burst may overfill the egress ring, which publishes a part of
    /// it.
    pub(crate) const TELLS_EACH: bool = A::DURABLE && A::SENDS;

    /// Calls `send` with each packet that the handlers of the last packet sent besides it, in
    /// order, with a stamp of its own, and `keep` with each message. Returns the number of packets.
    #[inline(always)]
    pub fn send(
        &self,
        stamp: &Stamp,
        mut send: impl FnMut(&Stamp, &[u8]),
        mut keep: impl FnMut(&[u8]),
    ) -> u64 {
        if const { !A::SENDS } {
            return 0;
        }
        let mut packets = 0;
        self.outbox.each(|Sent { port, frame, .. }| {
            if A::MESSAGES && port == SENT {
                keep(frame);
            } else {
                send(&stamp.of_made(port), frame);
                packets += 1;
            }
        });
        packets
    }

    /// The program.
    #[inline]
    pub const fn app(&mut self) -> &mut A {
        &mut self.app
    }

    /// Entries evicted so far, in all tables.
    pub fn evicted(&mut self) -> u64 {
        let tables = (0..A::STATES).map(|number| {
            self.app.state(number).as_travelling().map_or(0, |table| table.evicted())
        });
        tables.sum()
    }

    /// Tells all counts of the half, of which these are not the engine's.
    pub(crate) fn tell_counters(
        &mut self,
        to: Counters,
        counts: &Report,
        bursts: &[u64; BURST_CLASSES],
    ) {
        let Self { app, outcomes, took, .. } = self;
        to.tell(counts, bursts, (outcomes, took.words()), &mut |tell| {
            for number in 0..A::STATES {
                if let Some(table) = app.state(number).as_travelling() {
                    let (entries, capacity) = (table.filled().into(), table.capacity().into());
                    let (evicted, expired) = (table.evicted(), table.expired());
                    tell(number, Table { entries, capacity, evicted, expired });
                }
            }
        });
    }

    /// Runs the packet. Unless it punts, its outcome is counted.
    #[inline(always)]
    pub fn run<R: Reach>(&mut self, packet: &mut Packet<'_>, visit: Visit) -> Ran {
        self.app.begin(visit);
        if const { A::ENTERS } {
            self.app.enter(Some(packet));
        }
        if const { A::SENDS } {
            self.outbox.clear();
        }
        let (taker, is_message) = if const { A::MESSAGES } {
            (A::taker(packet), packet.port() == SENT)
        } else {
            (None, false)
        };
        let verdict = self.app.chain::<R>(packet, &mut self.outbox);
        let is_void = visit.undo && self.app.is_void();
        let ran = match verdict {
            _ if is_void => Ran::Punted,
            // No datagram is there that could go on.
            Ok(_) if A::MESSAGES && packet.port() == SENT => Ran::Forward(Forward::Done),
            // No packet becomes a message.
            Ok(Forward::Redirect(port)) if A::MESSAGES && is_of_messages(port) => {
                Ran::Forward(Forward::Redirect(Port(0x7f)))
            }
            Ok(forward) => Ran::Forward(forward),
            Err(stop) => stop.reason().map_or(Ran::Punted, Ran::Dropped),
        };
        self.end(ran, visit.undo);
        if const { A::MESSAGES } && !matches!(ran, Ran::Punted) {
            self.took.ran::<A>(taker, is_message, ran);
        }
        ran
    }

    /// No packet before the time of this stamp is to come: runs the hooks and timers that are due.
    /// Calls `send` with each packet and message that they send, with a stamp of its own. Returns
    /// the number of the packets.
    #[inline(always)]
    pub(crate) fn pass_time(
        &mut self,
        stamp: &Stamp,
        horizon: u64,
        send: &mut dyn FnMut(&Stamp, &[u8]),
    ) -> u64 {
        if self.app.is_due(stamp.meta.now) { self.run_due(stamp, horizon, send) } else { 0 }
    }

    #[inline(never)]
    fn run_due(&mut self, stamp: &Stamp, horizon: u64, send: &mut dyn FnMut(&Stamp, &[u8])) -> u64 {
        let now = stamp.meta.now;
        self.app.begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead: ALONE });
        let mut made = 0;
        self.outbox.clear();
        self.app.run_due(now, &mut self.outbox, &mut |outbox| {
            if const { A::SENDS } {
                outbox.each(|Sent { port, frame, .. }| {
                    send(&stamp.of_made(port), frame);
                    made += u64::from(port != SENT);
                });
                outbox.clear();
            }
        });
        self.app.commit(false);
        made
    }

    #[inline(always)]
    fn end(&mut self, ran: Ran, undo: bool) {
        match ran {
            Ran::Forward(forward) => self.outcomes.forwarded(forward),
            Ran::Dropped(reason) => self.outcomes.dropped(reason),
            Ran::Punted => {}
        }
        if matches!(ran, Ran::Punted) {
            self.app.rollback();
        } else {
            self.app.commit(undo);
        }
    }
}

/// Saves a frame, so that a punt can restore it.
#[inline]
pub(crate) fn keep_words(to: &mut [u64], frame: &[u8]) {
    let bytes = zerocopy::IntoBytes::as_mut_bytes(to);
    if let Some(place) = bytes.get_mut(..frame.len()) {
        place.copy_from_slice(frame);
    }
}

/// Restores a saved frame.
#[inline]
pub(crate) fn copy_words(from: &[u64], frame: &mut [u8]) {
    let bytes = zerocopy::IntoBytes::as_bytes(from);
    if let Some(original) = bytes.get(..frame.len()) {
        frame.copy_from_slice(original);
    }
}
