//! Frames in memory, and passes over them: the traffic of every measurement here.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::ptr;

use cora_core::app::App;
use cora_core::bucket::Mark;
use cora_core::packet::{Meta, Packet, Port, Roomy};
use cora_core::prefetch::{prefetch, prefetch_at};
use cora_host::parts::{Door, Pages, Reading, Services, Source, Supply, configure};
use cora_host::{Inside, RunError};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST, BURST_BYTES, BurstBuffer};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::payload::Parked;
use cora_runtime::steering::Deal;

/// Frames in memory, one behind the other.
#[derive(Default)]
pub(crate) struct Traffic {
    bytes: Vec<u8>,
    frames: Vec<Frame>,
}

/// Metadata of a frame in memory: as little as a driver's descriptor has.
#[derive(Clone, Copy)]
struct Frame {
    time: u64,
    length: u32,
    port: Port,
    mark: Mark,
}

/// Returns the stamp of a frame with this metadata.
#[inline(always)]
const fn stamp_of(meta: Meta) -> Stamp {
    let Meta { now, port, .. } = meta;
    Stamp { meta, number: 0, horizon: now, egress: port, parked: Parked::NONE, missing: 0 }
}

/// Returns the options to read a capture for this program.
pub(crate) fn reading<A: App>(inside: Inside) -> Reading {
    Reading { inside, heads: A::HEADS, ..Reading::default() }
}

impl Traffic {
    pub(crate) fn load(path: &Path, reading: Reading) -> Result<Self, RunError> {
        Self::load_first(path, reading, usize::MAX)
    }

    /// Loads the first `most` frames of a capture.
    pub(crate) fn load_first(path: &Path, reading: Reading, most: usize) -> Result<Self, RunError> {
        let mut source = Source::open(path, reading)?;
        let mut traffic = Self::default();
        let mut buffer = vec![0; BURST_BYTES];
        while traffic.len() < most {
            let Some((stamp, length)) = source.next(&mut buffer)? else { break };
            traffic.bytes.extend_from_slice(&buffer[..length]);
            let Meta { now: time, port, .. } = stamp.meta;
            traffic.frames.push(Frame { time, length: length as u32, port, mark: Mark::UNMARKED });
        }
        Ok(traffic.settled())
    }

    /// Marks the frames for this program, as a NIC does before a core gets them. The hash for
    /// marks has this seed, and these configurations say what services there are.
    pub(crate) fn marked<A: App>(
        mut self,
        seed: u64,
        configurations: &[(String, PathBuf)],
    ) -> Result<Self, RunError> {
        if !A::MARKED {
            return Ok(self);
        }
        let supply = Supply { seed, pages: Pages::Small, resident: false };
        let mut app = supply.app::<A>(HostHalf::bytes)?;
        configure(&mut app, configurations)?;
        let mut door = Door::new(seed, Deal::even(1), &Services::of(&mut app));
        let (mut rest, mut buffer) = (&self.bytes[..], vec![0; BURST_BYTES]);
        for frame in &mut self.frames {
            let (bytes, behind) = rest.split_at(frame.length as usize);
            rest = behind;
            let copy = &mut buffer[..bytes.len()];
            copy.copy_from_slice(bytes);
            let Frame { time, port, mark, .. } = *frame;
            let meta = Meta { time, now: time, port, mark };
            frame.mark = door.steer::<A>(stamp_of(meta), copy).1.meta.mark;
        }
        Ok(self)
    }

    /// Copies the traffic to memory allocated at once. Memory that grew is on small pages, whatever
    /// the allocator was told about huge ones, and each small page makes the next frames wait.
    fn settled(&self) -> Self {
        Self { bytes: self.bytes.clone(), frames: self.frames.clone() }
    }

    /// Returns the number of frames.
    pub(crate) const fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns each frame by itself.
    pub(crate) fn frames(&self) -> Vec<Vec<u8>> {
        let mut rest = &self.bytes[..];
        let frames = self.frames.iter().map(|frame| {
            let (bytes, behind) = rest.split_at(frame.length as usize);
            rest = behind;
            bytes.to_vec()
        });
        frames.collect()
    }

    /// Splits the frames by shard, as `shard_of` says. Returns for each also its number of frames
    /// among the first `warm`.
    pub(crate) fn split(
        &self,
        shards: usize,
        warm: usize,
        shard_of: impl Fn(&Packet<'_>) -> usize,
    ) -> Vec<(Self, usize)> {
        let mut parts: Vec<(Self, usize)> = (0..shards).map(|_| (Self::default(), 0)).collect();
        let mut rest = &self.bytes[..];
        let mut buffer = vec![0; BURST_BYTES];
        for (number, frame) in self.frames.iter().enumerate() {
            let (bytes, behind) = rest.split_at(frame.length as usize);
            rest = behind;
            let copy = &mut buffer[..bytes.len()];
            copy.copy_from_slice(bytes);
            let Frame { time, port, mark, .. } = *frame;
            let meta = Meta { time, now: time, port, mark };
            let shard = shard_of(&Packet::new(copy, meta));
            let (part, warm_part) = &mut parts[shard];
            part.bytes.extend_from_slice(bytes);
            part.frames.push(*frame);
            *warm_part += usize::from(number < warm);
        }
        parts.into_iter().map(|(part, warm)| (part.settled(), warm)).collect()
    }

    /// Returns the time of frame number `from`, in nanoseconds.
    pub(crate) fn begins(&self, from: usize) -> u64 {
        self.frames.get(from).map_or(0, |frame| frame.time)
    }

    /// Returns how long the frames from number `from` on take, to the one behind (ns).
    pub(crate) fn lasts(&self, from: usize) -> u64 {
        self.frames.last().map_or(0, |last| last.time.saturating_sub(self.begins(from)) + 1)
    }

    /// Makes the frames from number `from` on come later by this time (ns).
    pub(crate) fn put_off(&mut self, from: usize, by: u64) {
        for frame in self.frames.iter_mut().skip(from) {
            frame.time = frame.time.saturating_add(by);
        }
    }

    /// Returns a pass over the frames from number `from` on.
    pub(crate) fn pass(&self, from: usize) -> Pass<'_> {
        let (before, frames) = self.frames.split_at(from.min(self.frames.len()));
        let begin: usize = before.iter().map(|frame| frame.length as usize).sum();
        Pass { left: frames.iter(), bytes: self.bytes.get(begin..).unwrap_or_default() }
    }

    /// Runs the frames from number `from` on in bursts, each frame copied once.
    pub(crate) fn replay(
        &self,
        from: usize,
        buffer: &mut [u8],
        mut run: impl FnMut(&mut Burst<'_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut pass = self.pass(from);
        while !pass.is_over() {
            let mut frames = BurstBuffer::new(buffer);
            let mut burst = Burst::new();
            while !burst.is_full() {
                let received = pass.receive(&mut frames, |stamp, frame| {
                    // The loop's condition ensures room.
                    burst.push_roomy(stamp, frame);
                });
                if !received {
                    break;
                }
            }
            run(&mut burst)?;
        }
        Ok(())
    }

    /// Receives and sends the same frames, with nothing between. The time of every other half above
    /// this is the price of handling.
    pub(crate) fn carry(&self, from: usize, buffer: &mut [u8], out: &mut impl HostOutbox) {
        let mut pass = self.pass(from);
        while !pass.is_over() {
            // Received frames are there to be read: no copy of them may be left out.
            let mut frames = BurstBuffer::new(black_box(&mut *buffer));
            let mut burst = heapless::Vec::<(Stamp, Roomy<'_>), BURST>::new();
            while !burst.is_full() {
                let received = pass.receive(&mut frames, |stamp, frame| {
                    // The loop's condition ensures room.
                    let _pushed = burst.push((stamp, frame));
                });
                if !received {
                    break;
                }
            }
            for (stamp, frame) in &burst {
                out.leave(stamp, stamp.egress.opposite(), frame.frame());
            }
        }
    }
}

/// Progress of a pass over the frames.
pub(crate) struct Pass<'a> {
    left: std::slice::Iter<'a, Frame>,
    bytes: &'a [u8],
}

/// Bytes of the traffic that are prefetched: a burst of short frames. A NIC puts frames into the
/// cache; without the prefetch, a packet would wait for memory, which it does not on a wire.
const AHEAD: usize = 1920;

impl Pass<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.left.as_slice().is_empty()
    }

    /// Returns the frames that have not come.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// Passes the next frame to `to`, copied; `false` at the end, or when there is no room. (A
    /// returned value would be moved once more.)
    #[inline(always)]
    pub(crate) fn receive<'a>(
        &mut self,
        frames: &mut BurstBuffer<'a>,
        to: impl FnOnce(Stamp, Roomy<'a>),
    ) -> bool {
        let Some(room) = frames.room() else { return false };
        let Some(next) = self.left.next() else { return false };
        // Prefetches for the next burst, as a NIC puts these into the cache, too. A check whether
        // there is one would take 6 to 9 instructions, for want of registers.
        prefetch_at(ptr::from_ref(next).wrapping_add(BURST));
        let (frame, rest) = self.bytes.split_at(next.length as usize);
        if let Some(ahead) = rest.get(AHEAD) {
            prefetch(ahead);
        }
        room[..frame.len()].copy_from_slice(frame);
        self.bytes = rest;
        // After the copy: before it, they would have to be kept somewhere meanwhile.
        let Frame { time, port, mark, .. } = *next;
        let stamp = stamp_of(Meta { time, now: time, port, mark });
        to(stamp, frames.keep(frame.len()));
        true
    }
}
