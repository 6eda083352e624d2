//! A network that loses, doubles, reorders, damages and cuts frames, and counts each fault.

use std::fmt;

use crate::random::Random;

/// The frames of networks, and their faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Frames that were handed to it.
    pub frames: u64,
    pub lost: u64,
    pub doubled: u64,
    /// Frames that took longer, so that later ones could overtake them.
    pub reordered: u64,
    /// Frames with a changed bit.
    pub damaged: u64,
    /// Frames that lost their end.
    pub cut: u64,
}

impl Done {
    /// Adds the counts of another network.
    pub const fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.reordered += other.reordered;
        self.damaged += other.damaged;
        self.cut += other.cut;
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, lost, doubled, reordered, damaged, cut } = self;
        write!(f, "{frames} frames: {lost} lost, {doubled} doubled, {reordered} reordered, ")?;
        write!(f, "{damaged} damaged, {cut} cut")
    }
}

/// True in so many of a thousand cases.
pub(super) const fn happens(draw: &mut Random, per_mille: u64) -> bool {
    draw.below(1000) < per_mille
}

/// A direction of the network.
#[derive(Debug)]
pub(super) struct Network {
    /// Frames with the time of their arrival, and the order in which they were sent.
    frames: Vec<(u64, u64, Vec<u8>)>,
    sent: u64,
    /// Each fault in thousandths.
    faults: u64,
    free: Vec<Vec<u8>>,
    pub(super) done: Done,
}

impl Network {
    pub(super) fn new(faults: u64) -> Self {
        Self { frames: Vec::new(), sent: 0, faults, free: Vec::new(), done: Done::default() }
    }

    pub(super) fn send(&mut self, frame: &[u8], now: u64, draw: &mut Random) {
        let faults = self.faults;
        let (is_lost, is_doubled) = (happens(draw, faults), happens(draw, faults));
        self.done.frames += 1;
        if is_lost {
            self.done.lost += 1;
            return;
        }
        self.done.doubled += u64::from(is_doubled);
        for _ in 0..=u64::from(is_doubled) {
            let mut copy = self.free.pop().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(frame);
            if happens(draw, faults) {
                let bit = draw.below(8 * copy.len() as u64);
                copy[(bit / 8) as usize] ^= 1 << (bit % 8);
                self.done.damaged += 1;
            }
            if happens(draw, faults) {
                copy.truncate(draw.below(copy.len() as u64) as usize);
                self.done.cut += 1;
            }
            // A frame takes 10 us; one that is overtaken takes up to 100 more.
            let mut when = now + 10_000;
            if happens(draw, faults) {
                when += draw.below(100_000);
                self.done.reordered += 1;
            }
            self.sent += 1;
            self.frames.push((when, self.sent, copy));
        }
    }

    /// The frames that have arrived by now, in the order of their arrival.
    pub(super) fn arrived(&mut self, now: u64) -> Vec<Vec<u8>> {
        if self.frames.iter().all(|(when, ..)| *when > now) {
            return Vec::new();
        }
        let mut here: Vec<_> = self.frames.extract_if(.., |(when, ..)| *when <= now).collect();
        here.sort_unstable_by_key(|(when, number, _)| (*when, *number));
        here.into_iter().map(|(_, _, frame)| frame).collect()
    }

    /// Takes a frame back: nobody needs its bytes.
    pub(super) fn recycle(&mut self, frame: Vec<u8>) {
        self.free.push(frame);
    }
}
