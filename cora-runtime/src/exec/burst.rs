//! Bursts: packets that are handled together. They are taken in, parsed, prefetched for, and then
//! run in order of arrival. The result equals that of running them one by one.

use cora_core::app::{App, Sides};
use cora_core::key::PacketKey;
use cora_core::packet::{Packet, Port, ROOM, Roomy};

use crate::link::message::{MAX_MESSAGE, Stamp};
use crate::link::payload::Parked;
pub use cora_core::state::table::prefetch::{ALONE, BURST};

/// Most bytes that the frames of a burst take. Bursts of large frames have fewer packets.
pub const BURST_BYTES: usize = MAX_MESSAGE + BURST * 2048;

/// A packet that arrived.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The packet, with the part of its stamp that handlers may see.
    pub packet: Packet<'a>,
    number: u64,
    horizon: u64,
    egress: Port,
    parked: Parked,
    missing: u16,
}

impl<'a> Arrival<'a> {
    /// A packet that did not come in a burst.
    #[inline]
    pub(crate) const fn alone(stamp: &Stamp, packet: Packet<'a>) -> Self {
        let Stamp { number, horizon, egress, parked, missing, .. } = *stamp;
        Self { packet, number, horizon, egress, parked, missing }
    }
    /// The stamp that came with the frame.
    #[inline(always)]
    pub fn stamp(&self) -> Stamp {
        let Self { number, horizon, egress, parked, missing, .. } = *self;
        Stamp { meta: self.packet.meta(), number, horizon, egress, parked, missing }
    }
}

/// At most [`BURST`] packets, in order of arrival.
#[derive(Debug, Default)]
pub struct Burst<'a>(heapless::Vec<Arrival<'a>, BURST>);

impl<'a> Burst<'a> {
    /// An empty burst.
    #[must_use]
    pub const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    /// Appends the packet of a frame without tailroom. `false`: the burst is full and unchanged.
    #[inline(always)]
    pub fn push(&mut self, stamp: Stamp, frame: &'a mut [u8]) -> bool {
        self.push_roomy(stamp, frame.into())
    }

    /// Appends the packet of a frame with its tailroom.
    #[inline(always)]
    pub fn push_roomy(&mut self, stamp: Stamp, frame: Roomy<'a>) -> bool {
        self.push_packet(stamp, Packet::unparsed(frame, stamp.meta))
    }

    /// Appends the packet of a frame from the NIC, which is only a head if the stamp says so.
    #[inline(always)]
    pub fn push_passed_on(&mut self, stamp: Stamp, frame: Roomy<'a>) -> bool {
        if !stamp.parked.is_some() {
            return self.push_roomy(stamp, frame);
        }
        let Stamp { meta, parked, .. } = stamp;
        self.push_packet(stamp, Packet::unparsed_head(frame.into_frame(), parked.bytes(), meta))
    }

    #[inline(always)]
    fn push_packet(&mut self, stamp: Stamp, packet: Packet<'a>) -> bool {
        let Stamp { number, horizon, egress, parked, missing, .. } = stamp;
        self.0.push(Arrival { packet, number, horizon, egress, parked, missing }).is_ok()
    }

    /// Parses all frames. Parsing each frame as it is taken in would wait for the copy made just
    /// before.
    #[inline(always)]
    pub fn parse(&mut self) {
        for arrival in &mut self.0 {
            arrival.packet.parse();
        }
    }

    /// Parses all frames, unless no handler reads packets and `flows` is `false`. Returns whether
    /// it parsed.
    #[inline(always)]
    pub(crate) fn parse_at_host<A: App>(&mut self, flows: bool) -> bool {
        let parses = A::READS_PACKETS || flows;
        if parses {
            self.parse();
        }
        parses
    }

    /// Parses all frames if the plan needs that at the NIC, and returns whether it did. Under
    /// host-only the NIC passes packets on unparsed.
    #[inline(always)]
    pub(crate) fn parse_at_nic<A: App>(&mut self) -> bool {
        let parses = match A::PLAN.sides {
            Sides::HostOnly => false,
            Sides::NicOnly | Sides::Dealt => A::READS_PACKETS,
            Sides::Split => true,
        };
        if parses {
            self.parse();
        }
        parses
    }

    /// The group key of the packet at this index, if it has one. Parses the packet first unless all
    /// are `parsed`.
    #[inline(always)]
    pub(crate) fn group<K: PacketKey>(&mut self, at: usize, parsed: bool) -> Option<K> {
        let packet = &mut self.0.get_mut(at)?.packet;
        if !parsed {
            packet.parse_again();
        }
        K::of_packet(packet).ok()
    }

    /// Visits the packets one by one, each as a burst of its own, and removes them.
    #[cold]
    pub(crate) fn each_alone<E>(
        &mut self,
        mut visit: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        for arrival in core::mem::take(&mut self.0) {
            let mut alone = Self::new();
            // There is room: it is the only one.
            let _pushed = alone.0.push(arrival);
            visit(&mut alone)?;
        }
        Ok(())
    }

    /// The first packet.
    pub(crate) fn first_mut(&mut self) -> Option<&mut Arrival<'a>> {
        self.0.first_mut()
    }

    /// Whether the burst is full.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Whether the burst is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of packets.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all packets.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The packets. They are parsed once [`Self::parse`] was called.
    #[inline(always)]
    pub fn arrivals(&self) -> &[Arrival<'a>] {
        &self.0
    }

    /// The packets with their numbers, which the compiler knows to be below [`BURST`].
    #[inline(always)]
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u8, &Arrival<'a>)> {
        (0..BURST as u8).zip(&self.0)
    }

    #[inline(always)]
    pub(crate) fn numbered_mut(&mut self) -> impl Iterator<Item = (u8, &mut Arrival<'a>)> {
        (0..BURST as u8).zip(&mut self.0)
    }
}

/// Buffer space for the frames of one burst, one behind the other.
#[derive(Debug)]
pub struct BurstBuffer<'a> {
    rest: &'a mut [u8],
}

impl<'a> BurstBuffer<'a> {
    /// Uses `bytes` as the buffer, which should have [`BURST_BYTES`].
    pub const fn new(bytes: &'a mut [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Space for the next message of any length. `None`: the burst has as many bytes as it may.
    #[inline]
    pub fn room(&mut self) -> Option<&mut [u8]> {
        (self.rest.len() >= MAX_MESSAGE).then_some(&mut *self.rest)
    }

    /// Keeps the first `length` bytes of [`Self::room`], with a tailroom of [`ROOM`]. The space has
    /// at least that many bytes.
    #[inline]
    pub fn keep(&mut self, length: usize) -> Roomy<'a> {
        let rest = core::mem::take(&mut self.rest);
        // The next frame begins on a cache line. The last one may be of maximum length; its
        // tailroom ends with the buffer.
        let stride = (length.next_multiple_of(64) + ROOM).min(rest.len());
        let (kept, rest) = rest.split_at_mut(stride);
        self.rest = rest;
        Roomy::fitting(kept, length)
    }
}
