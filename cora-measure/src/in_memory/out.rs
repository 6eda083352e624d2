//! Sink of the NIC's messages and packets.

use std::time::{Duration, Instant};

use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Message, Stamp};
use cora_runtime::link::payload::{Parking, PayloadBuffers};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::{Producer, PushError, SharedMemory};
use cora_runtime::node::Egress;

use super::{Patience, Told};

/// Pushes messages onto the punt ring, which the host empties meanwhile; `L` notes packets that
/// leave.
pub(crate) struct Out<'a, L> {
    punt: Producer<SharedMemory>,
    pub(crate) payloads: PayloadBuffers,
    pub(crate) left: L,
    /// Time of waits for room on the ring, and of waits that the NIC adds.
    pub(crate) waited: Duration,
    broken: bool,
    pub(crate) told: &'a Told,
}

impl<'a, L: Default> Out<'a, L> {
    pub(crate) fn new(rings: &Rings, told: &'a Told) -> Self {
        let (punt, payloads) = (Producer::new(rings.punt), PayloadBuffers::new(rings.payloads));
        Self { punt, payloads, left: L::default(), waited: Duration::ZERO, broken: false, told }
    }
}

impl<L> Out<'_, L> {
    /// Pushes until there is room. Returns whether it was pushed.
    #[inline(always)]
    fn push(&mut self, message: &Message<'_>) -> bool {
        match message.push(&mut self.punt) {
            Err(PushError::Full) => self.push_when_there_is_room(message),
            first => first.is_ok(),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_when_there_is_room(&mut self, message: &Message<'_>) -> bool {
        let start = Instant::now();
        self.punt.publish();
        let mut patience = Patience::default();
        let pushed = loop {
            match message.push(&mut self.punt) {
                Err(PushError::Full) if !self.told.is_over() => patience.wait(),
                last => break last.is_ok(),
            }
        };
        self.waited += start.elapsed();
        pushed
    }
}

impl<L> Egress for Out<'_, L>
where
    Self: Wire,
{
    fn publish(&mut self) {
        self.punt.publish();
    }

    fn rest(&mut self) {
        self.punt.rest();
    }

    /// Returns whether a ring is broken, or the host ended.
    fn is_broken(&self) -> bool {
        self.broken
    }

    /// As in `cora-nic`, at least half of the ring must be free.
    fn room_for_entries(&mut self, most: u32) -> u32 {
        if self.punt.free_bytes() >= self.punt.occupancy() { most } else { 0 }
    }

    fn waiting(&self) -> u64 {
        self.punt.occupancy() as u64
    }
}

impl<L> PeerOutbox for Out<'_, L> {
    #[inline(always)]
    fn send(&mut self, message: &Message<'_>) {
        self.broken |= !self.push(message);
    }

    #[inline]
    fn show(&mut self) {
        self.punt.publish();
    }
}

/// Counts packets that leave.
impl Wire for Out<'_, u64> {
    #[inline]
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {
        self.left += 1;
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.payloads)
    }
}
