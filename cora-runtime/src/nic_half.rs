//! The NIC's half of the protocol: every packet enters here.

use core::marker::PhantomData;

use cora_core::app::{App, Sides};
use cora_core::packet::{MAX_FRAME, Packet, ROOM, Roomy};
use cora_core::state::table::Change;
use cora_core::state::{Memory, NO_FLOW, OutOfMemory, Place, Reach, Visit};

use crate::channel::{Outbox, ProtocolError, TICKETS};
use crate::exec::burst::{ALONE, Burst, announce, announce_owned};
use crate::exec::egress::Wire;
use crate::exec::engine::{Engine, Ran, copy_words, keep_words};
use crate::exec::header_split;
use crate::exec::hold::HoldQueue;
use crate::link::message::{
    Control, Durability, Frames, GroupKey, Load, Message, Records, Report, Stamp, Telemetry,
};
use crate::link::region::IDLE;
use crate::ownership::dispatch::Dispatch;
use crate::ownership::encode::{encoded, room};
use crate::ownership::handover::Leaving;
use crate::ownership::pending_keys::Announced;
use crate::ownership::records::Flows;
use crate::telemetry::Watch;

/// Most keys that pending offers can announce.
pub(crate) const ANNOUNCED: usize = 256;

/// The states that the plan lets a handler reach at the NIC.
#[derive(Clone, Copy, Debug)]
pub struct NicReach<A>(PhantomData<A>);

impl<A: App> Reach for NicReach<A> {
    const PLACES: Option<&'static [(&'static str, Place)]> = match A::PLAN.sides {
        Sides::Split | Sides::HostOnly => Some(A::PLACES),
        Sides::NicOnly => None,
    };
}

/// The effect of a message on the run loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// The wire may be read.
    Begin,
    /// The host has nothing in flight any more.
    Drained,
    /// The load should be reported at this interval (ns).
    Watch(u64),
}

/// A transfer with entries still to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    pub(crate) flow: u32,
    pub(crate) left: u32,
    /// It could not be installed and goes back; entries still to come go straight back.
    pub(crate) returned: bool,
}

/// The NIC's half.
#[derive(Debug)]
pub struct NicHalf<A: App> {
    pub(crate) engine: Engine<A>,
    pub(crate) flows: Flows<A>,
    pub(crate) hold: HoldQueue,
    /// One more than the number of the last held packet that may go to the host. Later packets for
    /// the host stay behind it.
    pub(crate) host_waits_until: u64,
    /// The flow offered under each ticket.
    pub(crate) tickets: [Option<u32>; TICKETS],
    /// Keys of flows in transit, while their entries are not here.
    pub(crate) announced: Announced,
    pub(crate) incoming: Option<Incoming>,
    /// Clock hand: where the next search for an idle flow begins.
    pub(crate) hand: u32,
    /// The flow that is being handed over to the host.
    pub(crate) leaving: Option<Leaving>,
    /// Whether further offers are declined.
    pub(crate) closed: bool,
    /// Time of the latest packet.
    pub(crate) now: u64,
    /// The original of the running packet, from the wire or from the hold queue.
    pub(crate) original: &'static mut [u64],
    waiting: &'static mut [u64],
    watch: Watch<A::Group>,
    /// The counters of this side.
    pub report: Report,
}

impl<A: App> NicHalf<A> {
    /// Bytes of [`Memory`] in addition to those of the program's states.
    pub fn bytes(app: &mut A) -> usize {
        Self::bytes_to_hold(app, HoldQueue::BYTES)
    }

    /// The same, for a hold queue of `bytes` bytes.
    pub fn bytes_to_hold(app: &mut A, bytes: usize) -> usize {
        Flows::bytes(app) + bytes.max(HoldQueue::LEAST) + 2 * (MAX_FRAME + ROOM + 128)
    }

    /// A half that owns no flow.
    pub fn create(app: A, memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Self::create_to_hold(app, memory, HoldQueue::BYTES)
    }

    /// A half that owns no flow, with a hold queue of `bytes` bytes, and in any case with room for
    /// one burst.
    #[inline]
    pub fn create_to_hold(
        mut app: A,
        memory: &mut Memory,
        bytes: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            flows: Flows::create(memory, &mut app)?,
            hold: HoldQueue::create(memory, bytes)?,
            host_waits_until: 0,
            original: memory.take_u64(MAX_FRAME.div_ceil(8))?,
            waiting: memory.take_u64((MAX_FRAME + ROOM).div_ceil(8))?,
            engine: Engine::new(app),
            tickets: [None; TICKETS],
            announced: Announced::new(),
            incoming: None,
            leaving: None,
            hand: 0,
            closed: false,
            now: 0,
            watch: Watch::new(),
            report: Report::default(),
        })
    }

    /// Whether another packet may come in; otherwise the wire must wait. None may between the
    /// entries of a flow that goes straight back: no other flow can leave before the last of them.
    #[inline]
    pub const fn takes_packets(&self) -> bool {
        self.hold.has_room() && !matches!(self.incoming, Some(Incoming { returned: true, .. }))
    }

    /// Whether the hold queue is empty.
    #[inline]
    pub const fn holds_none(&self) -> bool {
        self.hold.is_empty()
    }

    /// Whether the hold queue is empty and no flow is in transit.
    pub fn is_drained(&self) -> bool {
        self.hold.is_empty()
            && self.incoming.is_none()
            && self.leaving.is_none()
            && self.tickets.iter().all(Option::is_none)
    }

    /// Starts sampling packets for load reports ([`Self::tell`]).
    pub const fn watch(&mut self) {
        self.watch.begin();
    }

    /// Whether [`Self::hand_over`] has work.
    #[inline]
    pub const fn is_handing_over(&self) -> bool {
        self.leaving.is_some()
    }

    /// Declines offers from now on: there will be no packet for them.
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

    /// Whether flow lookup also searches entries: some entry has a key that its flow's record
    /// lacks.
    pub const fn looks_among_entries(&self) -> bool {
        self.flows.other_keys
    }

    /// Handles packets from the wire, in order.
    #[inline(never)]
    pub fn burst(&mut self, burst: &mut Burst<'_>, io: &mut (impl Outbox + Wire)) {
        let parsed = burst.parse_at_nic::<A>();
        match A::PLAN.sides {
            Sides::HostOnly => {}
            Sides::NicOnly => {
                announce(burst, &mut self.engine, None);
                self.report.packets += burst.len() as u64;
            }
            Sides::Split => announce_owned(burst, &mut self.engine, &mut self.flows),
        }
        self.watch.burst(burst.len(), |at| burst.group(at, parsed));
        for (number, arrival) in burst.numbered_mut() {
            self.one(&arrival.stamp(), &mut arrival.packet, number, io);
        }
        io.runs(IDLE);
        // Nothing reads the time amid a burst, so the last packet's is enough.
        if let Some(last) = burst.arrivals().last() {
            self.now = self.now.max(last.stamp().meta.now);
        }
        self.tell_changes(io);
    }

    /// Sends the changes of durable entries to the host, which keeps replicas, and the ended
    /// entries of recorded states.
    #[inline]
    pub fn tell_changes(&mut self, io: &mut impl Outbox) {
        if const { !A::RECORDED.is_empty() } {
            self.engine.app().ended(&mut |state, ending| {
                io.send(&Records::of(state, ending).into());
            });
        }
        if const { A::DURABLE && matches!(A::PLAN.sides, Sides::Split) } {
            let flows = &self.flows;
            flows.tell(self.engine.app(), &mut |state, group, change| match change {
                Change::Gone(key) => io.send(&Durability::Erase { state, key }.into()),
                Change::Is { piece, .. } => {
                    let mut bytes = room();
                    let group = group.map_or(&[][..], |group| encoded(&group, &mut bytes));
                    io.send(&Durability::Copy { state, group: GroupKey(group), piece }.into());
                }
            });
        }
    }

    #[inline]
    fn one(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl Outbox + Wire),
    ) {
        match A::PLAN.sides {
            Sides::HostOnly => self.pass_on(stamp, packet.frame(), io),
            Sides::NicOnly => {
                let now = stamp.meta.now;
                let visit = Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead };
                io.runs(stamp.number);
                let ran = self.engine.run::<NicReach<A>>(packet, visit);
                Self::finish(ran, stamp, packet.frame(), io);
            }
            Sides::Split => self.split_packet(stamp, packet, ahead, io),
        }
    }

    /// Transmits a packet from the host, or the frame of its head.
    #[inline(never)]
    pub fn sent(
        &mut self,
        stamp: &Stamp,
        frame: &[u8],
        io: &mut impl Wire,
    ) -> Result<(), ProtocolError> {
        if const { A::HEADS } && stamp.parked.is_some() {
            return self.complete(stamp, frame, io);
        }
        io.relay(stamp, frame);
        Ok(())
    }

    /// Handles a message from the host.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        io: &mut (impl Outbox + Wire),
    ) -> Result<Event, ProtocolError> {
        match *message {
            Message::Frames(Frames::Send { stamp, frame }) => self.sent(&stamp, frame, io)?,
            Message::Frames(Frames::Ended { parked }) if const { A::HEADS } => {
                header_split::forget(parked, io)?;
            }
            Message::Ownership(message) => self.ownership_message(message, io)?,
            Message::Control(Control::Piece { state, piece }) => self.version(state, piece)?,
            Message::Control(Control::Begin {}) => return Ok(Event::Begin),
            Message::Control(Control::Drained { .. }) => return Ok(Event::Drained),
            Message::Telemetry(Telemetry::Watch { every }) => {
                self.watch.begin();
                return Ok(Event::Watch(every));
            }
            _ => return Err(ProtocolError::unexpected(message)),
        }
        self.tell_changes(io);
        Ok(Event::None)
    }

    fn split_packet(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl Outbox + Wire),
    ) {
        // Held packets are older than incoming ones.
        let horizon = self.hold.oldest().unwrap_or(stamp.meta.now);
        let stamp = &Stamp { horizon, ..*stamp };
        self.flows.begin(stamp.meta.now, horizon, ahead);
        match self.dispatch_ahead(stamp.meta.now, packet, ahead) {
            Dispatch::Run(flow) if !self.must_queue(flow) => {
                let joined = self.hold.joined();
                if let Some(record) = self.flows.record(flow) {
                    record.passed = joined;
                }
                let length = packet.len();
                if self.run(flow, stamp, packet, ahead, io) {
                    return;
                }
                // The original punts.
                let frame = packet.frame_of(length);
                copy_words(self.original, frame);
                if A::PLAN.host_ordered && !self.hold.is_empty() {
                    self.queue(Some(flow), stamp, frame);
                } else {
                    self.release(flow, stamp, frame, io);
                }
            }
            Dispatch::Run(flow) | Dispatch::Wait(flow) => {
                self.queue(Some(flow), stamp, packet.frame());
            }
            Dispatch::Host if self.host_must_queue() => self.queue(None, stamp, packet.frame()),
            Dispatch::Host => self.pass_on(stamp, packet.frame(), io),
        }
    }

    /// Whether earlier packets of this flow are still held.
    pub(crate) fn must_queue(&mut self, flow: u32) -> bool {
        let left = self.hold.left();
        self.flows.record(flow).is_some_and(|record| record.queued_until > left)
    }

    /// Whether a later packet of the flow ran while the first held one waited. When that came it
    /// was not the flow's; the flow's keys have changed since.
    fn was_passed_by(&mut self, flow: u32) -> bool {
        let left = self.hold.left();
        self.flows.record(flow).is_some_and(|record| record.passed > left)
    }

    /// Whether earlier packets for the host are still held, maybe of the same flow.
    const fn host_must_queue(&self) -> bool {
        let some = self.host_waits_until > self.hold.left();
        some || (A::PLAN.host_ordered && !self.hold.is_empty())
    }

    #[inline(never)]
    fn queue(&mut self, flow: Option<u32>, stamp: &Stamp, frame: &[u8]) {
        self.hold.push(stamp, frame);
        self.report.held += 1;
        let joined = self.hold.joined();
        match flow.and_then(|flow| self.flows.record(flow)) {
            Some(record) => record.queued_until = joined,
            None => self.host_waits_until = joined,
        }
    }

    /// Runs held packets, until one belongs to a flow in transit.
    #[inline(never)]
    pub(crate) fn drain(&mut self, io: &mut (impl Outbox + Wire)) {
        let buffer = core::mem::take(&mut self.waiting);
        let bytes = zerocopy::IntoBytes::as_mut_bytes(buffer);
        while let Some((stamp, length)) = self.hold.peek(bytes) {
            self.flows.begin(stamp.meta.now, stamp.horizon, ALONE);
            let mut packet = Packet::in_room(Roomy::new(bytes, length), stamp.meta);
            match self.dispatch(stamp.meta.now, &packet) {
                Dispatch::Wait(_) => break,
                Dispatch::Run(flow) if !self.was_passed_by(flow) => {
                    self.hold.pop();
                    if !self.run(flow, &stamp, &mut packet, ALONE, io) {
                        copy_words(self.original, packet.frame_of(length));
                        self.release(flow, &stamp, packet.frame(), io);
                    } else if let Some(record) = self.flows.record(flow) {
                        // The packet may have made a key that finds other held packets.
                        record.queued_until = record.queued_until.max(self.host_waits_until);
                    }
                    // The queue may be long, and the wire's ring may be published amid it.
                    self.tell_changes(io);
                }
                Dispatch::Run(_) | Dispatch::Host => {
                    self.hold.pop();
                    self.pass_on(&stamp, packet.frame(), io);
                }
            }
        }
        io.runs(IDLE);
        self.waiting = buffer;
    }

    /// Sends the flow's packets to the host from now on. If some are held here, all packets for the
    /// host stay behind them: without a record, nobody can tell the flow's packets from others.
    #[inline(never)]
    pub(crate) fn forget(&mut self, flow: u32) {
        if self.must_queue(flow) {
            self.host_waits_until = self.hold.joined();
        }
        self.flows.remove(self.engine.app(), flow);
    }

    /// Runs a packet of a flow that is owned here. `false`: it punts, and its original is saved.
    fn run(
        &mut self,
        flow: u32,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl Outbox + Wire),
    ) -> bool {
        keep_words(self.original, packet.frame());
        io.runs(stamp.number);
        let visit = Visit { now: stamp.meta.now, horizon: stamp.horizon, undo: true, flow, ahead };
        let ran = self.engine.run::<NicReach<A>>(packet, visit);
        if matches!(ran, Ran::Punted) {
            self.report.punts += 1;
            return false;
        }
        self.report.packets += 1;
        Self::finish(ran, stamp, packet.frame(), io);
        let waits = self.must_queue(flow);
        if !self.flows.settle_at_nic(self.engine.app(), flow) && waits {
            self.host_waits_until = self.hold.joined();
        }
        true
    }

    fn finish(ran: Ran, stamp: &Stamp, frame: &[u8], io: &mut impl Wire) {
        if let Some(egress) = ran.egress(stamp.meta.port) {
            io.transmit(&Stamp { egress, ..*stamp }, frame);
        }
    }

    fn pass_on(&mut self, stamp: &Stamp, frame: &[u8], io: &mut (impl Outbox + Wire)) {
        self.report.passed_on += 1;
        let punt = Self::punt(stamp, frame, io);
        io.send(&punt);
    }

    /// Sends the flow to the host: its entries, then the packet.
    #[inline(never)]
    fn release(&mut self, flow: u32, stamp: &Stamp, frame: &[u8], io: &mut (impl Outbox + Wire)) {
        let punts = self.flows.record(flow).map_or(0, |record| record.punts).saturating_add(1);
        // Built before anything is sent: afterwards, reading the frame would wait until the ring
        // has the entries.
        let punt = Self::punt(stamp, frame, io);
        self.give_back(flow, punts, stamp.meta.now, 0, io);
        io.send(&punt);
        // Meanwhile the host can go on.
        io.show();
        self.forget(flow);
    }

    /// The counters of this side, with the flows owned now.
    pub fn counts(&mut self) -> Report {
        let evicted = self.engine.evicted();
        Report { flows: u64::from(self.flows.len()), evicted, ..self.report }
    }

    /// Reports this side's load to the host; `load` has the part that only the run loop knows.
    /// Nothing is reported amid the entries of a flow.
    #[inline(never)]
    pub fn tell(&mut self, load: &Load, io: &mut impl Outbox) {
        if self.incoming.is_some() {
            return;
        }
        let counts = self.counts();
        let talkers = self.watch.talkers.all();
        io.send(
            &Telemetry::Load {
                load: Load {
                    counts,
                    room: u64::from(self.flows.room()),
                    waiting: self.hold.waiting(),
                    talkers: talkers.len() as u64,
                    ..*load
                },
            }
            .into(),
        );
        let mut bytes = room();
        for talker in talkers {
            let group = encoded(&talker.key, &mut bytes);
            io.send(&Telemetry::Talker { count: talker.count, error: talker.error, group }.into());
        }
        self.watch.talkers.age();
    }
}
