//! The NIC's half of the protocol: every packet enters here, or those of its own buckets.

mod cascade;
mod dealt;
mod delayed;
mod load;
mod merged;
mod timed;

use cora_core::app::{App, Sides};
use cora_core::packet::{MAX_FRAME, Packet, ROOM, Roomy};
use cora_core::state::{Memory, NO_FLOW, OutOfMemory, Visit};

use crate::cascade::{Cascade, refuse};
use crate::channel::PeerOutbox;
use crate::classes::NO_PLACE;
use crate::dealing::Dealing;
use crate::durability;
use crate::exec::burst::{ALONE, BURST, BURST_BYTES, Burst};
use crate::exec::egress::Wire;
use crate::exec::engine::{Engine, NicReach, Ran, copy_words, keep_words};
use crate::exec::prefetch::{prefetch_at_nic, prefetch_burst};
use crate::hooks;
use crate::link::message::{Report, Stamp};
use crate::merges::Turns;
use crate::ownership::hold::HoldQueue;
use crate::ownership::lookup::Match;
use crate::ownership::nic::{Dispatch, NicOwnership, NicRecord};
use crate::state_hash::{Say, say_words};
use crate::tap::Tap;
use crate::telemetry::Watch;

/// Bytes that the hold queue needs for any burst.
const HELD_BURST: usize = HoldQueue::bytes_for(BURST, BURST_BYTES);

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

/// The NIC's half.
#[derive(Debug)]
pub struct NicHalf<A: App> {
    engine: Engine<A>,
    ownership: NicOwnership<A>,
    hold: HoldQueue,
    /// The messages that wait, and how many the host has sent.
    cascade: Cascade,
    from_host: u64,
    /// Messages in the hold queue, and the cascade behind a flow that left amid it.
    held_messages: u64,
    /// The question whether all is quiet, which goes on to the host.
    wave: Option<u64>,
    /// A flow left amid this cascade.
    left_amid: bool,
    watch: Watch<A::Group>,
    /// Time of the latest packet.
    now: u64,
    /// The time that the host was last told, for a program with hooks or timers.
    told: u64,
    /// When a message is due that waits at the host.
    host_due: u64,
    /// The latest packet, for the same.
    last: Stamp,
    /// The epochs of states that are read as of a merge.
    turns: Turns,
    /// The buckets that are its own, if each side receives its own.
    dealing: Dealing,
    /// The original of the running packet, from the wire or from the hold queue.
    original: &'static mut [u64],
    /// The held packet that runs.
    held: &'static mut [u64],
    tap: Tap,
    /// The counters of this side.
    pub report: Report,
}

/// The parts of the half that a change of owner touches.
macro_rules! side {
    ($half:ident) => {
        &mut NicSide {
            hooks_until: $half.hooks_until(),
            app: $half.engine.app(),
            hold: &mut $half.hold,
            report: &mut $half.report,
            now: $half.now,
        }
    };
}

// Behind the macro, which they use.
mod classes;
mod from_host;
mod host_lost;
mod questions;
mod tapped;
mod to_host;

/// The half as a whole: its memory, and its state.
impl<A: App> NicHalf<A> {
    /// Bytes of [`Memory`] in addition to those of the program's states.
    pub fn bytes(app: &mut A) -> usize {
        Self::bytes_to_hold(app, HoldQueue::BYTES)
    }

    /// The same, for a hold queue of `bytes` bytes.
    pub fn bytes_to_hold(app: &mut A, bytes: usize) -> usize {
        let frames = 2 * (MAX_FRAME + ROOM + 128);
        let messages = Cascade::bytes::<A>(NicOwnership::places(app));
        let own = Engine::<A>::BYTES + Tap::BYTES + NicOwnership::bytes(app);
        own + bytes.max(HELD_BURST) + frames + messages
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
        let room = Engine::<A>::room(memory)?;
        let places = NicOwnership::places(&mut app);
        Ok(Self {
            ownership: NicOwnership::create(memory, &mut app)?,
            hold: HoldQueue::create(memory, bytes.max(HELD_BURST))?,
            original: memory.take_u64(MAX_FRAME.div_ceil(8))?,
            held: memory.take_u64((MAX_FRAME + ROOM).div_ceil(8))?,
            tap: Tap::create(memory, true)?,
            cascade: Cascade::create::<A>(memory, places)?,
            from_host: 0,
            held_messages: 0,
            wave: None,
            left_amid: false,
            engine: Engine::new(app, room),
            watch: Watch::new(),
            now: 0,
            told: 0,
            host_due: u64::MAX,
            last: Stamp::BEFORE,
            turns: Turns::BEFORE,
            dealing: Dealing::all(),
            report: Report::default(),
        })
    }

    /// Whether another packet may come in; otherwise the wire must wait. None may between the
    /// entries of a flow that goes straight back: no other flow can leave before the last of them.
    #[inline]
    pub const fn takes_packets(&self) -> bool {
        self.hold.has_room(HELD_BURST)
            && !self.ownership.is_returning()
            && !(A::MERGED && self.waits_for_epoch())
            && self.cascade.takes_bursts::<A>()
    }

    /// Whether nothing of the packets so far is still to happen: none is held, and hooks may run up
    /// to the last one's time.
    #[inline]
    pub const fn holds_none(&self) -> bool {
        self.hold.is_empty() && !self.has_mail() && !self.ownership.is_late(self.now)
    }

    /// Whether the hold queue is empty, no flow is in transit, and each epoch that was told has
    /// begun.
    pub fn is_drained(&self) -> bool {
        self.hold.is_empty()
            && !self.has_mail()
            && self.ownership.is_settled()
            && self.dealing.is_settled()
            && !self.turns.is_due()
    }

    /// Whether [`Self::hand_over`] has work.
    #[inline]
    pub const fn is_handing_over(&self) -> bool {
        self.ownership.is_handing_over() || self.dealing.is_giving()
    }

    /// Declines offers from now on: there will be no packet for them.
    pub const fn close(&mut self) {
        self.ownership.limit(0);
        if const { A::MESSAGES } {
            self.cascade.classes.close();
        }
    }

    /// Declines offers while this many flows are known here.
    pub const fn limit_flows(&mut self, most: u32) {
        self.ownership.limit(most);
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
        self.ownership.flows().len()
    }

    /// Whether flow lookup also searches entries: some entry has a key that its flow's record
    /// lacks.
    pub const fn looks_among_entries(&self) -> bool {
        self.ownership.flows().looks_among_entries()
    }

    /// Sends the changes of durable entries to the host, which keeps replicas, and the ended
    /// entries of recorded states.
    #[inline]
    pub fn tell_changes(&mut self, out: &mut impl PeerOutbox) {
        durability::report_changes(self.engine.app(), self.ownership.flows(), out);
    }

    /// Gives the state of the half to `say`, for an explorer of all schedules. `frame` has room for
    /// the largest frame.
    pub fn digest(&mut self, frame: &mut [u8; MAX_FRAME], say: &mut Say<'_>) {
        self.ownership.hash(self.engine.app(), &self.hold, say);
        let waits = self.hold.host_waits_until().saturating_sub(self.hold.left());
        say_words(say, &[waits, self.now, self.told]);
        self.cascade.hash(say);
        hooks::hash(self.engine.app(), say);
        self.turns.hash(say);
        self.dealing.hash(say);
        self.hold.each(frame, &mut |stamp, frame| {
            say_words(say, &[stamp.number]);
            say(frame);
        });
    }
}

/// Packets from the wire.
impl<A: App> NicHalf<A> {
    /// Handles packets from the wire, in order.
    #[inline(never)]
    pub fn burst(&mut self, burst: &mut Burst<'_>, io: &mut (impl PeerOutbox + Wire)) {
        let parsed = burst.parse_at_nic::<A>();
        match A::PLAN.sides {
            Sides::HostOnly => {}
            Sides::NicOnly => {
                prefetch_burst::<A, NicRecord>(burst, &mut self.engine, None);
                self.count_burst(burst);
            }
            Sides::Dealt => prefetch_burst::<A, NicRecord>(burst, &mut self.engine, None),
            Sides::Split => prefetch_at_nic(burst, &mut self.engine, self.ownership.flows_mut()),
        }
        self.watch.burst(burst.len(), |at| burst.group(at, parsed));
        if const { A::MESSAGES } {
            self.burst_begins(io);
        }
        for (number, arrival) in burst.numbered_mut() {
            let stamp = &arrival.stamp();
            self.time_comes(stamp, io);
            self.arrives(stamp, &mut arrival.packet, number, io);
        }
        if const { A::MESSAGES } {
            self.round(io);
        }
        io.runs(None);
        // Nothing reads the time amid a burst, so the last packet's is enough.
        if let Some(last) = burst.arrivals().last() {
            self.now = self.now.max(last.stamp().meta.now);
        }
        self.tell_changes(io);
        if const { Self::TELLS_ENDS } {
            self.tick(io);
        }
    }

    #[inline]
    fn one(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        match A::PLAN.sides {
            Sides::HostOnly => self.pass_on(stamp, packet.frame(), io),
            Sides::Dealt => self.dealt_packet(stamp, packet, ahead, io),
            Sides::NicOnly if A::MESSAGES && self.has_to_wait_alone(packet) => {}
            Sides::NicOnly => self.run_alone(stamp, packet, ahead, io),
            Sides::Split => self.split_packet(stamp, packet, ahead, io),
        }
    }

    /// Runs a packet where all flows are.
    #[inline(always)]
    fn run_alone(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        let now = stamp.meta.now;
        let horizon = if A::MESSAGES { self.waits_since(now) } else { now };
        let visit = Visit { now, horizon, undo: false, flow: NO_FLOW, ahead };
        io.runs(Some(stamp.number));
        let ran = self.engine.run::<NicReach<A>>(packet, visit);
        self.finish(ran, stamp, packet.frame(), io);
    }

    fn split_packet(
        &mut self,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) {
        // Held packets are older than incoming ones.
        let (now, left) = (stamp.meta.now, self.hold.left());
        let horizon = self.waits_since(now);
        let stamp = &Stamp { horizon, ..*stamp };
        let must_wait = self.must_wait_for_merge(now, self.hold.is_empty(), io);
        self.ownership.flows_mut().begin(now, horizon, ahead);
        let app = self.engine.app();
        match self.ownership.dispatch_ahead(app, now, left, packet, ahead) {
            Dispatch::Run(it) if !must_wait && !self.ownership.must_queue(it.flow, &self.hold) => {
                let (flow, length) = (it.flow, packet.len());
                if A::MESSAGES && it.is_sure && self.has_to_wait(flow) {
                    return;
                }
                self.ownership.passes(flow, &self.hold);
                if self.run(it, stamp, packet, ahead, io) {
                    return;
                }
                // The original punts.
                let frame = packet.frame_of(length);
                copy_words(self.original, frame);
                if A::PLAN.host_ordered && (!self.hold.is_empty() || self.ownership.is_late(now)) {
                    self.queue(Some(flow), stamp, frame, io);
                } else {
                    self.punt(flow, stamp, frame, io);
                }
            }
            Dispatch::Run(Match { flow, .. }) if A::MESSAGES && self.waits_in_mailbox(flow) => {}
            Dispatch::Run(Match { flow, .. }) | Dispatch::Wait(flow) => {
                self.queue(Some(flow), stamp, packet.frame(), io);
            }
            Dispatch::Host
                if A::MESSAGES && A::is_anywhere(packet) && self.has_to_wait(NO_PLACE) => {}
            Dispatch::Host if must_wait => self.queue(None, stamp, packet.frame(), io),
            Dispatch::Host => {
                let here = self.runs_here(stamp, packet, io);
                self.goes_to_host(here, stamp, packet.frame(), io);
            }
        }
    }

    /// The flow goes to the host with this packet, and what waits for it behind.
    #[inline(always)]
    fn punt(&mut self, flow: u32, stamp: &Stamp, frame: &[u8], io: &mut (impl PeerOutbox + Wire)) {
        if const { A::MESSAGES } {
            self.move_mail(Some(flow), io);
        }
        self.release(flow, stamp, frame, io);
        self.go_on(io);
    }

    #[inline(never)]
    fn queue(&mut self, flow: Option<u32>, stamp: &Stamp, frame: &[u8], io: &mut impl PeerOutbox) {
        // The wire waits while a burst may find no room; messages come without asking.
        if A::MESSAGES && !self.hold.has_room(HoldQueue::bytes_for(1, frame.len())) {
            return refuse(&mut self.engine);
        }
        self.message_waits(stamp, io);
        self.hold.push(stamp, frame);
        self.report.held += 1;
        self.ownership.queued(flow, &mut self.hold);
    }

    /// Runs held packets if a flow arrived, unless other entries go straight back.
    #[inline(never)]
    fn go_on(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        if !self.ownership.is_returning() && self.hold.moves_on() {
            self.drain(io);
        }
        self.turn_next(io);
    }

    /// Runs held packets, until one is of a flow in transit. Those of buckets wait for these alone.
    #[inline(never)]
    fn drain(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        if Self::IS_DEALT {
            return;
        }
        let buffer = core::mem::take(&mut self.held);
        let bytes = zerocopy::IntoBytes::as_mut_bytes(buffer);
        while let Some((stamp, length)) = self.hold.peek(bytes) {
            let now = stamp.meta.now;
            let horizon = if A::MESSAGES { self.waits_since(now) } else { stamp.horizon };
            let stamp = Stamp { horizon, ..stamp };
            if self.ownership.is_late(now) || self.must_wait_for_merge(now, true, io) {
                break;
            }
            self.ownership.flows_mut().begin(now, stamp.horizon, ALONE);
            let mut packet = Packet::in_room(Roomy::new(bytes, length), stamp.meta);
            let (app, left) = (self.engine.app(), self.hold.left());
            match self.ownership.dispatch(app, now, left, &packet) {
                Dispatch::Wait(_) => break,
                Dispatch::Run(found) if !self.ownership.was_passed_by(found.flow, &self.hold) => {
                    self.hold.pop();
                    if self.run(found, &stamp, &mut packet, ALONE, io) {
                        self.ownership.ran_held(found.flow, &self.hold);
                    } else {
                        copy_words(self.original, packet.frame_of(length));
                        self.release(found.flow, &stamp, packet.frame(), io);
                    }
                    self.cascade(io);
                    self.message_went_on(&stamp, io);
                    // The queue may be long, and the wire's ring may be published amid it.
                    self.tell_changes(io);
                }
                Dispatch::Run(_) | Dispatch::Host => {
                    self.hold.pop();
                    self.pass_on(&stamp, packet.frame(), io);
                    self.message_went_on(&stamp, io);
                }
            }
        }
        io.runs(None);
        self.held = buffer;
    }

    /// Runs a packet of a flow that is owned here. `false`: it punts, and its original is saved.
    fn run(
        &mut self,
        Match { flow, is_sure }: Match,
        stamp: &Stamp,
        packet: &mut Packet<'_>,
        ahead: u8,
        io: &mut (impl PeerOutbox + Wire),
    ) -> bool {
        keep_words(self.original, packet.frame());
        if !is_sure {
            self.report.punts += 1;
            return false;
        }
        io.runs(Some(stamp.number));
        let visit = Visit { now: stamp.meta.now, horizon: stamp.horizon, undo: true, flow, ahead };
        let ran = self.engine.run::<NicReach<A>>(packet, visit);
        if matches!(ran, Ran::Punted) {
            self.report.punts += 1;
            return false;
        }
        self.count_packet(stamp);
        self.ownership.settle(flow, self.engine.app(), &mut self.hold);
        if const { Engine::<A>::TELLS_EACH } {
            self.tell_changes(io);
        }
        self.finish(ran, stamp, packet.frame(), io);
        if A::MESSAGES && !self.ownership.knows(flow) {
            self.leaves_amid(io);
        }
        true
    }
}
