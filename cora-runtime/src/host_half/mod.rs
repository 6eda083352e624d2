//! The host's half of the protocol: it handles packets that the NIC passes on, and offers flows to
//! the NIC.

mod cascade;
mod classes;
mod dealt;
mod delayed;
mod failover;
mod load;
mod merged;
mod questions;
mod tapped;
mod timed;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_core::state::table::Ending;
use cora_core::state::{EveryState, Memory, OutOfMemory, Visit};

use crate::cascade::{Cascade, UnderWay};
use crate::channel::{PeerOutbox, ProtocolError};
use crate::dealing::Dealing;
use crate::durability::{Reclaimed, ReplicaStore, Replication};
use crate::exec::burst::{Arrival, Burst};
use crate::exec::engine::Engine;
use crate::exec::prefetch::prefetch_burst;
use crate::hooks;
use crate::host_half::dealt::Held;
use crate::link::message::{Frames, Message, Ownership, Report, Stamp, Telemetry};
use crate::merges::Turns;
use crate::ownership::Order;
use crate::ownership::host::{Clock, Found, HostOwnership, HostRecord, HostSide};
use crate::state_hash::{Say, say_words};
use crate::tap::Tap;
use crate::telemetry::Watch;

/// The outbox of the host's half, which also has its egress and its replica store.
pub trait HostOutbox: PeerOutbox {
    /// Sends a handled packet that leaves at `egress`.
    #[inline]
    fn leave(&mut self, stamp: &Stamp, egress: Port, frame: &[u8]) {
        self.send(&Frames::Send { stamp: Stamp { egress, ..*stamp }, frame }.into());
    }

    /// An entry of the recorded state with this number ended, here or at the NIC.
    #[inline]
    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        let _ = (state, ending);
    }

    /// The store for replicas of durable entries, if there is one. Whatever is sent after a replica
    /// was kept is published after that.
    fn replicas(&mut self) -> Option<&mut dyn ReplicaStore> {
        None
    }
}

/// The host's half.
#[derive(Debug)]
pub struct HostHalf<A: App> {
    engine: Engine<A>,
    ownership: HostOwnership<A>,
    replication: Replication<A>,
    /// The messages that wait, and those that went to the NIC.
    cascade: Cascade,
    under_way: UnderWay,
    /// When the NIC will tell the time, for a message that is due then.
    asked_for: u64,
    watch: Watch<A::Group>,
    clock: Clock,
    /// The latest packet, for a program with hooks or timers.
    last: Stamp,
    /// The epochs of states that are read as of a merge.
    turns: Turns,
    /// Packets come straight from the wire.
    receives: bool,
    /// No NIC half beside it has a state.
    has_all: bool,
    /// The buckets that are its own then, and packets of buckets that come.
    dealing: Dealing,
    held: Held,
    tap: Tap,
    /// The counters of this side.
    pub report: Report,
}

/// The parts of the half that a change of owner touches.
macro_rules! side {
    ($half:ident) => {
        &mut HostSide { app: $half.engine.app(), report: &mut $half.report, clock: $half.clock }
    };
}

/// The half as a whole: its memory, and its state.
impl<A: App> HostHalf<A> {
    /// Bytes of [`Memory`] in addition to those of the program's states.
    pub fn bytes(app: &mut A) -> usize {
        let messages = Cascade::bytes::<A>(0) + UnderWay::bytes::<A>();
        let own = Engine::<A>::BYTES + Tap::BYTES + HostOwnership::bytes(app);
        own + Held::bytes::<A>() + messages
    }

    /// A half that owns every flow. Without a NIC (`nic` is `false`) it handles all packets itself.
    pub fn create(mut app: A, memory: &mut Memory, nic: bool) -> Result<Self, OutOfMemory> {
        let room = Engine::<A>::room(memory)?;
        Ok(Self {
            ownership: HostOwnership::create(memory, &mut app, nic)?,
            engine: Engine::new(app, room),
            replication: Replication::new(),
            cascade: Cascade::create::<A>(memory, 0)?,
            under_way: UnderWay::create::<A>(memory)?,
            asked_for: u64::MAX,
            watch: Watch::new(),
            clock: Clock::default(),
            last: Stamp::BEFORE,
            turns: Turns::BEFORE,
            receives: false,
            has_all: !nic,
            dealing: Dealing::all(),
            held: Held::create::<A>(memory)?,
            tap: Tap::create(memory, false)?,
            report: Report::default(),
        })
    }

    /// The program's states and outcomes.
    pub const fn engine(&mut self) -> &mut Engine<A> {
        &mut self.engine
    }

    /// Flows owned here; under a plan that moves none, none is counted.
    pub const fn flows(&self) -> u32 {
        self.ownership.flows().len()
    }

    /// The time of the latest packet.
    pub const fn now(&self) -> u64 {
        self.clock.now
    }

    /// Whether no offer is pending and no flow is in transit.
    pub const fn is_drained(&self) -> bool {
        self.ownership.is_settled()
            && self.dealing.is_settled()
            && self.under_way.is_empty()
            && !self.has_mail()
    }

    /// Whether [`Self::hand_over`] has work.
    pub const fn is_handing_over(&self) -> bool {
        self.ownership.is_handing_over() || self.dealing.is_giving()
    }

    /// Whether flows are offered to this NIC half from now on. Those that are here stay.
    pub const fn offer_flows(&mut self, whether: bool) {
        self.ownership.nic_takes(whether);
    }

    /// Stops offering flows.
    pub const fn close(&mut self) {
        self.ownership.close();
        self.cascade.classes.close();
    }

    /// Number of offers that can be made now.
    pub const fn offers_left(&self) -> usize {
        self.ownership.offers_left()
    }

    /// Flows handed to the NIC that did not come back, including those that ended there.
    pub const fn at_nic(&self) -> u32 {
        self.ownership.at_nic()
    }

    /// Sets the number of the NIC's flows, as the NIC reported it.
    pub const fn count_at_nic(&mut self, flows: u32) {
        self.ownership.count_at_nic(flows);
    }

    /// State kept here after another process ended.
    pub const fn reclaimed(&self) -> Reclaimed {
        self.replication.reclaimed()
    }

    /// Changes of durable entries that were not replicated: no room, or the host owns the entry.
    pub const fn uncopied(&self) -> u64 {
        self.replication.uncopied()
    }

    /// Follows an order, as far as possible now.
    pub fn follow(&mut self, order: &Order<A::Group>, out: &mut impl PeerOutbox) {
        let _ = self.ownership.follow(order, side!(self), out);
    }

    /// Gives the state of the half to `say`, for an explorer of all schedules.
    pub fn digest(&mut self, say: &mut Say<'_>) {
        self.ownership.hash(self.engine.app(), say);
        say_words(say, &[self.clock.now, self.clock.horizon]);
        hooks::hash(self.engine.app(), say);
        self.turns.hash(say);
        self.dealing.hash(say);
        say_words(say, &self.under_way.words());
        self.cascade.hash(say);
    }
}

/// Packets from the NIC.
impl<A: App> HostHalf<A> {
    /// Runs packets in order. Packets of an incoming flow come behind its last entry.
    // Neither this nor the loop that fills the burst is inlined: each has the registers it needs.
    #[inline(never)]
    pub fn burst(
        &mut self,
        burst: &mut Burst<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        let knows_flows = self.ownership.knows_flows();
        let parsed = burst.parse_at_host::<A>(knows_flows);
        self.watch.burst(burst.len(), |at| burst.group(at, parsed));
        if knows_flows {
            prefetch_burst(burst, &mut self.engine, Some(self.ownership.flows_mut()));
            self.run_all::<true>(burst, out);
        } else {
            prefetch_burst::<A, HostRecord>(burst, &mut self.engine, None);
            self.run_all::<false>(burst, out);
        }
        out.runs(None);
        self.tell_changes(out);
        Ok(())
    }

    /// Runs the packets; `FLOWS` says whether they are looked up in flows.
    // Not inlined: the compiler then knows that the handlers' writes do not alias the packets.
    #[inline(never)]
    fn run_all<const FLOWS: bool>(&mut self, burst: &mut Burst<'_>, out: &mut impl HostOutbox) {
        // A packet that comes alone is shown at once, since somebody waits for it. Durable programs
        // don't do so: they replicate its changes behind it.
        let alone = FLOWS && !A::DURABLE && A::KEPT.is_empty() && burst.len() == 1;
        let parsed = A::READS_PACKETS || FLOWS;
        for (number, arrival) in burst.numbered_mut() {
            // Tested once here, so that field accesses in the handlers need no test.
            if !parsed || arrival.packet.takes_fast_path() {
                self.comes_in::<FLOWS>(arrival, number, alone, out);
            } else {
                self.comes_in_slowly::<FLOWS>(arrival, number, alone, out);
            }
            self.cascade::<FLOWS>(out);
        }
        if self.has_mail() {
            self.run_round::<FLOWS>(out);
        }
        if !FLOWS && let Some(last) = burst.arrivals().last() {
            self.reach(&last.stamp());
        }
        self.handle_due::<FLOWS>(self.clock.now, out);
        self.ask_for_time(out);
        if !Self::IS_DEALT {
            self.count_packets(burst);
        }
    }

    /// Runs a packet that is off the fast path.
    #[cold]
    #[inline(never)]
    fn comes_in_slowly<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        number: u8,
        alone: bool,
        out: &mut impl HostOutbox,
    ) {
        self.comes_in::<FLOWS>(arrival, number, alone, out);
    }

    /// Advances the time and the low watermark to this packet's.
    #[inline(always)]
    fn reach(&mut self, stamp: &Stamp) {
        self.clock.now = self.clock.now.max(stamp.meta.now);
        self.clock.horizon = self.clock.horizon.max(stamp.horizon);
    }

    #[inline(always)]
    fn run<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        ahead: u8,
        alone: bool,
        out: &mut impl HostOutbox,
    ) {
        let stamp = &arrival.stamp();
        let packet = &mut arrival.packet;
        let clock = Clock { now: stamp.meta.now, horizon: self.waits_since(stamp.horizon) };
        let found = FLOWS.then(|| self.ownership.find(self.engine.app(), packet, clock, ahead));
        let no_flow = || Dealing::flow::<A>(stamp.meta.mark.bucket);
        let flow = found.as_ref().map_or_else(no_flow, Found::for_entries);
        let (now, horizon) = (clock.now, self.dealing.horizon::<A>(clock.horizon));
        let visit = Visit { now, horizon, undo: false, flow, ahead };
        out.runs(Some(stamp.number));
        let ran = self.engine.run::<EveryState>(packet, visit);
        // The flow is recorded before its packet leaves: afterwards, copying its key would wait
        // until the ring has the packet.
        let added =
            found.as_ref().and_then(|found| self.ownership.settle_new(self.engine.app(), found));
        let Self { cascade, engine, report, .. } = self;
        cascade.send(engine, stamp, report, |stamp, frame| out.leave(stamp, stamp.egress, frame));
        if let Some(egress) = ran.egress(stamp) {
            out.leave(stamp, egress, packet.frame());
            if alone {
                out.show();
            }
        } else if const { A::HEADS } && stamp.parked.is_some() {
            out.send(&Frames::Ended { parked: stamp.parked }.into());
        }
        let settled = found.and_then(|found| self.ownership.settle(self.engine.app(), &found));
        if let Some(flow) = settled.or(added)
            && !(A::MESSAGES && self.is_pushed(packet))
        {
            self.ownership.consider_offer(self.engine.app(), flow, self.clock.now, out);
        }
    }
}

/// Messages from the NIC.
impl<A: App> HostHalf<A> {
    /// Handles a message from the NIC that is no packet. Messages that end a run are the caller's.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        match *message {
            Message::Ownership(message) => self.ownership_message(message, out),
            Message::Frames(Frames::Handled { messages }) => self.are_handled(messages),
            Message::Frames(Frames::Holds { messages }) if const { A::MESSAGES } => {
                self.under_way.wait_at_nic(messages > 0);
                Ok(())
            }
            Message::Telemetry(Telemetry::Pushed { classes }) if const { A::MESSAGES } => {
                self.cascade.classes.pushed_to = classes;
                Ok(())
            }
            Message::Durability(message) if const { A::DURABLE } => {
                let Self { replication, ownership, .. } = self;
                replication.message(message, ownership, side!(self), out.replicas())?;
                self.end_of_release(out);
                Ok(())
            }
            Message::Hooks(message) if const { A::TIMED } => self.hooks_message(message, out),
            Message::Merges(message) if A::TELLS_EPOCHS => self.merges_message(message, out),
            Message::Deals(message) if Self::IS_DEALT => self.deal(message, out),
            Message::Records(message) if const { !A::RECORDED.is_empty() } => {
                let (state, ending) = message.ending();
                out.ended(state, ending);
                Ok(())
            }
            _ => Err(ProtocolError::unexpected(message)),
        }
    }

    fn ownership_message(
        &mut self,
        message: Ownership<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        match message {
            Ownership::Release { punts, entries, group } => {
                self.release(punts, entries, group, out)
            }
            Ownership::Entry { state, piece } => {
                self.ownership.entry(state, piece, side!(self))?;
                self.entry_came(state, piece, out);
                self.end_of_release(out);
                Ok(())
            }
            Ownership::Vanished {} => {
                self.ownership.vanished()?;
                self.end_of_release(out);
                Ok(())
            }
            Ownership::Fence { ticket } => self.fence(ticket, out),
            Ownership::Decline { ticket } => self.ownership.declined(ticket, side!(self)),
            Ownership::Owned { group } if const { A::DURABLE } => {
                if let Some(store) = out.replicas() {
                    Replication::<A>::is_owned(group, store);
                }
                self.count_at_nic(self.at_nic().saturating_add(1));
                Ok(())
            }
            Ownership::AllOwned { .. } if const { A::DURABLE } => {
                if let Some(store) = out.replicas() {
                    let Self { replication, ownership, engine, clock, .. } = self;
                    replication.all_owned(ownership, engine.app(), *clock, store);
                }
                Ok(())
            }
            _ => Err(ProtocolError::unexpected(&message.into())),
        }
    }

    /// A flow begins to come back.
    fn release(
        &mut self,
        punts: u32,
        entries: u32,
        group: &[u8],
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        let group = self.ownership.announced_release(group, self.engine.app())?;
        // The NIC may refuse a flow amid its handover. Then the remaining entries are sent, and
        // come back behind the others.
        if self.ownership.is_leaving(&group) {
            self.hand_over(u32::MAX, out)?;
        }
        self.ownership.release((group, punts), entries, side!(self));
        self.end_of_release(out);
        Ok(())
    }

    /// After the last entry, replicas of the flow that the NIC still holds are stale: those entries
    /// had expired.
    fn end_of_release(&mut self, out: &mut impl HostOutbox) {
        let Some(group) = self.ownership.end_of_release(self.clock.now) else { return };
        if const { A::DURABLE } {
            self.tell_changes(out);
            if let Some(store) = out.replicas() {
                Replication::<A>::came_back(&group, store);
            }
        }
    }

    /// Handles a fence: hands the flow over, unless it changed or another one goes.
    fn fence(&mut self, ticket: u32, out: &mut impl HostOutbox) -> Result<(), ProtocolError> {
        let waits = A::MESSAGES && self.waits_for(ticket);
        let Some(flow) = self.ownership.fence(ticket, waits, self.engine.app(), out)? else {
            return Ok(());
        };
        if const { A::DURABLE } {
            if const { !A::HOOKED.is_empty() } {
                hooks::end_of_flow(self.engine.app(), flow, self.clock.horizon);
            }
            self.tell_changes(out);
            let (app, now) = (self.engine.app(), self.clock.horizon);
            if let Some(group) = self.ownership.flows().group(flow) {
                Replication::assign_to_nic(&group, flow, app, now, out.replicas());
            }
        }
        self.ownership.transfer(ticket, flow, side!(self), out);
        Ok(())
    }

    /// Sends the next entries of the leaving flow, at most `most`. The run loop calls it whenever
    /// the ring to the NIC has room.
    pub fn hand_over(&mut self, most: u32, out: &mut impl HostOutbox) -> Result<(), ProtocolError> {
        if Self::IS_DEALT {
            self.give(out);
            return Ok(());
        }
        self.ownership.send_entries(most, side!(self), out);
        while let Some(ticket) = self.ownership.next_fenced() {
            self.fence(ticket, out)?;
        }
        Ok(())
    }

    /// Replicates the changes made here, if anything is durable, and reports ended entries, if
    /// anything is recorded.
    #[inline]
    pub fn tell_changes(&mut self, out: &mut impl HostOutbox) {
        if const { !A::RECORDED.is_empty() } {
            self.engine.app().ended(&mut |state, ending| out.ended(state, ending));
        }
        if const { A::DURABLE || !A::KEPT.is_empty() }
            && let Some(store) = out.replicas()
        {
            self.replication.replicate(&self.ownership, self.engine.app(), store);
        }
    }
}
