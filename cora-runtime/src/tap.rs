//! A tap: copies of chosen packets, with the outcome of each, for an operator.
//!
//! While a side is tapped, the packets of a burst run one by one: the effects of a packet are then
//! the records that were pushed onto the rings meanwhile, and the outcome that was counted. A
//! burst gives the same results as its packets one by one, so a tap changes none. A side that is
//! not tapped pays one comparison for each burst.
//!
//! Packets one by one take more than twice the time. So a burst without a packet that is meant runs
//! as ever, and so do most full bursts: they say that the side is busy. One in [`PASSES`] of them
//! is looked at, and as many in a row as were not needed before. Packets that are passed by are
//! counted, and so is a copy that finds too little room on its way.

use cora_core::app::App;
use cora_core::key::{FiveTuple, PacketKey as _, Prefix};
use cora_core::outcome::Outcomes;
use cora_core::packet::{Packet, Port};
use cora_core::plain::Plain as _;
use cora_core::state::{Memory, OutOfMemory};

use crate::channel::{PeerOutbox, Sent};
use crate::exec::burst::{Arrival, Burst};
use crate::exec::engine::{Engine, keep_words};
use crate::link::message::{Kind, Label, MAX_MESSAGE, Message, Questions, Stamp};
use crate::questions::{self, Placed};

/// Most bytes of a frame that are told.
pub const SNAP: usize = 1536;

/// A packet comes in, as it was before any handler.
pub const WIRE_IN: u16 = 1;
/// A packet leaves.
pub const WIRE_OUT: u16 = 2;
/// The NIC passes a packet on to the host.
pub const PUNT: u16 = 4;
/// A packet ends without leaving, as it was before any handler.
pub const DROP: u16 = 8;
/// A packet ran, as it came to this side: the last record of it here, behind the entries that it
/// found before and after. With [`WIRE_IN`] it came from the wire.
pub const RUN: u16 = 16;

/// One of so many full bursts is looked at, when all have packets that are meant. One by one its
/// packets take some 2.5 times as long, so that costs some 1.2 %.
pub const PASSES: u32 = 128;
/// Most full bursts in a row that are looked at.
const MOST_LOOKS: u32 = 64;
/// Packets passed by, after which their number is told.
const PASSED: u32 = 1 << 16;

/// Packets that are meant: all conditions hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFilter {
    /// The number of the protocol.
    pub protocol: Option<u8>,
    /// Either port.
    pub port: Option<u16>,
    /// Either address lies in it.
    pub net: Option<Prefix>,
}

impl PacketFilter {
    /// Bytes of its encoding.
    pub const SIZE: usize = 4 + Prefix::SIZE;

    const NONE: Self = Self { protocol: None, port: None, net: None };

    /// Encodes it.
    #[must_use]
    pub fn encoded(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let is = [self.protocol.is_some(), self.port.is_some(), self.net.is_some()];
        bytes[0] = is.iter().rev().fold(0, |bits, is| bits << 1 | u8::from(*is));
        bytes[1] = self.protocol.unwrap_or(0);
        self.port.unwrap_or(0).put(&mut bytes[2..]);
        if let Some(net) = self.net {
            net.put(&mut bytes[4..]);
        }
        bytes
    }

    /// Decodes it; `None` if the bytes are no filter.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, net) = bytes.split_first_chunk::<4>()?;
        let [parts, protocol, low, high] = *head;
        let has = |bit: u8| parts & bit != 0;
        let net = if has(4) { Some(Prefix::get(net)?) } else { None };
        let port = u16::from_le_bytes([low, high]);
        Some(Self { protocol: has(1).then_some(protocol), port: has(2).then_some(port), net })
    }

    /// Whether the packet is meant, which is parsed. One without addresses is so if there is no
    /// condition.
    fn means(&self, packet: &Packet<'_>) -> bool {
        if *self == Self::NONE {
            return true;
        }
        let Ok(flow) = FiveTuple::of_packet(packet) else { return false };
        self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && self
                .port
                .is_none_or(|port| port == flow.source_port || port == flow.destination_port)
            && self
                .net
                .is_none_or(|net| net.contains(flow.source) || net.contains(flow.destination))
    }
}

/// The packets that are tapped, and where.
#[derive(Clone, Copy, Debug)]
pub struct TapOrder {
    /// The number of the tap.
    pub tap: u16,
    /// Where, a bit for each point; nowhere ends the tap.
    pub points: u16,
    /// One of so many packets that are meant.
    pub every: u32,
    /// Bytes of each frame.
    pub snap: u16,
    /// Records until the tap ends by itself; with [`RUN`], packets.
    pub left: u32,
    /// Which packets.
    pub filter: PacketFilter,
}

impl TapOrder {
    /// Nothing.
    pub const NONE: Self =
        Self { tap: 0, points: 0, every: 1, snap: 0, left: 0, filter: PacketFilter::NONE };

    /// The order in a message; one that makes no sense taps nothing.
    #[must_use]
    pub fn of(question: &Questions<'_>) -> Self {
        match *question {
            Questions::Tap { tap, points, every, snap, left, filter } => {
                let filter = PacketFilter::of_bytes(filter);
                filter.map_or(Self::NONE, |filter| Self { tap, points, every, snap, left, filter })
            }
            _ => Self::NONE,
        }
    }
}

/// A side's tap.
#[derive(Debug)]
pub(crate) struct Tap {
    order: TapOrder,
    /// Packets that are meant until the next one is told.
    skip: u32,
    /// Copies that were not told for want of room.
    missed: u32,
    /// Packets that nobody looked at, since the side was busy.
    passed: u32,
    /// Full bursts so far, and how many may be looked at now.
    bursts: u32,
    looks: u32,
    at_nic: bool,
    /// The frame of the packet that runs, as it came.
    frame: &'static mut [u64],
    /// A record that was pushed meanwhile.
    record: &'static mut [u64],
}

/// One copy of the parser serves all taps: the fast one is where packets run.
#[inline(never)]
fn parse(packet: &mut Packet<'_>) {
    packet.parse_again();
}

fn parsed<'a>(frame: &'a mut [u8], stamp: &Stamp) -> Packet<'a> {
    let mut packet = Packet::unparsed(frame.into(), stamp.meta);
    parse(&mut packet);
    packet
}

/// What a record tells of a packet besides its frame.
#[derive(Clone, Copy)]
struct Told<'a> {
    point: u16,
    port: Port,
    stamp: Stamp,
    outcome: &'a str,
}

/// A packet that runs.
pub(crate) struct Followed {
    stamp: Stamp,
    length: usize,
    before: Outcomes,
}

impl Tap {
    /// Bytes of [`Memory`].
    pub(crate) const BYTES: usize = SNAP + MAX_MESSAGE.next_multiple_of(64) + 128;

    /// A tap of nothing.
    pub(crate) fn create(memory: &mut Memory, at_nic: bool) -> Result<Self, OutOfMemory> {
        Ok(Self {
            order: TapOrder::NONE,
            skip: 0,
            missed: 0,
            passed: 0,
            bursts: 0,
            looks: 0,
            at_nic,
            frame: memory.take_u64(SNAP / 8)?,
            record: memory.take_u64(MAX_MESSAGE.div_ceil(8))?,
        })
    }

    /// Whether anything is tapped.
    #[inline(always)]
    pub(crate) const fn is_on(&self) -> bool {
        self.order.points != 0
    }

    /// Begins, changes or ends.
    pub(crate) const fn begin(&mut self, order: TapOrder) {
        (self.order, self.skip, self.missed) = (order, 0, 0);
        (self.passed, self.bursts, self.looks) = (0, 0, MOST_LOOKS);
    }

    /// Whether the packets of this burst are to run one by one.
    pub(crate) fn looks_at(&mut self, burst: &mut Burst<'_>, out: &mut impl PeerOutbox) -> bool {
        self.bursts = self.bursts.wrapping_add(u32::from(burst.is_full()));
        if burst.is_full() && self.bursts.is_multiple_of(PASSES) {
            self.looks = MOST_LOOKS.min(self.looks + 1);
        }
        let filter = self.order.filter;
        if filter != PacketFilter::NONE {
            let is_meant = |arrival: &mut Arrival<'_>| {
                parse(&mut arrival.packet);
                filter.means(&arrival.packet)
            };
            if !burst.numbered_mut().any(|(_, arrival)| is_meant(arrival)) {
                return false;
            }
        }
        if !burst.is_full() {
            return true;
        }
        if self.looks > 0 {
            self.looks -= 1;
            return true;
        }
        let before = self.passed;
        self.passed = before.wrapping_add(burst.len() as u32);
        if before / PASSED != self.passed / PASSED {
            let nothing = Told { point: 0, port: Port::INSIDE, stamp: Stamp::BEFORE, outcome: "" };
            self.told(nothing, &[], 0, out);
        }
        false
    }

    /// A packet that is only asked about, between two bursts; `None` if it is too long.
    pub(crate) fn packet(&mut self, stamp: &Stamp, frame: &[u8]) -> Option<Packet<'_>> {
        let room = zerocopy::IntoBytes::as_mut_bytes(&mut *self.frame).get_mut(..frame.len())?;
        room.copy_from_slice(frame);
        Some(parsed(room, stamp))
    }

    /// A packet is about to run: it is followed, or not.
    pub(crate) fn begins(
        &mut self,
        arrival: &mut Arrival<'_>,
        outcomes: &Outcomes,
        out: &mut impl PeerOutbox,
    ) -> Option<Followed> {
        parse(&mut arrival.packet);
        if !self.is_on() || !self.order.filter.means(&arrival.packet) {
            return None;
        }
        // A way has many records: it is told whole, or not at all where the way out is full.
        if self.order.points & RUN != 0 && !out.has_room() {
            self.missed += 1;
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.skip = self.order.every.saturating_sub(1);
        let frame = arrival.packet.frame();
        keep_words(self.frame, frame.get(..SNAP).unwrap_or(frame));
        let length = frame.len();
        Some(Followed { stamp: arrival.stamp(), length, before: outcomes.clone() })
    }

    /// Tells the entries that a followed packet finds, and those of its flow, if its way is asked
    /// for: before it runs, and after.
    pub(crate) fn entries<A: App>(
        &mut self,
        followed: &Followed,
        is_after: bool,
        of: (&mut A, u64),
        out: &mut impl PeerOutbox,
    ) {
        if self.order.points & RUN != 0 {
            self.tell_entries(followed, is_after, of, out);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_entries<A: App>(
        &mut self,
        Followed { stamp, length, .. }: &Followed,
        is_after: bool,
        (app, horizon): (&mut A, u64),
        out: &mut impl PeerOutbox,
    ) {
        let Self { order, missed, at_nic, frame, .. } = self;
        let frame = zerocopy::IntoBytes::as_mut_bytes(&mut **frame);
        let length = (*length).min(frame.len());
        let Some(frame) = frame.get_mut(..length) else { return };
        let packet = parsed(frame, stamp);
        questions::find(
            app,
            &packet,
            (stamp.meta.now, horizon),
            &mut |Placed { state, piece, .. }| {
                if !out.has_room() {
                    *missed += 1;
                    return;
                }
                let told = Questions::TapEntry {
                    tap: order.tap,
                    number: stamp.number,
                    at_nic: (*at_nic).into(),
                    is_after: is_after.into(),
                    state,
                    piece,
                };
                out.tapped(&told.into());
            },
        );
    }

    /// It ran, and `sent` was sent meanwhile: tells its outcome. With `comes_in` it came from the
    /// wire, and not from the NIC.
    pub(crate) fn ends<A: App>(
        &mut self,
        followed: &Followed,
        (engine, horizon): (&mut Engine<A>, u64),
        comes_in: bool,
        sent: Sent,
        out: &mut impl PeerOutbox,
    ) {
        let Followed { stamp, length, before } = followed;
        let outcome = engine.outcomes.first_since(before);
        let (outcome, is_dropped) = outcome.unwrap_or(("", false));
        let came = Told { point: WIRE_IN, port: stamp.meta.port, stamp: *stamp, outcome };
        let (record, frame) = (core::mem::take(&mut self.record), core::mem::take(&mut self.frame));
        let original = zerocopy::IntoBytes::as_bytes(&*frame);
        let original = original.get(..*length).unwrap_or(original);
        if comes_in {
            self.tell(came, original, *length, out);
        }
        sent.each(zerocopy::IntoBytes::as_mut_bytes(&mut *record), &mut |kind, bytes| {
            let Some((stamp, frame)) = Message::decode_stamped(kind, bytes) else { return };
            let (point, port) = if kind == Kind::Punt {
                (PUNT, stamp.meta.port)
            } else {
                (WIRE_OUT, stamp.leaves_at())
            };
            self.tell(Told { point, port, stamp, outcome }, frame, frame.len(), out);
        });
        if is_dropped {
            self.tell(Told { point: DROP, ..came }, original, *length, out);
        }
        (self.record, self.frame) = (record, frame);
        self.entries(followed, true, (engine.app(), horizon), out);
        let run = Told { point: if comes_in { RUN | WIRE_IN } else { RUN }, ..came };
        if self.order.points & RUN != 0 {
            let frame = core::mem::take(&mut self.frame);
            let original = zerocopy::IntoBytes::as_bytes(&*frame);
            self.tell(run, original.get(..*length).unwrap_or(original), *length, out);
            self.frame = frame;
        }
    }

    /// Tells of a packet, if this point is tapped.
    fn tell(&mut self, of: Told<'_>, frame: &[u8], length: usize, out: &mut impl PeerOutbox) {
        let (points, point) = (self.order.points, of.point);
        if points & point == 0 || !self.told(of, frame, length, out) {
            return;
        }
        // Where ways are asked for, a packet is told with its run.
        if points & RUN == 0 || point & RUN != 0 {
            self.order.left = self.order.left.saturating_sub(1);
        }
        if self.order.left == 0 {
            self.order.points = 0;
        }
    }

    /// Tells this, if there is room. Returns whether there was.
    fn told(
        &mut self,
        Told { point, port, stamp, outcome }: Told<'_>,
        frame: &[u8],
        length: usize,
        out: &mut impl PeerOutbox,
    ) -> bool {
        let TapOrder { tap, snap, .. } = self.order;
        if !out.has_room() {
            self.missed += 1;
            return false;
        }
        let told = Questions::Tapped {
            tap,
            stamp,
            length: length as u32,
            missed: self.missed,
            passed: self.passed,
            at_nic: self.at_nic.into(),
            point,
            port: port.0.into(),
            outcome: Label(outcome.as_bytes()),
            frame: frame.get(..usize::from(snap)).unwrap_or(frame),
        };
        out.tapped(&told.into());
        true
    }
}
