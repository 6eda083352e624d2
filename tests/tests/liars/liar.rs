//! Writes in the place of a NIC half. It holds the region's file, and can do everything there that
//! a compromised NIC half could do.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering};

use cora_core::packet::{Meta, Port};
use cora_host::inherited_memory;
use cora_host::parts::RING_BYTES;
use cora_runtime::link::message::{Frames, Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::link::region::{
    HEADER_BYTES, HashSeed, Identity, NicStatus, Region, RegionLayout, Rings, generation,
};
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};
use cora_tests::draw::Draw;

use super::live::words_of;

/// Words of a region before its first ring.
const HEADER: usize = HEADER_BYTES / 8;

/// Rings, by their places.
pub(crate) const WIRE_IN: usize = 0;
pub(crate) const WIRE_OUT: usize = 1;
pub(crate) const PUNT: usize = 2;
pub(crate) const BACK: usize = 3;

/// Returns `length` bytes, of one kind of words.
fn bytes(draw: &mut Draw, length: u64) -> Vec<u8> {
    let kind = draw.below(4);
    let word = |draw: &mut Draw| match kind {
        0 => 0,
        1 => draw.below(4),
        2 => u64::MAX,
        _ => draw.next(),
    };
    let words = length.div_ceil(8);
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| word(draw).to_le_bytes()).collect();
    bytes.truncate(length as usize);
    bytes
}

/// A kind of lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// A word anywhere in the region.
    Word,
    /// A word of a region's header.
    Header,
    /// An index of a ring.
    Index,
    /// A whole record on the ring to the host.
    Punt,
    /// A record that was on the ring, a little changed.
    Replay,
    /// A whole record on the ring to the wire.
    WireOut,
    /// The NIC half's status of itself.
    Status,
    /// A generation without a region.
    Succession,
    /// Packets for the host, while it reads none of the answers.
    Flood,
}

impl Lie {
    pub(crate) const ALL: [Self; 9] = [
        Self::Word,
        Self::Header,
        Self::Index,
        Self::Punt,
        Self::Replay,
        Self::WireOut,
        Self::Status,
        Self::Succession,
        Self::Flood,
    ];
}

/// A process with the resources of a NIC half.
pub(crate) struct Liar {
    _file: File,
    words: &'static [AtomicU64],
    layout: RegionLayout,
    plan: u64,
    /// Whether the file has one region, as in a run on a capture.
    single: bool,
    /// Records that it has seen.
    seen: Vec<(u16, Vec<u8>)>,
    number: u64,
}

impl Liar {
    /// Takes the place of this NIC half.
    pub(crate) fn of(nic: u32) -> Self {
        let words = words_of(nic);
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
        let (file, length): (usize, usize) = (number(2), number(3));
        let path = format!("/proc/{nic}/fd/{file}");
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.unwrap_or_else(|error| panic!("{path}: {error}"));
        let words = inherited_memory(file.as_raw_fd(), length).expect("its region");
        let layout = RegionLayout::new(RING_BYTES).expect("sizes of rings");
        let bytes = [layout.bytes(), 2 * layout.bytes()];
        let layout = if bytes.contains(&length) { layout } else { layout.with_payloads() };
        let single = length == layout.bytes();
        let plan = words[2].load(Ordering::Relaxed);
        Self { _file: file, words, layout, plan, single, seen: Vec::new(), number: 1 << 40 }
    }

    /// Returns the region of this generation.
    fn region_of(&self, generation: u64) -> Region {
        let (plan, seed) = (self.plan, HashSeed(0));
        let identity = Identity { plan, generation, seed, resident: false, afresh: false };
        let place =
            if self.single { self.words } else { generation::place(self.words, generation.max(1)) };
        Region::known(place, &self.layout, identity).expect("it is long enough")
    }

    /// Returns the region that the file declares current.
    pub(crate) fn region(&self) -> Region {
        self.region_of(generation::current(self.words))
    }

    fn rings(&self) -> Rings {
        self.region().rings()
    }

    /// Puts a record on the ring to the host, behind all records of the NIC half, and returns
    /// whether there was room. The NIC half must be stopped meanwhile, or the writes of both
    /// collide.
    pub(crate) fn tells_host(&self, kind: u16, bytes: &[u8]) -> bool {
        push(&mut self.behind(PUNT), kind, bytes)
    }

    /// Puts a record on the ring to the wire.
    pub(crate) fn tells_wire(&self, kind: u16, bytes: &[u8]) -> bool {
        push(&mut self.behind(WIRE_OUT), kind, bytes)
    }

    /// Moves the NIC's index of this ring to an impossible place.
    pub(crate) fn moves_index(&self, ring: usize) -> bool {
        let own = usize::from(ring == BACK || ring == WIRE_IN);
        let index = self.index_words(ring)[own];
        self.words[index].fetch_add(1 << 30, Ordering::Relaxed);
        true
    }

    /// Returns a writer behind the last record of this ring. A stopped NIC half may not have
    /// published that place, so this searches for it.
    fn behind(&self, ring: usize) -> Producer<SharedMemory> {
        let rings = self.rings();
        let memory = if ring == PUNT { rings.punt } else { rings.wire_out };
        let mut reader = Consumer::new(memory);
        let mut buffer = vec![0; 1 << 17];
        while reader.pop(&mut buffer).is_ok_and(|popped| popped.is_some()) {}
        let [head, tail] = self.index_words(ring).map(|at| &self.words[at]);
        // The records it read still belong to the host.
        let before = tail.load(Ordering::Relaxed);
        reader.release();
        head.store(tail.swap(before, Ordering::Relaxed), Ordering::Relaxed);
        Producer::new(memory)
    }

    /// Returns the words of this ring with the positions of writer and reader.
    fn index_words(&self, ring: usize) -> [usize; 2] {
        let generation = generation::current(self.words);
        let base = if generation % 2 == 1 || generation == 0 { 0 } else { self.words.len() / 2 };
        let before: usize = RING_BYTES[..ring].iter().sum();
        // A ring's indices take 256 bytes before its data.
        let first = base + HEADER + (before + 256 * ring) / 8;
        [first, first + 16]
    }

    pub(crate) fn beats(&self) {
        let region = self.region();
        region.nic_beats(region.nic_heartbeat().wrapping_add(1));
        // No process trusts this word.
        region.host_beats(region.host_heartbeat().wrapping_add(1));
    }

    /// Claims that the NIC half has not arrived yet.
    pub(crate) fn hides(&self) {
        self.region().set_nic_status(NicStatus::Starting);
    }

    /// Returns a packet of 1,400 bytes that the host has to handle.
    fn packet(&mut self, draw: &mut Draw) -> Vec<u8> {
        self.number += 1;
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        let mut ip = vec![0x45, 0, 5, 106, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 203, 0, 113, 1];
        ip[14..16].copy_from_slice(&(draw.below(1000) as u16).to_be_bytes());
        let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(ip);
        frame.extend([0x30, draw.below(256) as u8, 0, 53, 5, 86, 0, 0]);
        frame.resize(1400, 0);
        let meta =
            Meta { time: self.number, now: self.number, port: Port::INSIDE, ..Meta::default() };
        let (number, horizon, egress) = (self.number, self.number, Port::OUTSIDE);
        let stamp = Stamp { meta, number, horizon, egress, parked: Parked::NONE, missing: 0 };
        Message::Frames(Frames::Punt { stamp, frame: &frame }).encode(|_, parts| parts.concat())
    }

    /// Writes bursts of packets for the host, as far as its ring has room.
    pub(crate) fn floods(&mut self, draw: &mut Draw) {
        let mut ring = self.behind(PUNT);
        for _ in 0..64 {
            for _ in 0..32 {
                let packet = self.packet(draw);
                // Packets without room are left out.
                let _pushed = ring.push(Kind::Punt.number(), &[&packet]);
            }
            ring.publish();
            self.beats();
        }
    }

    /// Writes a lie of this kind.
    pub(crate) fn lies(&mut self, lie: Lie, draw: &mut Draw) {
        let any = |draw: &mut Draw| if draw.below(3) > 0 { draw.next() } else { draw.below(6) };
        match lie {
            Lie::Word => {
                let at = draw.below(self.words.len() as u64) as usize;
                self.words[at].store(any(draw), Ordering::Relaxed);
            }
            Lie::Header => {
                let half = draw.below(2) as usize * self.words.len() / 2;
                let at = half + draw.below(HEADER as u64) as usize;
                self.words[at].store(any(draw), Ordering::Relaxed);
            }
            Lie::Index => {
                let at = self.index_words(draw.below(4) as usize)[draw.below(2) as usize];
                let near = draw.below(64) * 8;
                let word = &self.words[at];
                match draw.below(4) {
                    0 => word.store(draw.next(), Ordering::Relaxed),
                    1 => drop(word.fetch_add(near, Ordering::Relaxed).to_string()),
                    2 => drop(word.fetch_sub(near, Ordering::Relaxed).to_string()),
                    _ => drop(word.fetch_add(near / 8, Ordering::Relaxed).to_string()),
                }
            }
            Lie::Punt | Lie::WireOut => {
                let kind = if draw.below(16) > 0 { 1 + draw.below(34) } else { draw.next() };
                let length = match draw.below(8) {
                    0 => 0,
                    1..=4 => draw.below(80),
                    5 | 6 => draw.below(1600),
                    _ => draw.below(65_000),
                };
                let bytes = bytes(draw, length);
                let on = if lie == Lie::Punt { Self::tells_host } else { Self::tells_wire };
                on(self, kind as u16, &bytes);
            }
            Lie::Replay => self.replays(draw),
            Lie::Status => {
                let status = [
                    NicStatus::Starting,
                    NicStatus::Ready,
                    NicStatus::Running,
                    NicStatus::Done,
                    NicStatus::Refused(draw.next() as u32),
                ];
                self.region().set_nic_status(status[draw.below(5) as usize]);
            }
            Lie::Succession => {
                let current = generation::current(self.words);
                let next = if draw.below(2) > 0 { current + draw.below(3) } else { draw.next() };
                generation::announce(self.words, next);
            }
            Lie::Flood => self.floods(draw),
        }
        self.beats();
    }

    /// Writes a record that was on a ring, changed a little.
    fn replays(&mut self, draw: &mut Draw) {
        let rings = self.rings();
        let ring = if draw.below(4) > 0 { rings.punt } else { rings.back };
        let mut reader = Consumer::new(ring);
        let mut buffer = vec![0; 1 << 17];
        while let Ok(Some(popped)) = reader.pop(&mut buffer) {
            if self.seen.len() < 256 {
                self.seen.push((popped.kind, buffer[..popped.len].to_vec()));
            }
        }
        let packet = self.packet(draw);
        self.seen.push((Kind::Punt.number(), packet));
        let at = draw.below(self.seen.len() as u64) as usize;
        let (mut kind, mut bytes) = self.seen.swap_remove(at);
        for _ in 0..draw.below(6) {
            let length = bytes.len() as u64;
            if length > 0 {
                let at = draw.below(length) as usize;
                bytes[at] = draw.next() as u8;
            }
        }
        if draw.below(8) == 0 {
            kind = 1 + draw.below(33) as u16;
        }
        push(&mut self.behind(PUNT), kind, &bytes);
    }
}

/// Pushes a record, and returns whether there was room.
fn push(ring: &mut Producer<SharedMemory>, kind: u16, bytes: &[u8]) -> bool {
    let pushed = ring.push(kind, &[bytes]).is_ok();
    ring.publish();
    pushed
}
