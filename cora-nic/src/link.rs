//! This side's ends of the rings.

use cora_core::message::{Message, Stamp};
use cora_core::migration::Outbox;
use cora_core::migration::nic::Wire;
use cora_core::region::Region;
use cora_core::ring::{Consumer, Producer, PushError, SharedMemory};

use crate::sys;

/// Empty polls before the core is given to others for a moment.
const SPINS: u32 = 64;

/// Where messages and packets leave.
pub(crate) struct Outgoing {
    punt: Producer<SharedMemory>,
    wire_out: Producer<SharedMemory>,
    /// A ring broke: what the host wrote there is impossible. Nothing more is sent.
    pub(crate) broken: bool,
}

/// Where they come in.
pub(crate) struct Incoming {
    pub(crate) wire_in: Consumer<SharedMemory>,
    pub(crate) back: Consumer<SharedMemory>,
}

/// This side's ends of a region's rings.
pub(crate) fn ends(region: &Region) -> (Incoming, Outgoing) {
    let rings = region.rings();
    let incoming =
        Incoming { wire_in: Consumer::new(rings.wire_in), back: Consumer::new(rings.back) };
    let outgoing = Outgoing {
        punt: Producer::new(rings.punt),
        wire_out: Producer::new(rings.wire_out),
        broken: false,
    };
    (incoming, outgoing)
}

impl Outgoing {
    /// Makes all that was sent visible.
    pub(crate) fn publish(&mut self) {
        self.punt.publish();
        self.wire_out.publish();
    }

    /// Records sent to the host's worker.
    pub(crate) fn records(&self) -> u64 {
        self.punt.records()
    }
}

impl Outbox for Outgoing {
    #[inline]
    fn send(&mut self, message: &Message<'_>) {
        self.broken |= !push(&mut self.punt, message);
    }
}

impl Wire for Outgoing {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.broken |= !push(&mut self.wire_out, &Message::Frame(*stamp, frame));
    }
}

/// Pushes, waiting for room: the host drains its ends whatever else it does. `false` when the ring
/// is broken.
fn push(ring: &mut Producer<SharedMemory>, message: &Message<'_>) -> bool {
    let mut idle = Idle::default();
    message.encode(|kind, parts| {
        loop {
            match ring.push(kind, parts) {
                Ok(()) => return true,
                Err(PushError::Full) => {
                    ring.publish();
                    idle.wait();
                }
                Err(_) => return false,
            }
        }
    })
}

/// Waits a little longer each time nothing was found to do.
#[derive(Default)]
pub(crate) struct Idle {
    polls: u32,
}

impl Idle {
    /// Something was done.
    pub(crate) const fn reset(&mut self) {
        self.polls = 0;
    }

    /// Nothing was.
    pub(crate) fn wait(&mut self) {
        self.polls += 1;
        if self.polls < SPINS {
            core::hint::spin_loop();
        } else {
            self.polls = SPINS;
            sys::yield_now();
        }
    }
}
