//! Bursts: packets that are handled together. They are taken in, parsed, prefetched for, and then
//! run in order of arrival. The result equals that of running them one by one.

use cora_core::app::{App, Sides};
use cora_core::key::Key;
use cora_core::packet::{MAX_FRAME, Packet, Port, ROOM, Roomy};

use crate::exec::engine::Engine;
use crate::link::message::{MAX_MESSAGE, Stamp};
use crate::link::payload::Parked;
use crate::ownership::records::Flows;
pub use cora_core::state::table::ahead::{ALONE, BURST};

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

impl Arrival<'_> {
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
            Sides::NicOnly => A::READS_PACKETS,
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
    pub(crate) fn group<K: Key>(&mut self, at: usize, parsed: bool) -> Option<K> {
        let packet = &mut self.0.get_mut(at)?.packet;
        if !parsed {
            packet.parse_again();
        }
        K::of(packet).ok()
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

/// Prefetches the entries that the packets will look up in the states and, if given, in `flows`.
/// The first stage prefetches index lines, the second the entries that they name. Hashing is not
/// part of parsing, because one loop with both has too few registers.
#[inline(always)]
pub(crate) fn announce<A: App>(
    burst: &Burst<'_>,
    engine: &mut Engine<A>,
    mut flows: Option<&mut Flows<A>>,
) {
    const { assert!(BURST <= u32::BITS as usize) };
    for (number, Arrival { packet, .. }) in burst.numbered() {
        if let Some(flows) = &mut flows {
            flows.hint(number, packet);
        }
        engine.app().hint(number, packet);
    }
    let mut unknown = 0_u32;
    for (number, Arrival { packet, .. }) in burst.numbered() {
        if let Some(flows) = &mut flows {
            flows.guess(number, || A::Group::of(packet).ok());
        }
        let known = engine.app().guess(number, packet);
        if const { A::FURTHER } {
            unknown |= u32::from(!known) << number;
        }
    }
    if const { A::FURTHER } {
        announce_further(burst, engine, unknown);
    }
    if let Some(flows) = flows {
        announce_owners(all_of(burst.len()), engine, flows);
    }
}

/// [`announce`] for the NIC under a split plan. The NIC runs only packets of its own flows, so
/// states prefetch only for packets that may belong to one. Stale hints of the other packets are
/// harmless: a hint counts only if its entry has the key.
#[inline(always)]
pub(crate) fn announce_owned<A: App>(
    burst: &Burst<'_>,
    engine: &mut Engine<A>,
    flows: &mut Flows<A>,
) {
    for (number, Arrival { packet, .. }) in burst.numbered() {
        flows.hint(number, packet);
    }
    let owned = flows.guess_all(burst);
    let packet = |number: u8| burst.arrivals().get(usize::from(number));
    for number in bits(owned) {
        if let Some(arrival) = packet(number) {
            engine.app().hint(number, &arrival.packet);
        }
    }
    let mut unknown = 0_u32;
    for number in bits(owned) {
        if let Some(arrival) = packet(number) {
            let known = engine.app().guess(number, &arrival.packet);
            if const { A::FURTHER } {
                unknown |= u32::from(!known) << number;
            }
        }
    }
    if const { A::FURTHER } {
        announce_further(burst, engine, unknown);
    }
    announce_owners(owned, engine, flows);
}

/// Prefetches the owner of each candidate entry, its flow's entry list, and its flow record. The
/// group key of a translated reply does not find that record.
#[inline(never)]
fn announce_owners<A: App>(packets: u32, engine: &mut Engine<A>, flows: &Flows<A>) {
    let app = engine.app();
    for number in bits(packets) {
        app.hint_owner(number);
    }
    for number in bits(packets) {
        if let Some(flow) = app.guess_owner(number) {
            flows.prefetch(flow);
        }
    }
}

/// The first `packets` packets, a bit each.
#[inline(always)]
const fn all_of(packets: usize) -> u32 {
    if packets < BURST { (1 << packets) - 1 } else { u32::MAX }
}

/// The numbers of the set bits, lowest first.
fn bits(mut set: u32) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as u8);
        set &= set.wrapping_sub(1);
        lowest
    })
}

/// Prefetches in the further states for the packets with flows that have no entry: one bit of
/// `unknown` each, from the lowest.
#[inline(never)]
fn announce_further<A: App>(burst: &Burst<'_>, engine: &mut Engine<A>, unknown: u32) {
    let app = engine.app();
    app.forget_further();
    let packet = |number: u8| burst.arrivals().get(usize::from(number));
    for number in bits(unknown) {
        if let Some(arrival) = packet(number) {
            app.hint_further(number, &arrival.packet);
        }
    }
    for number in bits(unknown) {
        if let Some(arrival) = packet(number) {
            app.guess_further(number, &arrival.packet);
        }
    }
}

/// Free bytes that the hold queue needs before a burst is taken in, with `head` bytes in front of
/// each frame.
pub(crate) const fn held_bytes(head: usize) -> usize {
    const { assert!(BURST_BYTES >= MAX_FRAME) };
    BURST_BYTES + BURST * head
}
