//! The layout of a region, and the encoding of its header.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{AttachError, Identity, NicStatus, Rings};
use crate::link::payload::{BUFFER_BYTES, BUFFERS};
use crate::link::ring::{CONTROL_WORDS, MAX_RING_BYTES, MIN_RING_BYTES, SharedMemory};
use crate::telemetry::COUNTER_WORDS;

/// Version of the layout in this module and in [`ring`](crate::link::ring). It grows with every
/// change of the header, of the rings, of their messages, or of the hash behind a sketch in such a
/// message.
pub const LAYOUT_VERSION: u64 = 29;

/// Names of the rings, in the order of their places.
pub const RING_NAMES: [&str; 4] = ["wire-in", "wire-out", "punt", "back"];

/// First word of every region: the bytes `cora-shm`.
const MAGIC: u64 = u64::from_le_bytes(*b"cora-shm");

const WORD_BYTES: usize = size_of::<AtomicU64>();
const CONTROL_BYTES: usize = CONTROL_WORDS * WORD_BYTES;

/// Words before the first ring.
pub(super) const HEADER_WORDS: usize = 2048;
/// Bytes before the first ring.
pub const HEADER_BYTES: usize = HEADER_WORDS * WORD_BYTES;

const _: () = assert!(at::NIC_COUNTERS + COUNTER_WORDS <= HEADER_WORDS, "the header holds them");

/// The words before the first ring.
pub(super) type HeaderWords = [AtomicU64; HEADER_WORDS];

/// Rings begin at multiples of this, which keeps their indices on lines of their own.
const RING_ALIGN: usize = CONTROL_BYTES;

/// The number of the payload buffers among the parts of a region: they follow the rings.
const PAYLOADS_PART: usize = RING_NAMES.len();

/// The positions of the header's words.
pub(super) mod at {
    use super::PAYLOADS_PART;

    pub(in crate::link::region) const MAGIC: usize = 0;
    pub(in crate::link::region) const LAYOUT: usize = 1;
    pub(in crate::link::region) const PLAN: usize = 2;
    pub(in crate::link::region) const GENERATION: usize = 3;
    pub(in crate::link::region) const SEED: usize = 4;
    pub(in crate::link::region) const LENGTH: usize = 5;
    pub(in crate::link::region) const RESIDENT: usize = 6;
    pub(in crate::link::region) const AFRESH: usize = 7;
    /// Two words per ring: offset in bytes, and bytes of data.
    pub(in crate::link::region) const RINGS: usize = 8;
    /// The same for the payload buffers; zero if there are none.
    pub(in crate::link::region) const BUFFERS: usize = RINGS + 2 * PAYLOADS_PART;
    pub(in crate::link::region) const NIC_STATUS: usize = 64;
    pub(in crate::link::region) const NIC_HEARTBEAT: usize = 80;
    pub(in crate::link::region) const NIC_PACKET: usize = 81;
    pub(in crate::link::region) const TURN_ENDED: usize = 82;
    pub(in crate::link::region) const TURN_NS: usize = 83;
    pub(in crate::link::region) const NIC_BELL: usize = 96;
    pub(in crate::link::region) const TURN: usize = 112;
    pub(in crate::link::region) const AGENT_BELL: usize = 120;
    pub(in crate::link::region) const HOST_HEARTBEAT: usize = 128;
    pub(in crate::link::region) const HOST_BELL: usize = 144;
    /// In a file's first region only: see [`generation`](super::generation).
    pub(in crate::link::region) const CURRENT: usize = 160;
    /// The NIC's counters.
    pub(in crate::link::region) const NIC_COUNTERS: usize = 512;
}

/// Sizes of the four rings, the presence of payload buffers, and the offsets that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionLayout {
    pub(super) rings: [Place; 4],
    /// Laid out as a ring, though only its data are used.
    payloads: Option<Place>,
    bytes: usize,
}

/// The place of a ring: offset of its indices, bytes of its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    offset: usize,
    bytes: usize,
}

impl Place {
    /// The first byte after the ring.
    const fn end(self) -> Option<usize> {
        match self.offset.checked_add(CONTROL_BYTES) {
            Some(data) => data.checked_add(self.bytes),
            None => None,
        }
    }

    /// Its words in the region.
    const fn words(self) -> Range<usize> {
        let first = self.offset / WORD_BYTES;
        first..first + CONTROL_WORDS + self.bytes / WORD_BYTES
    }

    /// The words that are zero in an empty ring: its indices, and the first header.
    pub(super) const fn begin(self) -> Range<usize> {
        let first = self.offset / WORD_BYTES;
        first..first + CONTROL_WORDS + 1
    }
}

/// Whether a ring's data can have this size.
const fn ring_size_is_possible(bytes: usize) -> bool {
    bytes.is_power_of_two() && bytes >= MIN_RING_BYTES && bytes <= MAX_RING_BYTES
}

impl RegionLayout {
    /// A layout with these bytes of data in the rings wire-in (host to NIC), wire-out (NIC to
    /// host), punt (NIC to host) and back (host to NIC). Each is a power of two between
    /// [`MIN_RING_BYTES`] and [`MAX_RING_BYTES`].
    pub const fn new(ring_bytes: [usize; 4]) -> Result<Self, LayoutError> {
        let mut rings = [Place { offset: 0, bytes: 0 }; 4];
        let (mut next, mut ring) = (HEADER_BYTES, 0);
        while ring < rings.len() {
            let bytes = ring_bytes[ring];
            if !ring_size_is_possible(bytes) {
                return Err(LayoutError { ring, bytes });
            }
            rings[ring] = Place { offset: next, bytes };
            next = (next + CONTROL_BYTES + bytes).next_multiple_of(RING_ALIGN);
            ring += 1;
        }
        Ok(Self { rings, payloads: None, bytes: next })
    }

    /// [`Self::new`] for a constant: sizes that can't be do not compile there.
    ///
    /// # Panics
    /// With sizes that rings can't have.
    #[must_use]
    pub const fn known(ring_bytes: [usize; 4]) -> Self {
        match Self::new(ring_bytes) {
            Ok(layout) => layout,
            Err(_) => panic!("a ring has a power of two of bytes, within bounds"),
        }
    }

    /// The same, with [payload buffers](crate::link::payload::PayloadBuffers).
    #[must_use]
    pub const fn with_payloads(self) -> Self {
        let (offset, bytes) = (self.bytes, BUFFERS * BUFFER_BYTES);
        let end = (offset + CONTROL_BYTES + bytes).next_multiple_of(RING_ALIGN);
        Self { payloads: Some(Place { offset, bytes }), bytes: end, ..self }
    }

    /// The same, without them.
    #[must_use]
    pub const fn without_payloads(self) -> Self {
        match self.payloads {
            Some(Place { offset, .. }) => Self { payloads: None, bytes: offset, ..self },
            None => self,
        }
    }

    /// Bytes of the whole region.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rings and the payload buffers of a region with this layout.
    pub(super) fn rings_in(&self, words: &'static [AtomicU64]) -> Result<Rings, AttachError> {
        let region = size_of_val(words);
        let ring = |ring: usize, place: Place| {
            let (offset, bytes) = (place.offset as u64, place.bytes as u64);
            let bad = AttachError::BadRing { ring, offset, bytes, region };
            words.get(place.words()).and_then(SharedMemory::new).ok_or(bad)
        };
        let [wire_in, wire_out, punt, back] = self.rings;
        Ok(Rings {
            wire_in: ring(0, wire_in)?,
            wire_out: ring(1, wire_out)?,
            punt: ring(2, punt)?,
            back: ring(3, back)?,
            payloads: self.payloads.map(|payloads| ring(PAYLOADS_PART, payloads)).transpose()?,
        })
    }
}

/// A ring size that is no power of two, or out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutError {
    ring: usize,
    bytes: usize,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the ring {} can't have {} bytes: it takes a power of two from {MIN_RING_BYTES} to {MAX_RING_BYTES}",
            ring_name(self.ring),
            self.bytes
        )
    }
}

impl core::error::Error for LayoutError {}

pub(super) fn ring_name(ring: usize) -> &'static str {
    RING_NAMES.get(ring).copied().unwrap_or("?")
}

/// Writes the header, by which the other side attaches. The magic comes last, so that a region is
/// complete once it has one.
pub(super) fn write_header(header: &HeaderWords, layout: &RegionLayout, identity: Identity) {
    let write = |at: usize, value: u64| header[at].store(value, Ordering::Relaxed);
    write(at::LAYOUT, LAYOUT_VERSION);
    write(at::PLAN, identity.plan);
    write(at::GENERATION, identity.generation);
    write(at::SEED, identity.seed.0);
    write(at::RESIDENT, identity.resident.into());
    write(at::AFRESH, identity.afresh.into());
    write(at::LENGTH, layout.bytes as u64);
    for (ring, place) in layout.rings.iter().enumerate() {
        write(at::RINGS + 2 * ring, place.offset as u64);
        write(at::RINGS + 2 * ring + 1, place.bytes as u64);
    }
    if let Some(place) = layout.payloads {
        write(at::BUFFERS, place.offset as u64);
        write(at::BUFFERS + 1, place.bytes as u64);
    }
    write(at::NIC_STATUS, NicStatus::Starting.encode());
    header[at::MAGIC].store(MAGIC, Ordering::Release);
}

/// Whether this is the header of a region of this version.
pub(super) fn check_layout(header: &HeaderWords) -> Result<(), AttachError> {
    let magic = header[at::MAGIC].load(Ordering::Acquire);
    if magic != MAGIC {
        return Err(AttachError::NotARegion { magic });
    }
    match header[at::LAYOUT].load(Ordering::Relaxed) {
        LAYOUT_VERSION => Ok(()),
        region => Err(AttachError::OtherLayout { region }),
    }
}

/// The rings, one after the other within `length` bytes, and the payload buffers.
pub(super) fn find_rings(
    header: &HeaderWords,
    words: &'static [AtomicU64],
    length: usize,
) -> Result<Rings, AttachError> {
    let mut free = HEADER_BYTES;
    let mut next = |ring| find_ring(header, words, length, ring, &mut free);
    let (wire_in, wire_out, punt, back) = (next(0)?, next(1)?, next(2)?, next(3)?);
    let has_payloads = header[at::BUFFERS + 1].load(Ordering::Relaxed) != 0;
    let payloads = if has_payloads { Some(next(PAYLOADS_PART)?) } else { None };
    Ok(Rings { wire_in, wire_out, punt, back, payloads })
}

/// One of these parts, which begins at `free` at the earliest; moves `free` to its end.
#[inline(never)]
fn find_ring(
    header: &HeaderWords,
    words: &'static [AtomicU64],
    length: usize,
    ring: usize,
    free: &mut usize,
) -> Result<SharedMemory, AttachError> {
    let read = |at: usize| header[at].load(Ordering::Relaxed);
    let (offset, bytes) = (read(at::RINGS + 2 * ring), read(at::RINGS + 2 * ring + 1));
    let bad = AttachError::BadRing { ring, offset, bytes, region: length };
    let place = Place { offset: offset as usize, bytes: bytes as usize };
    let end = place.end().filter(|end| *end <= length).ok_or(bad)?;
    let fits = place.offset >= *free && place.offset.is_multiple_of(RING_ALIGN);
    if !fits || !ring_size_is_possible(place.bytes) {
        return Err(bad);
    }
    *free = end;
    words.get(place.words()).and_then(SharedMemory::new).ok_or(bad)
}
