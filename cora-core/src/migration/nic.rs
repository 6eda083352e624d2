//! The NIC's half of the protocol: every packet enters here.

use core::marker::PhantomData;

use super::engine::{Engine, Ran, copy_words, keep_words};
use super::flows::{Flows, Record, Stage};
use super::hold::HoldQueue;
use super::{Outbox, ProtocolError, TICKETS};
use crate::app::{App, Sides};
use crate::key::Key;
use crate::message::{MAX_FRAME, Message, Report, Stamp, offered_keys};
use crate::packet::Packet;
use crate::plain::Plain;
use crate::state::table::ahead::ALONE;
use crate::state::{Memory, NO_FLOW, OutOfMemory, Place, Reach, Visit};
use crate::verdict::Forward;

/// Keys that are announced by offers under way.
const ANNOUNCED: usize = 256;

/// Where packets leave.
pub trait Wire {
    /// The packet leaves at the port in its stamp.
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]);
}

/// What the plan lets a handler reach at the NIC.
#[derive(Clone, Copy, Debug)]
pub struct NicReach<A>(PhantomData<A>);

impl<A: App> Reach for NicReach<A> {
    const PLACES: Option<&'static [(&'static str, Place)]> = match A::PLAN.sides {
        Sides::Split | Sides::HostOnly => Some(A::PLACES),
        Sides::NicOnly => None,
    };
}

/// What a message means to the run loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// The wire may be read.
    Begin,
    /// The host has nothing on its way any more.
    Drained,
}

/// A transfer whose entries are coming in.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    flow: u32,
    left: u32,
    /// It could not be installed and goes back; entries still to come go straight back.
    returned: bool,
}

/// The NIC's half.
#[derive(Debug)]
pub struct NicHalf<A: App> {
    engine: Engine<A>,
    flows: Flows<A>,
    hold: HoldQueue,
    /// The number behind the last packet in the queue that may go to the host: whatever else goes
    /// there stays behind it.
    host_waits_until: u64,
    /// The flow offered under each ticket.
    tickets: [Option<u32>; TICKETS],
    /// Keys that find offered flows, whose entries are not here yet.
    announced: heapless::index_map::FnvIndexMap<[u64; 5], u32, ANNOUNCED>,
    incoming: Option<Incoming>,
    /// No further offer is taken.
    closed: bool,
    /// Time of the latest packet.
    now: u64,
    /// A copy of the packet under way, or of the one taken from the queue.
    original: &'static mut [u64],
    waiting: &'static mut [u64],
    /// What happened here.
    pub report: Report,
}

impl<A: App> NicHalf<A> {
    /// Bytes of [`Memory`] beside those of the program's states.
    pub fn bytes(app: &mut A) -> usize {
        Flows::bytes(app) + HoldQueue::BYTES + 2 * (MAX_FRAME + 128)
    }

    /// The half, owning no flow.
    pub fn create(mut app: A, memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            flows: Flows::create(memory, &mut app)?,
            hold: HoldQueue::create(memory)?,
            host_waits_until: 0,
            original: memory.take_u64(MAX_FRAME.div_ceil(8))?,
            waiting: memory.take_u64(MAX_FRAME.div_ceil(8))?,
            engine: Engine::new(app),
            tickets: [None; TICKETS],
            announced: heapless::index_map::FnvIndexMap::new(),
            incoming: None,
            closed: false,
            now: 0,
            report: Report::default(),
        })
    }

    /// Whether another packet may come in; otherwise the wire must wait. Between the entries of a flow
    /// none may: what goes back must not be cut in two.
    #[inline]
    pub const fn takes_packets(&self) -> bool {
        self.hold.has_room() && self.incoming.is_none()
    }

    /// Whether no packet waits here and no flow is between the sides.
    pub fn is_drained(&self) -> bool {
        self.hold.is_empty() && self.incoming.is_none() && self.tickets.iter().all(Option::is_none)
    }

    /// From now on, offers are declined: there will be no packet for them.
    pub const fn close(&mut self) {
        self.closed = true;
    }

    /// The time of the latest packet.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The program's states and outcomes.
    pub const fn engine(&mut self) -> &mut Engine<A> {
        &mut self.engine
    }

    /// Flows owned here.
    pub const fn flows(&self) -> u32 {
        self.flows.len()
    }

    /// A packet comes in from the wire.
    #[inline]
    pub fn packet(&mut self, stamp: &Stamp, frame: &mut [u8], io: &mut (impl Outbox + Wire)) {
        self.now = self.now.max(stamp.meta.now);
        match A::PLAN.sides {
            Sides::HostOnly => self.pass_on(stamp, frame, io),
            Sides::NicOnly => {
                let now = stamp.meta.now;
                let visit = Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead: ALONE };
                let mut packet = Packet::new(frame, stamp.meta);
                let ran = self.engine.run::<NicReach<A>>(&mut packet, visit);
                self.finish(ran, stamp, packet.frame(), io);
            }
            Sides::Split => self.split_packet(stamp, frame, io),
        }
    }

    /// A message from the host.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        io: &mut (impl Outbox + Wire),
    ) -> Result<Event, ProtocolError> {
        match *message {
            Message::Send(stamp, frame) => io.transmit(&stamp, frame),
            Message::Offer { ticket, punts, group, keys } => {
                self.offer(ticket, punts, group, keys, io)?;
            }
            Message::Transfer { ticket, entries } => self.transfer(ticket, entries, io)?,
            Message::Entry(state, piece) => self.entry(state, piece, io)?,
            Message::Withdraw(ticket) => {
                let flow = self.take_ticket(ticket)?;
                self.arrived(flow);
                self.report.declined += 1;
                self.forget(flow);
                self.drain(io);
            }
            Message::Piece(state, piece) => {
                let bad = ProtocolError::BadPiece(state);
                if usize::from(state) >= A::STATES {
                    return Err(bad);
                }
                let home = self.engine.app().state(usize::from(state));
                home.import(piece, 0, &mut |_, _| {}).map_err(|_| bad)?;
            }
            Message::Begin => return Ok(Event::Begin),
            Message::Drained(_) => return Ok(Event::Drained),
            _ => return Err(ProtocolError::Unexpected(message.kind())),
        }
        Ok(Event::None)
    }

    fn split_packet(&mut self, stamp: &Stamp, frame: &mut [u8], io: &mut (impl Outbox + Wire)) {
        // What waits is older than what comes in.
        let horizon = self.hold.oldest().unwrap_or(stamp.meta.now);
        let stamp = &Stamp { horizon, ..*stamp };
        self.flows.begin(stamp.meta.now, horizon);
        match self.dispatch(stamp, frame) {
            Dispatch::Run(flow) if !self.must_queue(flow) => {
                let joined = self.hold.joined();
                if let Some(record) = self.flows.record(flow) {
                    record.passed = joined;
                }
                if self.run(flow, stamp, frame, io) {
                    return;
                }
                // The original is what punts.
                copy_words(self.original, frame);
                if A::PLAN.host_ordered && !self.hold.is_empty() {
                    self.queue(Some(flow), stamp, frame);
                } else {
                    self.release(flow, stamp, frame, io);
                }
            }
            Dispatch::Run(flow) | Dispatch::Wait(flow) => self.queue(Some(flow), stamp, frame),
            Dispatch::Host if self.host_must_queue() => self.queue(None, stamp, frame),
            Dispatch::Host => self.pass_on(stamp, frame, io),
        }
    }

    /// Whose packet it is.
    fn dispatch(&mut self, stamp: &Stamp, frame: &mut [u8]) -> Dispatch {
        let Ok(group) = A::Group::of(&Packet::new(frame, stamp.meta)) else {
            return Dispatch::Host;
        };
        let left = self.hold.left();
        let found = self.flows.find(self.engine.app(), &group, stamp.meta.now, left);
        if let Some(flow) = found {
            return match self.flows.record(flow).map(|record| record.stage) {
                Some(Stage::Offered) => Dispatch::Wait(flow),
                Some(Stage::Owned) | None => Dispatch::Run(flow),
            };
        }
        if self.announced.is_empty() {
            return Dispatch::Host;
        }
        self.announced.get(&group.words()).map_or(Dispatch::Host, |flow| Dispatch::Wait(*flow))
    }

    /// Packets of this flow that came earlier are still waiting.
    fn must_queue(&mut self, flow: u32) -> bool {
        let left = self.hold.left();
        self.flows.record(flow).is_some_and(|record| record.queued_until > left)
    }

    /// A later packet of the flow ran while the first one in the queue waited: when that came it was
    /// not the flow's, whose keys have changed since.
    fn was_passed_by(&mut self, flow: u32) -> bool {
        let left = self.hold.left();
        self.flows.record(flow).is_some_and(|record| record.passed > left)
    }

    /// Packets for the host that came earlier are still waiting, maybe of the same flow.
    const fn host_must_queue(&self) -> bool {
        let some = self.host_waits_until > self.hold.left();
        some || (A::PLAN.host_ordered && !self.hold.is_empty())
    }

    fn queue(&mut self, flow: Option<u32>, stamp: &Stamp, frame: &[u8]) {
        self.hold.push(stamp, frame);
        self.report.held += 1;
        let joined = self.hold.joined();
        match flow.and_then(|flow| self.flows.record(flow)) {
            Some(record) => record.queued_until = joined,
            None => self.host_waits_until = joined,
        }
    }

    /// Runs the packets that waited, as far as their flows have arrived.
    fn drain(&mut self, io: &mut (impl Outbox + Wire)) {
        let buffer = core::mem::take(&mut self.waiting);
        while let Some((stamp, frame)) = self.hold.peek(zerocopy::IntoBytes::as_mut_bytes(buffer)) {
            self.flows.begin(stamp.meta.now, stamp.horizon);
            match self.dispatch(&stamp, frame) {
                Dispatch::Wait(_) => break,
                Dispatch::Run(flow) if !self.was_passed_by(flow) => {
                    self.hold.pop();
                    if !self.run(flow, &stamp, frame, io) {
                        copy_words(self.original, frame);
                        self.release(flow, &stamp, frame, io);
                    } else if let Some(record) = self.flows.record(flow) {
                        // It may have made a key that finds others which wait.
                        record.queued_until = record.queued_until.max(self.host_waits_until);
                    }
                }
                Dispatch::Run(_) | Dispatch::Host => {
                    self.hold.pop();
                    self.pass_on(&stamp, frame, io);
                }
            }
        }
        self.waiting = buffer;
    }

    /// From now on the flow's packets go to the host. If some wait here, whatever goes there stays
    /// behind them: without a record of the flow, nobody can tell its packets from others.
    fn forget(&mut self, flow: u32) {
        if self.must_queue(flow) {
            self.host_waits_until = self.hold.joined();
        }
        self.flows.remove(self.engine.app(), flow);
    }

    /// Runs a packet of a flow that is owned here; `false` when it punts, its original kept.
    fn run(
        &mut self,
        flow: u32,
        stamp: &Stamp,
        frame: &mut [u8],
        io: &mut (impl Outbox + Wire),
    ) -> bool {
        keep_words(self.original, frame);
        let visit =
            Visit { now: stamp.meta.now, horizon: stamp.horizon, undo: true, flow, ahead: ALONE };
        let mut packet = Packet::new(frame, stamp.meta);
        let ran = self.engine.run::<NicReach<A>>(&mut packet, visit);
        if matches!(ran, Ran::Punted) {
            self.report.punts += 1;
            return false;
        }
        self.finish(ran, stamp, packet.frame(), io);
        let waits = self.must_queue(flow);
        if let Some(group) = self.flows.group(flow)
            && self.flows.settle(self.engine.app(), flow, &group).is_none()
            && waits
        {
            self.host_waits_until = self.hold.joined();
        }
        true
    }

    fn finish(&mut self, ran: Ran, stamp: &Stamp, frame: &[u8], io: &mut impl Wire) {
        self.report.packets += 1;
        let egress = match ran {
            Ran::Forward(Forward::Transmit) => stamp.meta.port.opposite(),
            Ran::Forward(Forward::Redirect(port)) => port,
            _ => return,
        };
        io.transmit(&Stamp { egress, ..*stamp }, frame);
    }

    fn pass_on(&mut self, stamp: &Stamp, frame: &[u8], io: &mut impl Outbox) {
        self.report.passed_on += 1;
        io.send(&Message::Punt(*stamp, frame));
    }

    /// The flow goes to the host: its entries, then the packet.
    fn release(&mut self, flow: u32, stamp: &Stamp, frame: &[u8], io: &mut impl Outbox) {
        let punts = self.flows.record(flow).map_or(0, |record| record.punts).saturating_add(1);
        self.give_back(flow, punts, stamp.meta.now, 0, io);
        io.send(&Message::Punt(*stamp, frame));
    }

    /// Sends a flow's entries to the host, those that are alive at `now`, and forgets it; `more`
    /// further entries will follow.
    fn give_back(&mut self, flow: u32, punts: u32, now: u64, more: u32, io: &mut impl Outbox) {
        let Some(group) = self.flows.group(flow) else { return };
        let mut bytes = [0; 64];
        group.put(&mut bytes);
        let app = self.engine.app();
        let entries = Flows::entries(app, flow, now) + more;
        let group = &bytes[..<A::Group as Plain>::SIZE];
        io.send(&Message::Release { punts, entries, group });
        Flows::export(app, flow, now, &mut |state, piece| io.send(&Message::Entry(state, piece)));
        self.forget(flow);
    }

    fn offer(
        &mut self,
        ticket: u32,
        punts: u32,
        group: &[u8],
        keys: &[u8],
        io: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        let place =
            self.tickets.get(ticket as usize).ok_or(ProtocolError::UnknownTicket(ticket))?;
        if place.is_some() {
            return Err(ProtocolError::UnknownTicket(ticket));
        }
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(8))?;
        let Some(flow) = self.expect_flow(group, punts, keys) else {
            self.report.declined += 1;
            io.send(&Message::Decline(ticket));
            return Ok(());
        };
        self.tickets[ticket as usize % TICKETS] = Some(flow);
        io.send(&Message::Fence(ticket));
        Ok(())
    }

    /// Begins to hold the packets of a flow; `None` when there is no room for it.
    fn expect_flow(&mut self, group: A::Group, punts: u32, keys: &[u8]) -> Option<u32> {
        let room = ANNOUNCED - self.announced.len() >= keys.len() / 40;
        let left = self.hold.left();
        if self.closed
            || !room
            || self.flows.find(self.engine.app(), &group, self.now, left).is_some()
        {
            return None;
        }
        self.flows.reserve(self.engine.app(), &group)?;
        // Packets that wait for the host may be this flow's: its next ones stay behind them.
        let queued_until = self.hold.joined();
        let record = Record { stage: Stage::Offered, punts, queued_until, ..Record::OWNED };
        let flow = self.flows.add(self.engine.app(), group, record)?;
        // However long the host takes.
        self.flows.pin(flow);
        for words in offered_keys(keys) {
            // Room was checked above.
            let _known = self.announced.insert(words, flow);
        }
        Some(flow)
    }

    /// The flow offered under a ticket, which is given back.
    fn take_ticket(&mut self, ticket: u32) -> Result<u32, ProtocolError> {
        let place = self.tickets.get_mut(ticket as usize).and_then(Option::take);
        place.ok_or(ProtocolError::UnknownTicket(ticket))
    }

    /// The flow is no longer on its way: its keys need no announcement.
    fn arrived(&mut self, flow: u32) {
        let of_flow = |(_, of): &(&[u64; 5], &u32)| **of == flow;
        while let Some(words) = self.announced.iter().find(of_flow).map(|(words, _)| *words) {
            self.announced.remove(&words);
        }
    }

    fn transfer(
        &mut self,
        ticket: u32,
        entries: u32,
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        if self.incoming.is_some() {
            return Err(ProtocolError::Unexpected(9));
        }
        let flow = self.take_ticket(ticket)?;
        self.incoming = Some(Incoming { flow, left: entries, returned: false });
        self.end_of_transfer(io);
        Ok(())
    }

    fn entry(
        &mut self,
        state: u16,
        piece: &[u8],
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        let Some(mut incoming) = self.incoming else { return Err(ProtocolError::Unexpected(5)) };
        let (app, flow) = (self.engine.app(), incoming.flow);
        if !incoming.returned && !self.flows.import(app, state, piece, flow, false)? {
            incoming.returned = true;
            self.report.declined += 1;
            let punts = self.flows.record(flow).map_or(0, |record| record.punts).saturating_add(1);
            // At time 0 everything is alive: all go back that came.
            self.give_back(flow, punts, 0, incoming.left, io);
        }
        if incoming.returned {
            io.send(&Message::Entry(state, piece));
        }
        incoming.left -= 1;
        self.incoming = Some(incoming);
        self.end_of_transfer(io);
        Ok(())
    }

    /// When the last entry is in, the flow is owned here, and what waited for it runs.
    fn end_of_transfer(&mut self, io: &mut (impl Outbox + Wire)) {
        let Some(Incoming { flow, left: 0, returned }) = self.incoming else { return };
        self.incoming = None;
        self.arrived(flow);
        if !returned && let Some(record) = self.flows.record(flow) {
            record.stage = Stage::Owned;
            self.flows.unpin(flow, self.now);
            self.report.offloads += 1;
        }
        self.drain(io);
    }
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dispatch {
    /// Of a flow owned here.
    Run(u32),
    /// Of a flow that is on its way here.
    Wait(u32),
    /// Of none of them.
    Host,
}
