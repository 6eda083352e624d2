//! The heavy hitter: exact bytes per flow while it lives, the sixteen largest flows of all time,
//! and an estimate of each source's bytes.
//!
//! A flow is one line. It stores its place in the top list, so the heaviest flows, which have
//! nearly every packet, need no search. Reports sort the list. A slow path handles packets with an
//! identifier instead of ports, and packets with options.

use cora_core::prefetch::prefetch;

use super::places::{Place, Places};
use super::top::{NO_PLACE, Top};
use super::tuple::{Ends, ends, fold};
use super::{BURST, ByHand, Side, is_arp};

/// Milliseconds.
const IDLE: u32 = 60_000;
const ROWS: usize = 4;
const COLUMNS: usize = 65_536;

/// One direction of a flow: one line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Flow {
    ends: Ends,
    bytes: u64,
    packets: u64,
    used: u32,
    /// Its place in the top list, unless another flow has that place.
    top: u8,
}

impl Place for Flow {
    #[inline(always)]
    fn used(&self) -> u32 {
        self.used
    }
}

/// The fields that the fast path reads of a frame.
#[derive(Clone, Copy, Debug)]
struct Read {
    ends: Ends,
    hash: u64,
    /// The hash of the source.
    source: u64,
}

/// Estimates of each source's bytes, never too low (count-min, Cormode and Muthukrishnan 2005): row
/// by row.
#[derive(Debug)]
struct Sources {
    counters: Box<[u64; ROWS * COLUMNS]>,
}

/// The counts.
#[derive(Debug)]
struct Counted {
    flows: Places<Flow>,
    top: Top,
    sources: Sources,
    bytes: u64,
    longest: u64,
}

#[derive(Debug)]
pub(crate) struct HeavyHitter {
    counted: Counted,
    seed: u64,
    now: u32,
    read: [Option<Read>; BURST],
}

impl Sources {
    fn new() -> Self {
        let counters = vec![0; ROWS * COLUMNS].try_into().expect("as many counters");
        Self { counters }
    }

    /// Returns a source's counters. Rows use the hashes `a + row · b` of Kirsch and Mitzenmacher.
    #[inline(always)]
    fn places(hash: u64) -> [usize; ROWS] {
        let (a, b) = (hash & 0xffff_ffff, hash >> 32 | 1);
        let column = |row: usize| a.wrapping_add(b.wrapping_mul(row as u64)) as usize % COLUMNS;
        std::array::from_fn(|row| row * COLUMNS + column(row))
    }

    #[inline(always)]
    fn prefetch(&self, hash: u64) {
        for place in Self::places(hash) {
            prefetch(&self.counters[place]);
        }
    }

    #[inline(always)]
    fn add(&mut self, hash: u64, amount: u64) {
        for place in Self::places(hash) {
            self.counters[place] += amount;
        }
    }

    /// Returns an upper bound on the bytes of a source.
    #[cfg(test)]
    fn estimate(&self, hash: u64) -> u64 {
        Self::places(hash).iter().map(|place| self.counters[*place]).min().unwrap_or(0)
    }
}

impl HeavyHitter {
    pub(crate) fn new(flows: u64) -> Self {
        Self {
            counted: Counted {
                flows: Places::new(flows, IDLE),
                top: Top::new(),
                sources: Sources::new(),
                bytes: 0,
                longest: 0,
            },
            seed: 0x1234_5678_9abc_def1,
            now: 1,
            read: [None; BURST],
        }
    }

    #[inline(always)]
    fn read(&self, frame: &[u8]) -> Option<Read> {
        let (ends, _) = ends(frame)?;
        let [first, second] = ends.source;
        let source = fold(first ^ 0xa076_1d64_78bd_642f, second ^ 0xe703_7ed1_a0b4_28db);
        Some(Read { hash: ends.hash(self.seed), ends, source })
    }
}

/// Counts a packet; returns `false`, and counts nothing, if there is no room for its flow.
#[inline(always)]
fn count(counted: &mut Counted, now: u32, read: &Read, length: usize) -> bool {
    let Read { ends, hash, source } = read;
    let length = length as u64;
    match counted.flows.find(*hash, now, |flow| flow.ends == *ends) {
        Ok(flow) => {
            flow.used = now;
            flow.packets += 1;
            flow.bytes += length;
            counted.top.raise(ends, flow.bytes, &mut flow.top);
        }
        Err(at) => {
            let (used, top) = (now, NO_PLACE);
            let flow = Flow { ends: *ends, bytes: length, packets: 1, used, top };
            let Some(flow) = counted.flows.fill(at, flow) else { return false };
            counted.top.raise(ends, length, &mut flow.top);
        }
    }
    counted.bytes += length;
    counted.longest = counted.longest.max(length);
    counted.sources.add(*source, length);
    true
}

impl ByHand for HeavyHitter {
    /// Both sides count alike.
    fn burst(&mut self, frames: &mut [&mut [u8]], _: Side) -> u64 {
        for (number, frame) in frames.iter().enumerate().take(BURST) {
            self.read[number] = self.read(frame);
            if let Some(read) = &self.read[number] {
                self.counted.flows.prefetch(read.hash);
                self.counted.sources.prefetch(read.source);
            }
        }
        let Self { counted, now, read, .. } = self;
        let mut left = 0;
        for (frame, read) in frames.iter().zip(&*read) {
            let may_pass = match read {
                Some(read) => count(counted, *now, read, frame.len()),
                None => is_arp(frame),
            };
            left += u64::from(may_pass);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::super::passes;
    use super::*;
    use crate::traffic::{FRAME, segment};

    const LENGTH: u64 = FRAME as u64;

    fn frame(host: u8, port: u16) -> [u8; FRAME] {
        segment(([10, 0, 0, host], port), ([198, 18, 0, 1], 443), 0x10)
    }

    /// Returns the bytes and packets of a flow, and the estimate for its source.
    fn counted(hitter: &mut HeavyHitter, frame: &[u8; FRAME]) -> Option<(u64, u64, u64)> {
        let Read { ends, hash, source } = hitter.read(frame)?;
        let estimate = hitter.counted.sources.estimate(source);
        let flow = hitter.counted.flows.find(hash, hitter.now, |flow| flow.ends == ends).ok()?;
        Some((flow.bytes, flow.packets, estimate))
    }

    #[test]
    fn counts_flows_and_sources_exactly() {
        let mut hitter = HeavyHitter::new(64);
        for host in 1..=20 {
            for port in [1_000, 2_000] {
                for _ in 0..host {
                    assert!(passes(&mut hitter, &mut frame(host, port), Side::Inside));
                }
            }
        }
        for host in 1..=20 {
            let own = u64::from(host);
            let of_flow = (own * LENGTH, own, own * LENGTH * 2);
            assert_eq!(counted(&mut hitter, &frame(host, 2_000)), Some(of_flow));
        }
        assert_eq!((hitter.counted.bytes, hitter.counted.longest), (20 * 21 * LENGTH, LENGTH));
        let expected = (13..=20).rev().flat_map(|own| [own * LENGTH; 2]);
        let top: Vec<u64> = hitter.counted.top.in_order().iter().map(|(bytes, _)| *bytes).collect();
        assert_eq!(top, expected.collect::<Vec<_>>());
    }

    #[test]
    fn an_idle_flow_begins_anew_but_stays_on_top() {
        let mut hitter = HeavyHitter::new(1);
        hitter.burst(&mut [&mut frame(1, 1), &mut frame(1, 1)], Side::Outside);
        hitter.now += IDLE;
        assert!(passes(&mut hitter, &mut frame(1, 1), Side::Outside));
        assert_eq!(counted(&mut hitter, &frame(1, 1)), Some((LENGTH, 1, 3 * LENGTH)));
        assert_eq!(hitter.counted.top.in_order()[0].0, 2 * LENGTH);
        assert!(!passes(&mut hitter, &mut frame(2, 1), Side::Outside), "the table is full");
        assert_eq!(hitter.counted.bytes, 3 * LENGTH);
    }
}
