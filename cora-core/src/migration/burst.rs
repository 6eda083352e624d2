//! Packets that are handled together: parsed one after the other, looked up ahead of their turn, then run
//! in the order of their arrival. The result is that of running them one by one.

use super::engine::Engine;
use super::flows::Flows;
use crate::app::App;
use crate::key::Key;
use crate::message::{MAX_FRAME, MAX_MESSAGE, Stamp};
use crate::packet::Packet;
pub use crate::state::table::ahead::{ALONE, BURST};

/// Bytes that the frames of a burst take at most: bursts of large frames are shorter.
pub const BURST_BYTES: usize = MAX_MESSAGE + BURST * 2048;

/// A packet that came in, parsed.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// What came with it.
    pub stamp: Stamp,
    /// The packet.
    pub packet: Packet<'a>,
}

impl<'a> Arrival<'a> {
    /// Parses a frame.
    #[inline(always)]
    pub fn new(stamp: Stamp, frame: &'a mut [u8]) -> Self {
        Self { packet: Packet::new(frame, stamp.meta), stamp }
    }
}

/// Packets in the order of their arrival.
pub type Burst<'a> = heapless::Vec<Arrival<'a>, BURST>;

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

    /// Where the next message can be read to, whatever its length; `None` when the burst is as long as it
    /// may be.
    #[inline]
    pub fn room(&mut self) -> Option<&mut [u8]> {
        (self.rest.len() >= MAX_MESSAGE).then_some(&mut *self.rest)
    }

    /// Keeps the first `length` bytes of what was read.
    #[inline]
    pub fn keep(&mut self, length: usize) -> &'a mut [u8] {
        let rest = core::mem::take(&mut self.rest);
        // The next frame begins at a line.
        let end = length.next_multiple_of(64).min(rest.len());
        let (kept, rest) = rest.split_at_mut(end);
        self.rest = rest;
        kept.get_mut(..length).unwrap_or_default()
    }
}

/// Lets the states, and the flows where they matter, fetch what the packets will look up.
#[inline]
pub(super) fn announce<A: App>(
    burst: &Burst<'_>,
    engine: &mut Engine<A>,
    mut flows: Option<&mut Flows<A>>,
) {
    for (number, Arrival { packet, .. }) in (0..).zip(burst) {
        if let Some(flows) = &mut flows {
            flows.hint(number, A::Group::of(packet).ok().as_ref());
        }
        engine.app().hint(number, packet);
    }
    for number in 0..burst.len() as u8 {
        if let Some(flows) = &mut flows {
            flows.guess(number);
        }
        engine.app().guess(number);
    }
}

/// What a queue of waiting packets must have room for before a burst is taken in.
pub(super) const fn held_bytes(head: usize) -> usize {
    const { assert!(BURST_BYTES >= MAX_FRAME) };
    BURST_BYTES + BURST * head
}
