//! This side's ends of the rings.

use core::sync::atomic::AtomicU64;

use cora_runtime::channel::Outbox;
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::{Lots, Parking};
use cora_runtime::link::region::{self, Idle, Region, generation};
use cora_runtime::link::ring::{Consumer, Producer, PushError, RingError, SharedMemory};

use crate::sys::{self, SharedFutex};

/// How each side is woken: host and NIC run under one kernel. On a card that reaches the host's
/// memory over PCIe they don't, and this is [`Polling`](cora_runtime::link::region::Polling).
type Bell = region::Bell<SharedFutex>;

/// Where messages and packets leave.
pub(crate) struct Outgoing {
    punt: Producer<SharedMemory>,
    wire_out: Producer<SharedMemory>,
    lots: Lots,
    host: Bell,
    file: &'static [AtomicU64],
    region: Region,
    /// Packets dropped because the host was away and the ring to it full.
    pub(crate) host_away: u64,
    /// A ring broke: the host wrote something impossible there. Nothing more is sent.
    pub(crate) broken: bool,
}

/// Where they come in.
pub(crate) struct Incoming {
    pub(crate) wire_in: Consumer<SharedMemory>,
    pub(crate) back: Consumer<SharedMemory>,
    bell: Bell,
}

/// This side's ends of the rings of a region in this file.
pub(crate) fn ends(region: &Region, file: &'static [AtomicU64]) -> (Incoming, Outgoing) {
    let rings = region.rings();
    let incoming = Incoming {
        wire_in: Consumer::new(rings.wire_in),
        back: Consumer::new(rings.back),
        bell: region.nic_bell(SharedFutex),
    };
    let outgoing = Outgoing {
        punt: Producer::new(rings.punt),
        wire_out: Producer::new(rings.wire_out),
        lots: Lots::new(rings.lots),
        host: region.host_bell(SharedFutex),
        file,
        region: *region,
        host_away: 0,
        broken: false,
    };
    (incoming, outgoing)
}

impl Incoming {
    /// Waits a little, in the end asleep, until there is something to read: on the wire's ring too,
    /// if the wire is open.
    pub(crate) fn wait(&mut self, idle: &mut Idle, wire_open: bool) -> Result<(), RingError> {
        let (wire_in, back) = (&mut self.wire_in, &mut self.back);
        let nothing = || Ok(back.is_empty_indeed()? && (!wire_open || wire_in.is_empty_indeed()?));
        idle.wait(&self.bell, sys::yield_now, nothing)?;
        Ok(())
    }
}

impl Outgoing {
    /// Publishes everything that was sent, and wakes the host for it. Messages to the host come
    /// first, because output may depend on them.
    #[inline(never)]
    pub(crate) fn publish(&mut self) {
        self.punt.publish();
        self.wire_out.publish();
        region::wake(&self.host);
    }

    /// Releases the host's messages up to here: they will not come again.
    pub(crate) fn released(&mut self) {
        self.lots.recycle();
    }

    /// Nothing is to be done for the moment.
    pub(crate) fn rest(&mut self) {
        self.punt.rest();
        self.wire_out.rest();
    }

    /// Whether the wire's ring has so many bytes free, or is empty. Asked before a burst that
    /// changes durable entries: a full ring would be published amid it, before the changes are
    /// sent.
    pub(crate) fn wire_has(&mut self, bytes: usize) -> bool {
        self.wire_out.free_bytes() >= bytes || self.wire_out.occupancy() == 0
    }

    /// Whether another region follows: the peer of this one has ended, or was told to leave it.
    pub(crate) fn is_followed(&self) -> bool {
        generation::is_followed(self.file, self.region.identity().generation)
    }

    /// Whether at least half of the ring to the host's worker is free. On a full one this side
    /// would wait for the host with packets that are none of its business.
    pub(crate) fn has_room_for_entries(&mut self) -> bool {
        self.punt.free_bytes() >= self.punt.occupancy()
    }

    /// Bytes on the ring to the host's worker.
    pub(crate) fn occupancy(&self) -> usize {
        self.punt.occupancy()
    }
}

impl Outbox for Outgoing {
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

    #[inline(always)]
    fn runs(&mut self, number: u64) {
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

    #[inline]
    fn lots(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.lots)
    }
}

impl Outgoing {
    /// Pushes a message for the host as it came.
    pub(crate) fn pass_on(&mut self, kind: u16, bytes: &[u8]) {
        self.push(kind, &[bytes]);
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
                    self.lots.free(stamp.parked);
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
        }
        region::wake(&self.host);
        let watched = generation::current(self.file) != 0;
        let away = self.is_followed() || self.region.host_heartbeat() == 0;
        let dropped = kind == Kind::Punt && watched && away;
        self.host_away += u64::from(dropped);
        dropped
    }
}
