//! The run loop of a NIC core.
//!
//! One [step](NicLoop::step) handles messages from the host, sends entries of a flow that leaves,
//! handles a burst from the wire, and publishes the output.

use core::marker::PhantomData;

use cora_core::app::{App, Sides};
use cora_core::state;

use crate::channel::ProtocolError;
use crate::exec::Burst;
use crate::exec::burst::{BURST_BYTES, BurstBuffer};
use crate::link::message::{Control, Kind, Load, Message, Name, Report, Telemetry};
use crate::nic_half::{Event, NicHalf};
use crate::node::ends::{Clock, Egress, Ends, Filled, Ingress};
use crate::node::{Inbox, NodeError};
use crate::ownership::EntryPace;

/// Messages taken from the host between two looks at the wire.
const BACK_BURST: usize = 64;

/// The loop of a program's NIC half, between two of its steps.
#[derive(Debug)]
pub struct NicLoop<A> {
    /// The host said that the wire may be read.
    begun: bool,
    /// The wire carries nothing more: the time of its last packet.
    wire_ended: Option<u64>,
    /// The host heard that this side has nothing in flight any more.
    said_drained: bool,
    /// The host has nothing in flight any more.
    host_drained: bool,
    /// A change of read-mostly states begins or ended on the wire: later frames wait until no
    /// packet waits here, so that each packet is judged by the version that was in force when it
    /// came.
    settles: bool,
    pace: EntryPace,
    /// Interval of load reports, and the time of the next one (ns).
    watch: [u64; 2],
    program: PhantomData<A>,
}

impl<A: App> Default for NicLoop<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: App> NicLoop<A> {
    /// Reads the wire once the host says so.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            begun: false,
            wire_ended: None,
            said_drained: false,
            host_drained: false,
            settles: false,
            pace: EntryPace::NEW,
            watch: [u64::MAX; 2],
            program: PhantomData,
        }
    }

    /// The loop for another host. The wire goes on.
    #[must_use]
    pub const fn with_another_host(&self) -> Self {
        Self { begun: self.begun, ..Self::new() }
    }

    /// Reports the load at this interval (ns) from now on, the first time at once.
    pub const fn report_every(&mut self, interval: u64) {
        self.watch = [interval, 0];
    }

    /// Whether both sides have nothing in flight any more.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.said_drained && self.host_drained
    }

    /// Whether packets may be taken from the wire.
    ///
    /// Asked for every burst in two places: a copy of it in each would be too much code for that.
    #[inline(never)]
    pub fn wire_is_open(&self, half: &NicHalf<A>, out: &mut impl Egress) -> bool {
        let settled = const { !A::READ_MOSTLY } || !self.settles || half.holds_none();
        let open = self.begun && self.wire_ended.is_none() && half.takes_packets() && settled;
        open && Self::wire_has_room(out)
    }

    /// Whether the egress ring can hold a burst's output. Durable programs publish changes before
    /// output.
    fn wire_has_room(out: &mut impl Egress) -> bool {
        // Frames take no more than twice their bytes, with what stands before them and where the
        // ring begins anew.
        !A::DURABLE || out.wire_has(2 * BURST_BYTES)
    }

    /// One round over the ends. Returns whether there was anything. `buffer` has
    /// [`BURST_BYTES`].
    ///
    /// # Errors
    /// If a ring is broken, or the host broke the protocol. The loop can't go on then.
    pub fn step<I: Ingress, B: Inbox, O: Egress>(
        &mut self,
        half: &mut NicHalf<A>,
        ends: Ends<'_, I, B, O>,
        buffer: &mut [u8],
        clock: &impl Clock,
    ) -> Result<bool, NodeError> {
        let Ends { wire, back, out } = ends;
        let wire_open = self.wire_is_open(half, out);
        let anything =
            half.is_handing_over() || !back.is_empty()? || (wire_open && !wire.is_empty()?);
        let anything = anything || half.has_mail();
        if anything {
            let start = clock.now_ns();
            self.read_back(half, back, out, buffer)?;
            self.hand_over(half, out);
            let full = wire_open && self.read_wire(half, wire, out, buffer)?;
            if A::MESSAGES && !wire_open {
                half.round(out);
            }
            self.pace.read(full);
            Self::tell_took(half, out);
            out.publish();
            let end = clock.now_ns();
            half.report.busy_ns += end.saturating_sub(start);
            let [_, next] = self.watch;
            if end >= next {
                self.tell_load(half, wire, out, end);
            }
        } else {
            out.rest();
        }
        if let Some(wave) = half.quiet_wave() {
            out.send(&Control::Quiet { wave }.into());
            out.publish();
        }
        if self.wire_ended.is_some() && !self.said_drained && half.is_drained() {
            self.said_drained = true;
            half.close();
            half.end_hooks(self.now(half), out);
            out.send(&Control::Drained { now: self.now(half) }.into());
            out.publish();
        }
        if out.is_broken() { Err(NodeError::Broken) } else { Ok(anything) }
    }

    #[inline]
    fn hand_over(&self, half: &mut NicHalf<A>, out: &mut impl Egress) {
        if half.is_handing_over() {
            let most = out.room_for_entries(self.pace.entries());
            if most > 0 {
                half.hand_over(most, out);
            }
        }
    }

    #[inline(never)]
    fn tell_load(
        &mut self,
        half: &mut NicHalf<A>,
        wire: &impl Ingress,
        out: &mut impl Egress,
        time: u64,
    ) {
        let [every, next] = &mut self.watch;
        *next = time.saturating_add(*every);
        let (wire_ring, peer_ring) = (wire.waiting(), out.waiting());
        half.tell(&Load { time, wire_ring, peer_ring, ..Load::default() }, out);
        out.publish();
    }

    #[inline(always)]
    fn tell_took(half: &mut NicHalf<A>, out: &mut impl Egress) {
        if const { A::MESSAGES } {
            out.took(half.engine().took());
        }
    }

    /// The end of the run's time, when that is known; until then, the time of the latest packet
    /// here.
    fn now(&self, half: &NicHalf<A>) -> u64 {
        half.now().max(self.wire_ended.unwrap_or(0))
    }

    /// Handles the next messages from the host. Returns whether there was any. Apart from the way
    /// of packets, which it would crowd.
    #[inline(never)]
    fn read_back<O: Egress>(
        &mut self,
        half: &mut NicHalf<A>,
        back: &mut impl Inbox,
        out: &mut O,
        buffer: &mut [u8],
    ) -> Result<bool, NodeError> {
        let mut any = false;
        let host_ended = out.host_ended();
        let mut entries = self.pace.entries();
        for _ in 0..BACK_BURST {
            let Some(popped) = back.pop(buffer)? else { break };
            any = true;
            // Orders for flows are void then; handled packets still leave.
            if host_ended && popped.kind != Kind::Send {
                continue;
            }
            // A NIC that has read the wire has a version, no older than that of a host which was
            // started anew.
            if const { A::READ_MOSTLY } && popped.kind == Kind::Piece && self.begun {
                continue;
            }
            // Where the wire's ring may be published amid this, nothing of it is to be read a
            // second time.
            if A::DURABLE && (popped.kind != Kind::Send || !Self::wire_has_room(out)) {
                back.release();
            }
            let bytes = buffer.get(..popped.len).unwrap_or_default();
            if let Some((stamp, frame)) = Message::decode_sent(popped.kind, bytes) {
                half.sent(&stamp, frame, out)?;
                continue;
            }
            let undecodable = ProtocolError::undecodable(popped.kind);
            let message = Self::decode(popped.kind, bytes).ok_or(undecodable)?;
            match half.message(&message, out)? {
                Event::None => {}
                Event::Begin => self.begun = true,
                Event::Drained => self.host_drained = true,
                Event::Watch(every) => self.report_every(every),
            }
            entries -= u32::from(popped.kind == Kind::Entry);
            if entries == 0 {
                break;
            }
        }
        back.release();
        if let Some(payloads) = out.payloads() {
            payloads.recycle();
        }
        Ok(any)
    }

    #[inline(always)]
    fn decode(kind: u16, bytes: &[u8]) -> Option<Message<'_>> {
        let of_messages =
            if const { A::MESSAGES } { Message::decode_of_messages(kind, bytes) } else { None };
        of_messages.or_else(|| Message::decode_at_nic(kind, bytes))
    }

    /// Handles a burst from the wire. Returns whether it was a full one.
    fn read_wire<O: Egress>(
        &mut self,
        half: &mut NicHalf<A>,
        wire: &mut impl Ingress,
        out: &mut O,
        buffer: &mut [u8],
    ) -> Result<bool, NodeError> {
        // The host's last messages may have filled the hold queue.
        if !half.takes_packets() {
            return Ok(false);
        }
        let mut frames = BurstBuffer::new(buffer);
        let mut burst = Burst::new();
        self.settles = false;
        let filled = wire.fill(&mut frames, &mut burst)?;
        // They are copies: among the unread frames of a killed NIC there is none that it had begun.
        wire.release();
        let full = burst.is_full();
        half.take(&mut burst, out);
        match filled {
            Filled::Burst => {}
            Filled::Silence(now) => half.silence(now, out),
            Filled::Epoch(ends) => half.epoch_begins(ends, out),
            Filled::End(now) => self.wire_ended = Some(now),
            Filled::Deal(kind, bytes) => half.deal(kind, bytes.frame(), out)?,
            Filled::Change(kind, bytes) => self.change(half, kind, bytes.frame(), out)?,
        }
        Ok(full)
    }

    /// Part of a change of read-mostly states: it stands between two frames, and the host gets it
    /// between the same two. The last piece of a state puts its new version in force; no packet
    /// runs between the marks.
    #[cold]
    #[inline(never)]
    fn change(
        &mut self,
        half: &mut NicHalf<A>,
        kind: u16,
        bytes: &[u8],
        out: &mut impl Egress,
    ) -> Result<(), NodeError> {
        let undecodable = ProtocolError::undecodable(kind);
        let message = Message::decode_at_nic(kind, bytes).filter(|_| A::READ_MOSTLY);
        let message = message.ok_or(undecodable)?;
        match message {
            Message::Control(Control::Change { .. }) => self.settles = true,
            Message::Control(Control::Changed { .. }) => {
                self.settles = true;
                half.settle_hooks(out);
            }
            Message::Control(Control::Piece { state, piece }) => half.version(state, piece)?,
            _ => return Err(undecodable.into()),
        }
        out.send(&message);
        Ok(())
    }

    /// To a host that is new, or new to this side: tells it what is owned here. With `afresh` every
    /// flow ends ([`NicHalf::host_lost`]).
    #[cold]
    #[inline(never)]
    pub fn greet(half: &mut NicHalf<A>, out: &mut impl Egress, afresh: bool) {
        half.host_lost(out, afresh);
        Self::tell_took(half, out);
        out.publish();
    }

    /// The host ended: its last messages are the last ones of these ends.
    ///
    /// # Errors
    /// If the ring is broken, or the host broke the protocol.
    pub fn take_leave(
        &mut self,
        half: &mut NicHalf<A>,
        back: &mut impl Inbox,
        out: &mut impl Egress,
        buffer: &mut [u8],
    ) -> Result<(), NodeError> {
        while self.read_back(half, back, out, buffer)? {}
        Self::tell_took(half, out);
        out.publish();
        Ok(())
    }

    /// Sends states, outcomes and counters at the end of the run, for the host to merge.
    #[cold]
    #[inline(never)]
    pub fn tell_all<O: Egress>(&self, half: &mut NicHalf<A>, out: &mut O) {
        if const { !A::RECORDED.is_empty() } {
            half.tell_changes(out);
        }
        let now = self.now(half);
        let mut flows = 0;
        for (number, (_, place)) in A::PLACES.iter().enumerate() {
            let home = half.engine().app().state(number);
            if matches!(home.kind(), state::Kind::Keyed) && A::PLAN.sides.nic_runs_alone() {
                flows = flows.max(home.entries(now));
            }
            if !place.is_of_host() && A::PLAN.sides != Sides::HostOnly {
                home.export(now, &mut |piece| {
                    out.send(&Control::Piece { state: number as u16, piece }.into());
                });
            }
        }
        half.end_messages();
        half.engine().outcomes.each(&mut |name, count| {
            out.send(&Telemetry::Outcome { count, name: Name(name.as_bytes()) }.into());
        });
        let counts = half.counts();
        let away = out.host_away();
        if away > 0 {
            out.send(&Telemetry::Outcome { count: away, name: Name(b"host-away") }.into());
        }
        let report = Report { flows: flows.max(counts.flows), ..counts };
        out.send(&Telemetry::Report { report }.into());
        out.publish();
    }
}
