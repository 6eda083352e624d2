//! This side's ends of the rings.

use core::sync::atomic::AtomicU64;
use core::time::Duration;

use cora_runtime::channel::{Mark, PeerOutbox, Sent};
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Control, Deals, Kind, Message, Stamp};
use cora_runtime::link::payload::{Parking, PayloadBuffers};
use cora_runtime::link::region::{self, Idle, Region, generation};
use cora_runtime::link::ring::{Consumer, Producer, PushError, RingError, SharedMemory};
use cora_runtime::node::{Egress, Ends};

use crate::sys::{self, SharedFutex};

/// How each side is woken: by the kernel, if both run under one. On a card neither can wake the
/// other, and each [looks](SharedFutex) again and again.
type Bell = region::Bell<SharedFutex>;

/// The longest sleep between two turns, so that heartbeats go on.
const BETWEEN_TURNS: Duration = Duration::from_millis(400);

/// Where messages and packets leave.
pub(crate) struct Outgoing {
    punt: Producer<SharedMemory>,
    wire_out: Producer<SharedMemory>,
    payloads: PayloadBuffers,
    host: Bell,
    /// An agent gives this side turns, and sleeps by a bell of its own.
    agent: Option<Bell>,
    /// The records for the host that it was woken for.
    told: u64,
    file: &'static [AtomicU64],
    region: Region,
    /// Packets dropped because the host was away and the ring to it full.
    host_away: u64,
    /// A ring broke: the host wrote something impossible there. Nothing more is sent.
    broken: bool,
}

/// This side's ends of the rings of a region.
pub(crate) struct RegionEnds {
    pub(crate) wire: Consumer<SharedMemory>,
    pub(crate) back: Consumer<SharedMemory>,
    pub(crate) out: Outgoing,
    bell: Bell,
}

impl RegionEnds {
    /// The ends of a region in this file. `host_away` packets were dropped before.
    pub(crate) fn new(region: &Region, file: &'static [AtomicU64], host_away: u64) -> Self {
        let rings = region.rings();
        Self {
            wire: Consumer::new(rings.wire_in),
            back: Consumer::new(rings.back),
            out: Outgoing {
                punt: Producer::new(rings.punt),
                wire_out: Producer::new(rings.wire_out),
                payloads: PayloadBuffers::new(rings.payloads),
                host: region.host_bell(SharedFutex),
                agent: (region.turn() != 0).then(|| region.agent_bell(SharedFutex)),
                told: 0,
                file,
                region: *region,
                host_away,
                broken: false,
            },
            bell: region.nic_bell(SharedFutex),
        }
    }

    /// The ends for the run loop.
    pub(crate) const fn all(
        &mut self,
    ) -> Ends<'_, Consumer<SharedMemory>, Consumer<SharedMemory>, Outgoing> {
        Ends { wire: &mut self.wire, back: &mut self.back, out: &mut self.out }
    }

    /// Waits a little, in the end asleep, until there is something to read: on the wire's ring too,
    /// if the wire is open.
    pub(crate) fn wait(&mut self, idle: &mut Idle, wire_open: bool) -> Result<(), RingError> {
        let (wire, back) = (&mut self.wire, &mut self.back);
        let nothing = || Ok(back.is_empty_indeed()? && (!wire_open || wire.is_empty_indeed()?));
        idle.wait(&self.bell, sys::yield_now, nothing)?;
        Ok(())
    }

    /// Ends this turn, and sleeps until the next one, or until the host says something. The agent
    /// counts the time of a turn, so there is no polling.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_turn(&mut self, turn: u64) -> Result<(), RingError> {
        self.out.end_turn(turn);
        let Self { back, out, bell, .. } = self;
        let region = out.region;
        let nothing = || Ok(region.turn() == turn && back.is_empty_indeed()?);
        region::sleep(bell, BETWEEN_TURNS, nothing)?;
        Ok(())
    }
}

impl Egress for Outgoing {
    #[inline(never)]
    fn publish(&mut self) {
        self.punt.publish();
        self.wire_out.publish();
        self.wake();
    }

    fn took(&mut self, words: &[u64]) {
        self.region.nic_counters().tell_took(words);
    }

    fn rest(&mut self) {
        self.punt.rest();
        self.wire_out.rest();
    }

    fn is_broken(&self) -> bool {
        self.broken
    }

    /// Another region follows: the peer of this one has ended, or was told to leave it.
    fn host_ended(&self) -> bool {
        generation::is_followed(self.file, self.region.identity().generation)
    }

    fn wire_has(&mut self, bytes: usize) -> bool {
        self.wire_out.free_bytes() >= bytes || self.wire_out.occupancy() == 0
    }

    /// At least half of the ring to the host's worker must be free.
    fn room_for_entries(&mut self, most: u32) -> u32 {
        if self.punt.free_bytes() >= self.punt.occupancy() { most } else { 0 }
    }

    fn waiting(&self) -> u64 {
        self.punt.occupancy() as u64
    }

    fn host_away(&self) -> u64 {
        self.host_away
    }
}

impl PeerOutbox for Outgoing {
    #[inline(always)]
    fn send(&mut self, message: &Message<'_>) {
        match message.stamped() {
            Some((stamp, frame)) => self.push_frame(message.kind(), stamp, frame),
            None => message.encode_for_host(|kind, parts| self.push(kind, parts)),
        }
    }

    #[inline]
    fn show(&mut self) {
        self.punt.publish();
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        sys::now_ns()
    }

    fn mark(&mut self) -> Mark {
        Mark { peer: self.punt.position(), wire: self.wire_out.position() }
    }

    #[cold]
    fn sent_since(&mut self, mark: Mark) -> Sent {
        Sent::on(mark, Some(&mut self.punt), Some(&mut self.wire_out))
    }

    fn has_room(&mut self) -> bool {
        self.room_for_entries(1) > 0
    }

    #[inline(always)]
    fn runs(&mut self, number: Option<u64>) {
        self.region.nic_runs(number);
    }
}

impl Wire for Outgoing {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.push_frame(Kind::Frame, stamp, frame);
    }

    #[inline]
    fn relay(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.push_frame(Kind::Send, stamp, frame);
    }

    fn tell(&mut self, message: Deals<'_>) {
        Message::Deals(message).encode(|kind, parts| self.tell_wire(kind, parts));
    }

    fn quiet(&mut self, wave: u64) {
        Message::from(Control::Quiet { wave }).encode(|kind, parts| self.tell_wire(kind, parts));
    }

    #[inline]
    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.payloads)
    }
}

impl Outgoing {
    /// Tells the agent that its turn is over, once.
    pub(crate) fn end_turn(&self, turn: u64) {
        if self.region.turn_ended() != turn {
            self.region.end_turn(turn);
            region::wake(&self.region.agent_bell(SharedFutex));
        }
    }

    /// Wakes the host. Where an agent has the wire, packets are none of the host's business.
    #[inline(always)]
    fn wake(&mut self) {
        if self.agent.is_some() {
            let position = self.punt.position();
            if core::mem::replace(&mut self.told, position) == position {
                return;
            }
        }
        region::wake(&self.host);
    }

    /// Pushes a message for the wire that is no packet.
    #[cold]
    #[inline(never)]
    fn tell_wire(&mut self, kind: u16, parts: &[&[u8]]) {
        let mut idle = Idle::default();
        while let Err(why) = self.wire_out.push(kind, parts)
            && self.waits(kind, why, &mut idle)
        {
            self.wire_out.publish();
        }
    }

    /// Pushes a message without a frame: they are for the host. One copy of it serves all kinds,
    /// for the NIC's instruction cache is small.
    #[inline(never)]
    fn push(&mut self, kind: u16, parts: &[&[u8]]) {
        let mut idle = Idle::default();
        while let Err(why) = self.punt.push(kind, parts)
            && self.waits(kind, why, &mut idle)
        {}
    }

    /// Pushes a packet: it leaves at the wire, or is for the host.
    #[inline(never)]
    fn push_frame(&mut self, kind: Kind, stamp: &Stamp, frame: &[u8]) {
        let mut idle = Idle::default();
        let head = stamp.words();
        loop {
            let wire = kind != Kind::Punt;
            let ring = if wire { &mut self.wire_out } else { &mut self.punt };
            match ring.push_behind(kind.number(), &head, frame) {
                Err(why) if self.waits(kind.number(), why, &mut idle) => {}
                Ok(()) => return,
                Err(_) => {
                    // The rest of a frame goes with its head.
                    self.payloads.free(stamp.parked);
                    return;
                }
            }
        }
    }

    /// A message could not be pushed: whether it is to be tried again, after a little while.
    #[cold]
    #[inline(never)]
    fn waits(&mut self, kind: u16, why: PushError, idle: &mut Idle) -> bool {
        if !matches!(why, PushError::Full) {
            self.broken = true;
            return false;
        }
        if self.gives_up(kind) {
            return false;
        }
        idle.pause(sys::yield_now);
        true
    }

    /// Publishes a full ring, and tells whether the next message must not wait for room. A host
    /// that is awake drains its ends, but it may be gone. Then packets for it are dropped, so that
    /// this side's own packets go on. Messages about flows wait for its successor, which reads the
    /// rest of the ring.
    fn gives_up(&mut self, kind: u16) -> bool {
        // It lives, and waits for the host.
        self.region.nic_beats(self.region.nic_heartbeat().wrapping_add(1));
        // Output may depend on messages that the host is about to get.
        self.punt.publish();
        if kind == Kind::Frame || kind == Kind::Send {
            self.wire_out.publish();
            self.agent.iter().for_each(region::wake);
        }
        region::wake(&self.host);
        let watched = generation::current(self.file) != 0;
        let away = self.host_ended() || self.region.host_heartbeat() == 0;
        let dropped = kind == Kind::Punt && watched && away;
        self.host_away += u64::from(dropped);
        dropped
    }
}
