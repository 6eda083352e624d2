//! Packets that are handled together: taken in, parsed one after the other, looked up ahead of
//! their turn, then run in the order of their arrival. The result is that of running them one by
//! one.

use cora_core::app::{App, Sides};
use cora_core::key::Key;
use cora_core::packet::{MAX_FRAME, Packet, Port, ROOM, Roomy};

use crate::exec::engine::Engine;
use crate::link::message::{MAX_MESSAGE, Stamp};
use crate::link::region::Parked;
use crate::ownership::records::Flows;
pub use cora_core::state::table::ahead::{ALONE, BURST};

/// Bytes that the frames of a burst take at most: bursts of large frames are shorter.
pub const BURST_BYTES: usize = MAX_MESSAGE + BURST * 2048;

/// A packet that came in.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The packet, with what of its stamp handlers may know.
    pub packet: Packet<'a>,
    number: u64,
    horizon: u64,
    egress: Port,
    parked: Parked,
    missing: u16,
}

impl Arrival<'_> {
    /// What came with the frame.
    #[inline(always)]
    pub fn stamp(&self) -> Stamp {
        let Self { number, horizon, egress, parked, missing, .. } = *self;
        Stamp { meta: self.packet.meta(), number, horizon, egress, parked, missing }
    }
}

/// Packets in the order of their arrival, [`BURST`] at most.
#[derive(Debug, Default)]
pub struct Burst<'a>(heapless::Vec<Arrival<'a>, BURST>);

impl<'a> Burst<'a> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    /// Takes a frame in, whose packet is then the last one; `false` when the burst is full, and
    /// nothing has happened. It has no room to grow.
    #[inline(always)]
    pub fn push(&mut self, stamp: Stamp, frame: &'a mut [u8]) -> bool {
        self.push_roomy(stamp, frame.into())
    }

    /// Likewise, with the room behind it.
    #[inline(always)]
    pub fn push_roomy(&mut self, stamp: Stamp, frame: Roomy<'a>) -> bool {
        self.push_packet(stamp, Packet::unparsed(frame, stamp.meta))
    }

    /// Likewise of a frame from the NIC, of which this may be the head.
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

    /// Parses all frames. (Parsed as it is taken in, each would wait for the copy that was made of
    /// it just before.)
    #[inline(always)]
    pub fn parse(&mut self) {
        for arrival in &mut self.0 {
            arrival.packet.parse();
        }
    }

    /// Parses all frames, unless no handler reads them and it does not matter which flows they
    /// belong to. Whether it did.
    #[inline(always)]
    pub(crate) fn parse_at_host<A: App>(&mut self, flows: bool) -> bool {
        let parses = A::READS_PACKETS || flows;
        if parses {
            self.parse();
        }
        parses
    }

    /// Likewise. What the host runs under this plan, the NIC passes on as it came.
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

    /// The flow, or what goes for it, of the packet at this place, if it has one. It is parsed now
    /// unless all are.
    #[inline(always)]
    pub(crate) fn group<K: Key>(&mut self, at: usize, parsed: bool) -> Option<K> {
        let packet = &mut self.0.get_mut(at)?.packet;
        if !parsed {
            packet.parse_again();
        }
        K::of(packet).ok()
    }

    /// Whether no further packet has room.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Whether there is no packet.
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

    /// Forgets all packets.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The packets, parsed once [`Self::parse`] was called.
    #[inline(always)]
    pub fn arrivals(&self) -> &[Arrival<'a>] {
        &self.0
    }

    /// Likewise, each with its number, of which the compiler knows how large it may be.
    #[inline(always)]
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u8, &Arrival<'a>)> {
        (0..BURST as u8).zip(&self.0)
    }

    #[inline(always)]
    pub(crate) fn numbered_mut(&mut self) -> impl Iterator<Item = (u8, &mut Arrival<'a>)> {
        (0..BURST as u8).zip(&mut self.0)
    }
}

/// Room for the frames of one burst after another.
#[derive(Debug)]
pub struct Frames<'a> {
    rest: &'a mut [u8],
}

impl<'a> Frames<'a> {
    /// Room in `bytes`, of which there should be [`BURST_BYTES`].
    pub const fn new(bytes: &'a mut [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Where the next message can be read to, whatever its length; `None` when the burst is as long
    /// as it may be.
    #[inline]
    pub fn room(&mut self) -> Option<&mut [u8]> {
        (self.rest.len() >= MAX_MESSAGE).then_some(&mut *self.rest)
    }

    /// Keeps the first `length` bytes of what was read, with [`ROOM`] behind them. There are as
    /// many in [`Self::room`].
    #[inline]
    pub fn keep(&mut self, length: usize) -> Roomy<'a> {
        let rest = core::mem::take(&mut self.rest);
        // The next frame begins at a line. The last one may be among the longest, with room to the
        // end.
        let stride = (length.next_multiple_of(64) + ROOM).min(rest.len());
        let (kept, rest) = rest.split_at_mut(stride);
        self.rest = rest;
        Roomy::fitting(kept, length)
    }
}

/// Lets states, and flows where they matter, fetch what the packets will look up: first their lines
/// of the indexes, then what these name. (Hashed while it is parsed, each packet would take longer:
/// one loop with all of that has too few registers.)
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

/// Likewise at the NIC, under a plan that splits: it runs packets of its own flows alone, so states
/// are asked about those only that may be of one. (The others find nothing here ahead that counts:
/// whatever is told ahead counts only if it has the key.)
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

/// Likewise, what tells whose the entries are that these packets may find, the lists of these
/// flows' entries, and their records: a translated answer's group key doesn't find them.
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

/// The first so many packets, a bit each.
#[inline(always)]
const fn all_of(packets: usize) -> u32 {
    if packets < BURST { (1 << packets) - 1 } else { u32::MAX }
}

/// The numbers of those that are set, lowest first.
fn bits(mut set: u32) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as u8);
        set &= set.wrapping_sub(1);
        lowest
    })
}

/// Likewise, further states for the packets of a burst whose flows have no entry: bit by bit, from
/// the first.
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

/// What a queue of waiting packets must have room for before a burst is taken in.
pub(crate) const fn held_bytes(head: usize) -> usize {
    const { assert!(BURST_BYTES >= MAX_FRAME) };
    BURST_BYTES + BURST * head
}
