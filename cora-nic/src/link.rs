//! This side's ends of the rings.

use cora_core::message::{Message, Stamp};
use cora_core::migration::Outbox;
use cora_core::migration::nic::Wire;
use cora_core::region::{self, Idle, Region};
use cora_core::ring::{Consumer, Producer, PushError, RingError, SharedMemory};

use crate::sys::{self, SharedFutex};

/// How each side is woken: host and NIC run under one kernel. On a card that reaches the host's memory
/// over PCIe they don't, and this is [`Polling`](cora_core::region::Polling).
type Bell = region::Bell<SharedFutex>;

/// Where messages and packets leave.
pub(crate) struct Outgoing {
    punt: Producer<SharedMemory>,
    wire_out: Producer<SharedMemory>,
    host: Bell,
    /// A ring broke: what the host wrote there is impossible. Nothing more is sent.
    pub(crate) broken: bool,
}

/// Where they come in.
pub(crate) struct Incoming {
    pub(crate) wire_in: Consumer<SharedMemory>,
    pub(crate) back: Consumer<SharedMemory>,
    bell: Bell,
}

/// This side's ends of a region's rings.
pub(crate) fn ends(region: &Region) -> (Incoming, Outgoing) {
    let rings = region.rings();
    let incoming = Incoming {
        wire_in: Consumer::new(rings.wire_in),
        back: Consumer::new(rings.back),
        bell: region.nic_bell(SharedFutex),
    };
    let outgoing = Outgoing {
        punt: Producer::new(rings.punt),
        wire_out: Producer::new(rings.wire_out),
        host: region.host_bell(SharedFutex),
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
    /// Makes all that was sent visible, and wakes the host for it.
    pub(crate) fn publish(&mut self) {
        self.punt.publish();
        self.wire_out.publish();
        region::wake(&self.host);
    }

    /// Records sent to the host's worker.
    pub(crate) fn records(&self) -> u64 {
        self.punt.records()
    }
}

impl Outbox for Outgoing {
    #[inline]
    fn send(&mut self, message: &Message<'_>) {
        self.broken |= !push(&mut self.punt, self.host, message);
    }
}

impl Wire for Outgoing {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.broken |= !push(&mut self.wire_out, self.host, &Message::Frame(*stamp, frame));
    }
}

/// Pushes a message; `false` when the ring is broken.
fn push(ring: &mut Producer<SharedMemory>, host: Bell, message: &Message<'_>) -> bool {
    message.encode(|kind, parts| push_parts(ring, host, kind, parts))
}

/// Pushes, waiting for room: the host drains its ends whatever else it does, when it is awake. One copy of
/// it serves all kinds of messages, for the NIC's instruction cache is small.
#[inline(never)]
fn push_parts(ring: &mut Producer<SharedMemory>, host: Bell, kind: u16, parts: &[&[u8]]) -> bool {
    let mut idle = Idle::default();
    loop {
        match ring.push(kind, parts) {
            Ok(()) => return true,
            Err(PushError::Full) => {
                ring.publish();
                region::wake(&host);
                idle.pause(sys::yield_now);
            }
            Err(_) => return false,
        }
    }
}
