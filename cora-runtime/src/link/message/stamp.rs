//! What accompanies a frame on every ring.

use cora_core::bucket::{Bucket, End, Mark};
use cora_core::packet::{Meta, Port};

use crate::link::payload::Parked;

/// What accompanies a frame everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The packet's own time and port, the run's time, and the packet's mark.
    pub meta: Meta,
    /// The packet's number in the order of arrival, below 2^56.
    pub number: u64,
    /// No later packet on this way is older, in ns of run time: see
    /// [`Visit`](cora_core::state::Visit).
    pub horizon: u64,
    /// Where it [leaves](Self::leaves_at), and whether a handler [made](Self::is_made) it. Before a
    /// verdict: where it leaves if it [passes](Self::passes_to).
    pub egress: Port,
    /// Where the rest of the frame is, if what goes along is its head alone.
    pub parked: Parked,
    /// Bytes at the frame's end that nobody captured: zeros stand in their place. None but a
    /// capture's frames have any.
    pub missing: u16,
}

/// The bit of [`Stamp::egress`] that marks a frame that a handler made. A port has seven bits.
const MADE: u8 = 0x80;
/// The bit of the port of arrival that marks a packet whose bucket is decided at its
/// [destination](End::Destination).
const AT_DESTINATION: u8 = 0x80;
/// The bits of a packet's number; its bucket stands above them.
const NUMBERS: u64 = (1 << 56) - 1;

impl Stamp {
    /// Whole words, so that the frame behind it is moved by words, too.
    pub(super) const BYTES: usize = 8 * Self::WORDS;

    /// An odd number, as [`push_behind`](crate::link::ring::Producer::push_behind) has it.
    pub(super) const WORDS: usize = 5;

    /// The stamp of a frame that a handler of this packet made, and that leaves at `egress`.
    #[must_use]
    pub(crate) const fn of_made(&self, egress: Port) -> Self {
        Self { egress: Port(egress.0 | MADE), parked: Parked::NONE, missing: 0, ..*self }
    }

    /// The stamp of what happens at the time `now`, behind the packet with this stamp.
    #[must_use]
    pub(crate) const fn later(&self, now: u64) -> Self {
        // The effects of a message from the other side may be before the latest packet's time.
        let before = self.meta.now.saturating_sub(now);
        let time = self.meta.time.saturating_add(now.saturating_sub(self.meta.now));
        let meta = Meta { time: time.saturating_sub(before), now, ..self.meta };
        Self { meta, horizon: now, parked: Parked::NONE, missing: 0, ..*self }
    }

    /// Before the first packet.
    pub const BEFORE: Self = Self {
        meta: Meta { time: 0, now: 0, port: Port::INSIDE, mark: Mark::UNMARKED },
        number: 0,
        horizon: 0,
        egress: Port::INSIDE,
        parked: Parked::NONE,
        missing: 0,
    };

    /// Whether a handler made the frame, besides the packet with this number.
    #[inline]
    #[must_use]
    pub const fn is_made(&self) -> bool {
        self.egress.0 & MADE != 0
    }

    /// The port where the frame leaves.
    #[inline]
    #[must_use]
    pub const fn leaves_at(&self) -> Port {
        Port(self.egress.0 & !MADE)
    }

    /// Where a packet without a verdict leaves if it passes; `None` if no port carries it then: it
    /// has the port of its arrival there.
    #[inline]
    #[must_use]
    pub const fn passes_to(&self) -> Option<Port> {
        let to = self.leaves_at();
        if to.0 == self.meta.port.0 { None } else { Some(to) }
    }

    /// The port of arrival and the packet's number, with the mark in bits that they don't need.
    #[inline(always)]
    pub(crate) fn marked(&self) -> (u8, u64) {
        let Mark { bucket, end } = self.meta.mark;
        let at = if end == End::Destination { AT_DESTINATION } else { 0 };
        let number = self.number & NUMBERS | (bucket.number() as u64) << NUMBERS.count_ones();
        (self.meta.port.0 & !AT_DESTINATION | at, number)
    }

    /// Reads those.
    #[inline(always)]
    pub(crate) const fn unmarked(port: u8, number: u64) -> (Port, Mark, u64) {
        let end = if port & AT_DESTINATION == 0 { End::Source } else { End::Destination };
        let bucket = Bucket::new((number >> NUMBERS.count_ones()) as u8);
        (Port(port & !AT_DESTINATION), Mark { bucket, end }, number & NUMBERS)
    }

    /// What stands before the frame.
    #[inline(always)]
    pub fn words(&self) -> [u64; Self::WORDS] {
        let (port, number) = self.marked();
        let ports = u64::from(port) | u64::from(self.egress.0) << 8;
        let elsewhere = u64::from(self.missing) << 16 | u64::from(self.parked.bits()) << 32;
        [self.meta.time, self.meta.now, number, self.horizon, ports | elsewhere]
    }

    /// Reads those words.
    #[inline(always)]
    pub(super) const fn from_words(
        [time, now, number, horizon, ports]: [u64; Self::WORDS],
    ) -> Self {
        let (port, mark, number) = Self::unmarked(ports as u8, number);
        let meta = Meta { time, now, port, mark };
        let egress = Port((ports >> 8) as u8);
        let parked = Parked::from_bits((ports >> 32) as u32);
        let missing = (ports >> 16) as u16;
        Self { meta, number, horizon, egress, parked, missing }
    }
}
